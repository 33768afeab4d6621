"""Watching begins late: for every recording and every cut, a count is right or "at least", and nothing is invented.

A cut is a number of lines that only build the list that a watcher would have got at that moment.
"""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

import pytest

from jobs.replay import Replay, recordings
from jobs.store.reports import ReportFilter, reports
from tests.support.truth import FIELDS, RECORDINGS, scenarios, truth

pytestmark = pytest.mark.django_db

Json = dict[str, Any]
STEPS = 20  # cuts at every 5 % of the lines
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
# What kubectl shows is its own last word, not something that is summed up; all others may only be too low.
BOUNDED = tuple(name for name in FIELDS if name != "kubectl_restarts")


@cache
def lines_of(scenario: str) -> list[str]:
    return gzip.decompress((RECORDINGS / scenario / "watch.jsonl.gz").read_bytes()).decode().splitlines()


@cache
def named_times(scenario: str) -> frozenset[str]:
    """Every time that an object of the recording names."""
    return frozenset(TIME.findall("\n".join(lines_of(scenario))))


def cut_at(scenario: str, step: int) -> int:
    return len(lines_of(scenario)) * step // STEPS


def late(scenario: str, cut: int) -> dict[str, Json]:
    """The report by job UID of a watcher that began at ``cut``."""
    cluster = f"{scenario}-{cut}"
    Replay(cluster).play(recordings([str(RECORDINGS / scenario)], None, cut))
    return {job["uid"]: job for job in reports(ReportFilter(cluster=cluster))}


@dataclass
class Check:
    """What is wrong with late starts, and how close their bounds come to the truth."""

    wrong: list[str] = field(default_factory=list)
    figures: Counter[str] = field(default_factory=Counter)

    def start(self, scenario: str, cut: int) -> None:
        got = late(scenario, cut)
        before = len(self.wrong)
        figures: Counter[str] = Counter()
        for expected in truth(scenario)["jobs"]:
            job = got.pop(expected["uid"], None)
            if job is not None:  # else it was over and gone
                self.wrong.extend(f"{scenario} cut {cut}: {line}" for line in job_lines(job, expected, scenario))
                if cut == 0 and (job["at_least"] or job["unobserved"]):
                    self.wrong.append(f"{scenario}: at least, though watched from the start")
                figures["true"] += expected["true_restarts"]
                figures["told"] += job["true_restarts"]
                figures["seen"] += seen_restarts(job)
        self.wrong.extend(f"{scenario} cut {cut}: job {uid} that never was" for uid in got)
        self.figures["cuts"] += cut > 0
        self.figures["raised by Events"] += figures["told"] > figures["seen"]
        self.figures["short of the truth without Events"] += figures["seen"] < figures["true"]
        self.figures["short of the truth"] += figures["told"] < figures["true"]
        self.figures["wrong"] += len(self.wrong) > before


def job_lines(job: Json, expected: Json, scenario: str) -> Iterator[str]:
    """One line for each value above the truth, below it and not "at least", or dated where nobody watched."""
    replicas = {(r["type"].lower(), r["index"]): r for r in job["replicas"]}
    for wanted in expected["replicas"]:
        place = (wanted["type"].lower(), wanted["index"])
        replica = replicas.pop(place, None)
        if replica is None:
            if not job["at_least"]:
                yield f"{place} missing"
            continue
        for name in BOUNDED:
            if replica[name] > wanted[name] or (replica[name] < wanted[name] and not replica["at_least"]):
                yield f"{place} {name} {replica[name]}, truth {wanted[name]}, at_least {replica['at_least']}"
    yield from (f"{place} that never was" for place in replicas)
    for name in ("true_restarts", "hidden_restarts"):
        total = sum(replica[name] for replica in expected["replicas"])
        if job[name] > total or (job[name] < total and not job["at_least"]):
            yield f"{name} {job[name]} in all, truth {total}"
    yield from invented(job, named_times(scenario))


def invented(job: Json, named: frozenset[str]) -> Iterator[str]:
    """Moments that the report puts where nobody watched and no object names."""
    gaps = [(seconds(gap["start"]), seconds(gap["end"])) for gap in job["unobserved"]]
    for path, text in moments({name: value for name, value in job.items() if name != "unobserved"}):
        at = seconds(text)
        if text not in named and any(start < at < end for start, end in gaps):
            yield f"{path} {text} lies where nobody watched"


def moments(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from moments(part, f"{path}.{name}")
    elif isinstance(value, list):
        for part in value:
            yield from moments(part, path)
    elif isinstance(value, str) and TIME.fullmatch(value):
        yield path, value


def seconds(text: str | None) -> float:
    return datetime.fromisoformat(text).timestamp() if text else 0.0


def seen_restarts(job: Json) -> int:
    """What the pods alone prove."""
    return sum(sum(pod["was_restart"] for pod in r["pods"]) + r["in_place_restarts"] for r in job["replicas"])


@pytest.mark.parametrize(("number", "scenario"), list(enumerate(scenarios())))
def test_a_late_start_says_at_least_and_never_more_than_the_truth(number: int, scenario: str) -> None:
    """Four of the twenty cuts of each recording, other ones each time; the deep test takes all."""
    check = Check()
    for step in range(number % 5, STEPS, 5):
        check.start(scenario, cut_at(scenario, step))
    assert check.wrong == []


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_every_late_start(capsys: pytest.CaptureFixture[str]) -> None:
    check = Check()
    for scenario in scenarios():
        for step in range(STEPS):
            check.start(scenario, cut_at(scenario, step))
    with capsys.disabled():
        print("\nlate starts:", ", ".join(f"{number} {what}" for what, number in check.figures.items()))
    assert check.wrong == []
    assert check.figures["raised by Events"] > 0


@pytest.mark.parametrize("step", range(1, STEPS))
def test_a_recording_that_stops_where_watching_would_begin(step: int) -> None:
    """Only a list, and nothing after it: what it held is kept, also pods whose job is gone."""
    scenario = "name-reuse"
    cut = cut_at(scenario, step)
    cluster = f"only-{cut}"
    Replay(cluster).play(recordings([str(RECORDINGS / scenario)], cut, cut))
    jobs = {job["uid"]: job for job in reports(ReportFilter(cluster=cluster))}
    for uid, pod_names in listed_pods(scenario, cut).items():
        job = jobs[uid]
        assert {pod["name"] for replica in job["replicas"] for pod in replica["pods"]} == pod_names
        if uid not in listed_jobs(scenario, cut):
            assert (job["state"], job["present"], job["at_least"]) == ("Unknown", False, True)


def listed(scenario: str, cut: int, resource: str) -> list[Json]:
    there: dict[str, Json] = {}
    for line in map(json.loads, lines_of(scenario)[:cut]):
        if line["resource"] != resource or line["type"] == "BOOKMARK":
            continue
        if line["type"] == "DELETED":
            there.pop(line["object"]["metadata"]["uid"], None)
        else:
            there[line["object"]["metadata"]["uid"]] = line["object"]
    return list(there.values())


def listed_pods(scenario: str, cut: int) -> dict[str, set[str]]:
    """Names of the pods in the list, by the UID of their job."""
    names: dict[str, set[str]] = {}
    for pod in listed(scenario, cut, "pods"):
        names.setdefault(pod["metadata"]["ownerReferences"][0]["uid"], set()).add(pod["metadata"]["name"])
    return names


def listed_jobs(scenario: str, cut: int) -> set[str]:
    return {job["metadata"]["uid"] for job in listed(scenario, cut, "tfjobs.kubeflow.org")}
