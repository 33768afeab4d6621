"""The tabs below the timeline: each gives the rows of its table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from jobs.domain.causes import last_code
from jobs.domain.codes import documented_class, retried, signal_name
from jobs.domain.cost import cost
from jobs.domain.count import position_of
from jobs.domain.intervals import job_end, may_hide_others
from jobs.domain.lengths import Length, restarting_length, span_length, waits_length
from jobs.domain.report import flags, restart_policy
from jobs.domain.restarts import lived
from jobs.domain.said import replica_words
from jobs.domain.state import PODGROUP_LANE, RESTARTING_LANE, STATE_LANE, Incarnation, JobState, Replica, Span
from jobs.domain.totals import Numbers, proven_creations, replica_numbers
from jobs.models import LogTail, Observation, Restart
from jobs.numbers import number
from jobs.store.pages.job import EventRow
from jobs.web.formats import chip_text
from jobs.words import cause_words, excluded_words, piece

RESTARTS_SHOWN = 200
PODS_SHOWN = 500
REPLICAS_SHOWN = 500
LOGS_SHOWN = 100
UNSEEN_BY_POLLING = 1.0  # seconds: what is shorter, `kubectl get` once a second may well not print


@dataclass
class RestartRow:
    number: int
    restart: Restart
    replica: str
    chip: str
    signal: str
    documented: str
    actual: str
    cause: str
    in_place: bool
    lived: float | None
    gap: float | None
    unwatched: bool
    """Others may have run before the pod that was seen next: when the replica ran again is not known."""
    shown_for: Length | None
    """For how long the job's condition said Restarting; None where it never did."""


def restart_rows(job: JobState, newest: Sequence[Restart], total: int, end: float) -> list[RestartRow]:
    """``newest``: the newest of ``total`` restarts that count, newest first."""
    spans = [span for span in job.spans.get(RESTARTING_LANE, ()) if span.start is not None]
    over = job_end(job)
    lengths = [restarting_length(span, job, over, end) for span in spans]
    shown = [(span, known) for span, known in zip(spans, lengths, strict=True) if known is not None]
    until = end if over is None else min(over, end)
    return [_restart_row(job, r, total - n, shown, until) for n, r in enumerate(newest)]


def _restart_row(
    job: JobState, restart: Restart, number: int, shown: list[tuple[Span, Length]], end: float
) -> RestartRow:
    code = restart.exit_code
    again = restart.running_again_at
    pod = job.pods.get(restart.pod_uid)
    unwatched = pod is not None and restart.number == 0 and _is_unwatched_after(job, pod)
    return RestartRow(
        number=number,
        restart=restart,
        replica=replica_words((restart.replica_type, restart.replica_index, restart.job_index)),
        chip=chip_text(code, restart.cause_code == "oom"),
        signal=(signal_name(code) or "") if code is not None else "",
        documented=piece(documented_class(code)) if code is not None and code > 0 else "",
        actual=_actual(restart),
        cause=cause_words(restart.cause),
        in_place=restart.number > 0,
        lived=lived(pod, restart.number) if pod is not None else None,
        gap=again - restart.at if again is not None and restart.at is not None and not unwatched else None,
        unwatched=unwatched,
        shown_for=_shown_for(restart, shown, end),
    )


def _is_unwatched_after(job: JobState, pod: Incarnation) -> bool:
    replica = job.replicas[pod.type, pod.index, pod.job_index]
    return pod.followed and may_hide_others(pod, replica.incarnations[position_of(replica, pod) + 1])


def _actual(restart: Restart) -> str:
    if restart.number > 0:
        return _("restarted in place")
    if restart.exit_code is not None and restart.cause_code in ("exit", "oom", "start-error"):
        return _("retried") if retried(restart.exit_code) else _("recreated all the same")
    return _("recreated")


def _shown_for(restart: Restart, shown: list[tuple[Span, Length]], end: float) -> Length | None:
    if restart.at is None:
        return None
    until = restart.running_again_at if restart.running_again_at is not None else end
    for span, known in shown:
        stop = span.end if span.end is not None else end
        # What was read with its end began before that: up to a second more than the cluster says.
        start = (span.start or 0.0) if known.said is None else stop - known.said - 1
        if start <= until and stop >= restart.at:
            return known
    return None


@dataclass
class ReplicaRow:
    replica: Replica
    name: str
    policy: str
    numbers: Numbers
    flags: list[str]
    last: str
    last_code: int | None
    now: str
    node: str
    newest_uid: str
    waited: Length | None
    """Between the end of a run and Running of the next, summed; None for no wait."""


def replica_rows(job: JobState, end: float) -> tuple[list[ReplicaRow], int]:
    """Those that restarted most first, at most REPLICAS_SHOWN, and how many were left out."""
    waited = cost(job, end).waited
    proven = proven_creations(job)
    keys = sorted({**job.replicas, **dict.fromkeys(proven)})
    replicas = [job.replicas.get(key) or Replica(key) for key in keys]
    numbers = {one.key: replica_numbers(job, one, proven.get(one.key, 0)) for one in replicas}
    shown = sorted(replicas, key=lambda one: -numbers[one.key].true)[:REPLICAS_SHOWN]
    rows = [_replica_row(job, one, numbers[one.key], waited.get(one.key, 0.0)) for one in shown]
    return rows, len(replicas) - len(rows)


