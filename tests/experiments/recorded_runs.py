"""Which recordings of a real cluster are runs of an experiment, and with which values of its parameters."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jobs.domain.kinds import BY_RESOURCE
from jobs.domain.state import JobState
from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import Experiment, Observed, Step
from jobs.experiments.parameters import defaults
from jobs.experiments.verdict import Verdict, judge
from tests.experiments.observing import Watched, lines_of, replayed

FOREVER = 24 * 3600.0


@dataclass(frozen=True)
class RecordedRun:
    """``recordings``: one for each created object, in their order; "": that object was not recorded. A recording of
    several jobs stands for all of them."""

    experiment: str
    recordings: tuple[str, ...]
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def of(self) -> Experiment:
        return experiments()[self.experiment]

    @property
    def all_values(self) -> dict[str, Any]:
        return defaults(self.of) | self.values

    @property
    def recorded_jobs(self) -> set[int]:
        """The positions of the objects that were recorded."""
        if len(self.recordings) == 1:
            return set(range(100))
        return {number for number, name in enumerate(self.recordings) if name}

    def steps(self, verdict: Verdict) -> list[tuple[Step, Any]]:
        """The outcomes of those steps that the recordings tell about."""
        return [(step, outcome) for step, outcome in verdict.steps if step.job in self.recorded_jobs]


SWEPT = (0, 1, 2, 126, 128, 130, 137, 138, 139, 143)
RECORDED_RUNS = (
    RecordedRun("seed", ("seed-exitcode-138",), {"runs_for": 30}),
    RecordedRun("tf-normal", ("tf-normal",), {"runs_for": 15}),
    RecordedRun("pt-normal", ("pt-normal",), {"runs_for": 20}),
    RecordedRun("onfailure-one-worker", ("tf-onfailure-one-worker",), {"fails_after": 6, "runs_for": 120}),
    RecordedRun("failing-ps", ("tf-ps-fails",), {"fails_after": 8, "runs_for": 70}),
    RecordedRun("failing-master", ("pt-exitcode-master",), {"fails_after": 7, "runs_for": 60}),
    RecordedRun(
        "exit-code-sweep",
        tuple(f"exit-sweep-{code}" for code in SWEPT),
        {"codes": ", ".join(map(str, SWEPT)), "fails_after": 4, "runs_for": 25},
    ),
    RecordedRun("oom", ("oom-killed",), {"fails_after": 3, "memory": 16}),
    RecordedRun("eviction", ("evict-exitcode",), {"policy": "ExitCode", "runs_for": 45, "heeds_sigterm": True}),
    RecordedRun("eviction", ("evict-onfailure",), {"policy": "OnFailure", "runs_for": 45, "heeds_sigterm": True}),
    RecordedRun("delete-pod", ("", "delete-pod-exitcode"), {"runs_for": 50, "heeds_sigterm": True}),
    RecordedRun("node-lost", ("node-lost",), {"toleration": 8, "silent": 114, "runs_for": 150}),
    RecordedRun("suspend-resume", ("suspend-resume",), {"acts_after": 5, "pause": 15, "runs_for": 20}),
    RecordedRun(
        "backoff-limit", ("pt-onfailure-one-worker", ""), {"code": 1, "fails_after": 6, "workers": 3, "runs_for": 80}
    ),
    RecordedRun(
        "backoff-limit", ("", "pt-exitcode-worker"), {"code": 255, "fails_after": 8, "backoff_limit": 2, "runs_for": 60}
    ),
    RecordedRun("deadline", ("active-deadline",), {"deadline": 20, "fails_after": 3}),
    RecordedRun("gang-does-not-fit", ("gang-waits",), {"waits": 20, "cpu": 1600}),
    RecordedRun("failing-sidecar", ("sidecar-fails", ""), {"runs_for": 12}),
    RecordedRun("failing-sidecar", ("", "sidecar-restarts"), {"runs_for": 45}),
    RecordedRun("start-error", ("bad-command",), {"restarts": 2}),
    RecordedRun("missing-image", ("bad-image",)),
    RecordedRun("backoff-zero", ("backoff-zero",), {"fails_after": 5, "runs_for": 40}),
    RecordedRun("restart-wave", ("wave-60",), {"workers": 60, "first": 17, "fails_after": 40}),
    RecordedRun("name-reuse", ("name-reuse",), {"fails_after": 6, "runs_for": 60}),
    RecordedRun("completed-pod-again", ("completed-pod-deleted",), {"runs_for": 45}),
)


def run_id(run: RecordedRun) -> str:
    return f"{run.experiment}-{'+'.join(filter(None, run.recordings))}"[:60]


def jobs_of(watched: Watched) -> list[JobState]:
    return list(watched.jobs.values())


def at_the_end(run: RecordedRun, later: float = 0.0) -> Observed:
    """Everything that the recordings hold, looked at ``later`` seconds after their end.

    Recordings of several jobs that ran at different times begin at different moments; each is judged by its own clock,
    so the launch is the latest one's only for the steps' deadlines.
    """
    watched = [replayed(name) if name else None for name in run.recordings]
    if len(watched) == 1 and watched[0] is not None:
        jobs: tuple[JobState | None, ...] = tuple(jobs_of(watched[0]))
    else:
        jobs = tuple(jobs_of(each)[0] if each is not None else None for each in watched)
    launched = max(launch_of(name) for name in run.recordings if name)
    end = max(each.last_at for each in watched if each is not None)
    return Observed(jobs, launched, end + later)


def launch_of(recording: str) -> float:
    return float(next(line["received_at"] for line in lines_of(recording) if line["resource"] in BY_RESOURCE))


def as_it_went(run: RecordedRun, every: float = 1.0) -> Iterator[Observed]:
    """What was known every second while a recording of a single folder went on."""
    (recording,) = run.recordings
    watched, launched = Watched(), launch_of(recording)
    due = launched
    for line in lines_of(recording):
        while line["received_at"] > due:
            yield Observed(tuple(jobs_of(watched)), launched, due)
            due += every
        watched.take(line["received_at"], line["resource"], line["type"], line["object"])
    yield Observed(tuple(jobs_of(watched)), launched, due)


def verdict_on(run: RecordedRun, observed: Observed) -> Verdict:
    return judge(run.of, run.all_values, observed)
