"""The supervisor with small shell programs: order, restarts, limits, and the end."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo import supervisor
from demo.supervisor import Child, Failed, Stopped, Supervisor
from tests.support.promptness import fair


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def run(tmp_path: Path, said: list[str]):
    instance = Supervisor(tmp_path, tmp_path, os.environ, said.append)
    yield instance
    instance.stop()


def shell(name: str, script: str, **options: bool) -> Child:
    return Child(name, ["sh", "-c", script], **options)


def tend_until(run: Supervisor, condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        run.tend()
        time.sleep(0.01)


def test_a_dead_child_is_named_and_started_again(run: Supervisor, said: list[str], monkeypatch) -> None:
    monkeypatch.setattr(supervisor, "FIRST_BACKOFF", 0.05)
    child = shell("worker", "echo started; exit 3")
    run.add(child)
    tend_until(run, lambda: run.log_of("worker").read_text().count("started") == 3)
    assert said[0].startswith("worker ended with status 3 and is started again in ")
    assert said[0].endswith("/worker.log")
    assert len(said) == 2


def test_a_child_that_was_killed_says_so(run: Supervisor, said: list[str]) -> None:
    run.add(shell("worker", "kill -9 $$"))
    tend_until(run, lambda: said)
    assert "worker was killed by signal 9" in said[0]


def test_dying_on_and_on_stops_the_demo_and_names_the_log(run: Supervisor, monkeypatch) -> None:
    monkeypatch.setattr(supervisor, "FIRST_BACKOFF", 0.01)
    run.add(shell("web", "echo the reason; exit 1"))
    with pytest.raises(Failed, match=r"web ended 5 times in a row; its log is .*/web\.log:\n(the reason\n?){5}"):
        tend_until(run, lambda: False)


def test_pauses_double_and_health_forgives(run: Supervisor, said: list[str], monkeypatch) -> None:
    child = shell("web", "exit 1")
    run.add(child)
    for pause in ("1 s", "2 s", "4 s", "8 s"):
        assert child.process is not None
        child.process.wait()
        run.tend()
        assert pause in said[-1]
        child.restart_at = 0.0
        run.tend()
    child.started_at -= supervisor.HEALTHY + 1
    assert child.process is not None
    child.process.wait()
    run.tend()
    assert "1 s" in said[-1]


def test_a_program_that_fails_is_an_error_with_its_log(run: Supervisor) -> None:
    with pytest.raises(Failed, match=r"migrate failed; its log is .*/migrate\.log:\nno such table"):
        run.run("migrate", ["sh", "-c", "echo no such table; exit 1"], 5)
    with pytest.raises(Failed, match="slow was not ready after 0 s"):
        run.run("slow", ["sleep", "30"], 0.2)


@pytest.fixture
def signals() -> Iterator[None]:
    """Afterwards this process answers signals as before; the demo ends with its own."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    former = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, former, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
def test_a_signal_ends_waiting(run: Supervisor) -> None:
    run.catch_signals()
    os.kill(os.getpid(), 1)
    with pytest.raises(Stopped):
        run.wait(lambda: False, "nothing", 5)


def test_servers_end_after_those_that_talk_to_them(run: Supervisor, tmp_path: Path) -> None:
    script = "trap 'echo {0} >> order; exit' TERM; echo up; while :; do sleep 0.05; done"
    run.add(shell("server", script.format("server"), server=True))
    run.add(shell("client", script.format("client")))
    tend_until(run, lambda: all(run.log_of(name).read_text() for name in ("server", "client")))
    assert run.stop() == []
    assert (tmp_path / "order").read_text().split() == ["client", "server"]


def test_the_stubborn_are_killed_within_five_seconds(run: Supervisor) -> None:
    for name, server in (("client", False), ("server", True)):
        run.add(shell(name, "trap '' TERM; echo up; while :; do sleep 0.05; done", server=server))
    tend_until(run, lambda: all(run.log_of(name).read_text() for name in ("server", "client")))
    begin = time.monotonic()
    assert sorted(run.stop()) == ["client", "server"]
    assert time.monotonic() - begin < fair(5)
