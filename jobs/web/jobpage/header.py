"""The header of the job page: the sentence that says what happened, findings, and the facts below it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.domain.cost import cost
from jobs.domain.ending import ended
from jobs.domain.findings import findings
from jobs.domain.intervals import job_end, restarting, unobserved
from jobs.domain.lengths import restarting_length, waits_length
from jobs.domain.report import restart_policy
from jobs.domain.said import Evidence, Finding, Said, replica_words
from jobs.domain.state import RESTARTING_LANE, Incarnation, JobState
from jobs.domain.totals import incomplete, proven_creations
from jobs.models import Job, Restart
from jobs.numbers import number
from jobs.store.pages.changes import RestartSum
from jobs.store.pages.jobs import shown_state
from jobs.web.formats import duration
from jobs.web.jobpage.story import kubectl_story, story
from jobs.words import cause_words, said_words

SHORT = 0.1  # seconds: a Restarting shorter than this no poll will ever see
FIRST_TOLD = {
    "first-failure",
    "restart-wave",
    "restart-wave-node",
    "gang-restarted",
}  # findings that name the first cause
FINDINGS_SHOWN = 40
LATE_TOLD = 3  # intervals that were read late, the newest
EVIDENCE_LINKED = 3  # observations linked from one finding


@dataclass
class Fact:
    """One labelled value below the sentence. ``share``: 0..1 where a bar says it, too."""

    label: str
    text: str
    at: float | None = None
    share: float | None = None
    note: str = ""
    good: bool = False  # much of it is good


@dataclass
class Told:
    """An ending or a finding in words. ``evidence``: queries of the Facts tab."""

    code: str
    severity: str
    sentence: str
    at: float | None
    evidence: list[str]

    @property
    def only_gone(self) -> bool:
        """Whether it says no more than that the job went, which the header tells with its time."""
        return self.code in ("job-deleted", "job-vanished")


@dataclass
class Header:
    job: Job
    shown: str
    sentence: str
    kubectl_sentence: str
    ended: Told | None
    findings: list[Told]
    more_findings: int
    facts: list[Fact]
    gaps: list[tuple[float | None, float]]
    pods_unwatched_since: float | None
    job_unwatched_since: float | None
    late: list[tuple[float, float]]
    more_late: int
    restarting_since: float | None
    vanished: tuple[float, float] | None


def header(
    row: Job,
    job: JobState,
    first: Restart | None,
    sums: Sequence[RestartSum],
    *,
    known: float,
    end: float | None,
) -> Header:
    """``first``: the oldest restart. ``known``: the last moment that something is known of. ``end``: None if live."""
    why = ended(job)
    found = _kinds_first(findings(job, known))
    told = FIRST_TOLD & {one.code for one in found}
    return replace(
        light_header(row, job),
        sentence=story(row, sums, proven_creations(job) if incomplete(job) else {}),
        ended=_told(why, "") if why is not None else None,
        findings=[_told(one, one.severity) for one in found[:FINDINGS_SHOWN]],
        more_findings=max(0, len(found) - FINDINGS_SHOWN),
        facts=_facts(job, None if told else _first_cause(job, first), end if end is not None else known),
    )


def _kinds_first(found: list[Finding]) -> list[Finding]:
    """The first finding of each kind, then the others: 20 waves must not hide what else there is."""
    first: dict[str, Finding] = {}
    others = [one for one in found if first.setdefault(one.code, one) is not one]
    return [*first.values(), *others]


def light_header(row: Job, job: JobState) -> Header:
    """What can be said without the job's pods and restarts; the timeline's first answer brings the sentence."""
    late = _late(job)
    return Header(
        job=row,
        shown=shown_state(row),
        sentence="",
        kubectl_sentence=kubectl_story(row),
        ended=None,
        findings=[],
        more_findings=0,
        facts=[],
        gaps=_gaps(job),
        pods_unwatched_since=job.unwatched.get("pods"),
        job_unwatched_since=job.unwatched.get("jobs"),
        late=late[-LATE_TOLD:],
        more_late=max(0, len(late) - LATE_TOLD),
        restarting_since=row.restarting_since,
        vanished=job.vanished,
    )


def _told(said: Said, severity: str) -> Told:
    links = [evidence_query(one) for one in said.evidence[:EVIDENCE_LINKED]]
    return Told(said.code, severity, said_words(said), said.at, links)


def evidence_query(evidence: Evidence) -> str:
    """The part of an address that shows one object's observations on the Facts tab, from that moment back."""
    moment = {} if evidence.at is None else {"at": f"{evidence.at:.6f}"}
    return urlencode({"tab": "facts", "object": evidence.uid, **moment})


