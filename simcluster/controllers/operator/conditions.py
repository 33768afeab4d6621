"""A job's conditions, by the operator's own rules.

After Failed=True nothing changes any more. The same type, status and reason is no change. A changed condition goes
to the end and keeps its lastTransitionTime when the status is the same. Running and Restarting push each other out;
Failed and Succeeded set Running to False and leave Restarting as it is.
"""

from typing import Any

Obj = dict[str, Any]

CREATED = "Created"
RUNNING = "Running"
RESTARTING = "Restarting"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
SUSPENDED = "Suspended"


def is_true(status: Obj, kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in status.get("conditions") or [])


def is_finished(status: Obj) -> bool:
    return is_true(status, SUCCEEDED) or is_true(status, FAILED)


def find(status: Obj, kind: str) -> Obj | None:
    return next((each for each in status.get("conditions") or [] if each["type"] == kind), None)


def set_condition(status: Obj, kind: str, reason: str, message: str, now: str, *, is_on: bool = True) -> None:
    """Sets one condition of `status`, in place."""
    if is_true(status, FAILED):
        return
    value = "True" if is_on else "False"
    current = find(status, kind)
    if current and current["status"] == value and current["reason"] == reason:
        return
    since = current["lastTransitionTime"] if current and current["status"] == value else now
    made = {
        "lastTransitionTime": since,
        "lastUpdateTime": now,
        "message": message,
        "reason": reason,
        "status": value,
        "type": kind,
    }
    status["conditions"] = [*_others(status.get("conditions") or [], kind), made]


def _others(conditions: list[Obj], kind: str) -> list[Obj]:
    pushed_out = {RUNNING: (RUNNING, RESTARTING), RESTARTING: (RUNNING, RESTARTING)}.get(kind, (kind,))
    kept = [each for each in conditions if each["type"] not in pushed_out]
    if kind in (FAILED, SUCCEEDED):
        return [{**each, "status": "False"} if each["type"] == RUNNING else each for each in kept]
    return kept
