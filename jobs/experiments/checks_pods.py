"""Checks of one replica's pods: how they end, whether they come back, what kubectl shows of that.

``replica`` is a replica's name within its job, ``worker-0``; ``job`` the position among the created objects.
"""

from jobs.domain.intervals import in_place_waits
from jobs.domain.state import End, JobState, Replica
from jobs.domain.totals import incomplete, replica_numbers
from jobs.experiments.checks import (
    differs,
    met,
    of_job,
    over,
    over_at,
    pods_of,
    replica_of,
    say,
    short,
    unknown,
    waiting,
)
from jobs.experiments.experiment import Check, Observed, Outcome, Text
from jobs.experiments.wording import cause_text

EARLY, LATE = 1.5, 6.0  # seconds: the cluster writes whole ones, and a busy node starts a process late


def exits(replica: str, code: int, after: float, *, nth: int = 0, job: int = 0) -> Check:
    """The ``nth`` known end of the main container, over all pods, has this code, ``after`` seconds after it began."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        ends = [(end, pod) for pod in pods_of(state, replica) for end in pod.ends]
        if len(ends) <= nth:
            return waiting()
        end, pod = ends[nth]
        ran = None if end.at is None or end.started_at is None else end.at - end.started_at
        seen = _end_seen(end, ran)
        wrong_time = ran is not None and not after - EARLY <= ran <= after + LATE
        if end.exit_code != code or wrong_time:
            return differs(end.seen_at, seen, pod.uid)
        return met(end.seen_at, seen, pod.uid)

    return of_job(job, judge)


def _end_seen(end: End, ran: float | None) -> Text:
    reason = f" ({end.reason})" if end.reason else ""
    if ran is None:
        return say("exit {code}{reason}", "退出码 {code}{reason}", code=end.exit_code, reason=reason)
    return say(
        "exit {code}{reason} after {ran} s",
        "运行 {ran} 秒后以退出码 {code} 退出{reason}",
        code=end.exit_code,
        reason=reason,
        ran=round(ran),
    )


def recreated(replica: str, *, times: int = 1, job: int = 0) -> Check:
    """The replica's pod was deleted and created again under its name, so often, and each time it counts."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        found = replica_of(state, replica)
        successors = [
            (old, new)
            for old, new in zip(found.incarnations, found.incarnations[1:], strict=False)
            if old.counts and old.name == new.name
        ]
        if len(successors) >= times:
            old, new = successors[times - 1]
            seen = say(
                "{name} again, UID {new}… after {old}…",
                "{name} 再次出现，UID 由 {old}… 变为 {new}…",
                name=new.name,
                new=short(new.uid),
                old=short(old.uid),
            )
            return met(new.first_seen_at, seen, old.uid, new.uid)
        return _settled_short(state, found, len(successors))

    return of_job(job, judge)


def restarted_in_place(replica: str, *, times: int = 1, after_end: bool = False, job: int = 0) -> Check:
    """The kubelet restarted the main container so often inside one pod: its UID stays. ``after_end``: it may still
    do so when the job is over."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        found = replica_of(state, replica)
        if found.recreations:
            pod = found.incarnations[-1]
            return differs(pod.first_seen_at, say("a new pod was created", "创建了新的 Pod"), pod.uid)
        if found.in_place < times:
            return waiting() if after_end else _settled_short(state, found, found.in_place)
        pod = found.incarnations[-1]
        restart = pod.in_place[times - 1]
        at = restart.running_at if restart.running_at is not None else restart.ended_at
        seen = say(
            "the same pod {uid}…, restartCount {count}",
            "同一个 Pod {uid}…，restartCount 为 {count}",
            uid=short(pod.uid),
            count=times,
        )
        return met(at, seen, pod.uid)

    return of_job(job, judge)


def _settled_short(state: JobState, found: Replica, count: int) -> Outcome:
    """Fewer restarts than expected: final once the job is over and nobody can have missed one."""
    uids = [pod.uid for pod in found.incarnations]
    if not over(state):
        return waiting()
    if incomplete(state):
        return unknown(say("{count} seen, some may have been missed", "看到 {count} 次，可能有遗漏", count=count))
    seen = say(
        "{count} such restarts until the job was {state}",
        "作业变为 {state} 之前，这样的重启有 {count} 次",
        count=count,
        state=state.state,
    )
    return differs(over_at(state), seen, *uids)


def kubectl_shows(replica: str, restarts: int, *, after_restarts: int = 1, job: int = 0) -> Check:
    """After so many true restarts, kubectl's RESTARTS column of the replica's newest pod says ``restarts``."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        found = replica_of(state, replica)
        numbers = replica_numbers(state, found)
        if numbers.true < after_restarts or not found.incarnations:
            return waiting()
        pod = found.incarnations[-1]
        seen = say(
            "RESTARTS {kubectl} after {true} restarts",
            "重启 {true} 次后，RESTARTS 为 {kubectl}",
            kubectl=numbers.kubectl,
            true=numbers.true,
        )
        at = pod.in_place[-1].running_at if pod.in_place else pod.first_seen_at
        return (met if numbers.kubectl == restarts else differs)(at, seen, pod.uid)

    return of_job(job, judge)


