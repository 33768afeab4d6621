"""What plain manifests make containers do: shell scripts, rules, images; and what they print."""

from pathlib import Path
from typing import Any

import pytest

from simcluster import manifests, scenario_manifests
from simcluster.clock import ManualClock
from simcluster.controllers import images
from simcluster.controllers.command import command_run
from simcluster.controllers.logs import Logs
from simcluster.controllers.plan import Programs
from simcluster.controllers.rules import RuleError, parsed_rules, read_rules
from simcluster.controllers.runs import Run
from simcluster.controllers.shell import NotUnderstood, run_script
from tests.simcluster.simulation import Simulation, pod_lives, told

Obj = dict[str, Any]
POD = {"metadata": {"name": "job-worker-3", "namespace": "team", "uid": "u"}, "spec": {}}


def outcome(script: str, **environment: str) -> tuple[float | None, int]:
    found = run_script(script, environment, {})
    return found.seconds, found.code


# Shell scripts


@pytest.mark.parametrize(
    ("script", "seconds", "code"),
    [
        ("sleep 1m; exit 2", 60, 2),
        ("sleep 5 & sleep 7 & wait; exit 3", 7, 3),
        ("x=4; sleep $x; exit $((x * 2 + 1))", 4, 9),
        ('ix=${NAME##*-}; if [ "$ix" = 3 ]; then sleep 2; exit 139; fi; sleep 30', 2, 139),
        ("if [ 1 -gt 2 ]; then exit 1; elif true; then exit 4; else exit 5; fi", 0, 4),
        ("case $NAME in *-0|*-3) exit 7;; *) exit 8;; esac", 0, 7),
        ("for i in 1 2 3; do sleep $i; done", 6, 0),
        ("i=0; while [ $i -lt 4 ]; do i=$((i+1)); sleep 2; done; exit $i", 8, 4),
        ("until false; do sleep 100; done", None, 0),
        ("tail -f /dev/null", None, 0),
        ("true && false || sleep 3; exit 6", 3, 6),
        ("! true || exit 1; exit 2", 0, 1),
        ("kill -SEGV $$", 0, 139),
        ("false", 0, 1),
        ("n=$(echo 12); sleep ${n:-5}", 12, 0),
        ("# a comment\nsleep 1\n\nexit 9", 1, 9),
        ("echo 'a; b' > /data/x; exit $(cat /data/x | echo)", None, None),
    ],
)
def test_scripts_take_their_time_and_end_with_their_code(script: str, seconds: float | None, code: int | None) -> None:
    if code is None:
        with pytest.raises(NotUnderstood):
            outcome(script)
        return
    assert outcome(script, NAME="job-worker-3") == (seconds, code)


def test_a_script_counts_its_attempts_in_a_file() -> None:
    script = scenario_manifests.counting("x") + "exit $i"
    files: dict[str, str] = {}
    assert [run_script(script, {"POD_NAME": "p"}, files).code for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize(
    "script",
    [
        "python train.py",
        "sleep x",
        "if true; then sleep 1",
        "case x in",
        "(sleep 1)",
        'echo "unfinished',
        "exit $((1 << 9999999))",
        "exit $((9**9**9))",
        "while true; do x=$x$x$x.; done",
        "$(" * 2000,
        "exec python -m torch.distributed.run train.py",
    ],
)
def test_what_is_not_understood_is_said_so_and_costs_little(script: str) -> None:
    with pytest.raises(NotUnderstood):
        run_script(script, {}, {})


def test_a_shell_ignores_signals_while_it_waits_for_a_program_in_the_foreground() -> None:
    trap = 'trap "exit 3" TERM; '
    assert run_script(trap + "sleep 9 & wait $!", {}, {}).term_code == 3
    assert run_script(trap + "sleep 9", {}, {}).term_code is None
    assert run_script("sleep 9 & wait $!", {}, {}).term_code is None


# Images and commands


def test_an_image_that_does_not_exist_cannot_be_pulled() -> None:
    assert images.pull_error("busybox:1.37") == ""
    text = images.pull_error("busybox:no-such-tag")
    assert text.startswith('failed to pull and unpack image "docker.io/library/busybox:no-such-tag"')


@pytest.mark.parametrize(
    ("command", "fails"),
    [(["/no/such/binary"], True), (["python", "x.py"], True), (["sh", "-c", "true"], False), (["/bin/sleep"], False)],
)
def test_small_images_have_few_commands(command: list[str], fails: bool) -> None:
    run = command_run({"name": "c", "image": "busybox:1.37", "command": command}, POD)
    assert bool(run and run.start_error) is fails
    assert command_run({"name": "c", "image": "trainer:2", "command": ["python", "x.py"]}, POD) is None


def test_a_bad_image_is_tried_again_after_growing_pauses_and_may_come_at_last() -> None:
    simulation = Simulation()
    plan = {"tensorflow": [{"pull_error": "no route to host"}]}
    simulation.cluster.apply(
        manifests.tfjob("tftest", "default", {"Worker": manifests.replica("tensorflow", [], 1, "Never", plan=plan)})
    )
    simulation.run(60)
    waits = [told(line) for line in pod_lives(simulation.lines, "tftest-worker-0")[0]]
    assert any("waiting ErrImagePull" in each for each in waits)
    assert "waiting ImagePullBackOff" in waits[-1]
    assert [event["count"] for event in simulation.events("Pod", "Pulling")] == [
        3
    ]  # at once, after 10 s, after 20 s more


# Rules


def rule(**match: str) -> Obj:
    return {"match": match, "runs": {"after": 1, "code": 7}}


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ({"namespace": "team"}, True),
        ({"namespace": "other"}, False),
        ({"replica": "worker-3"}, True),
        ({"replica": "worker-*"}, True),
        ({"replica": "ps-0"}, False),
        ({"pod": "job-*", "container": "main"}, True),
        ({"image": "*/trainer:*"}, True),
        ({}, True),
    ],
)
def test_the_first_rule_that_fits_says_what_a_plain_container_does(match: Obj, fits: bool) -> None:
    programs = Programs(parsed_rules([rule(**match), {"match": {}, "runs": [{"code": 9}]}]))
    run = programs.next_run(POD, {"name": "main", "image": "registry/trainer:1"})
    assert run.code == (7 if fits else 9)


