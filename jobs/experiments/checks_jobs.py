"""Checks of a whole job: its PodGroup, its conditions, its end, and what is left of it.

``job`` is the position among the created objects.
"""

from jobs.domain.ending import ended
from jobs.domain.state import PODGROUP_LANE, STATE_LANE, JobState, Span
from jobs.domain.totals import incomplete
from jobs.experiments.checks import differs, met, of_job, over, over_at, replica_of, say, unknown, waiting
from jobs.experiments.experiment import Check, Observed, Outcome, Text
from jobs.experiments.wording import ending_text

TOGETHER = 0.5  # seconds by which two streams may be read in another order than they were written
NOT_ADMITTED = ("", "Pending")


def podgroup_first(*, job: int = 0) -> Check:
    """The PodGroup was admitted (its phase is past Pending) before the first pod was created."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        spans = state.spans.get(PODGROUP_LANE, ())
        admitted = next((span for span in spans if span.value not in NOT_ADMITTED), None)
        pods = sorted((pod.first_seen_at, pod.uid) for pod in state.pods.values())
        if not pods:
            return waiting(say("the PodGroup is Pending", "PodGroup 处于 Pending")) if spans else waiting()
        first, uid = pods[0]
        if admitted is None or admitted.start is None:
            late = _observed.known_until - first > TOGETHER
            what = say("pods without an admitted PodGroup", "PodGroup 未获准就已有 Pod")
            return differs(first, what, uid) if late else waiting()
        seen = say(
            "{phase} {seconds} s before the first pod",
            "{phase}，早于第一个 Pod {seconds} 秒",
            phase=admitted.value,
            seconds=round(first - admitted.start, 2),
        )
        ordered = admitted.start <= first + TOGETHER
        return (met if ordered else differs)(admitted.start, seen, state.podgroup_uid, uid)

    return of_job(job, judge)


def pods_created(count: int, *, job: int = 0) -> Check:
    """Every replica has had a pod."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        firsts = sorted(
            (replica.incarnations[0].first_seen_at, replica.incarnations[0].uid)
            for replica in state.replicas.values()
            if replica.incarnations
        )
        seen = say("{count} pods", "{count} 个 Pod", count=len(firsts))
        if len(firsts) < count:
            return waiting(seen)
        uids = [uid for _, uid in firsts]
        return (met if len(firsts) == count else differs)(firsts[-1][0], seen, *uids[:20])

    return of_job(job, judge)


def job_ends(state: str, *codes: str, job: int = 0) -> Check:
    """The job comes to be ``Succeeded`` or ``Failed``, for one of these reasons (codes of :mod:`jobs.domain.ending`);
    any reason where none is named."""

    def judge(found: JobState, _observed: Observed) -> Outcome:
        if not over(found):
            return waiting()
        said = ended(found)
        right = found.state == state and (not codes or (said is not None and said.code in codes))
        uids = [one.uid for one in said.evidence] if said else [found.uid]
        return (met if right else differs)(over_at(found), ending_text(found), *uids)

    return of_job(job, judge)


def job_runs(*, job: int = 0) -> Check:
    """The job says Running."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        span = _span(state, "Running")
        if span is None:
            return differs(over_at(state), ending_text(state), state.uid) if over(state) else waiting()
        return met(span.start, say("Running", "Running"), state.uid)

    return of_job(job, judge)


def suspended(*, job: int = 0) -> Check:
    """The job says Suspended and its pods are gone."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        span = _span(state, "Suspended")
        if span is None:
            return differs(over_at(state), ending_text(state), state.uid) if over(state) else waiting()
        before = [pod for pod in state.pods.values() if span.start is None or pod.first_seen_at <= span.start]
        left = sum(not pod.gone for pod in before)
        seen = say("Suspended, {left} of its pods left", "Suspended，剩余 {left} 个 Pod", left=left)
        return waiting(seen) if left else met(span.start, seen, state.uid)

    return of_job(job, judge)


