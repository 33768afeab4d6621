"""Peak memory of a watcher that holds 30,000 pods of 1,000 jobs: listed, then each seen running, all stored."""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Any

from bench.ingest import ROOT
from bench.recorded import recorded_lines, scenarios

GOAL_MB = 200
PODS_A_JOB = 30
CHUNK = 200  # objects a message, as a list page is handed on


def recorded_pods() -> tuple[bytes, bytes]:
    """A worker of the seed experiment as JSON: when it is created, and when it runs."""
    path = next(path for path in scenarios() if path.name == "seed-exitcode-138")
    pods = [line for line in map(json.loads, recorded_lines(path)) if line["resource"] == "pods"]
    worker = [line["object"] for line in pods if line["object"]["metadata"].get("name") == "tftest-worker-0"]
    running = next(pod for pod in worker if pod["status"]["phase"] == "Running")
    return json.dumps(worker[0]).encode(), json.dumps(running).encode()


def variants(template: bytes, pods: int, version: int) -> Iterator[bytes]:
    """The pod under ``pods`` names, UIDs and jobs."""
    original = json.loads(template)
    owner = original["metadata"]["ownerReferences"][0]["uid"].encode()
    uid = original["metadata"]["uid"].encode()
    old_version = original["metadata"]["resourceVersion"].encode()
    for number in range(pods):
        job, index = divmod(number, PODS_A_JOB)
        text = template.replace(owner, b"%08x" % job + owner[8:]).replace(uid, b"%08x" % number + uid[8:])
        text = text.replace(b'"tftest-worker-0"', b'"train-%d-worker-%d"' % (job, index))
        text = text.replace(b'replica-index": "0"', b'replica-index": "%d"' % index)
        yield text.replace(b'"' + old_version + b'"', b'"%d"' % (version + number))


def measure(pods: int) -> dict[str, Any]:
    """Run in a process of its own."""
    import django  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)
    import kubernetes.client  # noqa: F401, PLC0415 - a real watcher has it loaded

    from jobs import notify  # noqa: PLC0415
    from jobs.ingest.decode import decode_line, decode_object  # noqa: PLC0415
    from jobs.ingest.messages import Changed, Listed  # noqa: PLC0415
    from jobs.ingest.streams import StreamKey  # noqa: PLC0415
    from jobs.watcher import Watcher  # noqa: PLC0415

    notify.publish = lambda seq: None  # type: ignore[assignment]  # the broker is not what is measured
    empty = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    created, running = recorded_pods()
    key = StreamKey("pods", "", "")
    watcher = Watcher("bench", [key], None)
    items: list[Any] = []
    for text in variants(created, pods, 1_000_000):
        items.append(decode_object("pods", text))
        if len(items) == CHUNK:
            watcher.take([(key, Listed(tuple(items), time.time()))])
            items = []
    batch = []
    for text in variants(running, pods, 2_000_000):
        line = b'{"type":"MODIFIED","object":' + text + b"}"
        batch.append((key, Changed(decode_line("pods", line), time.time())))
        if len(batch) == CHUNK:
            watcher.take(batch)
            batch = []
    watcher.take(batch)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"pods": len(watcher.ledger.known), "empty_mb": empty, "peak_mb": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=30_000)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.pods)))
        return
    with TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
            "DJANGO_SETTINGS_MODULE": "dashboard.settings",
        }
        command = [sys.executable, "-m", "bench.memory", "--child", "--pods", str(options.pods)]
        result = json.loads(subprocess.run(command, env=environment, cwd=ROOT, stdout=-1, check=True).stdout)
    print(
        f"{result['pods']} pods held: peak {result['peak_mb']:.0f} MB, of which {result['empty_mb']:.0f} MB before the "
        f"first pod; goal {GOAL_MB} MB"
    )


if __name__ == "__main__":
    main()
