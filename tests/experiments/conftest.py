"""A simulated cluster for launches, and a catalogue with small experiments of the tests' own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from jobs.experiments import clusters
from jobs.experiments.experiment import Act, Experiment
from jobs.experiments.models import ExperimentRun
from jobs.experiments.writes import Writer, cluster_writer
from jobs.web.experiments import places
from tests.experiments.pages import account
from tests.experiments.small import small
from tests.watch.live import Follower, LiveCluster, wait_until

NAMESPACE = "default"


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Whatever language the last request of another test has left in this thread."""
    with translation.override("en"):
        yield


@pytest.fixture
def cluster(tmp_path: Path, settings: Any) -> Iterator[LiveCluster]:
    """A simulated cluster, configured as ``lab``, to which may be written."""
    live = LiveCluster(tmp_path, speed=10)
    live.start()
    settings.RESTARTSCOPE_CLUSTERS = (live.source("lab"),)
    settings.RESTARTSCOPE_READ_ONLY = False
    forget_the_cluster()
    yield live
    live.stop()
    forget_the_cluster()


def forget_the_cluster() -> None:
    """What was answered by the cluster of another test, under the same name."""
    clusters.forget()
    places.forget()


@pytest.fixture
def watched(cluster: LiveCluster) -> Iterator[LiveCluster]:
    """A cluster that is followed."""
    with Follower(cluster.source("lab")):
        wait_until(cluster.is_watched)
        yield cluster


@pytest.fixture
def writer(cluster: LiveCluster) -> Iterator[Writer]:
    with cluster_writer(cluster.source("lab")) as writer:
        yield writer


@pytest.fixture
def person(cluster: LiveCluster) -> Client:
    """Somebody who may launch."""
    client = Client()
    client.force_login(account())
    return client


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Experiment]:
    """Puts a small experiment into the catalogue of whatever carries runs on."""
    found: dict[str, Experiment] = {}
    for module in ("jobs.experiments.runs", "jobs.web.experiments.panel", "jobs.web.experiments.marks"):
        monkeypatch.setattr(f"{module}.experiments", lambda: found)

    def add(name: str = "small", acts: tuple[Act, ...] = (), **options: Any) -> Experiment:
        found[name] = small(name, acts, **options)
        return found[name]

    return add


def expire_claims() -> None:
    """As if the worker that claimed a run had died long ago."""
    ExperimentRun.objects.update(claimed_until=0)
