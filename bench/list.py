"""The job list over half a million jobs: filtered and sorted pages, and facets, in milliseconds on the server.

Jobs are made up as a large installation might have them: a few kinds, 300 namespaces, 2,000 nodes, most jobs without a
restart, some with many, states and codes unevenly spread. Each kind of question is asked many times with other values,
once while nothing changes and once with 200 jobs changed between two questions, as on a busy cluster.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE_GOAL, FACETS_GOAL = 50.0, 300.0  # milliseconds, p95
CODES = (137, 143, 138, 1, 139, 2, 255, 134, 130, 127, 126, 3, 17, 42)
KINDS = ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob")
CHANGED = 200


def made_up(number: int, rng: random.Random, now: float, cluster: int) -> tuple[Any, ...]:
    """The columns of one job."""
    created = now - rng.expovariate(1 / 864_000) - 60
    failed = rng.random() < 0.12
    live = not failed and rng.random() < 0.03
    restarts = min(25, int(rng.paretovariate(0.9)) - 1) if rng.random() < 0.4 else 0
    codes = sorted(rng.choices(CODES, [1 / (n + 1) for n in range(len(CODES))], k=min(3, restarts + failed)))
    search = {
        "exit": sorted(set(codes)),
        "cause": sorted({rng.choice(("exit", "exit", "exit", "oom", "evicted-api", "node-lost")) for _ in codes}),
        "reason": sorted({rng.choice(("Error", "OOMKilled")) for _ in codes}),
        "node": sorted({f"node-{rng.randrange(2000)}" for _ in codes}),
        "policy": [rng.choice(("ExitCode", "OnFailure", "Never", "Always"))],
        "image": [f"registry.example/train-{int(rng.paretovariate(0.7)) % 400}:1"],
        "queue": [f"queue-{rng.randrange(20)}"],
        "priority": [rng.choice(("low", "normal", "high"))],
        "label": [f"team=team-{number % 300}", f"run={number % 5000}"],
    }
    state = "Failed" if failed else "Running" if live else "Succeeded"
    restarted = created + rng.random() * (now - created) if restarts else None
    name = f"{rng.choice(('train', 'eval', 'sweep', 'bert', 'resnet', 'llm'))}-{number:06d}"
    counts = (restarts, restarts // 3, restarts - restarts // 3)
    finished = None if live else min(now, created + 3600)
    failure = (finished, codes[0], "exit") if failed and codes else (None, None, "")
    kind, team = KINDS[int(rng.paretovariate(0.8)) % 6], int(rng.paretovariate(0.5)) % 300
    return (number, cluster, f"uid-{number}", kind, f"team-{team}", name,
            state, live, *counts, created, finished, restarted, rng.choice((1, 2, 4, 8, 64)), *failure,
            json.dumps({k: v for k, v in search.items() if v}), 1)  # fmt: skip


# The other columns of a job that may not be null; a record is a few kB in reality.
DEFAULTS: dict[str, Any] = {
    "api_group": "kubeflow.org",
    "at_least": False,
    "podgroup_phase": "Running",
    "fail_reason": "",
    "fail_pod_uid": "",
    "fail_node": "",
    "fail_image": "",
    "record": "x" * 2000,
}
COLUMNS = (
    "id",
    "cluster_id",
    "uid",
    "kind",
    "namespace",
    "name",
    "state",
    "present",
    "true_restarts",
    "kubectl_restarts",
    "hidden_restarts",
    "created_at",
    "finished_at",
    "last_restart_at",
    "replicas",
    "fail_at",
    "fail_code",
    "fail_cause",
    "search",
    "seq",
)


def fill(jobs: int) -> None:
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection, transaction  # noqa: PLC0415

    from jobs import models  # noqa: PLC0415
    from jobs.store.append import RESTARTS  # noqa: PLC0415
    from jobs.store.sql import Write  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    rng, now = random.Random(1), time.time()
    cluster = models.Cluster.objects.create(name="bench")
    jobs_sql = Write(models.Job, (*COLUMNS, *DEFAULTS))
    with transaction.atomic(), connection.cursor() as cursor:
        models.Sequence.objects.create(id=1, value=1)
        for start in range(1, jobs + 1, 5000):
            rows = [made_up(n, rng, now, cluster.pk) for n in range(start, min(start + 5000, jobs + 1))]
            jobs_sql.run(cursor, [(*row, *DEFAULTS.values()) for row in rows])
            RESTARTS.run(cursor, [restart for row in rows for restart in restarts_of(row, rng)])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def restarts_of(row: tuple[Any, ...], rng: random.Random) -> list[tuple[Any, ...]]:
    """The rows that ``jobs.store.append.RESTARTS`` takes."""
    job = dict(zip(COLUMNS, row, strict=True))
    codes = json.loads(job["search"]).get("exit", [1])
    return [
        (job["id"], f"p-{n}", 0, True, job["last_restart_at"] - n * 60, None, "worker", rng.randrange(job["replicas"]),
         0, rng.choice(codes), "Error", "exit", "exit", "node-1", "image", 1)
        for n in range(job["true_restarts"])
    ]  # fmt: skip


def questions(rng: random.Random) -> dict[str, Callable[[], str]]:
    """By kind of question, something that makes an address."""
    sorts = ("recent", "restarts", "-restarts", "hidden", "created", "-created", "kubectl")
    code = lambda: rng.choice(CODES)  # noqa: E731
    team = lambda: f"team-{int(rng.paretovariate(0.5)) % 300}"  # noqa: E731
    return {
        "everything": lambda: f"sort={rng.choice(sorts)}",
        "exit code": lambda: f"q=exit:{code()}&sort={rng.choice(sorts)}",
        "exit code and namespace": lambda: f"q=exit:{code()}+ns:{team()}&sort={rng.choice(sorts)}",
        "kind and state": lambda: (
            f"q=kind:{rng.choice(KINDS)}+state:{rng.choice(('Failed', 'Running', 'Succeeded'))}"
            f"&sort={rng.choice(sorts)}"
        ),
        "restarts > n, since": lambda: (
            f"q=restarts:>{rng.randrange(20)}+since:{rng.choice(('1h', '24h', '7d'))}&sort={rng.choice(sorts)}"
        ),
        "node": lambda: f"q=node:node-{rng.randrange(2000)}&sort={rng.choice(sorts)}",
        "text": lambda: (
            f"q={rng.choice(('bert', 'team-7', f'{rng.randrange(10_000):04d}', f'sweep-{rng.randrange(100):02d}'))}"
        ),
    }


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measure(rounds: int) -> dict[str, Any]:
    """Milliseconds that the views take, rendering included."""
    from django.test import Client  # noqa: PLC0415

    from jobs.models import Job  # noqa: PLC0415
    from jobs.store.pages import index  # noqa: PLC0415

    client, rng = Client(headers={"host": "localhost"}), random.Random(2)
    before, began = resident(), time.perf_counter()
    with index.current():
        loaded = time.perf_counter() - began
    figures: dict[str, Any] = {"jobs": Job.objects.count(), "load_s": loaded, "index_mb": resident() - before}
    kinds = questions(rng)
    for busy in (False, True):
        for what, path in (("page", "/"), ("facets", "/jobs/facets/")):
            times: dict[str, list[tuple[float, float]]] = {}
            for name, address in kinds.items():
                client.get(f"{path}?{address()}")  # compiled, cached and connected
                for _ in range(rounds):
                    if busy:
                        change(rng, figures["jobs"])
                    began, cpu = time.perf_counter(), time.process_time()
                    response = client.get(f"{path}?{address()}", headers={"HX-Request": "true"})
                    took = ((time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000)
                    times.setdefault(name, []).append(took)
                    assert response.status_code == 200, response.content[:500]
            figures[f"{what}{', changing' if busy else ''}"] = times
    return figures


def change(rng: random.Random, jobs: int) -> None:
    """200 jobs restart, as an append would write it."""
    from django.db.models import F  # noqa: PLC0415

    from jobs.models import Job, Sequence  # noqa: PLC0415

    seq = Sequence.objects.get(id=1).value + 1
    chosen = Job.objects.filter(id__in=rng.sample(range(1, jobs + 1), CHANGED))
    chosen.update(seq=seq, true_restarts=F("true_restarts") + 1, last_restart_at=time.time(), state="Running")
    Sequence.objects.filter(id=1).update(value=seq)


def resident() -> float:
    """MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def child(options: argparse.Namespace) -> None:
    import django  # noqa: PLC0415

    django.setup()
    fill(options.jobs)
    print(json.dumps(measure(options.rounds)))


