"""``make screenshots``: pictures of every page, light and dark, wide and narrow, of which docs/screenshots keeps a few.

The pages show recordings of a real cluster and jobs that are made up, so the pictures are the same each time. It needs
Chromium and nothing else.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from demo import processes, valkey
from tests.browser.conftest import SWITCHES
from tests.support import chromium
from tests.support.truth import RECORDINGS

ROOT = Path(__file__).resolve().parents[2]
ALL, KEPT = ROOT / "var" / "screenshots", ROOT / "docs" / "screenshots"
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
LONGEST = 2400  # pixels of a picture
SHOWN = (
    "seed-exitcode-138",
    "wave-60",
    "runaway",
    "node-lost",
    "oom-killed",
    "mixed-codes",
    "suspend-resume",
    "tf-onfailure-one-worker",
    "pt-normal",
    "evict-exitcode",
    "gang-waits",
    "xgboost-exitcode",
    "pt-exitcode-worker",
    "sidecar-restarts",
)
MADE_UP = "from pathlib import Path; from tests.browser.made_up import write; write(Path({folder!r}))"


def recorded(namespace: str, kind: str, name: str, query: str = "") -> str:
    return f"jobs/recordings/{namespace}/{kind}/{name}/{query}"


SEED = recorded("seed-exitcode-138", "TFJob", "tftest")
TABS = ("replicas", "phases", "podgroup", "events", "kubectl", "logs", "facts")
PAGES = {
    "jobs": "",
    "job": SEED,
    "wave": recorded("wave-60", "PyTorchJob", "wave"),
    "waiting": recorded("gang-waits", "TFJob", "big"),
    "search": "?q=exit:137+cause:oom+foo:bar",
    "codes": "exit-codes/",
    "watchers": "watchers/",
    "experiments": "experiments/",
    **{f"tab-{tab}": f"{SEED}?tab={tab}#tabs" for tab in TABS},
    "mixed-codes": recorded("mixed-codes", "TFJob", "mixed"),
    "in-place": recorded("runaway", "TFJob", "runaway"),
    "oom": recorded("oom-killed", "PyTorchJob", "oom"),
    "suspended": recorded("suspend-resume", "PyTorchJob", "pytest"),
    "no-restarts": recorded("pt-normal", "PyTorchJob", "pytest"),
    "many-codes": "jobs/many-codes/",
    "long-life": "jobs/long-life/",
    "deep": "jobs/deep/",
    "gap": "jobs/with-a-gap/seed-exitcode-138/TFJob/tftest/",
    "long-names": "?q=recommendation",
    "filters": "jobs/facets/",
    "no-match": "?q=exit:99",
    "unknown": "jobs/none/",
}
IN_REPOSITORY = ("jobs", "job", "wave", "waiting", "codes", "watchers")


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
        manage = [sys.executable, "manage.py"]
        paths = [str(RECORDINGS / scenario) for scenario in SHOWN]
        for command in (["replay", *paths, "--cluster", "recordings"], ["shell", "-c", MADE_UP.format(folder=name)]):
            _run([*manage, *command], environment)
        port = processes.free_port()
        server = ["-m", "uvicorn", "dashboard.asgi:application", "--port", str(port), "--lifespan", "off"]
        child = processes.start([sys.executable, *server], log=log, env=environment, cwd=ROOT)
        address = f"http://127.0.0.1:{port}/"
        try:
            if not processes.wait(child, lambda: _answers(address), 30):
                sys.exit(f"The server did not start:\n{log.read_text()}")
            yield address
        finally:
            processes.stop([child, broker], grace=3)


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"The jobs could not be written:\n{done.stdout}{done.stderr}")


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address + "healthz", timeout=1):
            return True
    except OSError:
        return False


def take(browser: Browser, address: str, names: list[str], languages: list[str]) -> None:
    for language in languages:
        for scheme in ("light", "dark"):
            for suffix, viewport in (("", WIDE), ("-narrow", NARROW)):
                context = browser.new_context(
                    color_scheme=scheme, viewport=viewport, locale=language, timezone_id="UTC"
                )
                page = context.new_page()
                for name in names:
                    tail = "" if language.startswith("en") else f"-{language}"
                    folder = KEPT if name in IN_REPOSITORY and not tail else ALL
                    file = folder / f"{name}-{scheme}{suffix}{tail}.png"
                    picture(page, address + PAGES[name], file, whole=folder is ALL and viewport is NARROW)
                context.close()


def picture(page: Any, address: str, file: Path, *, whole: bool) -> None:
    page.goto(address, wait_until="load")
    if page.locator("#timeline").count():
        page.locator("#timeline[data-ready]").wait_for()
    page.wait_for_function("() => !document.querySelector('.htmx-request, [data-later], [hx-trigger=load]')")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    height = (
        min(page.evaluate("document.documentElement.scrollHeight"), LONGEST) if whole else page.viewport_size["height"]
    )
    page.screenshot(
        path=file, full_page=whole, clip={"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}
    )
    print(file.relative_to(ROOT), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="page", help=f"of {', '.join(PAGES)}; default: all")
    parser.add_argument("--language", action="append", help="en-GB (default), zh-CN; may be repeated")
    options = parser.parse_args()
    path = chromium.find()
    if path is None:
        sys.exit(chromium.MISSING)
    for folder in (ALL, KEPT):
        folder.mkdir(parents=True, exist_ok=True)
    switches = [*SWITCHES, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with site() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=switches)
        take(browser, address, options.names or list(PAGES), options.language or ["en-GB", "zh-CN"])
        browser.close()


if __name__ == "__main__":
    main()
