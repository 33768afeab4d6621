"""``manage.py experiment``: what scripts rely on."""

import json
import signal
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from jobs.experiments import runs
from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import Act, ActKind, Experiment
from jobs.experiments.launch import launch
from jobs.experiments.models import ExperimentRun, RunState
from jobs.management.commands.experiment import Command, sees
from jobs.models import Cluster, Stream
from simcluster.options import parse_forbidden
from tests.experiments.small import launch_of, never, text
from tests.watch.live import LiveCluster

pytestmark = pytest.mark.django_db(transaction=True)

AddExperiment = Callable[..., Experiment]


@pytest.fixture
def both(catalogue: AddExperiment, monkeypatch: pytest.MonkeyPatch) -> AddExperiment:
    """The small catalogue, for the command, too."""
    monkeypatch.setattr("jobs.management.commands.experiment.experiments", runs.experiments)
    return catalogue


def command(*arguments: str) -> tuple[int, Any, str]:
    """Exit status, what was printed (JSON), and what went to standard error."""
    out, err = StringIO(), StringIO()
    status = 0
    try:
        call_command("experiment", *arguments, stdout=out, stderr=err)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, json.loads(out.getvalue()) if out.getvalue() else None, err.getvalue()


def test_the_catalogue_is_listed(db: None) -> None:
    status, found, _ = command("list")
    assert status == 0
    assert [one["name"] for one in found["experiments"]] == list(experiments())
    assert found["experiments"][0]["parameters"]["code"] == 138


def test_a_run_that_is_as_expected_ends_with_0_and_leaves_nothing(cluster: LiveCluster, both: AddExperiment) -> None:
    """Nobody else watches, and no worker runs: the command does both."""
    both("small")
    status, found, err = command("run", "small", "--wait", "--set", "workers=2", "--output", "json")
    assert (status, found["verdict"], found["state"]) == (0, "as expected", "finished"), (found, err)
    assert found["cleaned_at"]
    assert found["steps"][0]["verdict"] == "met"
    assert cluster.get("/apis/kubeflow.org/v1/tfjobs").json()["items"] == []


def test_a_run_that_differs_ends_with_1(cluster: LiveCluster, both: AddExperiment) -> None:
    both("small", checks=(("never", never),), by=0.5)
    status, found, _ = command("run", "small", "--wait")
    assert (status, found["verdict"]) == (1, "different")
    assert found["differences"][0].startswith("Expected: never")


