"""What the product says of runs nobody wrote down, against what the simulated cluster knows of itself."""

import os
import random
from itertools import count
from pathlib import Path

import pytest

from jobs.replay import Replay, recordings
from jobs.store.reports import ReportFilter, reports
from simcluster.scenarios import SCENARIOS
from tests.properties.plays import Play, Played, performed
from tests.properties.recorded import COUNTS, Cluster, Json
from tests.support.truth import differences

pytestmark = pytest.mark.django_db
numbers = count()


def seeds(quick: int, deep: int) -> pytest.MarkDecorator:
    """So many runs each time, and many more (``deep``); FIRST_PLAY names another first one."""
    first = int(os.environ.get("FIRST_PLAY", "0"))
    later = [pytest.param(seed, marks=pytest.mark.deep) for seed in range(first + quick, first + deep)]
    return pytest.mark.parametrize("seed", [*range(first, first + quick), *later])


def played(seed: int) -> Played:
    return Play(seed).run(acts=seed % 12)


def watcher_of(run: Played) -> Cluster:
    cluster = Cluster(f"play{next(numbers)}", run.lines)
    cluster.begin()
    return cluster


def beyond(jobs: list[Json], truth: Json) -> list[str]:
    """One line for each count above the truth, or below it and not "at least"."""
    lines = []
    told = {job["uid"]: job for job in jobs}
    for job in truth["jobs"]:
        replicas = {(r["type"].lower(), r["index"]): r for r in told.get(job["uid"], {}).get("replicas", [])}
        for name in ("true_restarts", "hidden_restarts"):
            right, got = sum(replica[name] for replica in job["replicas"]), told.get(job["uid"])
            if got is not None and (got[name] > right or (got[name] < right and not got["at_least"])):
                lines.append(f"{job['name']} {name}: {got[name]} of {right}, at least: {got['at_least']}")
        for right in job["replicas"]:
            place = (right["type"], right["index"])
            got = replicas.get(place)
            for name in (n for n in ("incarnations", *COUNTS) if n != "kubectl_restarts"):
                if got is not None and got[name] > right[name]:
                    lines.append(f"{job['name']} {place} {name}: {got[name]} above {right[name]}")
                if got is not None and got[name] < right[name] and not got["at_least"]:
                    lines.append(f"{job['name']} {place} {name}: {got[name]} below {right[name]}, and not at least")
    return lines


@seeds(quick=25, deep=400)
def test_a_run_is_told_as_it_was(seed: int) -> None:
    run = played(seed)
    cluster = watcher_of(run)
    cluster.watch(run.lines)
    assert differences(cluster.report(), run.truth) == [], "\n".join(run.story)


@seeds(quick=25, deep=400)
def test_causes_and_endings_are_told_as_they_were(seed: int) -> None:
    run = played(seed)
    cluster = watcher_of(run)
    cluster.watch(run.lines)
    assert run.causes.differences(cluster.report()) == [], "\n".join(run.story)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_causes_of_each_scenario_are_told_as_they_were(name: str) -> None:
    run = performed(name, seed=1)
    cluster = watcher_of(run)
    cluster.watch(run.lines)
    assert run.causes.differences(cluster.report()) == []


@seeds(quick=15, deep=300)
def test_streams_that_lag_behind_each_other_tell_the_same(seed: int) -> None:
    """Each stream keeps its own order; which of them is read first, and how far, is chance."""
    run = played(seed)
    rng = random.Random(seed)
    waiting = {key: [line for line in run.lines if line.key == key] for key in {line.key for line in run.lines}}
    shuffled = []
    while waiting:
        key = rng.choice(sorted(waiting, key=str))
        taken = rng.randint(1, 30)
        shuffled += waiting[key][:taken]
        waiting[key] = waiting[key][taken:]
        if not waiting[key]:
            del waiting[key]
    cluster = watcher_of(run)
    cluster.watch(shuffled, rng.choice((1, 20, 200)))
    told = differences(cluster.report(), run.truth)
    assert [line for line in told if "span" not in line] == [], "\n".join(run.story)


@seeds(quick=25, deep=400)
def test_an_interval_that_nobody_watched_never_makes_a_count_too_high(seed: int) -> None:
    """All streams, or one, are away for a while; then each lists what there is."""
    run = played(seed)
    rng = random.Random(seed)
    first, last = sorted(rng.randint(0, len(run.lines)) for _ in range(2))
    cluster = watcher_of(run)
    away = set(cluster.keys) if rng.random() < 0.6 else {rng.choice(cluster.keys)}
    cluster.watch(run.lines[:first])
    missed = run.lines[first:last]
    cluster.watch([line for line in missed if line.key not in away])
    cluster.pass_by(line for line in missed if line.key in away)
    for key in rng.sample(sorted(away, key=str), len(away)):
        cluster.expire(key)
    cluster.watch(run.lines[last:])
    assert beyond(cluster.report(), run.truth) == [], "\n".join(run.story)


@seeds(quick=10, deep=300)
def test_who_begins_late_never_counts_too_high(seed: int, tmp_path: Path) -> None:
    run = played(seed)
    file = tmp_path / "watch.jsonl"
    file.write_text("\n".join(run.recording))
    rng = random.Random(seed)
    for cut in (rng.randint(1, len(run.recording)) for _ in range(3)):
        name = f"late{next(numbers)}"
        Replay(name).play(recordings([str(file)], None, cut))
        told = list(reports(ReportFilter(cluster=name)))
        assert beyond(told, run.truth) == [], "\n".join((f"cut {cut}", *run.story))
        assert {job["uid"] for job in told} <= {job["uid"] for job in run.truth["jobs"]}
