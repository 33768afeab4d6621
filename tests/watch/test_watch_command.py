"""``manage.py watch`` as a user starts it: a line for each change, a sentence for each mistake, an end at Ctrl-C."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from dashboard.env import ClusterSource
from jobs import models
from jobs.describe import describe
from jobs.domain.facts import EventFacts, Observation
from jobs.store import leases
from jobs.store.streams import cluster_named
from simcluster.kubeconfig import kubeconfig
from simcluster.resources import PODS, TFJOBS
from tests.simcluster.simserver import pod, tfjob
from tests.support.promptness import fair
from tests.watch.live import LiveCluster
from tests.watch.reading import database_url

pytestmark = pytest.mark.django_db(transaction=True)

LINE = re.compile(r"\d\d:\d\d:\d\d\.\d{3} (ADDED|MODIFIED|DELETED|LISTED|VANISHED) +[a-z.]+ \S+/\S+: .+")
LOG_RECORD = re.compile(r"\d{4}-\d\d-\d\dT")  # a change begins with the hour, which may be 20 as well
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202eevil\r\nfake line"


class Command:
    """Starts ``manage.py watch`` for clusters named in RESTARTSCOPE_CLUSTERS."""

    def __init__(self, processes: Any, clusters: str) -> None:
        self._processes = processes
        self._env = {
            "DATABASE_URL": database_url(),
            "RESTARTSCOPE_CLUSTERS": clusters,
            "RESTARTSCOPE_DATA_DIR": str(processes.folder),
        }

    def start(self, *options: str) -> "subprocess.Popen[bytes]":
        child: subprocess.Popen[bytes] = self._processes.python("manage.py", "watch", *options, env=self._env)
        return child

    def start_piped(self, reader: str) -> "subprocess.Popen[bytes]":
        words = ("sh", "-c", f'"$@" | {reader}', "sh", sys.executable, "manage.py", "watch")
        child: subprocess.Popen[bytes] = self._processes.start(*words, env=self._env, name="piped")
        return child

    def says(self, child: "subprocess.Popen[bytes]") -> str:
        return str(self._processes.log_of(child))

    def lines(self, child: "subprocess.Popen[bytes]") -> list[str]:
        """What it prints of changes; its log is told apart by the date that begins each record."""
        return [line for line in self.says(child).splitlines() if not LOG_RECORD.match(line)]

    def until(self, child: "subprocess.Popen[bytes]", *words: str) -> None:
        self._processes.wait_for(lambda: all(word in self.says(child) for word in words), child, seconds=20)

    def ended(self, child: "subprocess.Popen[bytes]") -> tuple[int, str]:
        return child.wait(20), self.says(child)


@pytest.mark.parametrize("hour", range(24))
def test_a_change_is_told_from_a_record_of_the_log_at_every_hour(hour: int) -> None:
    change = describe(Observation("ADDED", "pods", "live", "x", "uid", 1, 1_795_910_400.0 + hour * 3600, None))
    assert change.startswith(f"{hour:02}:")
    assert LINE.fullmatch(change)
    assert not LOG_RECORD.match(change)


@pytest.fixture
def command(processes: Any, cluster: LiveCluster) -> Command:
    return Command(processes, f"demo={cluster.kubeconfig}")


def test_a_line_for_each_change_and_an_end_at_once(command: Command, cluster: LiveCluster, processes: Any) -> None:
    child = command.start()
    processes.wait_for(cluster.is_watched, child)
    cluster.run("tftest")
    command.until(child, "ADDED    tfjobs.kubeflow.org live/tftest", "live/tftest-worker-0: Failed, exit 138 (Error)")
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 0
    assert time.monotonic() - began < fair(2)
    lines = command.lines(child)
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert len(lines) == models.Observation.objects.count() > 20
    assert "Traceback" not in command.says(child)
    assert models.Lease.objects.get().expires_at == 0


def test_it_ends_by_itself_after_so_many_seconds(command: Command) -> None:
    child = command.start("--seconds", "1", "--cluster", "demo")
    assert command.ended(child)[0] == 0


def test_it_can_be_quiet(command: Command, cluster: LiveCluster, processes: Any) -> None:
    cluster.run("tftest")
    child = command.start("--quiet")
    processes.wait_for(lambda: models.Job.objects.filter(name="tftest").exists(), child, seconds=30)
    child.send_signal(signal.SIGINT)
    assert command.ended(child)[0] == 0
    assert command.lines(child) == []


def test_a_reader_that_goes_away_ends_it_without_a_traceback(command: Command, cluster: LiveCluster) -> None:
    cluster.run("tftest")
    child = command.start_piped("head -n 2")
    assert child.wait(30) == 0
    assert len(command.lines(child)) == 2
    assert "Traceback" not in command.says(child)


def test_control_characters_of_a_cluster_are_not_printed(command: Command, cluster: LiveCluster) -> None:
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "controller": True}

    def write() -> None:
        job = cluster.store.create(TFJOBS, tfjob("odd", "default", annotations={"a": HOSTILE}))
        labels = {
            "training.kubeflow.org/operator-name": "tfjob-controller",
            "training.kubeflow.org/job-name": "odd",
            "training.kubeflow.org/replica-type": "worker",
            "training.kubeflow.org/replica-index": "0",
        }
        references = [{**owner, "name": HOSTILE, "uid": job["metadata"]["uid"]}]
        body = pod("odd-worker-0", "default", labels=labels, ownerReferences=references)
        created = cluster.store.create(PODS, body)
        status = {"phase": HOSTILE, "reason": HOSTILE, "message": HOSTILE}
        cluster.store.update(PODS, {**created, "status": status}, "status")

    child = command.start()
    command.until(child, "watching with")
    cluster.freeze()  # no controller mends what is written
    cluster.call(write)
    command.until(child, "default/odd-worker-0: ?]0;owned??[2J?evil??fake line")
    text = command.says(child)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert all(LINE.fullmatch(line) for line in command.lines(child))


def test_describing_an_event_of_a_cluster_that_lies() -> None:
    facts = EventFacts("TFJob", "x", "uid", HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    text = describe(Observation("ADDED", "events", HOSTILE, HOSTILE, "uid", 1, 1_800_000_000.0, facts))
    assert text.isprintable()


def test_a_mistake_ends_the_process_with_a_sentence(processes: Any) -> None:
    command = Command(processes, "demo=/no/such/config")
    status, said = command.ended(command.start())
    assert (status, len(said.splitlines())) == (2, 1)
    assert "/no/such/config" in said


@pytest.fixture
def refused(settings: Any, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs the command in this process, where it must end with status 2; answers its words."""

    def run(source: str, **options: Any) -> str:
        settings.RESTARTSCOPE_CLUSTERS = (ClusterSource("demo", source),)
        with pytest.raises(SystemExit) as ended:
            call_command("watch", **options)
        assert ended.value.code == 2
        out, errors = capsys.readouterr()
        assert out == ""
        return errors

    return run


