"""The real kubectl against a simulated cluster in a process of its own."""

import json
import os
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
KUBECTL = Path(sysconfig.get_path("scripts")) / "kubectl"
Obj = dict[str, Any]


class Cluster:
    """`python -m simcluster` with options, and kubectl for it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        config, port = folder / "config", folder / "port"
        command = [sys.executable, "-m", "simcluster", "--kubeconfig-out", str(config), "--port-file", str(port)]
        self.process = subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.DEVNULL)
        until(port.exists)
        self.url = f"http://127.0.0.1:{port.read_text().strip()}"
        self.kubeconfig = config

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(60) == 0

    def start_kubectl(self, *arguments: str, stdin: bool = False) -> "subprocess.Popen[str]":
        command = [str(KUBECTL), "--kubeconfig", str(self.kubeconfig), *arguments]
        pipe = subprocess.PIPE
        environment = {**os.environ, "HOME": str(self._folder)}
        source = pipe if stdin else subprocess.DEVNULL
        return subprocess.Popen(command, env=environment, stdin=source, stdout=pipe, stderr=pipe, text=True)

    def run(self, *arguments: str, manifest: Obj | None = None) -> tuple[int, str, str]:
        """Exit code, output and errors; the manifest is what `-f -` reads."""
        child = self.start_kubectl(*arguments, stdin=manifest is not None)
        out, err = child.communicate(json.dumps(manifest) if manifest is not None else None, timeout=60)
        return child.returncode, out, err

    def kubectl(self, *arguments: str, manifest: Obj | None = None) -> str:
        """The output of a command that must succeed."""
        code, out, err = self.run(*arguments, manifest=manifest)
        assert code == 0, (arguments, out, err)
        return out

    def refused(self, *arguments: str, manifest: Obj | None = None) -> str:
        """What a command that must fail writes to stderr."""
        code, out, err = self.run(*arguments, manifest=manifest)
        assert code != 0, (arguments, out)
        return err

    def control(self, action: str, **body: Any) -> Obj:
        data = json.dumps(body).encode() if body or action.startswith("watches") else None
        with urllib.request.urlopen(f"{self.url}/sim/{action}", data, timeout=60) as answer:
            return dict(json.loads(answer.read()))


def until(condition: Callable[[], object], at_most: float = 30.0) -> None:
    """Waits for something that another process does."""
    end = time.monotonic() + at_most
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
