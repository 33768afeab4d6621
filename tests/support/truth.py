"""Compare the product's report with a recording's truth (its audit log)."""

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).resolve().parent.parent / "data" / "recordings"
FIELDS = ("incarnations", "recreations", "in_place_restarts", "true_restarts", "kubectl_restarts", "hidden_restarts")
SPAN_SECONDS = 0.15  # a watch line may come so much after the write


def truth(scenario: str) -> dict[str, Any]:
    return json.loads((RECORDINGS / scenario / "truth.json").read_text(encoding="utf-8"))


def scenarios() -> list[str]:
    """Every recorded scenario of the kinds that are counted."""
    return sorted(p.name for p in RECORDINGS.iterdir() if (p / "truth.json").exists() and "trainjob" not in p.name)


def differences(
    jobs: Iterable[dict[str, Any]], expected: dict[str, Any], span_seconds: float = SPAN_SECONDS
) -> list[str]:
    """One line for each value of the truth that the report has not, or has otherwise.

    ``span_seconds``: how far the ends of a Restarting span may lie from when they were written.
    """
    found = {job["uid"]: job for job in jobs}
    lines: list[str] = []
    for job in expected["jobs"]:
        got = found.get(job["uid"])
        if got is None:
            lines.append(f"{job['name']}: not in the report")
            continue
        lines.extend(_replica_lines(got, job))
        lines.extend(_span_lines(got, job, span_seconds))
    return lines


def _replica_lines(got: dict[str, Any], job: dict[str, Any]) -> Iterable[str]:
    replicas = {(r["type"].lower(), r["index"]): r for r in got["replicas"]}
    for wanted in job["replicas"]:
        place = (wanted["type"].lower(), wanted["index"])
        replica = replicas.get(place)
        if replica is None:
            yield f"{place}: missing"
            continue
        for name in FIELDS:
            if replica[name] != wanted[name]:
                yield f"{place} {name}: {replica[name]} instead of {wanted[name]}"
        codes = {pod["uid"]: pod["exit_code"] for pod in replica["pods"]}
        for pod in wanted["pods"]:
            if codes.get(pod["uid"], "no pod") != _code(pod):
                yield f"{place} pod {pod['uid']}: exit {codes.get(pod['uid'])} instead of {_code(pod)}"


def _code(pod: dict[str, Any]) -> int | None:
    last = pod["exits"][-1] if pod["exits"] else None
    return None if last is None or last["reason"] == "ContainerStatusUnknown" else last["exit_code"]


def _span_lines(got: dict[str, Any], job: dict[str, Any], seconds: float) -> Iterable[str]:
    written = job.get("restarting_condition_spans")
    if written is None:
        return
    seen = got["restarting_condition"]
    if len(seen) != len(written):
        yield f"{len(seen)} Restarting spans, {len(written)} written"
        return
    for span, (start, end) in zip(seen, written, strict=True):
        is_apart = _apart(span["start"], start, seconds) or _apart(span["end"], end, seconds)
        if is_apart or (span["end"] is None) != (end is None):
            yield f"Restarting {span} instead of {start} to {end}"


def _apart(one: str | None, other: str | None, seconds: float) -> bool:
    return bool(one and other) and abs(_seconds(one) - _seconds(other)) > seconds


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
