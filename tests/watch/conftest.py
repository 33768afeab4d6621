"""Simulated clusters for watchers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.watch.live import LiveCluster

StartCluster = Callable[..., LiveCluster]


@pytest.fixture
def start_cluster(tmp_path: Path) -> Iterator[StartCluster]:
    """Starts simulated clusters with options of LiveCluster; all are stopped at the test's end."""
    clusters: list[LiveCluster] = []

    def start(**options: float) -> LiveCluster:
        cluster = LiveCluster(tmp_path, seed=len(clusters) + 1, **options)
        cluster.start()
        clusters.append(cluster)
        return cluster

    yield start
    for cluster in clusters:
        cluster.stop()


@pytest.fixture
def cluster(start_cluster: StartCluster) -> LiveCluster:
    return start_cluster()
