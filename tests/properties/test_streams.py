"""Properties of the count over recorded streams, through the real watcher's ledger and append.

However the same streams are read - twice, in parts, in another order, by two watchers, with a list in between - the
report is the same, or the same with a gap that it declares.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count, groupby

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jobs.domain.kinds import EVENTS, PODS
from jobs.ingest.streams import StreamKey
from jobs.store import leases
from tests.properties.recorded import COUNTS, Cluster, Json, Line, lines_of, small_scenarios, told
from tests.support.truth import scenarios, truth

pytestmark = pytest.mark.django_db

numbers = count()


def every(quick: int, deep: int) -> Callable:
    """Run a property on a few examples, or on many (``deep``); new ones each time only with EXPLORE set."""

    def decorate(check: Callable[[st.DataObject], None]) -> Callable[[int], None]:
        @pytest.mark.parametrize(
            "examples", [quick, pytest.param(deep, marks=[pytest.mark.deep, pytest.mark.timeout(1800)])]
        )
        def test(examples: int) -> None:
            run = settings(
                max_examples=examples,
                deadline=None,
                database=None,
                derandomize="EXPLORE" not in os.environ,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.generate] if examples == quick else [Phase.generate, Phase.shrink],
            )
            run(given(st.data())(check))()

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


def cluster(lines: Sequence[Line], lease: leases.Lease | None = None) -> Cluster:
    made = Cluster(f"p{next(numbers)}", lines, lease)
    made.begin()
    return made


def a_scenario(data: st.DataObject) -> str:
    return data.draw(st.sampled_from(small_scenarios()), "scenario")


def cuts(data: st.DataObject, lines: Sequence[Line], most: int = 4) -> list[Sequence[Line]]:
    """The lines in parts."""
    at = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=most), "cuts"))
    return [lines[start:end] for start, end in zip([0, *at], [*at, len(lines)], strict=True)]


def a_batch(data: st.DataObject) -> int:
    return data.draw(st.sampled_from([5, 20, 60, 200]), "batch")


known: dict[str, list[Json]] = {}


def plain(scenario: str) -> list[Json]:
    """The report of an undisturbed watcher. Compared with the audit log elsewhere."""
    if scenario not in known:
        one = cluster(lines_of(scenario))
        one.watch(lines_of(scenario))
        known[scenario] = one.report()
    return known[scenario]


def bounded(jobs: list[Json], whole: list[Json]) -> Iterator[str]:
    """One line for each count above the truth, or below it and not "at least"."""
    truths = {job["uid"]: job for job in whole}
    for job in jobs:
        right = {(r["type"], r["index"]): r for r in truths[job["uid"]]["replicas"]}
        for replica in job["replicas"]:
            place = (replica["type"], replica["index"])
            for name in (n for n in ("incarnations", *COUNTS) if n != "kubectl_restarts"):
                if replica[name] > right[place][name]:
                    yield f"{place} {name} {replica[name]} above {right[place][name]}"
                if replica[name] < right[place][name] and not replica["at_least"]:
                    yield f"{place} {name} {replica[name]} below {right[place][name]}, and not at least"


@every(quick=15, deep=100)
def test_duplicates_change_nothing(data: st.DataObject) -> None:
    """Lines come again later, once or more, in any batch."""
    scenario = a_scenario(data)
    lines = lines_of(scenario)
    again = data.draw(st.lists(st.tuples(st.integers(0, len(lines) - 1), st.integers(0, 40)), max_size=40), "again")
    late: dict[int, list[Line]] = {}
    for position, later in again:
        late.setdefault(min(position + later, len(lines) - 1), []).append(lines[position])
    stream = [line for position, own in enumerate(lines) for line in (own, *late.get(position, ()))]
    one = cluster(lines)
    one.watch(stream, a_batch(data))
    assert one.report() == plain(scenario)


@every(quick=20, deep=40)
def test_a_cut_and_resume_at_any_line_loses_nothing(data: st.DataObject) -> None:
    """A new watcher goes on from the stored cursors; how far the old one had come differs by stream."""
    scenario = a_scenario(data)
    lines = lines_of(scenario)
    one, batch = cluster(lines), a_batch(data)
    for part in cuts(data, lines):
        one.watch(part, batch)
        one.restart()
    rest = one.resume(lines)
    assert rest == []
    assert one.report() == plain(scenario)


@every(quick=20, deep=40)
def test_streams_that_lag_behind_each_other_resume_each_from_its_own_cursor(data: st.DataObject) -> None:
    scenario = a_scenario(data)
    lines = lines_of(scenario)
    one, batch = cluster(lines), a_batch(data)
    for part in cuts(data, lines):
        stopped = data.draw(st.sets(st.sampled_from(one.keys)), "stopped")
        behind = one.resume(line for line in lines if not part or line.at <= part[-1].at)
        one.watch([line for line in behind if line.key not in stopped], batch)
        one.restart()
    one.watch(one.resume(lines), batch)
    assert told(one.report()) == told(plain(scenario))


@every(quick=25, deep=200)
def test_another_interleaving_of_the_streams_gives_the_same_counts(data: st.DataObject) -> None:
    """Each stream keeps its own order; across streams any order is possible, and times are those of reading."""
    scenario = a_scenario(data)
    lines = lines_of(scenario)
    mixed = interleaved(data, lines)
    stamped = [line._replace(at=lines[0].at + number / 10) for number, line in enumerate(mixed)]
    one = cluster(lines)
    one.watch(stamped, a_batch(data))
    assert told(one.report()) == told(plain(scenario))


def interleaved(data: st.DataObject, lines: Sequence[Line]) -> list[Line]:
    """The streams in runs of drawn length, each from where it was."""
    waiting = {key: [line for line in lines if line.key == key] for key in dict.fromkeys(line.key for line in lines)}
    mixed: list[Line] = []
    while waiting:
        key = data.draw(st.sampled_from(sorted(waiting)), "stream")
        length = data.draw(st.sampled_from([1, 2, 5, 30, 10_000]), "run")
        mixed.extend(waiting[key][:length])
        waiting[key] = waiting[key][length:]
        if not waiting[key]:
            del waiting[key]
    return mixed


@every(quick=8, deep=40)
def test_jobs_side_by_side_do_not_touch_each_other(data: st.DataObject) -> None:
    """Several recordings at once, merged by time or one against the other's order."""
    chosen = data.draw(st.lists(st.sampled_from(small_scenarios()), min_size=2, max_size=4, unique=True), "scenarios")
    merged = sorted((line for name in chosen for line in lines_of(name)), key=lambda line: line.at)
    if data.draw(st.booleans(), "alternately"):
        merged = alternately([list(lines_of(name)) for name in chosen])
    one = cluster(merged)
    one.watch(merged, a_batch(data))
    apart = sorted((job for name in chosen for job in plain(name)), key=lambda job: job["uid"])
    assert told(one.report()) == told(apart)


