"""The whole catalogue at the cluster's own pace: launched, acted upon, judged and cleaned up as in production."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.experiments import clusters, runs
from jobs.experiments import launch as launching
from jobs.experiments.catalogue import experiments
from jobs.experiments.launch import launch
from jobs.experiments.models import ExperimentRun
from simcluster.controllers.kubelet import NodeSpec
from simcluster.resources import PODS, by_plural
from tests.experiments.small import launch_of
from tests.watch.live import Follower, LiveCluster, wait_until

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True), pytest.mark.timeout(1500)]

LOSES_A_NODE = "node-lost"  # and with it whatever else runs there: it has the cluster for itself
SECONDS = 600


@pytest.fixture
def slow(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveCluster]:
    """A cluster of three nodes, followed, whose seconds are seconds."""
    live = LiveCluster(tmp_path, speed=1)
    live.start()
    for name in ("las2", "las3"):
        live.call(live.cluster.add_node, NodeSpec(name))
    settings.RESTARTSCOPE_CLUSTERS = (live.source("lab"),)
    settings.RESTARTSCOPE_READ_ONLY = False
    monkeypatch.setattr(launching, "RUNS", 100)
    monkeypatch.setattr(launching, "RUNS_EACH", 100)
    clusters.forget()
    with Follower(live.source("lab")):
        wait_until(live.is_watched)
        yield live
    live.stop()
    clusters.forget()


def verdicts(names: list[str]) -> dict[str, Any]:
    """What came of launching these together."""
    found = {name: launch(launch_of(experiments()[name], name=name)).id for name in names}
    until = time.monotonic() + SECONDS
    while ExperimentRun.objects.filter(id__in=found.values(), cleaned_at=None).exists():
        assert time.monotonic() < until, list(ExperimentRun.objects.filter(cleaned_at=None).values("name", "verdict"))
        runs.carry_all_on()
        time.sleep(0.5)
    rows = ExperimentRun.objects.filter(id__in=found.values())
    return {
        row.experiment: (row.verdict or {}).get("differences") or (row.verdict or {}).get("overall") for row in rows
    }


def test_every_verdict_on_the_simulated_cluster_is_as_expected(slow: LiveCluster) -> None:
    names = [name for name in experiments() if name != LOSES_A_NODE]
    assert verdicts(names) == dict.fromkeys(names, "as expected")
    assert verdicts([LOSES_A_NODE]) == {LOSES_A_NODE: "as expected"}
    for kind in ("tfjobs", "pytorchjobs"):
        resource = by_plural("kubeflow.org", kind)
        assert resource is not None
        assert slow.call(slow.store.list, resource) == []
    wait_until(lambda: slow.call(slow.store.list, PODS) == [])