def test_rules_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("- match: {container: main}\n  runs: [{after: 2, code: 138}, {after: 9}]\n")
    programs = Programs(read_rules(path))
    runs = [programs.next_run(POD, {"name": "main"}) for _ in range(3)]
    assert [run.code for run in runs] == [138, 0, 0]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({}, "must be a list"),
        ([1], "rule 1 must have match"),
        ([{"match": {"nodes": "x"}, "runs": {}}], "unknown key 'nodes'"),
        ([{"match": {"pod": 1}, "runs": {}}], "must map to strings"),
        ([{"match": {}, "runs": {"code": 999}}], "rule 1: code must be an exit code"),
        ([{"match": {}, "runs": []}], "rule 1 must name a run"),
    ],
)
def test_a_rule_that_cannot_be_read_says_why(content: Any, complaint: str) -> None:
    with pytest.raises(RuleError, match=complaint):
        parsed_rules(content)


def test_a_file_that_is_no_yaml_says_so(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("[")
    with pytest.raises(RuleError, match="is no YAML"):
        read_rules(path)


# Logs


def printed_by(logs: Logs, uid: str = "u", container: str = "main", *, previous: bool = False) -> list[str]:
    return [line for _, line in logs.entries_of(uid, container, previous)]


def test_logs_grow_with_the_clock_and_keep_the_run_before() -> None:
    clock = ManualClock()
    logs = Logs(clock)
    logs.started("u", "main", Run(log=((None, "one"), (None, "two"))), clock.now(), 10.0)
    assert printed_by(logs) == ["one"]
    clock.advance(6)
    assert printed_by(logs) == ["one", "two"]
    logs.ended("u", "main", clock.now(), 1, "Error")
    logs.started("u", "main", Run(), clock.now(), None)
    clock.advance(11)
    assert printed_by(logs, previous=True) == ["one", "two"]
    assert [line.split()[0] for line in printed_by(logs)] == ["starting", "epoch", "epoch"]
    logs.forget("u")
    assert printed_by(logs) == []


def test_a_pods_containers_print_what_their_scripts_echo() -> None:
    simulation = Simulation()
    worker = manifests.replica("tensorflow", ["sh", "-c", "echo hello; sleep 4; echo bye; exit 3"], 1, "OnFailure")
    simulation.cluster.apply(manifests.tfjob("tftest", "default", {"Worker": worker}))
    simulation.run_until(lambda: "running" in str(simulation.pod("tftest-worker-0")), at_most=20)
    pod = simulation.pod("tftest-worker-0")
    assert pod is not None
    uid = pod["metadata"]["uid"]
    assert printed_by(simulation.cluster.logs, uid, "tensorflow") == ["hello"]
    simulation.run(7)
    assert printed_by(simulation.cluster.logs, uid, "tensorflow", previous=True) == ["hello", "bye"]
