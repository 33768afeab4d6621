"""`python -m simcluster` as a process: addresses, files, signals."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.simcluster.simserver import RawWatch
from tests.support.promptness import fair

ROOT = Path(__file__).parent.parent.parent
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    children: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "simcluster", *arguments]
        pipe = subprocess.PIPE
        children.append(subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True))
        return children[-1]

    yield run
    for child in children:
        child.kill()
        child.communicate()


def address_of(child: "subprocess.Popen[str]") -> tuple[str, int]:
    assert child.stdout is not None
    line = child.stdout.readline()
    host, port = line.strip().rpartition("http://")[2].split(":")
    return host, int(port)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_within_two_seconds_with_open_streams(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    child = start(
        "--kubeconfig-out", f"{tmp_path}/new/config", "--port-file", f"{tmp_path}/port", "--namespace", "demo"
    )
    host, port = address_of(child)
    assert host == "127.0.0.1"
    watches = [RawWatch(port, f"/api/v1/{plural}?watch=1") for plural in ("pods", "events", "namespaces")]
    watches[2].wait_for(b'"name":"demo"')
    assert (tmp_path / "port").read_text() == f"{port}\n"
    config: Any = json.loads((tmp_path / "new" / "config").read_text())
    assert config["clusters"][0]["cluster"]["server"] == f"http://127.0.0.1:{port}"
    assert config["contexts"][0]["context"]["namespace"] == "demo"
    begin = time.monotonic()
    child.send_signal(number)
    assert child.wait(60) == 0
    assert time.monotonic() - begin < fair(2)
    assert all(watch.to_end() for watch in watches)
    assert child.stderr is not None
    assert "Traceback" not in child.stderr.read()


def test_a_busy_port_is_no_failure(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = taken.getsockname()[1]
        child = start("--port", str(busy))
        _, port = address_of(child)
        assert port != busy
        RawWatch(port, "/api/v1/namespaces?watch=1").wait_for(b'"name":"default"')
        child.terminate()
        assert child.wait(60) == 0
        assert child.stderr is not None
        assert f"port {busy} is taken" in child.stderr.read()


def test_an_experiment_runs_and_is_seen_by_a_watch(start: Start) -> None:
    _, port = address_of(start("--run", "seed", "--speed", "20", "--seed", "7"))
    watch = RawWatch(port, "/api/v1/namespaces/demo/pods?watch=1&fieldSelector=metadata.name%3Dtftest-worker-0")
    watch.wait_for(b'"exitCode":138')
    watch.wait_for(b'{"type":"DELETED"')
    job = RawWatch(port, "/apis/kubeflow.org/v1/namespaces/demo/tfjobs?watch=1")
    job.wait_for(b'"type":"Restarting"')


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--forbid", "widgets"], "widgets"),
        (["--run", "no-such-thing"], "no-such-thing"),
        (["--run", "seed", "--bare"], "--bare"),
        (["--without", "pods"], "pods"),
        (["--speed", "0"], "speed"),
        (["--namespace", "Bad_Name"], "Bad_Name"),
        (["--start", "yesterday"], "yesterday"),
        (["--kubeconfig-out", "/proc/none/config"], "/proc/none"),
        (["--port", "99999"], "99999"),
        (["--keep-seconds", "-1"], "keep-seconds"),
        (["--bookmark-seconds", "0"], "bookmark-seconds"),
        (["--nodes", "0"], "--nodes"),
        (["--node-cpu", "much"], "--node-cpu much"),
        (["--node-memory", "0Gi"], "--node-memory"),
        (["--gang-scheduler", "kueue"], "kueue"),
        (["--rules", "/no/such/rules.yaml"], "/no/such/rules.yaml"),
        (["--rules", "pyproject.toml"], "pyproject.toml"),
        (["--busy", "--bare"], "--bare"),
        (["--restricted-init", "--bare"], "--restricted-init"),
        (["--run", "sp-exitcode", "--gang-scheduler", "volcano"], "scheduler-plugins"),
        (["--run", "sp-exitcode", "--run", "tf-normal"], "sp-exitcode needs scheduler-plugins"),
    ],
)
def test_a_wrong_option_is_named(start: Start, arguments: list[str], word: str) -> None:
    child = start(*arguments)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 2
    assert word in errors
    assert "Traceback" not in errors
