"""Checks of a job's restarts: how many, how they are shown, and what they have no effect on.

``job`` is the position among the created objects.
"""

from jobs.domain.intervals import restarting
from jobs.domain.lengths import length
from jobs.domain.replicas import flags
from jobs.domain.restarts import replicas_in, restarts, waves
from jobs.domain.state import RESTARTING_LANE, JobState
from jobs.domain.totals import incomplete, replica_numbers
from jobs.experiments.checks import differs, met, of_job, over, over_at, replica_of, say, unknown, waiting
from jobs.experiments.experiment import Check, Observed, Outcome
from jobs.experiments.wording import ending_text


def restarting_shown(*, times: int = 1, job: int = 0) -> Check:
    """Restarting shows: as a condition of the job, or by a replica that waits for its next run."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        shown = restarting(state)
        if len(shown) < times:
            if over(state) and not incomplete(state):
                return differs(over_at(state), say("Restarting was not seen", "没有看到 Restarting"), state.uid)
            return waiting()
        span = shown[times - 1]
        by = ", ".join(span.seen_by)
        if span.end is None:
            return met(span.start, say("seen by {by}, it lasts", "由 {by} 看到，仍在持续", by=by), state.uid)
        seconds = length(span.end - span.start).seconds
        if seconds is None:
            seen = say("seen by {by}, how long was not measured", "由 {by} 看到，时长未测得", by=by)
        else:
            seen = say("seen by {by}, {ms} ms", "由 {by} 看到，持续 {ms} 毫秒", by=by, ms=round(seconds * 1000))
        return met(span.start, seen, state.uid)

    return of_job(job, judge)


def condition_restarting(*, job: int = 0) -> Check:
    """The job itself said Restarting=True at least once."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        spans = state.spans.get(RESTARTING_LANE, ())
        if not spans:
            return waiting()
        return met(spans[0].start, say("Restarting=True", "Restarting=True"), state.uid)

    return of_job(job, judge)


def backoff_passed(replica: str, limit: int, *, job: int = 0) -> Check:
    """The replica has restarted more often than ``backoffLimit`` allows, and the job has not failed."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        found = replica_of(state, replica)
        true = replica_numbers(state, found).true
        if state.state == "Failed":
            return differs(over_at(state), ending_text(state), state.uid)
        if true <= limit:
            return waiting()
        seen = say(
            "{true} restarts, backoffLimit {limit}, the job is {state}",
            "重启 {true} 次，backoffLimit 为 {limit}，作业状态为 {state}",
            true=true,
            limit=limit,
            state=state.state,
        )
        pod = found.incarnations[-1]
        return met(pod.first_seen_at, seen, state.uid, pod.uid)

    return of_job(job, judge)


def restarts_at_end(count: int, *, replica_type: str = "", job: int = 0) -> Check:
    """When the job is over, exactly so many true restarts; ``replica_type``: of that type only."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        found = [replica for replica in state.replicas.values() if replica_type in ("", replica.key[0])]
        numbers = [replica_numbers(state, replica) for replica in found]
        true, kubectl = sum(one.true for one in numbers), sum(one.kubectl for one in numbers)
        seen = say(
            "{true} true restarts, kubectl shows {kubectl}",
            "真实重启 {true} 次，kubectl 显示 {kubectl} 次",
            true=true,
            kubectl=kubectl,
        )
        if true > count:
            return differs(state.last_observed_at, seen, state.uid)
        if not over(state):
            return waiting()
        if incomplete(state):
            return unknown(seen)
        return (met if true == count else differs)(over_at(state), seen, state.uid)

    return of_job(job, judge)


def wave(replicas: int, *, job: int = 0) -> Check:
    """At least so many replicas restarted soon after each other."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        found = max(waves(restarts(state), len(state.replicas)), key=lambda one: len(replicas_in(one)), default=[])
        many = len(replicas_in(found))
        if many < replicas:
            return waiting(say("{many} replicas so far", "目前 {many} 个副本", many=many))
        seen = say(
            "{many} replicas within {seconds} s",
            "{seconds} 秒内有 {many} 个副本",
            many=many,
            seconds=round(found[-1].at - found[0].at),
        )
        return met(found[0].at, seen, *[one.pod.uid for one in found[:20]])

    return of_job(job, judge)


def completed_run_again(replica: str, *, job: int = 0) -> Check:
    """The replica's restart is flagged: it was done, and was run again."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        found = replica_of(state, replica)
        if "completed-replica-run-again" not in flags(state, found):
            return waiting()
        pod = found.incarnations[-1]
        return met(pod.first_seen_at, say("a completed replica was run again", "已完成的副本被再次运行"), pod.uid)

    return of_job(job, judge)


def own_count(replica: str, count: int, *, job: int = 0, settled_by: int | None = None) -> Check:
    """The replica has exactly so many true restarts. ``settled_by``: once another job's replica has as many, too."""

    def judge(state: JobState, observed: Observed) -> Outcome:
        numbers = replica_numbers(state, replica_of(state, replica))
        seen = say("{true} true restarts", "真实重启 {true} 次", true=numbers.true)
        if numbers.true > count:
            return differs(state.last_observed_at, seen, state.uid)
        later = observed.jobs[settled_by] if settled_by is not None and settled_by < len(observed.jobs) else None
        if settled_by is not None and (
            later is None or replica_numbers(later, replica_of(later, replica)).true < count
        ):
            return waiting()
        if numbers.true < count:
            return waiting(seen)
        if numbers.at_least:
            return unknown(seen)
        pods = replica_of(state, replica).incarnations
        return met(pods[-1].first_seen_at, seen, state.uid, pods[-1].uid)

    return of_job(job, judge)


def kubectl_shows_nothing(replicas: int, *, job: int = 0) -> Check:
    """So many replicas have restarted, and kubectl's RESTARTS is 0 for every pod there is."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        numbers = [replica_numbers(state, replica) for replica in state.replicas.values()]
        restarted, kubectl = sum(one.true > 0 for one in numbers), sum(one.kubectl for one in numbers)
        if kubectl:
            return differs(
                state.last_observed_at, say("RESTARTS {count}", "RESTARTS 为 {count}", count=kubectl), state.uid
            )
        if restarted < replicas:
            return waiting()
        true = sum(one.true for one in numbers)
        return met(
            state.last_observed_at,
            say("{true} restarts, RESTARTS 0", "重启 {true} 次，RESTARTS 为 0", true=true),
            state.uid,
        )

    return of_job(job, judge)
