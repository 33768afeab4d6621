"""Watch lines decoded, reduced and stored durably, against the official client's decoding alone, on the same lines.

Input: every recorded scenario, cloned under new UIDs, interleaved as a busy cluster would send them and restricted to
what the watcher's streams carry. Both sides are timed in this run, in turns, so that their ratio survives a noisy
machine. Afterwards ``report`` must equal so many times the truth.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from bench.recorded import clone, recorded_lines, scenarios

BATCH = 200  # as the live watcher takes them
GOAL = 16_000  # events a second, durable, SQLite, 2 cores
ROOT = Path(__file__).resolve().parent.parent


class Line(msgspec.Struct):
    received_at: float
    resource: str
    type: str
    object: msgspec.Raw


class Involved(msgspec.Struct):
    kind: str = ""


class Event(msgspec.Struct):
    involved: Involved | None = msgspec.field(name="involvedObject", default=None)


def watch_lines(clones: int) -> list[tuple[str, bytes]]:
    """(resource, watch line) in order of arrival, clones interleaved, without what the streams do not carry."""
    from jobs.ingest.decode import understands  # noqa: PLC0415

    timed: list[tuple[float, int, str, bytes]] = []
    decoder, event = msgspec.json.Decoder(Line), msgspec.json.Decoder(Event)
    for path in scenarios():
        original = recorded_lines(path)
        for number in range(clones):
            for position, text in enumerate(clone(original, number)):
                line = decoder.decode(text)
                if not understands(line.resource) or line.type == "BOOKMARK":
                    continue
                if line.resource == "events" and _of_a_pod(event.decode(line.object)):
                    continue
                bare = b'{"type":"' + line.type.encode() + b'","object":' + bytes(line.object) + b"}"
                timed.append((line.received_at + number / 1000, position, line.resource, bare))
    timed.sort(key=lambda item: item[:2])
    return [(resource_, text) for _, _, resource_, text in timed]


def _of_a_pod(event: Event) -> bool:
    return event.involved is not None and event.involved.kind in ("Pod", "Node", "")


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """An empty database: the given one (PostgreSQL), or a SQLite file that goes afterwards."""
    with TemporaryDirectory() as folder:
        yield url or f"sqlite:///{folder}/bench.sqlite3"


def ours(lines: list[tuple[str, bytes]], clones: int) -> dict[str, Any]:
    """Run in a process of its own: seconds for the whole path, then the check against the truth."""
    import django  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)
    from jobs import notify  # noqa: PLC0415
    from jobs.ingest.decode import decode_line  # noqa: PLC0415
    from jobs.ingest.messages import Changed, State, Status  # noqa: PLC0415
    from jobs.ingest.streams import StreamKey  # noqa: PLC0415
    from jobs.watcher import Watcher  # noqa: PLC0415

    notify.publish = lambda seq: None  # type: ignore[assignment]  # the broker is not what is measured
    keys = {name: StreamKey(name, "", "") for name in {name for name, _ in lines}}
    watcher = Watcher("bench", keys.values(), None)
    watcher.take([(key, Status(State.WATCHING, "", time.time())) for key in keys.values()])
    began, cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(lines), BATCH):
        now = time.time()
        part = lines[start : start + BATCH]
        watcher.take([(keys[name], Changed(decode_line(name, text), now)) for name, text in part])
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return {
        "events": len(lines),
        "seconds": seconds,
        "cpu": cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "wrong": wrong_counts(clones),
    }


def wrong_counts(clones: int) -> int:
    """How many jobs have other counts than the clones' truth; spans are not compared, their time was ours."""
    from jobs import models  # noqa: PLC0415

    expected: dict[tuple[str, str], list[int]] = {}
    for path in scenarios():
        truth = json.loads((path / "truth.json").read_text())
        for job in truth["jobs"]:
            hidden = sum(replica["hidden_restarts"] for replica in job["replicas"])
            kubectl = sum(replica["kubectl_restarts"] for replica in job["replicas"])
            key = (truth["scenario"], job["uid"])
            expected[key] = [job["true_restarts"], kubectl, hidden]
    found: dict[tuple[str, str], int] = {}
    columns = ("uid", "true_restarts", "kubectl_restarts", "hidden_restarts")
    rows = {uid: list(numbers) for uid, *numbers in models.Job.objects.values_list(*columns)}
    for number in range(clones):
        for (scenario, uid), numbers in expected.items():
            renamed = clone([uid.encode()], number)[0].decode()
            if rows.get(renamed) != numbers:
                found[scenario, renamed] = 1
    return len(found) + abs(len(rows) - clones * len(expected))


def official(lines: list[tuple[str, bytes]], part: int) -> dict[str, Any]:
    """The official client's ``Watch`` decoding of every ``part``-th line: JSON, and pods to their model."""
    from kubernetes.client import ApiClient  # noqa: PLC0415
    from kubernetes.watch import Watch  # noqa: PLC0415

    watch = Watch()
    watch._api_client = ApiClient()
    texts = [(name, text.decode()) for name, text in lines[::part]]
    types = {"pods": "V1Pod", "events": "CoreV1Event"}
    began, cpu = time.perf_counter(), time.process_time()
    for name, text in texts:
        watch.unmarshal_event(text, types.get(name, "object"))
    return {"events": len(texts), "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


def _child(side: str, clones: int, url: str) -> dict[str, Any]:
    """One side in a process of its own, so that memory and caches are its own."""
    command = [sys.executable, "-m", "bench.ingest", "--side", side, "--clones", str(clones)]
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clones", type=int, default=12, help="copies of each recording (default 12)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side (default 3)")
    parser.add_argument("--database", help="DATABASE_URL of an empty database (default: a SQLite file)")
    parser.add_argument("--side", choices=("ours", "official"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        lines = watch_lines(options.clones)
        result = ours(lines, options.clones) if options.side == "ours" else official(lines, 10)
        print(json.dumps(result))
        return
    rates, theirs = [], []
    for _ in range(options.rounds):
        with database(options.database) as url:
            mine = _child("ours", options.clones, url)
            other = _child("official", options.clones, url)
        rates.append(mine["events"] / mine["seconds"])
        theirs.append(other["events"] / other["seconds"])
        print(
            f"{mine['events']} events stored in {mine['seconds']:.2f} s: {rates[-1]:,.0f}/s "
            f"({mine['events'] / mine['cpu']:,.0f} per CPU second), peak {mine['peak_mb']:.0f} MB, "
            f"{mine['wrong']} counts wrong; official decoding {theirs[-1]:,.0f}/s; ratio {rates[-1] / theirs[-1]:.2f}"
        )
        if mine["wrong"]:
            sys.exit("The report does not equal the truth.")
        if options.database:
            break  # it is no longer empty
    best, median = max(rates), sorted(rates)[len(rates) // 2]
    ratio = sorted(a / b for a, b in zip(rates, theirs, strict=True))[len(rates) // 2]
    print(f"median {median:,.0f} events/s (best {best:,.0f}), {ratio:.2f} x official decoding; goal {GOAL:,}")


if __name__ == "__main__":
    main()
