"""The scripts of the manifests under the shell that they are for: each distinct one is run by a real busybox."""

import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import Experiment, ParameterKind
from jobs.experiments.manifests import BY_KIND, NOBODY
from jobs.experiments.parameters import SOMEWHERE, defaults
from jobs.experiments.scripts import by_pod, deaf, failing, filling_memory, shell, sleeping
from simcluster.controllers.command import command_run

AT_MOST = 60.0  # seconds in which a script must be over that takes some: a busy machine is slow
LASTING = 2  # seconds that stand for the long ones, whose end is another than that of the short ones
WORKERS = 8  # of a wave: its scripts repeat after seven
NAMES = sorted(experiments())


class Program(NamedTuple):
    """A container of a pod."""

    command: tuple[str, ...]
    pod: str
    container: str


class Ended(NamedTuple):
    code: int
    seconds: float


def shortened(experiment: Experiment) -> dict[str, Any]:
    """Values that keep what happens and take the time out of it."""
    values = defaults(experiment)
    for parameter in experiment.parameters:
        if parameter.kind is ParameterKind.SECONDS:
            values[parameter.name] = LASTING if parameter.name == "runs_for" else 1
    return values | ({"workers": WORKERS} if experiment.name == "restart-wave" else {})


def programs_of(experiment: Experiment) -> set[Program]:
    """What runs in the pods of an experiment; of a memory that is filled there is no end here."""
    found = set()
    for job in experiment.objects(shortened(experiment), SOMEWHERE):
        for kind, replica in job["spec"][BY_KIND[job["kind"]].specs].items():
            spec = replica["template"]["spec"]
            for index in range(replica["replicas"]):
                pod = f"{job['metadata']['name']}-{kind.lower()}-{index}"
                for container in [*spec["containers"], *spec.get("initContainers", [])]:
                    found.add(Program(tuple(container["command"]), pod, container["name"]))
    return {program for program in found if program.command != tuple(filling_memory(1)) and _ends_soon(program)}


def _ends_soon(program: Program) -> bool:
    """Some replicas outlive their experiment by design."""
    run = simulated(program)
    return run.after is not None and run.after[1] < 15


def simulated(program: Program) -> Any:
    """What the simulated kubelet makes of it."""
    pod = {"metadata": {"name": program.pod, "namespace": "default"}}
    environment = [{"name": "POD_NAME", "value": program.pod}]
    run = command_run({"command": list(program.command), "env": environment}, pod)
    assert run is not None, f"the simulated kubelet does not understand {program.command}"
    return run


@dataclass(frozen=True)
class Box:
    """A folder in which every program is busybox, as in its image, and whom they run as (options of ``Popen``)."""

    folder: Path
    user: dict[str, Any]

    def start(self, command: tuple[str, ...], pod: str = "run-worker-0", **options: Any) -> "subprocess.Popen[str]":
        environment = {"PATH": str(self.folder), "POD_NAME": pod}
        program = str(self.folder / command[0]) if "/" not in command[0] else command[0]
        return subprocess.Popen(
            [program, *command[1:]],
            env=environment,
            cwd="/",
            text=True,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **self.user,
            **options,
        )


@pytest.fixture(scope="session", params=["as whoever runs the tests", "without root"])
def box(request: pytest.FixtureRequest, busybox_path: str) -> Iterator[Box]:
    """Without root: as the option of the launch has it, where the tests are run by root; else nobody is root anyway."""
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    with tempfile.TemporaryDirectory() as folder:  # not pytest's own, which only its user may read
        Path(folder).chmod(0o755)
        subprocess.run([busybox_path, "--install", "-s", folder], check=True)
        yield Box(Path(folder), nobody if request.param == "without root" and os.getuid() == 0 else {})


@pytest.fixture(scope="session")
def ended(box: Box) -> dict[Program, Ended]:
    """How all programs of the catalogue ended; they ran side by side."""

    def run(program: Program) -> Ended:
        begun = time.monotonic()
        process = box.start(program.command, program.pod)
        _, told = process.communicate(timeout=AT_MOST)
        assert told == "", told
        return Ended(process.returncode, time.monotonic() - begun)

    programs = {one for name in NAMES if name != "start-error" for one in programs_of(experiments()[name])}
    with ThreadPoolExecutor(max(1, len(programs))) as pool:
        return dict(zip(programs, pool.map(run, programs), strict=True))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("start-error", "oom")])
