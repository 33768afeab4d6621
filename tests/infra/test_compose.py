"""docker-compose.yml, the Dockerfile and deploy/ without a container engine.

The services' very commands and environments run here, from a copy of exactly the files that go into the image, against
a real PostgreSQL and a real Valkey; only addresses and ports are replaced, since there are no containers to give names.
"""

import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from celery import Celery

from demo import processes as child_processes
from demo import valkey as embedded_valkey
from jobs.domain.kinds import KINDS, PODGROUP_RESOURCES

ROOT = Path(__file__).resolve().parents[2]
GIVEN = {"POSTGRES_PASSWORD": "a-password", "RESTARTSCOPE_SECRET_KEY": "k" * 40}
SERVICES = {"web", "worker-watch", "worker", "beat", "migrate"}


def substituted(node: Any) -> Any:
    """Compose's `${NAME:-default}` and `${NAME:?reason}`, with what a user must give and nothing else."""

    def value(match: re.Match[str]) -> str:
        name, kind, rest = match.groups()
        if name in GIVEN:
            return GIVEN[name]
        assert kind == "-", f"{name} has no default, and no user is told to give it"
        return rest

    if isinstance(node, dict):
        return {name: substituted(child) for name, child in node.items()}
    if isinstance(node, list):
        return [substituted(child) for child in node]
    return re.sub(r"\$\{([A-Z_]+):([-?])([^}]*)\}", value, node) if isinstance(node, str) else node


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = substituted(yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8")))
    return loaded


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `COPY . .` brings into the image, by .dockerignore."""
    app = tmp_path_factory.mktemp("image") / "app"
    app.mkdir()
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        source = ROOT / line.removeprefix("!")
        if not line.startswith("!") or not source.exists():
            continue
        if source.is_dir():
            shutil.copytree(source, app / source.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, app)
    return app


class Stack:
    """The services of the compose file, as processes of this machine."""

    def __init__(self, compose: dict[str, Any], image: Path, processes: Any, postgres_url: str) -> None:
        self.compose, self.image, self.processes, self.postgres_url = compose, image, processes, postgres_url
        self.web_port, self.valkey_port = child_processes.free_port(), child_processes.free_port()

    def valkey(self) -> Any:
        program, *options = self.compose["services"]["valkey"]["command"]
        assert program == "valkey-server"
        binary = embedded_valkey.command(Path("/unused"))[0]
        child = self.processes.start(binary, *options, "--port", str(self.valkey_port), "--bind", "127.0.0.1")
        self.processes.wait_for(lambda: "Ready to accept connections" in self.processes.log_of(child), child)
        return child

    def environment(self, service: str) -> dict[str, str]:
        environ = dict(self.compose["services"][service]["environment"])
        assert environ["DATABASE_URL"] == "postgresql://restartscope:a-password@postgres:5432/restartscope"
        assert environ["REDIS_URL"] == "redis://valkey:6379/0"
        return environ | {"DATABASE_URL": self.postgres_url, "REDIS_URL": self.redis_url}

    @property
    def redis_url(self) -> str:
        return f"redis://127.0.0.1:{self.valkey_port}/0"

    def start(self, service: str) -> "subprocess.Popen[bytes]":
        program, *args = self.compose["services"][service]["command"]
        replaced = {"8000": str(self.web_port), "0.0.0.0": "127.0.0.1"}
        args = [replaced.get(arg, arg) for arg in args]
        command = [sys.executable, *(args if program == "python" else ["-m", program, *args])]
        child: subprocess.Popen[bytes] = self.processes.start(
            *command, env=self.environment(service), name=service, cwd=self.image
        )
        return child


@pytest.fixture
def stack(compose: dict[str, Any], image: Path, processes: Any, postgres_url: str) -> Stack:
    stack = Stack(compose, image, processes, postgres_url)
    stack.valkey()
    assert stack.start("migrate").wait(60) == 0
    return stack


def test_the_services_are_the_known_ones(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == SERVICES | {"postgres", "valkey"}
    for name in SERVICES - {"migrate"}:
        assert compose["services"][name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
        assert compose["services"][name]["read_only"] is True
    published = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert published == {"web": ["127.0.0.1:8000:8000"]}


def test_migrate_makes_the_tables(stack: Stack) -> None:
    with psycopg.connect(stack.postgres_url) as connection:
        assert connection.execute("select count(*) from jobs_cluster").fetchone() == (0,)


def test_the_image_health_check_passes_against_web(stack: Stack) -> None:
    web = stack.start("web")
    url = f"http://127.0.0.1:{stack.web_port}/healthz"

    def answers() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    stack.processes.wait_for(answers, web)
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    check = re.search(r'CMD \["python", "-c", "(.*)"\]', dockerfile)
    assert check
    script = check.group(1).replace(":8000/", f":{stack.web_port}/")
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    assert stack.processes.stop(web, grace=7) == []
    assert subprocess.run([sys.executable, "-c", script], check=False, capture_output=True).returncode != 0


def test_workers_take_their_queues_and_beat_sends(stack: Stack) -> None:
    worker, watcher, beat = stack.start("worker"), stack.start("worker-watch"), stack.start("beat")
    client = Celery(broker=stack.redis_url, set_as_current=False)  # or it would be the app of later tests

    def queues() -> set[str]:
        replies = client.control.inspect(timeout=1).active_queues() or {}
        return {queue["name"] for reply in replies.values() for queue in reply}

    stack.processes.wait_for(lambda: queues() == {"default", "watch"}, worker, watcher, beat, seconds=40)
    stack.processes.wait_for(
        lambda: re.search(r"Task jobs\.tasks\.ensure_watchers\[.*\] succeeded", stack.processes.log_of(worker)),
        worker,
        watcher,
        beat,
        seconds=30,
    )
    assert "Traceback" not in stack.processes.log_of(worker)
    assert stack.processes.stop(worker, watcher, beat, grace=8) == []


def test_the_final_stage_is_small_and_has_no_root(compose: dict[str, Any]) -> None:
    stages = (ROOT / "Dockerfile").read_text(encoding="utf-8").split("\nFROM ")
    final = stages[-1]
    assert len(stages) == 3
    assert "-slim" in final.splitlines()[0]
    assert not re.search(r"apt-get|gcc|pip install", final)
    user = re.search(r"^USER (\d+)$", final, re.MULTILINE)
    assert user
    assert int(user.group(1)) > 0
    assert compose["services"]["web"]["user"] == user.group(1)
    command = re.search(r"^CMD (\[.*\])$", final, re.MULTILINE)
    assert command
    assert yaml.safe_load(command.group(1)) == compose["services"]["web"]["command"]


def manifests(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / "deploy" / name).read_text(encoding="utf-8")))


def test_the_cluster_runs_the_same_commands(compose: dict[str, Any]) -> None:
    pods = [doc["spec"]["template"]["spec"] for doc in manifests("restartscope.yaml") if doc["kind"] == "Deployment"]
    containers = [container for pod in pods for container in pod["containers"] + pod.get("initContainers", [])]
    commands = {container["name"]: container["command"] for container in containers}
    assert commands == {name: compose["services"][name]["command"] for name in SERVICES}


def test_the_manifests_set_only_what_is_a_setting() -> None:
    from dashboard import env

    (config,) = [doc["data"] for doc in manifests("restartscope.yaml") if doc["kind"] == "ConfigMap"]
    assert config.pop("FORWARDED_ALLOW_IPS") == "", "the server's own setting: nobody may say for whom he asks"
    assert set(config) <= env.names()
    env.read({name: value for name, value in config.items() if not name.endswith("_FILE")})


def test_the_role_reads_every_watched_resource_and_writes_none() -> None:
    (role,) = [doc for doc in manifests("rbac.yaml") if doc["kind"] == "ClusterRole"]
    granted = {
        f"{resource}.{group}".rstrip("."): set(rule["verbs"])
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert granted.pop("pods/log") == {"get"}
    assert set(granted) == {"pods", "events", *PODGROUP_RESOURCES, *(kind.resource for kind in KINDS)}
    assert all(verbs == {"list", "watch"} for verbs in granted.values())
