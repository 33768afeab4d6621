"""When the demo starts its experiment."""

import pytest

from demo.__main__ import sees_an_experiment
from jobs.domain.kinds import KINDS, PODS
from jobs.ingest.streams import streams_for

JOBS = "tfjobs.kubeflow.org"


@pytest.mark.parametrize(
    ("watches", "seen"),
    [([], False), ([JOBS, PODS], False), ([PODS, PODS], False), ([PODS, JOBS, PODS], True)],
)
def test_it_waits_for_every_watch_that_the_count_rests_on(watches: list[str], seen: bool) -> None:
    assert sees_an_experiment(watches) is seen


def test_all_watches_are_enough() -> None:
    watches = [stream.key.resource for stream in streams_for(KINDS)]
    assert sees_an_experiment(watches)
    watches.remove(PODS)
    assert not sees_an_experiment(watches), "each of the streams of pods is waited for"
