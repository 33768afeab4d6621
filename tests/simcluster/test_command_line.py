"""`python -m simcluster` with options that shape the cluster, and its commands against one that runs."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcluster.clock import ManualClock
from simcluster.cluster import Cluster
from simcluster.commandline import nodes, parsed
from simcluster.scenarios import SCENARIOS, needed_gang_scheduler
from tests.simcluster.simserver import RawWatch

ROOT = Path(__file__).parent.parent.parent
RULES = """
- match: {image: "*/trainer:*", replica: worker-1}
  runs: [{after: 2, code: 139}, {after: 600}]
"""
TRAINER = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "field", "namespace": "field"},
    "spec": {
        "pytorchReplicaSpecs": {
            "Worker": {
                "replicas": 2,
                "restartPolicy": "ExitCode",
                "template": {"spec": {"containers": [{"name": "pytorch", "image": "example.org/trainer:1"}]}},
            }
        }
    },
}


class Running:
    """A simulated cluster in a process, and the command that talks to it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.kubeconfig = folder / "config"
        self.truth_file = folder / "truth.json"
        files = ("--kubeconfig-out", str(self.kubeconfig), "--truth-out", str(self.truth_file))
        command = [sys.executable, "-m", "simcluster", *files, *arguments]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]
        self.port = int(self.address.rpartition(":")[2])

    def ask(self, *arguments: str) -> tuple[int, Any, str]:
        """Exit code, the printed JSON (None if there is none) and what was said on stderr."""
        command = [sys.executable, "-m", "simcluster", *arguments, "--kubeconfig", str(self.kubeconfig)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert "Traceback" not in done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr

    def watch(self, path: str) -> RawWatch:
        watch = RawWatch(self.port, path)
        watch.socket.settimeout(30)
        return watch

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("running")
    (folder / "rules.yaml").write_text(RULES)
    started = Running(folder, "--speed", "20", "--nodes", "3", "--node-cpu", "8", "--rules", str(folder / "rules.yaml"))
    yield started
    started.end()


def test_nodes_of_a_size() -> None:
    given = parsed(["--nodes", "190", "--node-cpu", "16", "--node-memory", "64Gi", "--node-pods", "100"])
    made = nodes(given)
    assert [made[0].name, made[-1].name] == ["las1", "las190"]
    assert len({node.address for node in made}) == 190
    assert {(node.cpu, node.memory, node.allocatable_memory, node.pods) for node in made} == {
        ("16", "64Gi", "64Gi", "100")
    }


def test_pods_of_many_nodes_have_addresses_of_their_own() -> None:
    cluster = Cluster(ManualClock(), nodes=nodes(parsed(["--nodes", "190"])))
    addresses = [kubelet.next_address() for kubelet in cluster.kubelets.values() for _ in range(200)]
    assert len(set(addresses)) == len(addresses)
    assert all(max(map(int, address.split("."))) < 256 for address in addresses)
    cluster.stop()


def test_rules_and_acts_by_command(running: Running) -> None:
    assert running.ask("act", "apply", f"manifest={json.dumps(TRAINER)}")[0] == 0
    pods = running.watch("/api/v1/namespaces/field/pods?watch=1")
    pods.wait_for(b'"exitCode":139')
    pods.wait_for(b'{"type":"DELETED"')
    code, state, _ = running.ask("state")
    assert (code, state["objects"]["nodes"], state["speed"]) == (0, 3, 20)
    assert set(state["acts"]) >= {"lose_node", "evict", "suspend", "drain"}
    assert running.ask("act", "evict", "namespace=field", "name=field-worker-0")[0] == 0
    pods.wait_for(b'"reason":"EvictionByEvictionAPI"')
    nodes = running.watch("/api/v1/nodes?watch=1")
    assert running.ask("act", "lose_node", "name=las3")[0] == 0
    nodes.wait_for(b"NodeStatusUnknown")
    code, truth, _ = running.ask("truth", "scenario=field")
    assert (code, truth["scenario"], truth["jobs"][0]["name"]) == (0, "field", "field")
    assert running.ask("act", "play", "scenario=tf-normal")[0] == 0
    pods = running.watch("/api/v1/namespaces/tf-normal/pods?watch=1")
    pods.wait_for(b'"phase":"Succeeded"')
    assert running.ask("audit", f"after={state['resource_version']}")[1]["entries"][0]["name"]


def test_mishaps_of_the_server_by_command(running: Running) -> None:
    watch = running.watch("/api/v1/namespaces?watch=1")
    assert running.ask("stall", "on=true")[1] == {"stalled": True}
    assert running.ask("stall", "on=false")[1] == {"stalled": False}
    assert running.ask("end-watches", "mode=abort", "resource=namespaces")[1] == {"ended": 1}
    assert not watch.to_end()
    compacted = running.ask("compact")[1]["compacted"]
    assert compacted > 0
    running.watch("/api/v1/pods?watch=1&resourceVersion=1").wait_for(b"too old resource version")
    faults = running.ask("faults", "code=503", "count=1", "resource=podgroups.scheduling.volcano.sh")[1]["faults"]
    assert faults == [{"code": 503, "count": 1}]
    before = running.ask("clock", "speed=10")[1]
    after = running.ask("clock", "jump=3600")[1]
    assert (before["speed"], after["speed"]) == (10, 10)
    assert after["now"] > before["now"]


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["act"], 2, "name the act"),
        (["act", "name=las1"], 2, "name the act"),
        (["act", "dance"], 1, "lose_node"),
        (["act", "lose_node"], 1, "name"),
        (["act", "lose_node", "name=las9"], 1, "las9"),
        (["act", "play", "scenario=chess"], 1, "chess"),
        (["act", "evict", "namespace=default", "name=none"], 1, "not found"),
        (["compact", "now"], 2, "key=value"),
        (["clock", "speed=-1"], 1, "speed"),
        (["faults", "code=200"], 1, "200"),
        (["state", "--server", "http://127.0.0.1:1"], 1, "refused"),
        (["state", "--server", "gopher://x"], 1, "http://"),
        (["act", "--server", "http://127.0.0.1:1", "lose_node", "name=las9"], 1, "refused"),
    ],
)
def test_a_wrong_command_is_explained(running: Running, arguments: list[str], code: int, word: str) -> None:
    found, _, said = running.ask(*arguments)
    assert (found, word in said) == (code, True), said


