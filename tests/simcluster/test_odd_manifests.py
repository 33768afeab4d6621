"""The scenarios' manifests with parts taken out or replaced by nonsense: refused in time, or run without harm."""

import copy
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from simcluster.clock import ManualClock
from simcluster.cluster import Cluster
from simcluster.errors import ApiError
from simcluster.resources import by_kind
from simcluster.scenarios import SCENARIOS
from tests.simcluster.simserver import SimServer, pod

Obj = dict[str, Any]
Path = tuple[Any, ...]
NONSENSE: list[Any] = [
    None, {}, [], "", 0, -1, 1, 1.5, True, 10**12, "x", "1", "100%", "Always", "2026-11-29T12:00:00Z",
    [None], [{}], ["x"], {"a": "b"}, {"name": "x"},
]  # fmt: skip
MANIFESTS = [manifest for scenario in SCENARIOS.values() for manifest in scenario.first()]
SEEDS = range(4) if "EXPLORE" not in os.environ else [random.randrange(1 << 30) for _ in range(40)]


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in parts:
        yield from paths(child, (*path, key))


def mutated(manifest: Obj, rng: random.Random) -> Obj:
    result = copy.deepcopy(manifest)
    for _ in range(rng.choice([1, 1, 2, 3])):
        *way, last = rng.choice([path for path in paths(result) if len(path) > 1 and path[0] != "metadata"] or [("x",)])
        place: Any = result
        for key in way:
            place = place[key]
        if isinstance(place, dict) and rng.random() < 0.3:
            place.pop(last, None)
        else:
            place[last] = copy.deepcopy(rng.choice(NONSENSE))
    return result


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_manifests_harm_nobody(seed: int) -> None:
    """Each on a cluster of its own, and changed once more while it runs. An error of a controller would end up here."""
    rng, ran = random.Random(seed), 0
    for _ in range(60):
        clock = ManualClock()
        cluster = Cluster(clock, gang_scheduler=rng.choice(["volcano", "scheduler-plugins", ""]))
        cluster.store.serve()
        try:
            made = cluster.apply(mutated(rng.choice(MANIFESTS), rng))
            resource = by_kind(made["apiVersion"], made["kind"])
            assert resource is not None
            clock.advance(25)
            ran += 1
            current = cluster.store.find(resource, made["metadata"].get("namespace"), made["metadata"]["name"])
            if current is not None:
                cluster.store.update(resource, mutated(current, rng))
        except ApiError:
            pass
        clock.advance(25)
        cluster.stop()
    assert ran > 5


def test_nulls_count_as_absent(server: SimServer) -> None:
    body = pod("nulls")
    body["spec"]["containers"][0]["env"] = [{"name": "A", "valueFrom": {"fieldRef": None}}]
    body["spec"]["containers"][0]["resources"] = None
    assert server.request("POST", "/api/v1/namespaces/wire/pods", body).status == 201
    job = {"metadata": {"name": "nulls"}, "spec": {"tfReplicaSpecs": {"Worker": None}, "runPolicy": None}}
    answer = server.request("POST", "/apis/kubeflow.org/v1/namespaces/wire/tfjobs", job)
    assert (answer.status, answer.json()["spec"]) == (201, {"tfReplicaSpecs": {}})
