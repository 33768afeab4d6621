"""Steps that several experiments have in common, with the same words and the same key."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts
from jobs.experiments.checklist import end_by, in_place_by, step
from jobs.experiments.experiment import Step


def kubectl_shows_none(replica: str, restarts: int, after: float) -> Step:
    """RESTARTS is 0 although the replica, whose runs end ``after`` s each, was created anew so often."""
    text = ("kubectl's RESTARTS still says 0.", "kubectl 的 RESTARTS 仍为 0。")
    check = checks_pods.kubectl_shows(replica, 0, after_restarts=restarts)
    return step("kubectl", text, check, end_by(after, restarts))


def backoff_passed(replica: str, limit: int, after: float) -> Step:
    """One restart more than ``limit`` of a replica that is created anew, whose runs end ``after`` s each."""
    text = (
        "backoffLimit {backoff_limit} is passed without effect.",
        "超过 backoffLimit {backoff_limit}，却没有任何效果。",
    )
    return step("backoff", text, checks_restarts.backoff_passed(replica, limit), end_by(after, limit + 1))


def failed_at_limit(limit: int, after: float) -> Step:
    """The job's end at so many restarts in place, of a container that runs ``after`` s each time."""
    text = (
        "The job is Failed: backoffLimit {backoff_limit} is reached.",
        "作业 Failed：达到 backoffLimit {backoff_limit}。",
    )
    return step("failed", text, checks_jobs.job_ends("Failed", "backoff-limit"), in_place_by(after, limit + 1))