def test_a_missing_or_wrong_kubeconfig_is_named(running: Running, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("[1, 2]")
    for name in ("nothing", "list"):
        command = [sys.executable, "-m", "simcluster", "state", "--kubeconfig", str(tmp_path / name)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, str(tmp_path / name) in done.stderr) == (1, True), done.stderr


def test_a_scenario_brings_its_gang_scheduler_and_its_acts(tmp_path: Path) -> None:
    """Its job is deleted by the scenario's own act; over TLS, so that the command trusts the certificate."""
    scenario = Running(tmp_path, "--run", "sp-exitcode", "--speed", "60", "--tls")
    try:
        seen: set[str] = set()
        deadline = time.monotonic() + 60
        while "tfjobs" not in seen:
            assert time.monotonic() < deadline
            _, audit, said = scenario.ask("audit")
            assert audit is not None, said
            entries = audit["entries"]
            seen = {entry["resource"].partition(".")[0] for entry in entries if entry["type"] == "DELETED"}
        groups = {entry["resource"] for entry in entries if entry["resource"].startswith("podgroups.")}
        assert groups == {"podgroups.scheduling.x-k8s.io"}
    finally:
        scenario.end()
    truth = json.loads(scenario.truth_file.read_text())
    assert truth["jobs"][0]["deleted_by"] == "person"
    assert truth["jobs"][0]["true_restarts"] == 4


def test_one_that_comes_again_has_forgotten_what_the_one_before_told(tmp_path: Path) -> None:
    again = Running(tmp_path, "--again", "--run", "seed")
    try:
        watch = again.watch("/api/v1/pods?watch=1&resourceVersion=1000000")
        watch.wait_for(b'"code":410')
        code, state, _ = again.ask("state")
        assert (code, state["objects"]["tfjobs.kubeflow.org"]) == (0, 1)
    finally:
        again.end()


def test_every_scenario_can_be_started_by_name() -> None:
    for name in SCENARIOS:
        cluster = Cluster(ManualClock(), gang_scheduler=needed_gang_scheduler([name]))
        cluster.run(name)
        cluster.stop()