def pods_after_end(left: int, *, settled: float = 5.0, job: int = 0) -> Check:
    """Until some seconds after the job was over, all but so many of its pods had been told to go."""

    def judge(state: JobState, observed: Observed) -> Outcome:
        at = over_at(state)
        if at is None:
            return waiting()
        asked = [pod.deleting_at or pod.deleted_at for pod in state.pods.values()]
        found = sum(moment is None or moment > at + settled for moment in asked)
        seen = say(
            "{found} of {all} pods left after the end",
            "结束后剩余 {found} 个 Pod（共 {all} 个）",
            found=found,
            all=len(asked),
        )
        if found and observed.known_until < at + settled:
            return waiting(seen)
        if incomplete(state) and found != left:
            return unknown(seen)
        return (met if found == left else differs)(at, seen, state.uid)

    return of_job(job, judge)


def gone_after_end(*, job: int = 0) -> Check:
    """The job was deleted by its TTL: after it was over."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        at, gone = over_at(state), state.deleted_at or (state.vanished[1] if state.vanished else None)
        if gone is None:
            return waiting(say("the job is there", "作业仍在"))
        if at is None:
            return differs(
                gone, say("deleted while it was {state}", "在 {state} 状态下被删除", state=state.state), state.uid
            )
        seen = say("gone {seconds} s after its end", "结束 {seconds} 秒后消失", seconds=round(gone - at))
        return met(gone, seen, state.uid)

    return of_job(job, judge)


def pending_for(seconds: float, *, job: int = 0) -> Check:
    """So long after the launch no pod was ever created, and the PodGroup was still Pending."""

    def judge(state: JobState, observed: Observed) -> Outcome:
        if state.pods:
            pod = next(iter(state.pods.values()))
            return differs(pod.first_seen_at, say("a pod was created", "创建了 Pod"), pod.uid)
        until = observed.launched_at + seconds
        phase = _at(state, PODGROUP_LANE, until)
        seen = say("PodGroup {phase}, no pods", "PodGroup 为 {phase}，没有 Pod", phase=phase or "–")
        if observed.known_until < until:
            return waiting(seen)
        return (met if phase in NOT_ADMITTED else differs)(until, seen, state.uid, state.podgroup_uid)

    return of_job(job, judge)


def another_job(first: int, second: int) -> Check:
    """The second job has the first one's name and a UID of its own."""

    def judge(state: JobState, observed: Observed) -> Outcome:
        before = observed.jobs[first] if first < len(observed.jobs) else None
        if before is None:
            return waiting()
        same = before.name == state.name and before.namespace == state.namespace and before.uid != state.uid
        seen = say(
            "{name}: UID {new}… after {old}…",
            "{name}：UID 由 {old}… 变为 {new}…",
            name=state.name,
            new=state.uid[:8],
            old=before.uid[:8],
        )
        return (met if same else differs)(state.created_at, seen, before.uid, state.uid)

    return of_job(second, judge)


def says(value: str, seconds: float, *, job: int = 0) -> Check:
    """So long after the launch the job's state is this one."""

    def judge(state: JobState, observed: Observed) -> Outcome:
        until = observed.launched_at + seconds
        current = _at(state, STATE_LANE, until)
        if observed.known_until < until:
            return waiting()
        seen = Text(current or "–", current or "–")
        return (met if current == value else differs)(until, seen, state.uid)

    return of_job(job, judge)


def job_survives(replica: str, *, job: int = 0) -> Check:
    """When the replica's second pod has come to run, the job is not over."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        if over(state):
            return differs(over_at(state), ending_text(state), state.uid)
        pods = replica_of(state, replica).incarnations
        if len(pods) < 2 or pods[1].running_at is None:
            return waiting()
        return met(pods[1].running_at, Text(state.state, state.state), state.uid)

    return of_job(job, judge)


def deleted(*, job: int = 0) -> Check:
    """The job was deleted before it was over."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        gone = state.deleted_at or (state.vanished[1] if state.vanished else None)
        if gone is None:
            return waiting()
        return (differs if over(state) else met)(gone, ending_text(state), state.uid)

    return of_job(job, judge)


def _span(state: JobState, value: str) -> Span | None:
    return next((span for span in state.spans.get(STATE_LANE, ()) if span.value == value), None)


def _at(state: JobState, lane: str, at: float) -> str | None:
    """The value of a lane's span at that time; None where there was none."""
    for span in state.spans.get(lane, ()):
        begun = span.start is not None and span.start <= at
        if begun and (span.end is None or span.end >= at):
            return span.value
    return None