def alternately(streams: list[list[Line]]) -> list[Line]:
    return [stream[n] for n in range(max(map(len, streams))) for stream in streams if n < len(stream)]


def miss(one: Cluster, lines: Sequence[Line], lost: Collection[StreamKey]) -> None:
    """The cluster goes on, and only the streams that are not lost bring it."""
    for mine, run in groupby(lines, lambda line: line.key not in lost):
        (one.watch if mine else one.pass_by)(list(run))


@every(quick=25, deep=200)
def test_a_410_at_any_line_is_a_declared_gap(data: st.DataObject) -> None:
    """Some streams stop, the cluster goes on, and they list again: at least, and never above the truth."""
    scenario = data.draw(st.sampled_from(small_scenarios()), "scenario")
    lines = lines_of(scenario)
    one, batch = cluster(lines), a_batch(data)
    declared = False
    for part in cuts(data, lines):
        lost = data.draw(st.sets(st.sampled_from(one.keys)), "lost")
        start = data.draw(st.integers(0, len(part)), "watched until")
        one.watch(part[:start], batch)
        miss(one, part[start:], lost)
        for key in sorted(lost):
            one.expire(key)
            declared = declared or key.resource != EVENTS
    report = one.report()
    assert list(bounded(report, plain(scenario))) == []
    if not declared:
        assert told(report) == told(plain(scenario))


