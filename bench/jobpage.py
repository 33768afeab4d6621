"""The job page: 1,000 replicas x 25 pods, 10,000 lanes under the pointer, from an event to a pixel, 50,000 changes.

Measured in the system's Chromium against a real server process. Figures are wall time; on a busy machine the server's
share is given as processor time, too.
"""

import argparse
import os
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from demo import processes, valkey
from tests.support import chromium

ROOT = Path(__file__).resolve().parent.parent
SWITCHES = (
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--no-sandbox",
)
CANVAS = "[data-scroll] canvas"
GOALS = {"api": 500, "paint": 1000, "frame": 16.8, "event": 500}
EVENTS_A_SECOND = 200
LIVE_SECONDS = 20
CHANGES = 50_000


def p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1] if len(values) > 1 else values[0]


def report(name: str, value: float, goal: float, unit: str = "ms", more: str = "") -> None:
    verdict = "reached" if value <= goal else "MISSED"
    print(f"{name}: {value:.1f} {unit}; goal {goal:g} {unit}: {verdict}{more}", flush=True)


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, psutil.Process, dict[str, str]]]:
    environment = {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
        "RESTARTSCOPE_DATA_DIR": str(folder),
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
        "REDIS_URL": valkey.url(valkey.socket_in(folder)),
    }
    broker = processes.start(valkey.command(valkey.socket_in(folder)), log=folder / "log", env=environment, cwd=ROOT)
    os.environ.update(environment)
    write_jobs()
    port = processes.free_port()
    command = [sys.executable, "-m", "uvicorn", "dashboard.asgi:application", "--port", str(port), "--lifespan", "off"]
    child = processes.start(command, log=folder / "log", env=environment, cwd=ROOT)
    address = f"http://127.0.0.1:{port}/"
    try:
        if not processes.wait(child, lambda: _answers(address), 60):
            sys.exit(f"The server did not start:\n{(folder / 'log').read_text()}")
        yield address, psutil.Process(child.pid), environment
    finally:
        processes.stop([child, broker], grace=3)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address + "healthz", timeout=2):
            return True
    except OSError:
        return False


def write_jobs() -> None:
    import django  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)
    from tests.support.large import write_large  # noqa: PLC0415

    life = 600.0
    write_large(1000, 24, uid="deep", begin=time.time() - 25 * life, life=life)
    write_large(10_000, 1, uid="wide", begin=time.time() - 2 * life, life=life)
    write_large(20, 24, uid="small", begin=time.time() - 25 * life, life=life)


def timeline_api(address: str, process: psutil.Process) -> None:
    now = time.time()
    url = f"{address}api/jobs/deep/timeline/?from={now - 15000}&to={now}&width=1000"
    walls, processor = [], []
    for _ in range(12):
        before, began = process.cpu_times(), time.perf_counter()
        with urllib.request.urlopen(url) as answer:
            size = len(answer.read())
        walls.append(1000 * (time.perf_counter() - began))
        after = process.cpu_times()
        processor.append(1000 * (after.user + after.system - before.user - before.system))
    more = f" (p95 {p95(walls):.0f} ms, processor {median(processor):.0f} ms, {size / 1e6:.2f} MB)"
    report("timeline API, 1,000 replicas x 25 pods, median", median(walls), GOALS["api"], more=more)


PAINTED = """() => new Promise((done) => {
  const look = () => document.querySelector('#timeline[data-ready]')
    ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))) : setTimeout(look, 5);
  look();
})"""


def painted(browser: Browser, address: str) -> None:
    """From the request to the frame in which the canvas stands; the navigation's start is 0."""
    values = []
    for _ in range(5):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{address}jobs/deep/", wait_until="commit")
        values.append(float(page.evaluate(PAINTED)))
        page.locator("#tabs nav").wait_for(timeout=60_000)  # the next one is not to wait for what comes after the paint
        page.locator("#job-header .facts").wait_for(timeout=60_000)
        page.close()
    report("page painted, 1,000 replicas x 25 pods, median", median(values), GOALS["paint"])


