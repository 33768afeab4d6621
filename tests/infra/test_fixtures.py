"""The fixtures give real servers, and what they start ends."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
import redis

from demo import processes as child_processes

ROOT = Path(__file__).resolve().parents[2]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_valkey_answers_and_is_empty(valkey: str) -> None:
    with redis.Redis.from_url(valkey) as connection:
        assert connection.dbsize() == 0
        assert connection.config_get("port") == {"port": "0"}


def test_postgres_databases_are_separate(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute("select current_database(), current_setting('listen_addresses')").fetchone()
    assert row is not None
    assert row[0].startswith("test_")
    assert row[1] == ""


def test_a_child_that_ignores_the_request_is_killed_with_its_children(tmp_path: Path) -> None:
    script = "trap '' TERM; sleep 60 & echo $!; wait; wait"
    log = tmp_path / "log"
    child = child_processes.start(["sh", "-c", script], log=log, env=os.environ)
    deadline = time.monotonic() + 60
    while not log.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    grandchild = int(log.read_text())
    assert child_processes.stop([child], grace=0.2) == [child.pid]
    deadline = time.monotonic() + 60
    while alive(grandchild) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(grandchild) or "Z" in Path(f"/proc/{grandchild}/stat").read_text().split()[2]


def run_tests(folder: str, path: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """The tests of a folder or file where only programs on ``path`` are found."""
    clean = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder]
    return subprocess.run(
        command, env=clean | {"PATH": path} | environ, cwd=ROOT, capture_output=True, text=True, check=False
    )


PROGRAMS = [
    (
        "tests/browser",
        "Browser tests skipped",
        "no Chromium on this machine: install the package chromium",
        "tests/browser/test_live_job.py::test_the_recordings_can_be_browsed",
    ),
    (
        "tests/experiments/test_scripts.py",
        "Tests of scripts skipped",
        "no busybox on this machine: install the package busybox",
        "tests/experiments/test_scripts.py::test_sigterm_ends_a_script_at_once",
    ),
]


@pytest.mark.parametrize(("folder", "begins", "missing", "test"), PROGRAMS)
def test_without_a_program_its_tests_are_skipped_by_name(
    folder: str, begins: str, missing: str, test: str, tmp_path: Path
) -> None:
    run = run_tests(folder, str(tmp_path))
    assert run.returncode == 0, run.stdout
    (line,) = [line for line in run.stdout.splitlines() if line.startswith(begins)]
    assert missing in line
    assert test in line
    assert re.search(r"\d+ skipped", run.stdout.splitlines()[-1])


@pytest.mark.parametrize(("folder", "begins", "missing", "test"), PROGRAMS)
def test_without_a_program_ci_fails(folder: str, begins: str, missing: str, test: str, tmp_path: Path) -> None:
    run = run_tests(folder, str(tmp_path), CI="true")
    assert run.returncode == 1
    assert missing in run.stdout


def test_a_busy_port_is_not_free() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = taken.getsockname()[1]
        assert child_processes.free_port(busy) != busy
