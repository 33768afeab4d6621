"""The operator's rules for conditions."""

from typing import Any

from simcluster.controllers.operator.conditions import (
    CREATED,
    FAILED,
    RESTARTING,
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
    set_condition,
)
from tests.simcluster.simulation import conditions_of

Obj = dict[str, Any]


def status(*kinds: str) -> Obj:
    made: Obj = {}
    for kind in kinds:
        set_condition(made, kind, f"TFJob{kind}", "", "t0")
    return made


def shown(made: Obj) -> list[str]:
    return conditions_of({"status": made})


def test_running_and_restarting_push_each_other_out() -> None:
    made = status(CREATED, RUNNING, RESTARTING)
    assert shown(made) == ["Created=True", "Restarting=True"]
    set_condition(made, RUNNING, "TFJobRunning", "", "t1")
    assert shown(made) == ["Created=True", "Running=True"]


def test_running_false_pushes_restarting_out_as_well() -> None:
    made = status(CREATED, RESTARTING)
    set_condition(made, RUNNING, "TFJobSuspended", "", "t1", is_on=False)
    assert shown(made) == ["Created=True", "Running=False"]


def test_the_same_type_status_and_reason_is_no_change() -> None:
    made = status(CREATED, RUNNING)
    before = made["conditions"]
    set_condition(made, RUNNING, "TFJobRunning", "another message", "t1")
    assert made["conditions"] is before


def test_a_changed_condition_goes_last_and_keeps_its_transition_time_with_its_status() -> None:
    made = status(CREATED, SUSPENDED, RUNNING)
    set_condition(made, SUSPENDED, "Other", "", "t1")
    assert shown(made) == ["Created=True", "Running=True", "Suspended=True"]
    last = made["conditions"][-1]
    assert (last["lastTransitionTime"], last["lastUpdateTime"]) == ("t0", "t1")
    set_condition(made, SUSPENDED, "Other", "", "t2", is_on=False)
    assert made["conditions"][-1]["lastTransitionTime"] == "t2"


def test_failed_sets_running_to_false_keeps_its_reason_and_leaves_restarting() -> None:
    made = status(CREATED, RUNNING, FAILED)
    assert shown(made) == ["Created=True", "Running=False", "Failed=True"]
    assert made["conditions"][1]["reason"] == "TFJobRunning"
    assert shown(status(CREATED, RESTARTING, FAILED)) == ["Created=True", "Restarting=True", "Failed=True"]
    assert shown(status(CREATED, RESTARTING, SUCCEEDED)) == ["Created=True", "Restarting=True", "Succeeded=True"]


def test_nothing_changes_after_failed_but_succeeded_is_not_sticky() -> None:
    made = status(CREATED, FAILED)
    set_condition(made, RUNNING, "TFJobRunning", "", "t1")
    assert shown(made) == ["Created=True", "Failed=True"]
    assert shown(status(CREATED, SUCCEEDED, FAILED)) == ["Created=True", "Succeeded=True", "Failed=True"]
