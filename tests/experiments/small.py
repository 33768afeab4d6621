"""Experiments of a few lines, and launches of them."""

import uuid
from collections.abc import Callable
from typing import Any

from jobs.experiments.experiment import (
    Act,
    Experiment,
    Object,
    Observed,
    Outcome,
    Parameter,
    ParameterKind,
    Place,
    Step,
    StepState,
    Text,
    Values,
)
from jobs.experiments.launch import Launch

Check = Callable[[Observed], Outcome]


def text(words: str) -> Text:
    return Text(words, f"中文 {words}")


FIELDS = {"TFJob": ("tfReplicaSpecs", "tensorflow"), "PyTorchJob": ("pytorchReplicaSpecs", "pytorch")}


def tfjob(
    name: str, namespace: str, workers: int = 2, policy: str = "ExitCode", kind: str = "TFJob", **run_policy: Any
) -> Object:
    field, main = FIELDS[kind]
    container: Object = {"name": main, "image": "busybox", "command": ["sh", "-c", "sleep 3600"]}
    container["resources"] = {"limits": {"cpu": "20m", "memory": "50Mi"}}
    template = {"spec": {"containers": [container], "terminationGracePeriodSeconds": 5}}
    worker = {"replicas": workers, "restartPolicy": policy, "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"runPolicy": {"backoffLimit": 3, **run_policy}, field: {"Worker": worker}},
    }


def all_run(observed: Observed) -> Outcome:
    """All two workers of the first job run."""
    job = observed.jobs[0] if observed.jobs else None
    pods = [] if job is None else [one for one in job.pods.values() if one.running_at is not None]
    if len(pods) < 2:
        return Outcome(StepState.WAITING)
    return Outcome(StepState.MET, max(pod.running_at or 0.0 for pod in pods))


def never(_observed: Observed) -> Outcome:
    return Outcome(StepState.WAITING)


def small(
    name: str,
    acts: tuple[Act, ...] = (),
    *,
    jobs: int = 1,
    checks: tuple[tuple[str, Check], ...] = (("runs", all_run),),
    by: float = 60.0,
    simulated_only: bool = False,
    kind: str = "TFJob",
    **policy: Any,
) -> Experiment:
    """``jobs`` TFJobs of two workers that sleep; each check is a step."""

    def objects(values: Values, place: Place) -> list[Object]:
        names = [place.name, *(f"{place.name}-{number}" for number in range(1, jobs))]
        return [tfjob(one, place.namespace, values["workers"], kind=kind, **policy) for one in names]

    return Experiment(
        name=name,
        title=text(name),
        shows=text("shows"),
        happens=text("happens"),
        explanation=text("explains"),
        kinds=(kind,),
        parameters=(Parameter("workers", text("Workers"), ParameterKind.INTEGER, 2, 1, 20),),
        objects=objects,
        steps=lambda _values: tuple(Step(key, text(key), check, by) for key, check in checks),
        seconds=lambda _values: 5.0,
        acts=lambda _values: acts,
        simulated_only=text("nodes") if simulated_only else None,
    )


def launch_of(experiment: Experiment | None, name: str = "mine", **changes: Any) -> Launch:
    values = {one.name: one.default for one in experiment.parameters} if experiment else {}
    wanted: dict[str, Any] = {
        "experiment": experiment,
        "values": values,
        "cluster": "lab",
        "namespace": "default",
        "name": name,
        "id": uuid.uuid4(),
        "who": "ann",
    }
    return Launch(**(wanted | changes))
