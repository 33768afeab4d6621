"""What a container does: read from the annotation, else from a simple shell command."""

import json
from typing import Any

import pytest

from simcluster.controllers.command import command_run
from simcluster.controllers.plan import ANNOTATION, Programs, annotated_runs
from simcluster.controllers.runs import PlanError, Run

Obj = dict[str, Any]
MAIN = {"name": "tensorflow"}
POD_NAME = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}


def pod(plan: Any = None, name: str = "tftest-worker-0") -> Obj:
    text = plan if isinstance(plan, str) else json.dumps(plan)
    return {"metadata": {"name": name, "uid": "u", "annotations": {ANNOTATION: text} if plan is not None else {}}}


def shell(script: str, limits: bool = True) -> Obj:
    return {
        **MAIN,
        "env": [POD_NAME],
        "command": ["sh", "-c", script],
        "resources": {"limits": {"memory": "1Mi"}} if limits else {},
    }


def test_a_plan_lists_successive_runs() -> None:
    first, second = annotated_runs(pod({"tensorflow": [{"after": 10, "code": 138}, {"after": [1, 5]}]}), "tensorflow")
    assert first == Run((10.0, 10.0), 138)
    assert second == Run((1.0, 5.0), 0)
    assert [first.shown_reason, second.shown_reason] == ["Error", "Completed"]


def test_a_replica_overrides_the_plan_for_all() -> None:
    plan = {"tensorflow": {"code": 0}, "worker-0": {"tensorflow": {"code": 1}}}
    assert annotated_runs(pod(plan), "tensorflow")[0].code == 1
    assert annotated_runs(pod(plan, "tftest-worker-1"), "tensorflow")[0].code == 0


def test_every_key_has_its_meaning() -> None:
    entry = {"after": None, "code": 137, "reason": "OOMKilled", "message": "why", "term": None}
    assert annotated_runs(pod({"tensorflow": entry}), "tensorflow") == [Run(None, 137, "OOMKilled", "why", None)]


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ([], "must be an object"),
        ({"tensorflow": "x"}, "an object or a list of objects"),
        ({"tensorflow": {"codes": 1}}, "unknown key 'codes'"),
        ({"tensorflow": {"code": 256}}, "code must be an exit code"),
        ({"tensorflow": {"code": True}}, "code must be an exit code"),
        ({"tensorflow": {"term": "x"}}, "term must be an exit code"),
        ({"tensorflow": {"after": -1}}, "after must be seconds"),
        ({"tensorflow": {"after": [1]}}, "after must be seconds"),
        ('{"tensorflow": {"after": NaN}}', "after must be seconds"),
        ({"tensorflow": {"reason": 1}}, "must be a string"),
        ({"tensorflow": {"pulled_after": "soon"}}, "pulled_after must be seconds"),
    ],
)
def test_a_plan_that_cannot_be_read_says_why(plan: Any, complaint: str) -> None:
    with pytest.raises(PlanError, match=complaint):
        annotated_runs(pod(plan), "tensorflow")


@pytest.mark.parametrize(
    ("script", "run"),
    [
        ("sleep 5", Run((5.0, 5.0), 0, term_code=None)),
        ("sleep 5; exit 3", Run((5.0, 5.0), 3, term_code=None)),
        ('trap "exit 143" TERM; sleep 5 & wait $!', Run((5.0, 5.0), 0, term_code=143)),
        # A shell that waits for a program in the foreground hears of no signal.
        ('trap "exit 0" TERM; trap "exit 130" INT; sleep 1; sleep 2; exit 138', Run((3.0, 3.0), 138, term_code=None)),
        ("sleep 5 && exit 1", Run((5.0, 5.0), 1, term_code=None)),
        ("sleep infinity", Run(None, 0, term_code=None)),
        ("while true; do sleep 10; done", Run(None, 0, term_code=None)),
        ("exit 1; sleep 100", Run((0.0, 0.0), 1, term_code=None)),
    ],
)
def test_simple_scripts_are_understood(script: str, run: Run) -> None:
    assert command_run(shell(script), pod()) == run


def test_the_branch_for_the_pods_name_is_taken() -> None:
    script = shell("case $POD_NAME in *-worker-0) sleep 10 & wait $!; exit 138;; *) sleep 30 & wait $!;; esac")
    assert command_run(script, pod()) == Run((10.0, 10.0), 138, term_code=None)
    assert command_run(script, pod(name="tftest-worker-1")) == Run((30.0, 30.0), 0, term_code=None)


def test_filling_the_memory_limit_is_an_oom_kill() -> None:
    run = command_run(shell("sleep 3; tail /dev/zero"), pod())
    assert run is not None
    assert (run.code, run.shown_reason) == (137, "OOMKilled")
    assert command_run(shell("tail /dev/zero", limits=False), pod()) is None


@pytest.mark.parametrize("script", ["python train.py", "sleep x", "exit x", "if true; then"])
def test_other_scripts_run_half_a_minute_and_succeed(script: str) -> None:
    assert Programs().next_run(pod(), shell(script)) == Run()
    assert Run().after == (30.0, 30.0)


def test_runs_are_counted_over_pods_of_one_owner_and_the_last_repeats() -> None:
    counter = Programs()
    plan = {"tensorflow": [{"code": 1}, {"code": 2}]}
    codes = []
    for uid in ("a", "b", "c"):
        made = pod(plan)
        made["metadata"] |= {"uid": uid, "ownerReferences": [{"uid": "job"}]}
        codes.append(counter.next_run(made, MAIN).code)
    assert codes == [1, 2, 2]
    other = pod(plan)
    other["metadata"]["ownerReferences"] = [{"uid": "another job"}]
    assert counter.next_run(other, MAIN).code == 1
