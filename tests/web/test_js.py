"""The browser's pure modules, by node's own test runner."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLDEST = (20, 19)  # earlier ones do not take .js files for modules without being told


def node() -> str:
    path = shutil.which("node")
    if path is None:
        pytest.skip("no node on this machine: the tests of static/js are left out")
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(part) for part in text.strip().lstrip("v").split(".")[:2])
    if version < OLDEST:
        pytest.skip(f"node {text.strip()} is too old for static/js (at least {OLDEST[0]}.{OLDEST[1]})")
    return path


def test_pure_modules() -> None:
    files = sorted(str(path) for path in (ROOT / "tests" / "js").glob("*.test.js"))
    assert files
    run = subprocess.run([node(), "--test", *files], capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
