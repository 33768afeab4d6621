"""A server over a few recordings, one of them with a hostile name, for the browser's tests."""

import gzip
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo import processes as child_processes
from demo import valkey as embedded_valkey
from tests.support.truth import RECORDINGS

NAMES = ("seed-exitcode-138", "wave-60", "tf-onfailure-one-worker", "sidecar-restarts")
HOSTILE = "<img src=x onerror=window.pwned=1>\u202e" + "x" * 200


@dataclass(frozen=True)
class Site:
    address: str
    jobs: dict[str, dict[str, Any]]  # by namespace
    env: dict[str, str]

    def job(self, namespace: str) -> str:
        return f"{self.address}jobs/{self.jobs[namespace]['uid']}/"


def manage(env: dict[str, str], *arguments: str) -> None:
    command = [sys.executable, "manage.py", *arguments]
    subprocess.run(command, env=os.environ | env, check=True, capture_output=True)


def fetch(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return json.loads(answer.read())


@contextmanager
def serving(folder: Path, valkey_server: Path) -> Iterator[Site]:
    """A server with a few recordings, one of them with a hostile name."""
    env = {
        "DATABASE_URL": f"sqlite:///{folder}/site.sqlite3",
        "RESTARTSCOPE_DATA_DIR": str(folder),
        "REDIS_URL": embedded_valkey.url(valkey_server),
    }
    text = gzip.decompress((RECORDINGS / "oom-killed" / "watch.jsonl.gz").read_bytes())
    hostile = json.dumps(HOSTILE).encode()
    (folder / "watch.jsonl").write_bytes(text.replace(b'"oom"', hostile).replace(b'"oom-killed"', b'"hostile"'))
    manage(env, "replay", *(str(RECORDINGS / name) for name in NAMES), str(folder / "watch.jsonl"))
    port = child_processes.free_port()
    command = [sys.executable, "-m", "uvicorn", "dashboard.asgi:application", "--port", str(port)]
    root = Path(__file__).resolve().parents[2]
    child = child_processes.start(command, log=folder / "web.log", env=os.environ | env, cwd=root)

    def up() -> bool:
        try:
            return bool(fetch(f"http://127.0.0.1:{port}/healthz"))
        except OSError:
            return False

    try:
        assert child_processes.wait(child, up, 60), child_processes.tail(folder / "web.log")
        address = f"http://127.0.0.1:{port}/"
        found = fetch(f"{address}api/jobs/")["jobs"]
        yield Site(address, {job["namespace"]: job for job in found}, env)
    finally:
        child_processes.stop([child], grace=4)


def open_job(page: Any, address: str) -> None:
    page.goto(address)
    page.locator("#timeline[data-ready]").wait_for()


def follow(page: Any, link: Any) -> None:
    """Press what leads to another page, and wait until that one is here whole: its first rows come before its last."""
    with page.expect_navigation():
        link.click()
