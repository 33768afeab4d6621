"""Keeps a set of processes running: starts them in order, restarts what dies, stops all of them in time.

Nothing here knows what the processes are; demo/__main__.py does. One thread, no event loop: the loop looks at the
children every TICK seconds, and a signal only sets a flag.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from demo import processes

TICK = 0.1  # seconds between two looks at the children
STOP_GRACE = 3.4  # seconds for the children to end by themselves; with the second wave and the killing below 5
STOP_GRACE_SERVERS = 0.8  # seconds for what the others talk to, which is stopped after them
FIRST_BACKOFF, LONGEST_BACKOFF = 1.0, 15.0  # seconds before a restart: doubled each time
HEALTHY = 30.0  # seconds that a child must run for its earlier deaths to be forgotten
MOST_DEATHS = 5  # in a row; then restarting is no cure and the demo stops


class Stopped(Exception):
    """A signal asked the demo to stop."""


class Failed(Exception):
    """The demo cannot go on; the text is a sentence that names the log file."""


@dataclass
class Child:
    """A program that is kept running. `server`: others talk to it, so it is stopped after them."""

    name: str
    args: Sequence[str]
    server: bool = False
    process: "subprocess.Popen[bytes] | None" = None
    started_at: float = 0.0
    deaths: int = 0
    restart_at: float | None = None  # None while it runs


@dataclass
class Supervisor:
    """Runs children with one environment; their output goes to `<logs>/<name>.log`."""

    logs: Path
    cwd: Path
    env: Mapping[str, str]
    say: Callable[[str], None]
    children: list[Child] = field(default_factory=list)
    stopping: bool = False
    terminal: int | None = None  # file descriptor of the terminal whose end is ours

    def catch_signals(self) -> None:
        """Ctrl-C, a request to end and the end of the terminal mean the same; under nohup the last means nothing."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._on_signal)
            self.terminal = terminal()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def log_of(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def run(self, name: str, args: Sequence[str], seconds: float) -> None:
        """Run a program to its end. Raises Failed if it fails or takes longer, Stopped at a signal."""
        process = processes.start(args, log=self.log_of(name), env=self.env, cwd=self.cwd)
        try:
            self.wait(lambda: process.poll() is not None, name, seconds)
        finally:
            processes.stop([process], grace=1)
        if process.returncode:
            raise Failed(f"{name} failed; its log is {self.log_of(name)}:\n{processes.tail(self.log_of(name), 8)}")

    def add(self, child: Child) -> None:
        """Start a child and keep it running from now on."""
        self.children.append(child)
        self._start(child)

    def wait(self, ready: Callable[[], bool], name: str, seconds: float) -> None:
        """Tend the children until `ready()`. Raises Failed, naming the log, after `seconds`; Stopped at a signal."""
        deadline = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > deadline:
                raise Failed(f"{name} was not ready after {seconds:.0f} s; its log is {self.log_of(name)}")
            self.tend()
            time.sleep(TICK)

    def watch(self) -> None:
        """Tend the children until a signal comes (raises Stopped) or one is beyond help (raises Failed)."""
        while True:
            self.tend()
            time.sleep(TICK)

    def tend(self) -> None:
        """One look: note deaths, restart what is due. Raises Stopped or Failed."""
        if self.stopping or (self.terminal is not None and is_gone(self.terminal)):
            raise Stopped
        now = time.monotonic()
        for child in self.children:
            if child.restart_at is not None:
                if now >= child.restart_at:
                    self._start(child)
            elif child.process is not None and child.process.poll() is not None:
                self._bury(child, now)

    def _start(self, child: Child) -> None:
        child.process = processes.start(child.args, log=self.log_of(child.name), env=self.env, cwd=self.cwd)
        child.started_at = time.monotonic()
        child.restart_at = None

    def _bury(self, child: Child, now: float) -> None:
        assert child.process is not None
        status = child.process.returncode
        processes.stop([child.process], grace=0)  # whatever it left behind in its group
        child.deaths = 1 if now - child.started_at > HEALTHY else child.deaths + 1
        log = self.log_of(child.name)
        if child.deaths >= MOST_DEATHS:
            raise Failed(
                f"{child.name} ended {child.deaths} times in a row; its log is {log}:\n{processes.tail(log, 8)}"
            )
        pause = min(FIRST_BACKOFF * 2 ** (child.deaths - 1), LONGEST_BACKOFF)
        child.restart_at = now + pause
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        self.say(f"{child.name} {how} and is started again in {pause:.0f} s; its log is {log}")

    def stop(self) -> list[str]:
        """End every child, servers last. Returns the names of those that had to be killed."""
        killed: list[int] = []
        for servers, grace in ((False, STOP_GRACE), (True, STOP_GRACE_SERVERS)):
            wave = [child.process for child in self.children if child.process and child.server is servers]
            killed += processes.stop(wave, grace=grace)
        return [child.name for child in self.children if child.process and child.process.pid in killed]


def terminal() -> int | None:
    """A file descriptor of the controlling terminal, None without one."""
    try:
        return os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None


def is_gone(terminal: int) -> bool:
    """Whether the terminal was closed. The kernel tells only the first process of a session, and that may be make,
    which does not pass it on."""
    poll = select.poll()
    poll.register(terminal, 0)  # a hang-up is told without being asked for
    return bool(poll.poll(0))


def printer() -> Callable[[str], None]:
    """`print` that survives a terminal which is gone."""

    def say(text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            print(text, flush=True)

    return say