def test_busybox_does_what_the_simulated_kubelet_does(name: str, ended: dict[Program, Ended]) -> None:
    programs = programs_of(experiments()[name])
    assert programs
    for program in programs:
        expected, found = simulated(program), ended[program]
        assert found.code == expected.code, program
        assert found.seconds >= expected.after[0], "it did not end too early"


def test_the_seeds_worker_0_fails_and_the_others_do_not(ended: dict[Program, Ended]) -> None:
    codes = {program.pod: ended[program].code for program in programs_of(experiments()["seed"])}
    assert codes == {
        "experiment-ps-0": 0,
        "experiment-worker-0": 138,
        "experiment-worker-1": 0,
        "experiment-worker-2": 0,
    }


def test_every_exit_code_of_the_sweep_comes_out(ended: dict[Program, Ended]) -> None:
    for program in programs_of(experiments()["exit-code-sweep"]):
        code = int(program.pod.removeprefix("experiment-").partition("-")[0])
        assert ended[program].code == (code if program.pod.endswith("worker-0") else 0)


def test_the_waves_first_worker_fails_before_the_others(ended: dict[Program, Ended]) -> None:
    found = {program.pod.rpartition("-")[2]: ended[program] for program in programs_of(experiments()["restart-wave"])}
    assert len(found) == WORKERS
    first = found.pop("0")
    assert first.code == 139
    assert {one.code for one in found.values()} == {134}
    assert first.seconds < min(one.seconds for one in found.values())


def test_a_script_is_chosen_by_the_whole_name_of_the_replica(box: Box) -> None:
    command = tuple(shell(by_pod({"worker-1": "exit 3", "ps-0": "exit 4"}, "exit 5")))
    pods = {"run-worker-1": 3, "run-ps-0": 4, "run-worker-11": 5, "run-worker-0": 5, "my-worker-1-worker-2": 5}
    assert {pod: box.start(command, pod).wait(AT_MOST) for pod in pods} == pods


@pytest.fixture
def sleeper(box: Box, request: pytest.FixtureRequest) -> Iterator["subprocess.Popen[str]"]:
    """A script that has come to its long sleep; whatever is left of it is ended."""
    process = box.start(request.param)
    deadline = time.monotonic() + AT_MOST
    while not psutil.Process(process.pid).children():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(AT_MOST)


LONG = 600
WITH_TRAPS = [shell(sleeping(LONG)), shell(failing(LONG, 138)), shell(by_pod({"worker-0": sleeping(LONG)}, "exit 1"))]


@pytest.mark.parametrize("sleeper", WITH_TRAPS, indirect=True)
def test_sigterm_ends_a_script_at_once(sleeper: "subprocess.Popen[str]") -> None:
    sleeper.send_signal(signal.SIGTERM)
    assert sleeper.wait(AT_MOST) == 143


@pytest.mark.parametrize("sleeper", WITH_TRAPS[:1], indirect=True)
def test_sigint_ends_it_too(sleeper: "subprocess.Popen[str]") -> None:
    sleeper.send_signal(signal.SIGINT)
    assert sleeper.wait(AT_MOST) == 130


def test_a_deaf_script_has_no_trap() -> None:
    """Then the kernel keeps the signal from it where it is the first process, as in a container."""
    assert deaf(sleeping(LONG)) == ["sh", "-c", "sleep 600 & wait $!"]


def test_the_memory_is_really_filled(box: Box) -> None:
    """Here a limit on the address space stands for the container's: it is met soon, and only by allocating."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (64 << 20, 64 << 20))

    process = box.start(tuple(filling_memory(0)), preexec_fn=limited)
    _, told = process.communicate(timeout=AT_MOST)
    assert process.returncode != 0
    assert "out of memory" in told


def test_the_scripts_run_as_who_they_should(box: Box) -> None:
    process = box.start(("id", "-u"), stdout=subprocess.PIPE)
    told, _ = process.communicate(timeout=AT_MOST)
    assert int(told) == box.user.get("user", os.getuid())


def test_a_command_that_does_not_exist_cannot_be_started(box: Box) -> None:
    (program, *_) = (
        container["command"]
        for job in experiments()["start-error"].objects(defaults(experiments()["start-error"]), SOMEWHERE)
        for container in job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    )
    with pytest.raises(FileNotFoundError):
        box.start(tuple(program))
