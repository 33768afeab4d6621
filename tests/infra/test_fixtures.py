"""The fixtures give real servers, and what they start ends."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psycopg
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
    deadline = time.monotonic() + 10
    while not log.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    grandchild = int(log.read_text())
    assert child_processes.stop([child], grace=0.2) == [child.pid]
    deadline = time.monotonic() + 5
    while alive(grandchild) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(grandchild) or "Z" in Path(f"/proc/{grandchild}/stat").read_text().split()[2]


def browser_tests(path: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    clean = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/browser"]
    return subprocess.run(
        command, env=clean | {"PATH": path} | environ, cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_without_a_browser_its_tests_are_skipped_by_name(tmp_path: Path) -> None:
    run = browser_tests(str(tmp_path))
    assert run.returncode == 0, run.stdout
    (line,) = [line for line in run.stdout.splitlines() if line.startswith("Browser tests skipped")]
    assert "install the package chromium" in line
    assert "tests/browser/test_live_job.py::test_the_recordings_can_be_browsed" in line
    assert re.match(r"\d+ skipped", run.stdout.splitlines()[-1])


def test_without_a_browser_ci_fails(tmp_path: Path) -> None:
    run = browser_tests(str(tmp_path), CI="true")
    assert run.returncode == 1
    assert "no Chromium on this machine" in run.stdout


def test_a_busy_port_is_not_free() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = taken.getsockname()[1]
        assert child_processes.free_port(busy) != busy