def ends_by(replica: str, causes: tuple[str, ...], *, nth: int = 0, job: int = 0) -> Check:
    """The replica's ``nth`` pod ended for one of these causes (``cause_code`` of the report)."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        pods = pods_of(state, replica)
        if len(pods) <= nth:
            return waiting()
        pod = pods[nth]
        if pod.cause_code is None:
            return waiting()
        seen = cause_text(pod)
        at = pod.ended_at if pod.ended_at is not None else pod.deleting_at
        if pod.cause_code in causes:
            return met(at, seen, pod.uid)
        # A pod that is being deleted may still show how it ended.
        return differs(at, seen, pod.uid) if pod.gone or pod.followed else waiting(seen)

    return of_job(job, judge)


def not_counted(replica: str, why: str, *, job: int = 0) -> Check:
    """The replica's pod came back, and that is no restart, for this reason: ``suspended``, ``scaled``."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        found = replica_of(state, replica)
        for old, new in zip(found.incarnations, found.incarnations[1:], strict=False):
            if old.excluded == why:
                seen = say(
                    "new pod {uid}…, not counted: {why}",
                    "新的 Pod {uid}…，不计为重启：{why}",
                    uid=short(new.uid),
                    why=why,
                )
                return met(new.first_seen_at, seen, old.uid, new.uid)
            if old.counts:
                return differs(new.first_seen_at, say("it counted as a restart", "被计为一次重启"), old.uid, new.uid)
        return waiting()

    return of_job(job, judge)


def back_off_grows(replica: str, *, job: int = 0) -> Check:
    """The kubelet waits longer before the second restart in place than before the first (CrashLoopBackOff)."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        waits = [
            (end - start, end, pod)
            for pod in pods_of(state, replica)
            for start, end in in_place_waits(pod)
            if end is not None
        ]
        if len(waits) < 2:
            return waiting()
        (first, _, _), (second, at, pod) = waits[:2]
        seen = say(
            "{first} s, then {second} s", "先 {first} 秒，后 {second} 秒", first=round(first), second=round(second)
        )
        return (met if second > first else differs)(at, seen, pod.uid)

    return of_job(job, judge)


def others_restart(replica: str, *, container: str, times: int = 1, job: int = 0) -> Check:
    """Containers beside the main one were restarted in place: ``sidecar`` or ``init``; the main one was not."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        found = replica_of(state, replica)
        count = found.sidecar_restarts if container == "sidecar" else found.init_restarts
        if replica_numbers(state, found).true:
            pod = found.incarnations[-1]
            return differs(pod.last_seen_at, say("the main container restarted", "主容器重启了"), pod.uid)
        if count < times:
            return _settled_short(state, found, count)
        pod = found.incarnations[-1]
        seen = say(
            "{count} restarts of the other container, none of the main one",
            "另一个容器重启 {count} 次，主容器没有重启",
            count=count,
        )
        return met(pod.last_seen_at, seen, pod.uid)

    return of_job(job, judge)


