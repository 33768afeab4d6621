"""What ended every pod and job of a simulated cluster, and what a report says otherwise.

Known from every write and who made it; the rules are those of the documents (pod_truth.py, job_truth.py).
"""

from simcluster.history import Change
from simcluster.resources import PODS, TRAINING_JOBS, VOLCANO_JOBS
from simcluster.store import Store
from tests.properties.job_truth import JobTruth
from tests.properties.pod_truth import Json, PodTruth

DOCUMENTED = {
    **dict.fromkeys((1, 2, 126, 127, 128, 139), "permanent"),
    **dict.fromkeys((130, 137, 143), "retryable"),
    138: "user-defined",
}


class CausesOfTruth:
    """Follows a store from its construction on."""

    def __init__(self, store: Store) -> None:
        self.jobs: dict[str, JobTruth] = {}
        self.pods: dict[str, PodTruth] = {}
        self._stop = store.subscribe_changes(self._note)

    def close(self) -> None:
        self._stop()

    def _note(self, change: Change) -> None:
        if change.resource is PODS:
            self._note_pod(change)
        elif change.resource in TRAINING_JOBS or change.resource is VOLCANO_JOBS:
            self._note_job(change)

    def _note_job(self, change: Change) -> None:
        obj = change.object
        uid = obj["metadata"]["uid"]
        job = self.jobs.setdefault(uid, JobTruth(uid, change.resource.kind, obj))
        job.last = obj
        job.gone = change.type == "DELETED"
        conditions = {
            each["type"]: each["status"]
            for each in (obj.get("status") or {}).get("conditions") or []
            if "type" in each and "status" in each
        }
        if conditions.get("Suspended") == "True" != job.conditions.get("Suspended"):
            job.suspended_at.append(change.at)
        job.conditions = conditions
        if job.state == "Failed" and job.failed_at is None:
            job.failed_at = change.at
        wanted = {name.lower(): int(spec.get("replicas", 1)) for name, spec in job.specs()}
        if not job.wanted or job.wanted[-1][1] != wanted:
            job.wanted.append((change.at, wanted))

    def _note_pod(self, change: Change) -> None:
        obj = change.object
        uid = obj["metadata"]["uid"]
        if uid not in self.pods:
            owners = [owner["uid"] for owner in obj["metadata"].get("ownerReferences") or []]
            job = next((self.jobs[owner] for owner in owners if owner in self.jobs), None)
            if job is None:
                return
            labels = obj["metadata"].get("labels") or {}
            operator = "training.kubeflow.org/replica-"
            kind = labels.get(f"{operator}type") or labels.get("volcano.sh/task-spec") or ""
            index = labels.get(f"{operator}index") or labels.get("volcano.sh/task-index") or "0"
            pod = PodTruth(uid, job, (kind.lower(), int(index)), change.at)
            self.pods[uid] = pod
            job.replicas[pod.place].append(pod)
        pod = self.pods[uid]
        pod.writes.append((change.at, obj, change.actor.user))
        if change.type == "DELETED":
            pod.gone_at = change.at

    def differences(self, reports: list[Json]) -> list[str]:
        """One line for each thing that a report says otherwise."""
        found: list[str] = []
        told = {job["uid"]: job for job in reports}
        for job in self.jobs.values():
            if job.uid not in told:
                found.append(f"{job.kind} {job.uid}: not told")
                continue
            name = f"{job.kind} {told[job.uid]['name']}"
            found += [f"{name} {line}" for line in _job_lines(job, told[job.uid])]
        return found


def _job_lines(job: JobTruth, told: Json) -> list[str]:
    lines = []
    if told["state"] != job.state:
        lines.append(f"state {told['state']} instead of {job.state}")
    ended = told["ended"] or {"code": "", "params": {}}
    endings = job.endings()
    replica = str(ended["params"].get("replica", ""))
    if ended["code"] not in endings or (replica and replica not in endings[ended["code"]]):
        lines.append(f"ended {ended['code']} ({ended.get('sentence')}) instead of {dict(endings)}: {job.message()}")
    for shown in told["replicas"]:
        place = (shown["type"].lower(), shown["index"])
        if set(shown["flags"]) != job.flags(place):
            lines.append(f"{place} flags {shown['flags']} instead of {sorted(job.flags(place))}")
        pods = {pod.uid: pod for pod in job.replicas[place]}
        for one in shown["pods"]:
            lines += [f"{place} {line}" for line in _pod_lines(pods[one["uid"]], one)]
    return lines


def _pod_lines(pod: PodTruth, told: Json) -> list[str]:
    end = pod.last_known_end() or {}
    code = end.get("exitCode")
    right = {
        "cause_code": pod.cause(),
        "was_restart": pod.counts(),
        "exit_code": code,
        "reason": end.get("reason") or pod.status_reason(),
        "documented_class": DOCUMENTED.get(code, "undefined") if code else None,
        "actual_class": ("retryable" if code >= 128 else "permanent") if code else None,
    }
    if "gang" in (told["cause_code"], right["cause_code"]) and pod.looks_taken_along():
        del right["cause_code"]  # no watch can tell who deleted it, and for which pod's sake
    elif right["cause_code"] is None and "deletionTimestamp" in pod.last["metadata"]:
        del right["cause_code"]  # on its way: what is said of it may still change
    return [
        f"pod {pod.uid[:8]} {name} {told[name]} instead of {value} ({told['cause']})"
        for name, value in right.items()
        if told[name] != value
    ]