def _gaps(job: JobState) -> list[tuple[float | None, float]]:
    """The intervals that were not observed; streams that were listed within a second of each other had one gap, for a
    reader."""
    merged: list[tuple[float | None, float]] = []
    for start, end in unobserved(job):
        if end is None:
            continue
        if merged and start is not None and start - merged[-1][1] < 1.0:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def _late(job: JobState) -> list[tuple[float, float]]:
    """What was read late and not missed; streams that came back within a second of each other are told of once."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(job.late, key=lambda late: late[1]):
        if merged and end - merged[-1][1] < 1.0:
            merged[-1] = (min(start, merged[-1][0]), end)
        else:
            merged.append((start, end))
    return merged


def _facts(job: JobState, cause: Fact | None, end: float) -> list[Fact]:
    """``cause``: what failed first, where no finding says so."""
    found = [cause, _backoff(job), _productive(job, end), _shown(job, end), _queue(job)]
    return [fact for fact in found if fact is not None]


def _first_cause(job: JobState, first: Restart | None) -> Fact | None:
    failed = _first_failure(job)
    if first is not None:
        who = replica_words((first.replica_type, first.replica_index, first.job_index))
        if failed is None or failed.ended_at is None or (first.at or 0.0) <= failed.ended_at:
            return Fact(_("First cause"), f"{who}: {cause_words(first.cause)}", at=first.at)
    if failed is None:
        return None
    return Fact(
        _("First cause"),
        f"{replica_words((failed.type, failed.index, failed.job_index))}: {cause_words(failed.cause)}",
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


def _productive(job: JobState, end: float) -> Fact | None:
    """Share of the job's life in which no replica waited for a restart; an upper bound where somebody looked away."""
    paid = cost(job, end)
    if paid.productive is None or not paid.incomplete:
        return None
    restarts = sum(replica.recreations + replica.in_place for replica in job.replicas.values())
    if waits_length(paid.replica_seconds, restarts).seconds is None:
        return Fact(_("Productive"), _("not measured"))
    lost = _("%(lost)s of %(life)s lost to restarts") % {"lost": duration(paid.incomplete), "life": duration(paid.life)}
    # Rounded down: 100 % is said by a job that lost nothing.
    percent = int(paid.productive * 100)
    about = "≤ " if incomplete(job) else "≈ " if job.late else ""
    text = f"{about}{percent} %"
    return Fact(_("Productive"), text, share=paid.productive, note=lost, good=True)


def _shown(job: JobState, end: float) -> Fact | None:
    spans = [span for span in job.spans.get(RESTARTING_LANE, ()) if span.start is not None]
    highlights = restarting(job)
    if not spans:
        return Fact(_("Condition Restarting"), _("never shown"), note=_("seen from the pods")) if highlights else None
    over = job_end(job)
    lengths = [restarting_length(span, job, over, end) for span in spans]
    short = sum(known is not None and known.under(SHORT) for known in lengths)
    text = ngettext("shown %s time", "shown %s times", len(spans)) % number(len(spans))
    note = ngettext("%s for less than 0.1 s", "%s for less than 0.1 s", short) % number(short) if short else ""
    return Fact(_("Condition Restarting"), text, note=note)


def _queue(job: JobState) -> Fact | None:
    group = job.podgroup
    members = (group.min_member if group else None) or (job.facts.min_member if job.facts else None)
    queue = (group.queue if group else None) or (job.facts.queue if job.facts else None)
    if not members and not queue:
        return None
    gang = _("gang of %s") % number(members) if members else ""
    return Fact(_("Queue"), ", ".join(part for part in (queue, gang) if part))