def runs_again(replica: str, *, nth: int = 1, job: int = 0) -> Check:
    """The replica's ``nth`` pod (from 0 on) has come to run."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        pods = pods_of(state, replica)
        if len(pods) <= nth or pods[nth].running_at is None:
            return waiting()
        pod = pods[nth]
        return met(
            pod.running_at,
            say("{name} runs, UID {uid}…", "{name} 正在运行，UID {uid}…", name=pod.name, uid=short(pod.uid)),
            pod.uid,
        )

    return of_job(job, judge)


def completed(replica: str, *, nth: int = 0, job: int = 0) -> Check:
    """The replica's ``nth`` pod was done: exit 0 before anyone asked for its deletion."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        pods = pods_of(state, replica)
        if len(pods) <= nth or pods[nth].ended_at is None:
            return waiting()
        pod = pods[nth]
        seen = cause_text(pod)
        return (met if pod.completed else differs)(pod.ended_at, seen, pod.uid)

    return of_job(job, judge)


def leaves(replica: str, *, job: int = 0) -> Check:
    """The replica's first pod is deleted and gone."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        pods = pods_of(state, replica)
        if not pods or not pods[0].gone:
            return waiting()
        pod = pods[0]
        return met(pod.deleted_at, cause_text(pod), pod.uid)

    return of_job(job, judge)


def never_ran(replica: str, *, pods: int, job: int = 0) -> Check:
    """So many pods of the replica have ended, and in none did the main container run."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        ended = [pod for pod in pods_of(state, replica) if pod.followed or pod.gone]
        ran = next((pod for pod in pods_of(state, replica) if pod.running_at is not None), None)
        if ran is not None:
            seen = say("{name} ran, UID {uid}…", "{name} 运行过，UID {uid}…", name=ran.name, uid=short(ran.uid))
            return differs(ran.running_at, seen, ran.uid)
        if len(ended) < pods:
            return waiting()
        seen = say("{count} pods, none of them ran", "{count} 个 Pod，均未运行", count=len(ended))
        return met(ended[pods - 1].ended_at, seen, *[pod.uid for pod in ended])

    return of_job(job, judge)


def kubectl_counts_others(replica: str, *, job: int = 0) -> Check:
    """kubectl's RESTARTS is above the restarts of the main container: it adds up all containers."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        found = replica_of(state, replica)
        numbers = replica_numbers(state, found)
        if numbers.kubectl <= numbers.true:
            return waiting()
        pod = found.incarnations[-1]
        seen = say(
            "RESTARTS {kubectl}, {true} of the main container",
            "RESTARTS 为 {kubectl}，主容器为 {true}",
            kubectl=numbers.kubectl,
            true=numbers.true,
        )
        return met(pod.last_seen_at, seen, pod.uid)

    return of_job(job, judge)


def cannot_pull(replica: str, *, job: int = 0) -> Check:
    """The image of the replica's pod cannot be pulled."""

    def judge(state: JobState, _observed: Observed) -> Outcome:
        pods = pods_of(state, replica)
        ran = next((pod for pod in pods if pod.running_at is not None), None)
        if ran is not None:
            return differs(ran.running_at, say("it runs", "它在运行"), ran.uid)
        failing = next((pod for pod in pods if pod.pull_failure), None)
        if failing is None:
            return waiting()
        words = failing.pull_failure or ""
        return met(failing.last_seen_at, Text(words, words), failing.uid)

    return of_job(job, judge)


def waits_for(replica: str, seconds: float, *, job: int = 0) -> Check:
    """So long after its creation the replica's first pod has neither run nor ended."""

    def judge(state: JobState, observed: Observed) -> Outcome:
        pods = pods_of(state, replica)
        if not pods:
            return waiting()
        pod, until = pods[0], pods[0].first_seen_at + seconds
        moved = [at for at in (pod.running_at, pod.ended_at, pod.deleting_at) if at is not None and at < until]
        if moved:
            return differs(min(moved), say("it ran or ended", "它运行过或已结束"), pod.uid)
        if observed.known_until < until:
            return waiting()
        return met(until, say("still waiting", "仍在等待"), pod.uid)

    return of_job(job, judge)
