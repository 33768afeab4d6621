"""``make screenshots``: pictures of the real pages into docs/screenshots, light and dark, wide and narrow.

The pages show recordings of a real cluster, so the pictures are the same each time. It needs Chromium and nothing else.
"""

import os
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from demo import processes, valkey
from tests.browser.conftest import SWITCHES
from tests.support import chromium
from tests.support.truth import RECORDINGS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "screenshots"
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SHOWN = (
    "seed-exitcode-138",
    "wave-60",
    "runaway",
    "node-lost",
    "oom-killed",
    "mixed-codes",
    "suspend-resume",
    "tf-onfailure-one-worker",
    "evict-exitcode",
    "gang-waits",
    "xgboost-exitcode",
    "pt-exitcode-worker",
)
JOB = "jobs/recordings/{namespace}/{kind}/{name}/"
PAGES = {
    "jobs": "",
    "job": JOB.format(namespace="seed-exitcode-138", kind="TFJob", name="tftest"),
    "kubectl": JOB.format(namespace="seed-exitcode-138", kind="TFJob", name="tftest") + "?tab=kubectl#tabs",
    "wave": JOB.format(namespace="wave-60", kind="PyTorchJob", name="wave"),
    "waiting": JOB.format(namespace="gang-waits", kind="TFJob", name="big"),
    "search": "?q=exit:137+cause:oom+foo:bar",
    "codes": "exit-codes/",
    "watchers": "watchers/",
}


@contextmanager
def site() -> Iterator[str]:
    """The address of a server over a database of recordings."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {
            **os.environ,
            "DATABASE_URL": f"sqlite:///{folder}/shots.sqlite3",
            "RESTARTSCOPE_DATA_DIR": name,
            "REDIS_URL": valkey.url(valkey.socket_in(folder)),
        }
        log = folder / "log"
        broker = processes.start(valkey.command(valkey.socket_in(folder)), log=log, env=environment, cwd=ROOT)
        paths = [str(RECORDINGS / scenario) for scenario in SHOWN]
        replay = processes.start(
            [sys.executable, "manage.py", "replay", *paths, "--cluster", "recordings"],
            log=log,
            env=environment,
            cwd=ROOT,
        )
        if replay.wait(120) != 0:
            sys.exit(f"The recordings could not be read:\n{log.read_text()}")
        port = processes.free_port()
        server = [
            sys.executable,
            "-m",
            "uvicorn",
            "dashboard.asgi:application",
            "--port",
            str(port),
            "--lifespan",
            "off",
        ]
        child = processes.start(server, log=log, env=environment, cwd=ROOT)
        address = f"http://127.0.0.1:{port}/"
        try:
            if not processes.wait(child, lambda: _answers(address), 30):
                sys.exit(f"The server did not start:\n{log.read_text()}")
            yield address
        finally:
            processes.stop([child, broker], grace=3)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address + "healthz", timeout=1):
            return True
    except OSError:
        return False


def take(browser: Browser, address: str) -> None:
    for scheme in ("light", "dark"):
        for suffix, viewport in (("", WIDE), ("-narrow", NARROW)):
            context = browser.new_context(color_scheme=scheme, viewport=viewport, locale="en-GB", timezone_id="UTC")
            page = context.new_page()
            for name, path in PAGES.items():
                page.goto(address + path)
                page.wait_for_timeout(1200)  # the canvas is drawn
                page.screenshot(path=FOLDER / f"{name}-{scheme}{suffix}.png")
                print(f"docs/screenshots/{name}-{scheme}{suffix}.png")
            context.close()


def main() -> None:
    path = chromium.find()
    if path is None:
        sys.exit(chromium.MISSING)
    FOLDER.mkdir(parents=True, exist_ok=True)
    switches = [*SWITCHES, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with site() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=switches)
        take(browser, address)
        browser.close()


if __name__ == "__main__":
    main()