@every(quick=15, deep=100)
def test_a_list_in_between_changes_nothing_but_that_it_is_declared(data: st.DataObject) -> None:
    """Nothing was lost: every count, code and cause stays; a list of pods or jobs makes them "at least"."""
    scenario = a_scenario(data)
    lines = lines_of(scenario)
    one, batch = cluster(lines), a_batch(data)
    parts = cuts(data, lines)
    for part in parts:
        one.watch(part, batch)
        for key in sorted(data.draw(st.sets(st.sampled_from(one.keys)), "listed")):
            one.expire(key)
    assert undeclared(told(one.report())) == undeclared(told(plain(scenario)))


def undeclared(jobs: list[Json]) -> list[Json]:
    return [
        {**job, "at_least": None, "replicas": [{**replica, "at_least": None} for replica in job["replicas"]]}
        for job in jobs
    ]


@every(quick=15, deep=100)
def test_two_watchers_on_the_same_stream(data: st.DataObject) -> None:
    """Each takes the lease from the other at any line; what the older one then writes is refused as a whole."""
    scenario = a_scenario(data)
    lines = lines_of(scenario)
    one = cluster(lines)
    one.restart(acquire(one))
    for part in cuts(data, lines):
        one.watch(part, a_batch(data))
        older = one.watcher
        one.restart(acquire(one))
        ahead = data.draw(st.integers(0, 30), "ahead")
        going_on = one.resume(lines)[:ahead]
        if going_on:
            with pytest.raises(leases.LeaseLost):
                older.take([(line.key, line.message()) for line in going_on])
    one.watch(one.resume(lines))
    assert one.report() == plain(scenario)


def acquire(one: Cluster) -> leases.Lease:
    lease = leases.acquire(one.watcher.cluster, "test", one.now, take_over=True)
    assert lease is not None
    return lease


# --- not drawn: every line of one recording


@pytest.mark.parametrize("lost", ["pods", "jobs", "both"])
@pytest.mark.parametrize("missed", [1, 12])
@pytest.mark.parametrize("step", [40, pytest.param(5, marks=[pytest.mark.deep, pytest.mark.timeout(1800)])])
def test_a_410_at_each_line_of_the_seed_experiment(step: int, lost: str, missed: int) -> None:
    """So many lines are missed there: at least, and never above the truth."""
    lines = lines_of("seed-exitcode-138")
    for start in range(0, len(lines), step):
        one = cluster(lines)
        keys = [key for key in one.keys if is_lost(key, lost)]
        one.watch(lines[:start])
        miss(one, lines[start : start + missed], keys)
        for key in keys:
            one.expire(key)
        one.watch(lines[start + missed :])
        assert list(bounded(one.report(), plain("seed-exitcode-138"))) == [], start


def is_lost(key: StreamKey, lost: str) -> bool:
    return (key.resource == PODS and lost != "jobs") or (key.resource.startswith("tfjobs") and lost != "pods")


def test_the_undisturbed_watcher_tells_the_truth() -> None:
    """What the properties compare with is itself right."""
    for scenario in small_scenarios():
        jobs = {job["uid"]: job for job in plain(scenario)}
        for job in truth(scenario)["jobs"]:
            assert jobs[job["uid"]]["true_restarts"] == job["true_restarts"], scenario
    assert set(scenarios()) - set(small_scenarios()) == {"wave-60"}
