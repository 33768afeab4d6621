"""Experiments and runs as JSON and as lines, for commands and scripts."""

from typing import Any

from jobs.domain.report import rfc3339
from jobs.experiments.experiment import Experiment
from jobs.experiments.models import ExperimentRun
from jobs.experiments.observe import created_objects
from jobs.experiments.parameters import cost, defaults
from jobs.experiments.words import trouble_words


def described(experiment: Experiment) -> dict[str, Any]:
    usual = defaults(experiment)
    asked = cost(experiment, usual)
    return {
        "name": experiment.name,
        "title": experiment.title.en,
        "shows": experiment.shows.en,
        "kinds": list(experiment.kinds),
        "simulated_only": experiment.simulated_only is not None,
        "seconds": asked.seconds,
        "replicas": asked.replicas,
        "cpu": f"{asked.millicores}m",
        "parameters": {one.name: one.default for one in experiment.parameters},
    }


def told(run: ExperimentRun) -> dict[str, Any]:
    """A run as JSON."""
    verdict = run.verdict or {}
    return {
        "id": str(run.id),
        "experiment": run.experiment,
        "values": run.values,
        "cluster": run.cluster,
        "namespace": run.namespace,
        "name": run.name,
        "who": run.who,
        "state": run.state,
        "verdict": verdict.get("overall"),
        "differences": [text["en"] for text in verdict.get("differences", ())],
        "steps": [
            {
                "key": step["key"],
                "expected": step["text"]["en"],
                "verdict": step["state"],
                "observed": step["seen"].get("en"),
                "at": rfc3339(step["at"]),
            }
            for step in verdict.get("steps", ())
        ],
        "acts": run.acts,
        "trouble": trouble_words(run) or None,
        "launched_at": rfc3339(run.launched_at),
        "ended_at": rfc3339(run.ended_at),
        "cleaned_at": rfc3339(run.cleaned_at),
        "jobs": [{"kind": one.kind, "name": one.name, "uid": one.uid} for one in created_objects(run)],
    }


def line(row: dict[str, Any]) -> str:
    """One of them for people."""
    if "title" in row:
        return f"{row['name']:24} {row['title']} ({row['replicas']} replicas, about {row['seconds']:.0f} s)"
    end = row["verdict"] if row["verdict"] and row["state"] not in ("launching", "running") else row["state"]
    text = f"{row['id']} {row['experiment'] or 'custom'} {row['namespace']}/{row['name']}: {end}"
    return "\n".join(
        [text, *(f"  {each}" for each in row["differences"]), *([f"  {row['trouble']}"] if row["trouble"] else [])]
    )