def show(database: str, figures: dict[str, Any]) -> bool:
    print(f"{database}: {figures['jobs']:,} jobs (load of the machine: {os.getloadavg()[0]:.1f})")
    print(f"  the index is read in {figures['load_s']:.1f} s and takes {figures['index_mb']:.0f} MB of the web process")
    met = True
    for what in ("page", "page, changing", "facets", "facets, changing"):
        goal = FACETS_GOAL if what.startswith("facets") else PAGE_GOAL
        every = [took for times in figures[what].values() for took in times]
        walls, cpus = [wall for wall, _ in every], [cpu for _, cpu in every]
        slowest = {name: percentile([wall for wall, _ in times], 0.95) for name, times in figures[what].items()}
        worst = max(slowest, key=slowest.__getitem__)
        p95 = percentile(walls, 0.95)
        met &= p95 < goal
        print(
            f"  {what:<16} p50 {percentile(walls, 0.5):6.1f} ms, p95 {p95:6.1f} ms (goal {goal:.0f}; processor time "
            f"p95 {percentile(cpus, 0.95):.1f} ms), slowest kind: {worst}, p95 {slowest[worst]:.1f} ms"
        )
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=20, help="questions of each kind (default 20)")
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    command = [
        sys.executable,
        "-m",
        "bench.list",
        "--child",
        "--jobs",
        str(options.jobs),
        "--rounds",
        str(options.rounds),
    ]
    met = []
    for database in ("sqlite", "postgresql"):
        if options.only in (None, database):
            met.append(show(database, _run(database, command)))
    print("goals met" if all(met) else "a goal was missed")


def _run(database: str, command: list[str]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "dashboard.settings",
            "RESTARTSCOPE_DATA_DIR": folder,
            "RESTARTSCOPE_LOG_LEVEL": "ERROR",
            "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
        }
        started = [sys.executable, "-m", "tests.support.postgres", *command] if database == "postgresql" else command
        done = subprocess.run(started, env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
