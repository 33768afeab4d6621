"""The header of the job page: the sentence that says what happened, and the facts below it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.domain.intervals import restarting, unobserved
from jobs.domain.report import restart_policy
from jobs.domain.state import RESTARTING_LANE, Incarnation, JobState, Replica, ReplicaKey
from jobs.domain.totals import Numbers, proven_creations, replica_numbers
from jobs.models import Job, Restart
from jobs.store.pages.jobs import shown_state
from jobs.web.formats import chip_text, duration
from jobs.web.timeline import start_of

SHORT = 0.1  # seconds: a Restarting shorter than this no poll will ever see
CODES_NAMED = 3


@dataclass
class Fact:
    """One labelled value below the sentence. ``share``: 0..1 where a bar says it, too."""

    label: str
    text: str
    at: float | None = None
    share: float | None = None
    note: str = ""


@dataclass
class Header:
    job: Job
    shown: str
    sentence: str
    kubectl_sentence: str
    facts: list[Fact]
    gaps: list[tuple[float | None, float]]
    restarting_since: float | None
    vanished: tuple[float, float] | None


def header(row: Job, job: JobState, restarts: Sequence[Restart], now: float, end: float | None) -> Header:
    """``restarts``: newest first. ``end``: last moment that is known, None while the job is live."""
    counting = [restart for restart in restarts if restart.counts]
    return Header(
        job=row,
        shown=shown_state(row),
        sentence=_sentence(row, job, counting),
        kubectl_sentence=_kubectl_sentence(row),
        facts=_facts(job, counting, end if end is not None else now),
        gaps=_gaps(job),
        restarting_since=row.restarting_since,
        vanished=job.vanished,
    )


def _gaps(job: JobState) -> list[tuple[float | None, float]]:
    """The unobserved intervals; streams that were listed within a second of each other had one gap, for a reader."""
    merged: list[tuple[float | None, float]] = []
    for start, end in unobserved(job):
        if merged and start is not None and start - merged[-1][1] < 1.0:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def _sentence(row: Job, job: JobState, restarts: Sequence[Restart]) -> str:
    if row.true_restarts == 0:
        return _("No restart was seen, but not all of its life was watched.") if row.at_least else _("No restarts.")
    proven = proven_creations(job)
    keys = {**job.replicas, **dict.fromkeys(proven)}
    found = {k: replica_numbers(job, job.replicas.get(k) or Replica(k), proven.get(k, 0)) for k in keys}
    busy = {key: numbers for key, numbers in found.items() if numbers.true}
    worst = max(busy, key=lambda key: busy[key].true)
    if busy[worst].true * 2 > row.true_restarts:
        return _worst_first(busy, worst, restarts)
    return ngettext(
        "%(replicas)d replicas restarted %(count)d time in all%(codes)s.",
        "%(replicas)d replicas restarted %(count)d times in all%(codes)s.",
        row.true_restarts,
    ) % {"replicas": len(busy), "count": row.true_restarts, "codes": _codes(restarts)}


def _worst_first(busy: dict[ReplicaKey, Numbers], worst: ReplicaKey, restarts: Sequence[Restart]) -> str:
    """One replica has most of the restarts: the sentence is about it, and a second one names the rest."""
    own = [r for r in restarts if (r.replica_type, r.replica_index, r.job_index) == worst]
    story = _one_replica(worst, busy[worst], own)
    others = len(busy) - 1
    if not others:
        return story
    rest = sum(numbers.true for numbers in busy.values()) - busy[worst].true
    more = ngettext("%(others)d other replica restarted", "%(others)d other replicas restarted", others)
    times = ngettext("%(rest)d time", "%(rest)d times", rest)
    return f"{story} {more % {'others': others}} {times % {'rest': rest}}."


def _one_replica(key: ReplicaKey, numbers: Numbers, restarts: Sequence[Restart]) -> str:
    words = {"replica": replica_name(key), "count": numbers.true, "codes": _codes(restarts)}
    if numbers.in_place and numbers.recreations:
        text = _("%(replica)s was recreated %(recreations)d and restarted in place %(in_place)d times%(codes)s.")
        return text % {**words, "recreations": numbers.recreations, "in_place": numbers.in_place}
    if numbers.in_place:
        text = ngettext(
            "%(replica)s was restarted in place %(count)d time%(codes)s.",
            "%(replica)s was restarted in place %(count)d times%(codes)s.",
            numbers.true,
        )
    else:
        text = ngettext(
            "%(replica)s has been recreated %(count)d time%(codes)s.",
            "%(replica)s has been recreated %(count)d times%(codes)s.",
            numbers.true,
        )
    return text % words


def _codes(restarts: Sequence[Restart]) -> str:
    """``, each time after exit code 138``, or the most frequent codes."""
    counted = Counter(end_name(restart) for restart in restarts)
    if not counted:
        return ""
    if len(counted) == 1:
        name = next(iter(counted))
        return (_(", each time after %s") if len(restarts) > 1 else _(", after %s")) % name
    named = [f"{name} ×{count}" if count > 1 else name for name, count in counted.most_common(CODES_NAMED)]
    more = len(counted) - len(named)
    if more:
        named.append(ngettext("%d other", "%d others", more) % more)
    return _(" (%s)") % ", ".join(named)


def end_name(restart: Restart) -> str:
    """What ended the run, in two or three words."""
    if restart.exit_code is None:
        return restart.cause
    text = chip_text(restart.exit_code, restart.cause_code == "oom")
    return _("exit code %s") % text


def _kubectl_sentence(row: Job) -> str:
    if row.true_restarts == 0:
        if row.kubectl_restarts:
            return _("What kubectl counts are other containers: no main container restarted.")
        return ""
    if row.hidden_restarts == 0:
        return _("kubectl shows all of it.")
    if row.hidden_restarts == row.true_restarts:
        return _("kubectl shows none of it.")
    return (
        ngettext("kubectl does not show %d of them.", "kubectl does not show %d of them.", row.hidden_restarts)
        % row.hidden_restarts
    )


def replica_name(key: ReplicaKey) -> str:
    """``worker 0``; with the job index before it where there is one."""
    kind, index, job_index = key
    return f"{kind} {job_index}/{index}" if job_index else f"{kind} {index}"


def _facts(job: JobState, restarts: Sequence[Restart], end: float) -> list[Fact]:
    found = [_first_cause(job, restarts), _backoff(job), _lost(job, end), _shown(job, end), _queue(job)]
    return [fact for fact in found if fact is not None]


def _first_cause(job: JobState, restarts: Sequence[Restart]) -> Fact | None:
    known = [restart for restart in restarts if restart.at is not None]
    failed = _first_failure(job)
    if known:
        first = min(known, key=lambda restart: restart.at or 0.0)
        who = replica_name((first.replica_type, first.replica_index, first.job_index))
        if failed is None or failed.ended_at is None or (first.at or 0.0) <= failed.ended_at:
            return Fact(_("First cause"), f"{who}: {first.cause}", at=first.at)
    if failed is None:
        return None
    return Fact(
        _("First cause"),
        f"{replica_name((failed.type, failed.index, failed.job_index))}: {failed.cause}",
        at=failed.ended_at,
    )


def _first_failure(job: JobState) -> Incarnation | None:
    """The pod whose end came first in a job that failed; none for jobs that go on."""
    if job.state != "Failed":
        return None
    ended = [pod for pod in job.pods.values() if pod.ended_at is not None and pod.cause_code not in ("completed", None)]
    return min(ended, key=lambda pod: pod.ended_at or 0.0, default=None)


def _backoff(job: JobState) -> Fact | None:
    limit = job.facts.backoff_limit if job.facts else None
    if limit is None:
        return None
    policies = {restart_policy(job, replica.key[0]) for replica in job.replicas.values()}
    label = f"backoffLimit {limit}"
    if limit == 0:
        return Fact(label, _("the first failure ends the job"))
    if policies == {"ExitCode"}:
        return Fact(label, _("not enforced under ExitCode"), note=_("restarts are unlimited"))
    if "ExitCode" in policies:
        return Fact(label, _("not enforced for ExitCode replicas"), note=_("it counts restarts in place only"))
    return Fact(label, _("counts restarts in place, of all containers"))


def _lost(job: JobState, end: float) -> Fact | None:
    start = start_of(job)
    lost = sum((h.end if h.end is not None else end) - h.start for h in restarting(job))
    if not lost or start is None or end <= start:
        return None
    life = (job.finished_at or job.deleted_at or end) - start
    text = _("%(lost)s of %(life)s") % {"lost": duration(lost), "life": duration(life)}
    return Fact(_("Lost to restarts"), text, share=min(1.0, lost / life) if life > 0 else None)


def _shown(job: JobState, end: float) -> Fact | None:
    spans = [span for span in job.spans.get(RESTARTING_LANE, ()) if span.start is not None]
    highlights = restarting(job)
    if not spans:
        return Fact(_("Condition Restarting"), _("never shown"), note=_("seen from the pods")) if highlights else None
    short = sum((span.end if span.end is not None else end) - (span.start or 0.0) < SHORT for span in spans)
    text = ngettext("shown %d time", "shown %d times", len(spans)) % len(spans)
    note = ngettext("%d for less than 0.1 s", "%d for less than 0.1 s", short) % short if short else ""
    return Fact(_("Condition Restarting"), text, note=note)


def _queue(job: JobState) -> Fact | None:
    group = job.podgroup
    members = (group.min_member if group else None) or (job.facts.min_member if job.facts else None)
    queue = (group.queue if group else None) or (job.facts.queue if job.facts else None)
    if not members and not queue:
        return None
    gang = _("gang of %d") % members if members else ""
    return Fact(_("Queue"), ", ".join(part for part in (queue, gang) if part))
