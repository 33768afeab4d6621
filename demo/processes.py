"""Child processes that never outlive whoever started them. Standard library alone: the demo and the tests use it."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

PR_SET_PDEATHSIG = 1
# Looked up before the fork: a child of fork should do as little as it can.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def _die_with_parent(parent: int) -> None:
    """On Linux a child is killed with its parent, even where the parent had no time to clean up, or died meanwhile."""
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def start(
    args: Sequence[str], *, log: Path, env: Mapping[str, str], cwd: Path | None = None, user: str | None = None
) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own; what it prints is appended to `log`.

    A group of its own keeps the terminal's Ctrl-C away from it, so that the one who started it decides the order in
    which things stop, and lets `stop` reach its children too.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            list(args),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd,
            user=user,
            group=_group_of(user),
            extra_groups=[] if user else None,
            start_new_session=True,
            # No threads are running when children are started.
            preexec_fn=partial(_die_with_parent, os.getpid()),  # noqa: PLW1509
        )


def _group_of(user: str | None) -> int | None:
    import pwd  # noqa: PLC0415  (not on every system, and needed by root alone)

    return pwd.getpwnam(user).pw_gid if user else None


def stop(children: Iterable[subprocess.Popen[bytes]], *, grace: float, first: int = signal.SIGTERM) -> list[int]:
    """Ask all to end, wait `grace` seconds for all of them together, kill what is left. Returns the pids killed."""
    waiting = list(children)
    for child in waiting:
        _signal_group(child, first)
    deadline = time.monotonic() + grace
    while any(child.poll() is None for child in waiting) and time.monotonic() < deadline:
        time.sleep(0.02)
    killed = [child.pid for child in waiting if child.poll() is None]
    for child in waiting:
        _signal_group(child, signal.SIGKILL)  # children of a child that ended by itself, too
        child.wait()
    return killed


def wait(child: subprocess.Popen[bytes], ready: Callable[[], bool], seconds: float) -> bool:
    """Wait until `ready()`. False if the child ends, or `seconds` pass, before."""
    deadline = time.monotonic() + seconds
    while not ready():
        if child.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    # The group's number is the child's pid; a group without members is gone.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def free_port(wanted: int = 0) -> int:
    """A TCP port that is free on loopback: the wanted one if possible, else any."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no TCP port is free on 127.0.0.1")


def tail(log: Path, lines: int = 20) -> str:
    """The last lines of a log file, for an error message."""
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError as error:
        return f"({log} cannot be read: {error.strerror})"