FRAMES = """() => {
  window.frames_seen = [];
  let last = null;
  const tick = (now) => {
    if (last !== null) window.frames_seen.push(now - last);
    last = now;
    window.ticking = requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""
DRAWN = """() => {
  // The time that drawing itself takes, which a busy machine cannot stretch as it stretches frames.
  const timeline = window.restartscope.timeline;
  const own = timeline.frames.draw;
  window.draws = [];
  timeline.frames.draw = () => {
    const began = performance.now();
    const result = own();
    window.draws.push(performance.now() - began);
    return result;
  };
}"""


def pointer(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}jobs/wide/")
    page.locator("#timeline[data-ready]").wait_for(timeout=60_000)
    page.wait_for_timeout(3000)  # the parts that come later
    box = page.locator(CANVAS).bounding_box() or {}
    x, y = box["x"] + 600, box["y"] + 250
    page.mouse.move(x, y)
    page.evaluate(DRAWN)

    def scroll() -> None:
        page.keyboard.down("Shift")
        for _ in range(120):
            page.mouse.wheel(0, 400)
        page.keyboard.up("Shift")

    def zoom() -> None:
        for step in range(120):
            page.mouse.wheel(0, -60 if step < 60 else 60)

    def drag() -> None:
        page.mouse.down()
        for step in range(120):
            page.mouse.move(x - 3 * (step % 60), y - step % 40)
        page.mouse.up()

    for name, act in (("scrolling", scroll), ("zooming", zoom), ("dragging", drag)):
        frames_of(page, name, act)
    page.close()


def frames_of(page: Page, name: str, act: Callable[[], None]) -> None:
    page.evaluate("window.draws.length = 0")
    page.evaluate(FRAMES)
    act()
    page.evaluate("cancelAnimationFrame(window.ticking)")
    frames: list[float] = page.evaluate("window.frames_seen")
    draws: list[float] = page.evaluate("window.draws")
    more = f" (p95 {p95(frames):.1f} ms; drawing itself p95 {p95(draws):.1f} ms over {len(draws)} frames)"
    report(f"10,000 lanes, {name}: median frame", median(frames), GOALS["frame"], more=more)


WATCH_PIXEL = """() => {
  // Each drawing is noted with the newest change that it shows; the frame that holds it is presented right after.
  const timeline = window.restartscope.timeline;
  window.seen = [];
  const own = timeline.frames.draw;
  timeline.frames.draw = () => {
    const result = own();
    window.seen.push([Date.now() / 1000, timeline.model.seq]);
    return result;
  };
}"""


def event_to_pixel(browser: Browser, address: str) -> None:
    """From the append of an event to the frame that draws it, with 200 events a second stored meanwhile."""
    from bench.jobpage_load import Load  # noqa: PLC0415

    load = Load(EVENTS_A_SECOND)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}jobs/{load.uid}/")
    page.locator("#timeline[data-ready]").wait_for(timeout=60_000)
    page.locator("#live[data-state=live]").wait_for(timeout=20_000)
    page.evaluate(WATCH_PIXEL)
    load.run(LIVE_SECONDS)
    page.wait_for_timeout(2000)
    seen: list[list[float]] = page.evaluate("window.seen")
    page.close()
    delays = []
    position = 0
    for at, seq in load.appends:
        while position < len(seen) and seen[position][1] < seq:
            position += 1
        if position < len(seen):
            delays.append(1000 * (seen[position][0] - at))
    lost = len(load.appends) - len(delays)
    more = (
        f" (median {median(delays):.0f} ms, {load.rate:.0f} events/s, {lost} of {len(load.appends)} appends not seen)"
    )
    report("event to pixel, p95", p95(delays), GOALS["event"], more=more)


FEED = """async ([rounds, size]) => {
  const timeline = window.restartscope.timeline;
  const pods = [...timeline.model.pods.values()];
  let seq = timeline.model.seq;
  for (let n = 0; n < rounds; n += 1) {
    for (let m = 0; m < size; m += 1) {
      const pod = pods[(n * size + m) % pods.length];
      seq += 1;
      const start = pod.created;
      timeline.update({
        seq,
        job: { true: m },
        pods: [{ ...pod, seq, running: start + (m % 5) }],
        spans: [{ lane: 'restarting', number: m % 50, value: 'Restarting', start, end: start + 0.025 }],
        replicas: [{ key: pod.replica, true: m % 9 }],
      });
    }
    await new Promise((done) => requestAnimationFrame(done));
  }
}"""


def heap(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}jobs/small/")
    page.locator("#timeline[data-ready]").wait_for(timeout=60_000)
    session = page.context.new_cdp_session(page)

    def used() -> float:
        session.send("HeapProfiler.collectGarbage")
        return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 1e6

    page.evaluate(FEED, [10, 500])
    first = used()
    page.evaluate(FEED, [CHANGES // 500, 500])
    last = used()
    page.close()
    report(f"heap after {CHANGES:,} changes, growth over {first:.1f} MB", last - first, 1.0, "MB")


PARTS = ("api", "paint", "pointer", "event", "heap")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; default: all")
    parts = parser.parse_args().parts or PARTS
    path = chromium.find()
    if path is None:
        sys.exit(chromium.MISSING)
    with TemporaryDirectory() as name, server(Path(name)) as (address, process, _environment):
        if "api" in parts:
            timeline_api(address, process)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=list(SWITCHES))
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright keeps an event loop in this thread
            measures = {"paint": painted, "pointer": pointer, "event": event_to_pixel, "heap": heap}
            for part, measure in measures.items():
                if part in parts:
                    measure(browser, address)
            browser.close()


if __name__ == "__main__":
    main()
