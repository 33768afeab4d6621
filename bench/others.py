"""What others would say of the seed experiment: one simulated run of 75 s, seen the way each of them looks.

The truth is the product's own count, from the watch events of the same run; kubectl, Events and polling read the same
objects. Virtual time: it takes a second.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from jobs.domain.facts import EventFacts, JobFacts, Observation, PodFacts
from jobs.domain.reducer import new_job, reduce
from jobs.domain.report import job_report
from jobs.domain.state import JobState
from jobs.ingest.decode import decode_object
from simcluster.clock import ManualClock
from simcluster.cluster import Cluster
from simcluster.manifests import seed_experiment
from simcluster.resources import PODS, TFJOBS

SECONDS = 75
POLLS = (5.0, 1.0)
RESOURCES = {"TFJob": "tfjobs.kubeflow.org", "Pod": "pods", "Event": "events"}
Write = tuple[float, str, dict[str, Any]]


def run(seed: int) -> tuple[list[Write], dict[float, list[bool]], Cluster]:
    """Every write of the run, and for each polling interval whether a poll saw Restarting."""
    clock = ManualClock()
    cluster = Cluster(clock, seed)
    writes: list[Write] = []
    cluster.store.subscribe(lambda verb, _resource, obj, _old: writes.append((clock.now(), verb, obj)))
    start = clock.now() + random.Random(seed).uniform(0, 1)
    clock.run_until(start)
    cluster.apply(seed_experiment())
    seen: dict[float, list[bool]] = {interval: [] for interval in POLLS}
    moments = sorted((start + n * i, i) for i in POLLS for n in range(1, int(SECONDS / i) + 1))
    for moment, interval in moments:
        clock.run_until(moment)
        jobs = cluster.store.list(TFJOBS)
        seen[interval].append(any(_restarting(job) for job in jobs))
    return writes, seen, cluster


def _restarting(job: dict[str, Any]) -> bool:
    conditions = job.get("status", {}).get("conditions", [])
    return any(c["type"] == "Restarting" and c["status"] == "True" for c in conditions)


def observations(writes: list[Write]) -> Iterator[Observation]:
    for at, verb, obj in writes:
        resource = RESOURCES.get(obj.get("kind", ""))
        if resource is not None:
            meta, facts = decode_object(resource, json.dumps(obj).encode())
            yield Observation(verb, resource, meta.namespace, meta.name, meta.uid, meta.resource_version, at, facts)


def product(writes: list[Write]) -> dict[str, Any]:
    """The report of the run's one job."""
    job: JobState | None = None
    for observation in observations(writes):
        if isinstance(observation.facts, EventFacts):
            continue
        uid = observation.facts.job_uid if isinstance(observation.facts, PodFacts) else observation.uid
        if job is None and isinstance(observation.facts, JobFacts):
            job = new_job("bench", uid or "", observation)
        if job is not None:
            reduce(job, observation)
    assert job is not None
    return job_report(job)


def kubectl(cluster: Cluster) -> dict[str, int]:
    """RESTARTS of each pod as kubectl prints it."""
    shown = {}
    for pod in cluster.store.list(PODS):
        statuses = pod.get("status", {}).get("containerStatuses", [])
        shown[pod["metadata"]["name"]] = sum(status["restartCount"] for status in statuses)
    return shown


def events(writes: list[Write]) -> tuple[int, int]:
    """(TFJobRestarting, creations of worker 0) as the Events' last counts say."""
    counts: dict[str, tuple[str, str, int]] = {}
    for observation in observations(writes):
        facts = observation.facts
        if isinstance(facts, EventFacts):
            counts[observation.uid] = (facts.reason or "", facts.message or "", facts.count)
    restarting = sum(count for reason, _, count in counts.values() if reason == "TFJobRestarting")
    created = sum(count for _, message, count in counts.values() if message == "Created pod: tftest-worker-0")
    return restarting, created


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    writes, seen, cluster = run(parser.parse_args().seed)
    report = product(writes)
    true: Callable[[str], int] = lambda kind: sum(  # noqa: E731 - a table's cell
        r["true_restarts"] for r in report["replicas"] if r["type"] == kind
    )
    shown = Counter({name.rsplit("-", 1)[0]: 0 for name in kubectl(cluster)})
    for name, count in kubectl(cluster).items():
        shown[name.rsplit("-", 1)[0]] += count
    restarting, created = events(writes)
    print("| who | says |\n|---|---|")
    print(f"| kubectl RESTARTS | workers: {shown['tftest-worker']}, ps: {shown['tftest-ps']} |")
    print(f"| Events | TFJobRestarting x {restarting}; worker 0 created x {created} |")
    for interval in POLLS:
        print(f"| polling the job every {interval:.0f} s | Restarting seen {sum(seen[interval])} times |")
    print(f"| this product | workers: {true('worker')}, ps: {true('ps')}, exit codes and times of each |")


if __name__ == "__main__":
    main()
