"""Runs in real workers over a real Valkey."""

import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis
from django.conf import settings as django_settings

from dashboard.celery import BoundedScheduler, app
from jobs.experiments.catalogue import experiments
from jobs.experiments.launch import launch
from jobs.experiments.models import ExperimentRun, RunState
from tests.experiments.conftest import expire_claims
from tests.experiments.small import launch_of
from tests.watch.live import LiveCluster
from tests.watch.reading import database_url

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]

WORKER = ("-A", "dashboard", "worker", "-P", "threads", "--without-gossip", "--without-mingle", "-c", "4")
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(cluster: LiveCluster, processes: Any, valkey: str) -> Start:
    """Starts Celery processes for the cluster."""
    env = {
        "DATABASE_URL": database_url(),
        "REDIS_URL": valkey,
        "RESTARTSCOPE_CLUSTERS": f"lab={cluster.kubeconfig}",
        "RESTARTSCOPE_READ_ONLY": "off",
        "RESTARTSCOPE_DATA_DIR": str(processes.folder),
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
    }

    def begin(name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        child: subprocess.Popen[bytes] = processes.python("-m", "celery", *arguments, env=env, name=name)
        return child

    return begin


def test_beat_and_a_worker_carry_a_run_to_its_verdict(cluster: LiveCluster, start: Start, processes: Any) -> None:
    worker = start("all", *WORKER, "-Q", "watch,default")
    beat = start("beat", "-A", "dashboard", "beat")
    processes.wait_for(cluster.is_watched, worker, beat, seconds=60)
    run = launch(launch_of(experiments()["tf-normal"]))

    def over() -> bool:
        run.refresh_from_db()
        return run.cleaned_at is not None

    processes.wait_for(over, worker, beat, seconds=120)
    assert (run.state, run.trouble) == (RunState.FINISHED, "")
    assert run.verdict is not None
    assert run.verdict["overall"] == "as expected", run.verdict["differences"]
    assert "Traceback" not in processes.log_of(worker)


def test_another_worker_goes_on_where_one_was_killed(cluster: LiveCluster, start: Start, processes: Any) -> None:
    beat = start("beat", "-A", "dashboard", "beat")
    watcher = start("watch", *WORKER, "-Q", "watch")
    first = start("first", *WORKER, "-Q", "default", "--hostname", "first@test")
    processes.wait_for(cluster.is_watched, first, watcher, beat, seconds=60)
    # The cluster's clock is ten times as fast, the acts' is not.
    wanted = launch_of(experiments()["suspend-resume"])
    run = launch(replace(wanted, values={**wanted.values, "acts_after": 1, "pause": 2, "runs_for": 120}))

    def has_acted() -> bool:
        run.refresh_from_db()
        return bool(run.acts)

    processes.wait_for(has_acted, first, watcher, beat, seconds=120)
    first.send_signal(signal.SIGKILL)
    first.wait(60)
    second = start("second", *WORKER, "-Q", "default", "--hostname", "second@test")
    expire_claims()

    def over() -> bool:
        run.refresh_from_db()
        return run.cleaned_at is not None

    processes.wait_for(over, second, watcher, beat, seconds=150)
    assert run.verdict is not None
    assert run.verdict["overall"] == "as expected", run.verdict["differences"]
    assert [one["what"] for one in run.acts] == ["suspend", "resume"]
    assert ExperimentRun.objects.count() == 1


def test_beat_does_not_pile_messages_up(valkey: str, settings: Any) -> None:
    settings.REDIS_URL = valkey
    scheduler = BoundedScheduler(app, lazy=True)
    with redis.Redis.from_url(valkey) as broker:
        assert not scheduler._is_full()
        broker.rpush("default", *["message"] * django_settings.MOST_WAITING)
        assert scheduler._is_full()
        entry = scheduler.Entry(name="x", task="jobs.tasks.carry_experiments_on", schedule=2.0, app=app)
        assert scheduler.apply_async(entry) is None
        assert broker.llen("default") == django_settings.MOST_WAITING


def test_a_broker_that_is_away_is_no_full_queue(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert not BoundedScheduler(app, lazy=True)._is_full()