def _replica_row(job: JobState, replica: Replica, numbers: Numbers, waited: float) -> ReplicaRow:
    newest = replica.incarnations[-1] if replica.incarnations else None
    ended = next((pod for pod in reversed(replica.incarnations) if pod.ends), None)
    code = last_code(ended) if ended else None
    oom = bool(ended and ended.ends[-1].reason == "OOMKilled")
    return ReplicaRow(
        replica=replica,
        name=replica_words(replica.key),
        policy=restart_policy(job, replica.key[0]) or "",
        numbers=numbers,
        flags=flags(job, replica),
        last=chip_text(code, oom) if ended else "",
        last_code=code,
        now=_now(newest),
        node=newest.node or "" if newest else "",
        newest_uid=newest.uid if newest else "",
        waited=waits_length(waited, numbers.true) if waited else None,
    )


def _now(pod: Incarnation | None) -> str:
    """What the newest pod does, in kubectl's words."""
    if pod is None:
        return _("not seen")
    if pod.gone:
        return _("deleted")
    if pod.deleting_at is not None:
        return "Terminating"
    if pod.waiting_reason:
        return pod.waiting_reason
    if pod.unschedulable and pod.phase == "Pending":
        return _("Pending, not schedulable")
    return pod.phase or _("unknown")


@dataclass
class PhaseRow:
    lane: str
    value: str
    start: float | None
    end: float | None
    length: Length | None
    reason: str
    hidden: bool
    """Too short for a poll to see."""


def phase_rows(job: JobState, end: float) -> list[PhaseRow]:
    """State and Restarting as the job's conditions said, oldest first."""
    spans = [*job.spans.get(STATE_LANE, ()), *job.spans.get(RESTARTING_LANE, ())]
    spans.sort(key=lambda span: (span.start is not None, span.start or 0.0))
    # The state lane says Restarting, too, while the condition holds: shown once.
    conditions = {span.start for span in spans if span.lane == RESTARTING_LANE}
    over = job_end(job)
    rows = []
    for span in spans:
        if span.lane == STATE_LANE and span.value == "Restarting" and span.start in conditions:
            continue
        restarting = span.lane == RESTARTING_LANE
        known = restarting_length(span, job, over, end) if restarting else span_length(span, end)
        short = span.end is not None and known is not None and known.under(UNSEEN_BY_POLLING)
        reason = str(span.detail.get("reason") or span.detail.get("message") or "")
        rows.append(PhaseRow(span.lane, span.value, span.start, span.end, known, reason, short))
    return rows


@dataclass
class PodGroupRow:
    span: Span
    members: str
    seconds: float | None


def podgroup_rows(job: JobState, end: float) -> list[PodGroupRow]:
    rows = []
    for span in job.spans.get(PODGROUP_LANE, ()):
        least = span.detail.get("min_member")
        running = number(int(span.detail.get("running") or 0))
        members = f"{running}/{number(int(least))}" if least else running
        seconds = (span.end if span.end is not None else end) - span.start if span.start is not None else None
        rows.append(PodGroupRow(span, members, seconds))
    return rows


def event_rows(events: Sequence[EventRow]) -> list[dict[str, Any]]:
    """The facts of Events, with the moment of the last one; newest first."""
    rows = []
    for event in events:
        facts = json.loads(event.facts)
        rows.append({**facts, "at": facts.get("last_at") or facts.get("first_at") or event.observed_at})
    return sorted(rows, key=lambda row: -row["at"])


@dataclass
class LogRow:
    replica: str
    pod: str
    ended_at: float | None
    chip: str
    code: int | None
    message: str
    """The termination message, which Kubernetes keeps itself."""
    text: str
    problem: str


def log_rows(job: JobState, logs: Sequence[LogTail]) -> list[LogRow]:
    """One row for each run whose log was asked for or that left a termination message, newest first."""
    kept = {(log.pod_uid, log.container_id): log for log in logs}
    rows = []
    for pod in job.pods.values():
        for end in pod.ends:
            log = kept.get((pod.uid, end.container_id or ""))
            if log is None and not end.message:
                continue
            rows.append(
                LogRow(
                    replica=replica_words((pod.type, pod.index, pod.job_index)),
                    pod=pod.name,
                    ended_at=end.at,
                    chip=chip_text(end.exit_code, end.reason == "OOMKilled"),
                    code=end.exit_code,
                    message=end.message or "",
                    text=log.text if log else "",
                    problem=log.problem if log else "",
                )
            )
    return sorted(rows, key=lambda row: -(row.ended_at or 0))[:LOGS_SHOWN]


@dataclass
class FactRow:
    observation: Observation
    facts: str


def fact_rows(observations: Sequence[Observation]) -> list[FactRow]:
    """Observations with their facts as indented JSON."""
    return [FactRow(o, json.dumps(json.loads(o.facts), indent=1, ensure_ascii=False)) for o in observations]


@dataclass
class PodRow:
    pod: Incarnation
    replica: str
    chip: str
    code: int | None
    cause: str
    excluded: str
    """Why its recreation is no restart."""


def pod_rows(job: JobState) -> tuple[list[PodRow], int]:
    """The timeline as a table: incarnations by replica and age, at most PODS_SHOWN, and how many were left out."""
    rows = []
    for key in sorted(job.replicas):
        for pod in job.replicas[key].incarnations:
            code = last_code(pod)
            chip = chip_text(code, pod.ends[-1].reason == "OOMKilled") if pod.ends else ""
            rows.append(
                PodRow(pod, replica_words(key), chip, code, cause_words(pod.cause), excluded_words(pod.excluded))
            )
    return rows[:PODS_SHOWN], max(0, len(rows) - PODS_SHOWN)