@pytest.mark.parametrize("content", ["{ no yaml", "just text", "clusters: 7\ncontexts: x\n", ""])
def test_a_kubeconfig_that_cannot_be_used_is_named(refused: Callable[..., str], tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    said = refused(str(path))
    assert str(path) in said
    assert len(said.splitlines()) == 1, said
    assert models.Lease.objects.count() == 0


def test_a_cluster_that_is_not_configured_is_named_with_those_that_are(refused: Callable[..., str]) -> None:
    assert refused("kubeconfig", cluster="prod") == "No cluster prod in RESTARTSCOPE_CLUSTERS; there: demo.\n"


def test_a_cluster_that_is_watched_already(refused: Callable[..., str], cluster: LiveCluster) -> None:
    leases.acquire(cluster_named("demo"), "another", time.time())
    assert refused(str(cluster.kubeconfig)) == "Cluster demo is watched by another process already.\n"


def test_ctrl_c_ends_it_while_the_cluster_does_not_answer(processes: Any, tmp_path: Path) -> None:
    """It takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        path = tmp_path / "config"
        path.write_text(kubeconfig(f"http://127.0.0.1:{silent.getsockname()[1]}"))
        command = Command(processes, f"demo={path}")
        child = command.start()
        command.until(child, "watching with")
        time.sleep(0.3)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 0
        assert time.monotonic() - began < fair(2)
        assert "Traceback" not in command.says(child)
