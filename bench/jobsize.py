"""What an event costs as one job grows, and how long its state takes to load again.

Shapes: many replicas that restart in turn, one replica that restarts for ever and never runs, one that restarts in
place. Facts are made, not decoded: decoding does not know the job. Each shape is reduced and stored in batches, as the
live watcher does; the cost per event (CPU time, median over batches) of the last tenth is compared with that of the
first. Restarts in place are all kept with their pod, which is written whole: their cost grows, but the kubelet's
back-off lets one through in five minutes. That shape is shown and has no goal.
"""

import argparse
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
BATCH = 200
GOAL_RATIO = 1.5  # last tenth against first
GOAL_LOAD = 1.0  # seconds

SHAPES = {  # name -> replicas, incarnations of each, restarts in place of each incarnation
    "1,000 replicas x 25 incarnations": (1000, 25, 0),
    "1 replica x 100,000 incarnations": (1, 100_000, 0),
    "100 replicas x 1,000 incarnations": (100, 1000, 0),
    "1 pod x 2,000 restarts in place": (1, 1, 2000),
}


def observations(replicas: int, incarnations: int, in_place: int) -> Iterator[object]:
    """The job, then every replica's pods in turn: created, running, failed, deleted."""
    from jobs.domain import facts as f  # noqa: PLC0415

    started = 1_800_000_000.0
    version = 1
    spec = (f.ReplicaSpec("Worker", replicas, "ExitCode"),)
    running = f.Condition("Running", "True", transition_at=started)
    job = f.JobFacts("kubeflow.org/v1", "TFJob", started, generation=1, replicas=spec, conditions=(running,))
    yield f.Observation(f.ADDED, "tfjobs.kubeflow.org", "bench", "job", "uid-job", version, started, job)
    for round_ in range(incarnations):
        for number in range(replicas):
            uid = f"pod-{number}-{round_}"
            at = started + (round_ * replicas + number) * 4.0
            main = f.ContainerFacts("tensorflow", state="waiting", waiting_reason="ContainerCreating")
            pod = f.PodFacts(
                "uid-job",
                "kubeflow.org/v1",
                "TFJob",
                "job",
                "tfjob-controller",
                "worker",
                number,
                created_at=at,
                phase="Pending",
                node="node-1",
                restart_policy="OnFailure" if in_place else "Never",
                containers=(main,),
            )
            name = f"job-worker-{number}"
            for verb, seen in _life(f, pod, main, at, in_place):
                version += 1
                yield f.Observation(verb, "pods", "bench", name, uid, version, at + 0.5, seen)


def _life(f, pod, main, at, in_place):  # type: ignore[no-untyped-def]
    yield f.ADDED, pod
    for count in range(in_place):
        run = main._replace(state="running", running_since=at, restart_count=count)
        yield f.MODIFIED, pod._replace(phase="Running", containers=(run,))
        end = f.Terminated(138, "Error", finished_at=at + count, container_id=f"c-{count}")
        over = main._replace(state="terminated", terminated=end, restart_count=count)
        yield f.MODIFIED, pod._replace(phase="Running", containers=(over,))
    run = main._replace(state="running", running_since=at, restart_count=in_place)
    yield f.MODIFIED, pod._replace(phase="Running", containers=(run,))
    end = f.Terminated(138, "Error", finished_at=at + 1, container_id="c-last")
    failed = pod._replace(
        phase="Failed",
        ready_reason="PodFailed",
        containers=(main._replace(state="terminated", terminated=end, restart_count=in_place),),
    )
    yield f.MODIFIED, failed
    yield f.DELETED, failed._replace(deletion_at=at + 2)


def measure(shape: str) -> bool:
    """Run in a process of its own; False if a goal was missed."""
    import django  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)
    from jobs import models  # noqa: PLC0415
    from jobs.ingest.streams import StreamKey  # noqa: PLC0415
    from jobs.store.append import append  # noqa: PLC0415
    from jobs.store.ledger import Ledger  # noqa: PLC0415
    from jobs.store.load import load_state  # noqa: PLC0415
    from jobs.store.streams import cluster_named, stream_for  # noqa: PLC0415

    replicas, incarnations, in_place = SHAPES[shape]
    ledger = Ledger(cluster_named("bench"))
    stream = stream_for(ledger.cluster, StreamKey("pods", "", ""))
    source = observations(replicas, incarnations, in_place)
    costs: list[float] = []
    while batch := list(islice(source, BATCH)):
        began = time.process_time()
        ledger.look_up(batch)
        ledger.apply(stream.pk, batch)
        append(ledger, [])
        if len(batch) == BATCH:  # the fixed cost of an append is not shared by as many in the last, shorter one
            costs.append((time.process_time() - began) / BATCH * 1e6)
    tenth = max(1, len(costs) // 10)
    first, last = statistics.median(costs[1 : tenth + 1]), statistics.median(costs[-tenth:])
    del ledger
    gc.collect()
    job_id = models.Job.objects.values_list("id", flat=True).get()
    began, cpu = time.perf_counter(), time.process_time()
    state = load_state(job_id)
    loaded, cpu = time.perf_counter() - began, time.process_time() - cpu
    restarts = sum(r.recreations + r.in_place for r in state.replicas.values())
    wanted = replicas * (incarnations - 1 + in_place)
    print(
        f"{shape}: {first:.0f} us an event in the first tenth, {last:.0f} in the last: ratio {last / first:.2f}; "
        f"load {loaded:.2f} s ({cpu:.2f} s CPU); {restarts:,} restarts",
        flush=True,
    )
    flat = last / first <= GOAL_RATIO or in_place > 0
    return flat and loaded <= GOAL_LOAD and restarts == wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, action="append", help="only this one")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        sys.exit(0 if measure(options.child) else 1)
    missed = False
    for shape in options.shape or SHAPES:
        with TemporaryDirectory() as folder:
            environment = {
                **os.environ,
                "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
                "DJANGO_SETTINGS_MODULE": "dashboard.settings",
            }
            command = [sys.executable, "-m", "bench.jobsize", "--child", shape]
            missed |= subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode != 0
    print(f"goal: ratio at most {GOAL_RATIO}, load at most {GOAL_LOAD} s" + (": missed" if missed else ""))
    sys.exit(missed)


if __name__ == "__main__":
    main()
