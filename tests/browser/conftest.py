"""A real Chromium against the real processes.

Playwright's synchronous interface keeps an event loop in this thread, in which Django refuses to use the database: the
browser lives no longer than the module that uses it.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from demo import processes as child_processes
from tests.browser.site import Site, serving

START_SECONDS = 120
# The last ones keep the browser from calling its maker at the start, which a closed network answers slowly.
SWITCHES = (
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Demo:
    """A running `python -m demo`: the address of its pages (ends in a slash), its simulated cluster, its logs."""

    address: str
    kubeconfig: Path
    logs: Path


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    """Headless Chromium."""
    switches = [*SWITCHES, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=switches)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page in English; a script error, or something the Content-Security-Policy refused, fails the test."""
    context = browser.new_context(locale="en-GB", timezone_id="UTC", viewport={"width": 1440, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield page
    context.close()
    assert not errors, "\n".join(errors)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, chromium_path: str) -> Iterator[Demo]:
    """Everything that `make demo` starts, in a folder and on a port of its own."""
    folder = tmp_path_factory.mktemp("demo") / "data"
    log = folder.with_name("demo.log")
    command = [sys.executable, "-m", "demo", "--data-dir", str(folder), "--port", str(child_processes.free_port())]
    child = child_processes.start(command, log=log, env=os.environ, cwd=Path(__file__).resolve().parents[2])
    try:
        started = child_processes.wait(child, lambda: "Ctrl-C ends everything" in log.read_text(), START_SECONDS)
        assert started, child_processes.tail(log)
        about: dict[str, Any] = json.loads((folder / "demo.json").read_text(encoding="utf-8"))
        yield Demo(about["address"], Path(about["kubeconfig"]), folder / "logs")
    finally:
        child_processes.stop([child], grace=6)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, valkey_server: Path, chromium_path: str) -> Iterator[Site]:
    """A server with a few recordings."""
    with serving(tmp_path_factory.mktemp("site"), valkey_server) as found:
        yield found