def test_a_refused_act_ends_with_1(cluster: LiveCluster, both: AddExperiment) -> None:
    both("small", acts=(Act("x", text("x"), ActKind.DELETE_POD, "runs", pod="worker-0"),))
    cluster.options.forbidden = parse_forbidden(["pods:delete"])
    status, found, _ = command("run", "small", "--wait")
    assert (status, found["verdict"]) == (1, "different")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_the_command_leaves_nothing_behind(
    cluster: LiveCluster, both: AddExperiment, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    looks = iter([number])

    def interrupted(_self: Command, run: ExperimentRun, _shown: dict[str, str]) -> None:
        if run.state == RunState.RUNNING:
            signal.raise_signal(next(looks))

    monkeypatch.setattr(Command, "_progress", interrupted)
    both("small", checks=(("never", never),))
    status, found, err = command("run", "small", "--wait")
    assert (status, found["state"]) == (3, "stopped"), (found, err)
    assert found["cleaned_at"]
    assert "Stopping the run" in err
    assert cluster.get("/apis/kubeflow.org/v1/tfjobs").json()["items"] == []


@pytest.mark.parametrize(
    ("state", "since", "alive", "seen"),
    [
        ("watching", 101, 50, True),  # goes on from an earlier session's version, and nothing has come yet
        ("watching", 50, 101, True),
        ("watching", 50, 50, False),  # what an earlier session left behind
        ("listing", 101, None, False),
        ("", None, None, False),
    ],
)
def test_a_launch_waits_until_all_streams_look(
    db: None, state: str, since: float | None, alive: float | None, *, seen: bool
) -> None:
    lab = Cluster.objects.create(name="lab")
    Stream.objects.create(cluster=lab, resource="pods", state="watching", state_since=102, alive_at=102)
    Stream.objects.create(cluster=lab, resource="tfjobs", state=state, state_since=since, alive_at=alive)
    assert sees("lab", 100) is seen


def test_without_wait_the_run_is_left_to_the_workers(cluster: LiveCluster, both: AddExperiment) -> None:
    both("small")
    status, found, _ = command("run", "small", "--keep", "--job-name", "mine")
    assert (status, found["state"], found["verdict"], found["name"]) == (0, "running", None, "mine")
    status, listed, _ = command("list", "--runs")
    assert [one["id"] for one in listed["runs"]] == [found["id"]]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["none"], 2, "There is no experiment none; there are seed"),
        (["seed", "--set", "workers=many"], 2, "workers: Give a whole number"),
        (["seed", "--set", "colour=red"], 2, "colour: There is no such parameter"),
        (["seed", "--cluster", "none"], 4, "No cluster none in RESTARTSCOPE_CLUSTERS; there: lab."),
        (["seed", "--namespace", "nowhere"], 4, "Possible: default."),
        (["seed", "--job-name", "No Name"], 4, "name: A name has at most 40"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(cluster: LiveCluster, arguments: list[str], status: int, words: str) -> None:
    found, answer, err = command("run", *arguments)
    assert (found, answer) == (status, None)
    assert words in err
    assert "Traceback" not in err
    assert not ExperimentRun.objects.exists()


def test_a_cluster_that_is_away_ends_with_4(cluster: LiveCluster) -> None:
    cluster.down()
    status, _, err = command("run", "seed")
    assert status == 4
    assert "refuses connections" in err


def test_a_site_that_only_reads_ends_with_4(cluster: LiveCluster, settings: Any) -> None:
    settings.RESTARTSCOPE_READ_ONLY = True
    status, _, err = command("run", "seed")
    assert status == 4
    assert "RESTARTSCOPE_READ_ONLY=off" in err


def test_clean_removes_what_is_over_and_leaves_what_runs(cluster: LiveCluster, both: AddExperiment) -> None:
    over = launch(launch_of(both("small"), name="over", clean_up=False))
    under_way = launch(launch_of(both("small"), name="under-way"))
    ExperimentRun.objects.filter(id=over.id).update(state=RunState.FINISHED)
    status, found, _ = command("clean")
    assert (status, [one["name"] for one in found["runs"]]) == (0, ["over"])
    names = [one["metadata"]["name"] for one in cluster.get("/apis/kubeflow.org/v1/tfjobs").json()["items"]]
    assert names == ["under-way"]
    status, found, _ = command("clean", str(under_way.id))
    assert (status, found["runs"][0]["state"]) == (0, "stopped")
    assert cluster.get("/apis/kubeflow.org/v1/tfjobs").json()["items"] == []


def test_clean_says_when_something_is_left(cluster: LiveCluster, both: AddExperiment) -> None:
    run = launch(launch_of(both("small"), clean_up=False))
    cluster.options.forbidden = parse_forbidden(["tfjobs.kubeflow.org:delete"])
    status, found, _ = command("clean", "--all")
    assert status == 4
    assert "clean-up was refused" in found["runs"][0]["trouble"]
    assert ExperimentRun.objects.get(id=run.id).cleaned_at is None
    assert command("clean", "not-an-id")[0] == 2


def test_clean_names_a_run_that_is_not_kept(cluster: LiveCluster, both: AddExperiment) -> None:
    run = launch(launch_of(both("small"), clean_up=False))
    unknown = "11111111-1111-1111-1111-111111111111"
    status, _, err = command("clean", str(run.id), unknown)
    assert (status, f"No run {unknown} is kept" in err) == (2, True)
    assert ExperimentRun.objects.get(id=run.id).cleaned_at is None


def test_a_site_that_only_reads_removes_nothing(cluster: LiveCluster, both: AddExperiment, settings: Any) -> None:
    run = launch(launch_of(both("small"), clean_up=False))
    settings.RESTARTSCOPE_READ_ONLY = True
    status, found, _ = command("clean", str(run.id))
    assert (status, found["runs"][0]["state"]) == (4, "stopped")
    assert "RESTARTSCOPE_READ_ONLY is on" in found["runs"][0]["trouble"]
    assert len(cluster.get("/apis/kubeflow.org/v1/tfjobs").json()["items"]) == 1
    settings.RESTARTSCOPE_READ_ONLY = False
    assert command("clean", str(run.id))[0] == 0
    assert cluster.get("/apis/kubeflow.org/v1/tfjobs").json()["items"] == []
