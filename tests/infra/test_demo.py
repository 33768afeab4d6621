"""`make demo` as a whole: what it refuses, what it opens, and that nothing is left behind."""

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from demo import __main__ as demo
from demo.supervisor import Failed
from tests.support.promptness import fair

ROOT = Path(__file__).resolve().parents[2]


def start(processes: Any, data_dir: Path, *args: str, env: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    child: subprocess.Popen[bytes] = processes.python("-m", "demo", "--data-dir", str(data_dir), *args, env=env)
    return child


def family(child: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    return psutil.Process(child.pid).children(recursive=True)


def listening(family: list[psutil.Process]) -> set[str]:
    """Every address that one of these processes accepts TCP connections on."""
    found = set()
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            found |= {c.laddr.ip for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    return found


@pytest.mark.timeout(240)
def test_it_starts_on_loopback_goes_on_and_ends_in_time(processes: Any, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = taken.getsockname()[1]
        # A caller's settings must not reach the demo: the first would stop it, the second lead nowhere.
        callers = {"DATABASE_URL": "mysql://real/database", "http_proxy": "http://127.0.0.1:1"}
        child = start(processes, tmp_path / "data", "--port", str(busy), env=callers)
        processes.wait_for(lambda: "Ctrl-C ends everything" in processes.log_of(child), child, seconds=120)
    said = processes.log_of(child)
    about = json.loads((tmp_path / "data" / "demo.json").read_text(encoding="utf-8"))
    assert f"Port {busy} is busy, so the pages are on port" in said
    assert about["address"] in said
    assert f"--kubeconfig {about['kubeconfig']}" in said
    assert "left out" not in said
    with urllib.request.urlopen(f"{about['address']}healthz", timeout=60) as answer:
        assert answer.status == 200
    logs = tmp_path / "data" / "logs"
    names = {path.name for path in logs.iterdir()}
    assert {
        f"{name}.log" for name in ("valkey", "cluster", "web", "worker", "worker-watch", "beat", "migrate")
    } <= names
    children = family(child)
    assert listening(children) == {"127.0.0.1"}

    second = start(processes, tmp_path / "data")
    assert second.wait(30) == 1
    assert f"A demo is already running here (process {child.pid}, {about['address']})" in processes.log_of(second)

    (web,) = [process for process in children if "uvicorn" in process.cmdline()]
    (cluster,) = [process for process in children if "simcluster" in process.cmdline()]
    web.kill()
    processes.wait_for(lambda: "web was killed by signal 9 and is started again" in processes.log_of(child), child)

    cluster.kill()
    processes.wait_for(lambda: "cluster was killed by signal 9" in processes.log_of(child), child)
    # The new cluster is empty: the old one's job is gone, and its own is seen.
    for state in ("Deleted", "Running"):
        processes.wait_for(lambda state=state: jobs_in(about["address"], state) == 1, child, seconds=90)

    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 0
    assert time.monotonic() - begin < fair(5)
    assert "Killed, for not ending in time" not in processes.log_of(child)
    assert family_left(children) == []


def jobs_in(address: str, state: str) -> int:
    """How many jobs of the simulated cluster are in a state; 0 while the pages do not answer."""
    query = urllib.parse.urlencode({"q": f"cluster:demo state:{state}"})
    try:
        with urllib.request.urlopen(f"{address}api/jobs/?{query}", timeout=60) as answer:
            return len(json.load(answer)["jobs"])
    except OSError:
        return 0


def family_left(children: list[psutil.Process]) -> list[psutil.Process]:
    return [p for p in children if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.timeout(120)
def test_however_it_ends_nothing_is_left(number: int, processes: Any, tmp_path: Path) -> None:
    child = start(processes, tmp_path / "data", "--port", "0")
    processes.wait_for(lambda: len(family(child)) >= 2, child, seconds=60)
    children = family(child)
    child.send_signal(number)
    child.wait(60)
    deadline = time.monotonic() + 60
    while family_left(children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert family_left(children) == []


@pytest.mark.timeout(120)
def test_it_ends_with_its_terminal_even_under_make(tmp_path: Path) -> None:
    # The kernel's SIGHUP goes to the first process of the session alone: here to a shell that keeps it to itself.
    command = f"trap : HUP; {sys.executable} -m demo --port 0 --data-dir {tmp_path}/data; sleep 30"
    leader, terminal = pty.fork()
    if leader == 0:
        os.chdir(ROOT)
        os.execvp("sh", ["sh", "-c", command])
    try:
        # The demo, its broker and the migration: the log of a process is there a moment before the process is.
        children: list[psutil.Process] = []
        deadline = time.monotonic() + 60
        while len(children) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
            children = psutil.Process(leader).children(recursive=True)
        assert len(children) >= 3
    finally:
        os.close(terminal)
    try:
        _, left = psutil.wait_procs(children, timeout=6)
        assert [process for process in left if process.name() != "sleep"] == []
    finally:
        os.killpg(leader, signal.SIGKILL)
        os.waitpid(leader, 0)


def test_a_second_run_starts_clean_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.fresh(tmp_path / "data")
    (tmp_path / "data" / "restartscope.sqlite3").write_text("old")
    demo.fresh(tmp_path / "data")
    assert "Starting clean" in capsys.readouterr().out
    assert not (tmp_path / "data" / "restartscope.sqlite3").exists()


def test_a_folder_of_someone_else_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(Failed, match="holds something else than a demo's data"):
        demo.fresh(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_a_terminal_that_is_gone_does_not_stop_the_stopping(tmp_path: Path) -> None:
    script = "import os, sys; os.close(1); from demo.supervisor import printer; printer()('Stopping'); sys.exit(7)"
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, "-c", script], env=environ, check=False, timeout=30).returncode == 7


def test_the_recordings_are_there_and_no_answer_book_with_them() -> None:
    folders = sorted(path for path in demo.RECORDINGS.iterdir() if path.is_dir())
    assert 10 <= len(folders) <= 12
    assert all([path.name for path in folder.iterdir()] == ["watch.jsonl.gz"] for folder in folders)
