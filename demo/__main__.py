"""`make demo`: Valkey, a simulated cluster, Celery and the pages, all on loopback; Ctrl-C ends them."""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from demo import processes, valkey
from demo.supervisor import Child, Failed, Stopped, Supervisor, printer
from simcluster.manifests import demo_seed_experiment

ROOT = Path(__file__).resolve().parent.parent
RECORDINGS = Path(__file__).resolve().parent / "recordings"
OURS = ("RESTARTSCOPE_", "DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
NAMESPACE = "demo"  # of the experiment in the simulated cluster
START_SECONDS = 60  # a cold start on a slow machine: imports, migrations, the first request
PODS_WATCHES = 2
STOP_SECONDS = "2"  # for the web server's open event streams

# Everything is on this machine: a proxy that the caller's environment names has no part in it.
LOOPBACK = urllib.request.build_opener(urllib.request.ProxyHandler({}))
PROXIES = ("http_proxy", "https_proxy", "all_proxy")

say = printer()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="port of the pages; if it is busy another is taken")
    parser.add_argument("--data-dir", type=Path, default=ROOT / "var" / "demo", help="emptied at the start")
    return parser.parse_args()


@contextlib.contextmanager
def only_one(data_dir: Path) -> Iterator[TextIO]:
    """Holds the lock of a data folder. Raises Failed, saying who holds it, if another demo does."""
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    path = data_dir.with_name(f"{data_dir.name}.lock")
    with path.open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip() or "it is just starting"
            raise Failed(
                f"A demo is already running here ({holder}); end it first, with Ctrl-C in its terminal."
            ) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}")
        lock.flush()
        yield lock


def fresh(data_dir: Path) -> None:
    """An empty data folder: the simulated cluster forgets everything when it ends, so what was stored of it goes too.

    Raises Failed for a folder that was not made by a demo: it is not ours to empty.
    """
    marker = data_dir / ".demo"
    if data_dir.exists() and any(data_dir.iterdir()):
        if not marker.exists():
            raise Failed(f"{data_dir} holds something else than a demo's data; name another folder with --data-dir.")
        say(f"Starting clean: what the last demo left in {shown(data_dir)} is removed.")
        shutil.rmtree(data_dir)
    (data_dir / "logs").mkdir(parents=True)
    marker.touch()


def shown(path: Path) -> str:
    """A path as a reader in the checkout would write it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def environment(data_dir: Path, socket_path: Path, kubeconfig: Path) -> dict[str, str]:
    """What the children see: the caller's environment without its settings, which may name a real database."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(OURS) and name.lower() not in PROXIES
    }
    return kept | {
        "RESTARTSCOPE_DATA_DIR": str(data_dir),
        "DATABASE_URL": f"sqlite:///{data_dir}/restartscope.sqlite3",
        "REDIS_URL": valkey.url(socket_path),
        "RESTARTSCOPE_CLUSTERS": f"demo={kubeconfig}",
        "RESTARTSCOPE_READ_ONLY": "off",
        "RESTARTSCOPE_DEMO_SIGN_IN": "on",
        "PYTHONUNBUFFERED": "1",
    }


def python(*args: str) -> list[str]:
    return [sys.executable, *args]


def celery_worker(name: str, queue: str, threads: int) -> list[str]:
    worker = ("-m", "celery", "-A", "dashboard", "worker", "--hostname", f"{name}@demo", "-Q", queue)
    return python(*worker, "-P", "threads", "-c", str(threads), "--without-gossip", "--without-mingle")


def start_cluster(run: Supervisor, data_dir: Path, kubeconfig: Path) -> int:
    """The simulated cluster, still empty; answers its port, which is its own choice and is kept at a restart."""
    port_file = data_dir / "cluster.port"
    files = ("--kubeconfig-out", str(kubeconfig), "--port-file", str(port_file))
    # Several nodes, since one of the experiments loses one.
    command = python("-m", "simcluster", "--namespace", NAMESPACE, "--nodes", "3", *files)
    child = Child("cluster", [*command, "--seed", "1", "--port", "0"], server=True)
    run.add(child)
    run.wait(port_file.exists, "cluster", START_SECONDS)
    port = port_file.read_text(encoding="utf-8").strip()
    # A new process knows nothing of what the old one held: the experiment starts with it, under new UIDs, and whoever
    # watched has to list again.
    child.args = [*command, "--seed", "2", "--port", port, "--run", "seed", "--again"]
    return int(port)


def sees_an_experiment(watches: list[str]) -> bool:
    """Whether the open watches, a resource each, see a job from its beginning. Pods have two: by either label."""
    return "tfjobs.kubeflow.org" in watches and watches.count("pods") >= PODS_WATCHES


def start_experiment(run: Supervisor, cluster_port: int) -> None:
    """The seed experiment, once the watchers look: what they see from its beginning they can count exactly."""

    def watched() -> bool:
        try:
            with LOOPBACK.open(f"http://127.0.0.1:{cluster_port}/sim/state", timeout=2) as answer:
                return sees_an_experiment(json.load(answer)["watches"])
        except OSError:
            return False

    run.wait(watched, "worker-watch", START_SECONDS)
    request = urllib.request.Request(
        f"http://127.0.0.1:{cluster_port}/apis/kubeflow.org/v1/namespaces/{NAMESPACE}/tfjobs",
        data=json.dumps(demo_seed_experiment(NAMESPACE)).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        LOOPBACK.open(request, timeout=10).close()
    except OSError as error:
        raise Failed(f"The experiment was refused ({error}); the log is {run.log_of('cluster')}") from None


def start_pages(run: Supervisor, port: int) -> None:
    server = ("uvicorn", "dashboard.asgi:application", "--host", "127.0.0.1", "--port", str(port), "--lifespan", "off")
    run.add(Child("web", python("-m", *server, "--no-access-log", "--timeout-graceful-shutdown", STOP_SECONDS)))


def healthy(port: int) -> bool:
    try:
        with LOOPBACK.open(f"http://127.0.0.1:{port}/healthz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def replay(run: Supervisor) -> None:
    """The recordings, as jobs of a cluster of their own. Without them the demo still shows the live job."""
    folders = sorted(str(path) for path in RECORDINGS.iterdir() if path.is_dir())
    say(f"Replaying {len(folders)} recordings of a real cluster ...")
    try:
        run.run("replay", python("manage.py", "replay", *folders, "--cluster", "recordings"), START_SECONDS * 3)
    except Failed as failure:
        say(f"The recordings are left out: {failure}")


def describe(address: str, data_dir: Path, kubeconfig: Path) -> None:
    logs = shown(data_dir / "logs")
    say(f"""
Restartscope is running:  {address}

  Look at the TFJob tftest in cluster demo. Its worker 0 exits with 138 every ten seconds and is made anew by the
  training operator, so kubectl shows 0 restarts for ever; the page counts the true ones, and highlights Restarting.
  On the page Experiments one press launches jobs that show how restart policies behave, and says what should happen.
  Cluster recordings holds jobs that were recorded on a real cluster: a node lost, memory run out, a wave of 60.

  The same with kubectl:  {kubectl()} --kubeconfig {shown(kubeconfig)} get pods -A -owide -w
  Logs, one file for each process:  {logs}

Ctrl-C ends everything.""")


def kubectl() -> str:
    """The kubectl that `make install` brings, else whichever is on the path."""
    ours = Path(sys.executable).parent / "kubectl"
    return str(shown(ours)) if ours.exists() else "kubectl"


def start(run: Supervisor, options: argparse.Namespace, kubeconfig: Path, socket_path: Path, lock: TextIO) -> None:
    """Everything, in the order in which it is needed. Raises Failed or Stopped."""
    data_dir: Path = options.data_dir
    say("Starting Valkey, the database and a simulated cluster ...")
    run.add(Child("valkey", valkey.command(socket_path), server=True))
    run.wait(lambda: valkey.answers(socket_path), "valkey", 10)
    run.run("migrate", python("manage.py", "migrate", "--no-input"), START_SECONDS)
    cluster_port = start_cluster(run, data_dir, kubeconfig)
    port = processes.free_port(options.port)
    if port != options.port:
        say(f"Port {options.port} is busy, so the pages are on port {port}.")
    address = f"http://127.0.0.1:{port}/"
    say("Starting the pages and the workers ...")
    start_pages(run, port)
    run.add(Child("worker-watch", celery_worker("watch", "watch", 4)))
    run.add(Child("worker", celery_worker("worker", "default", 2)))
    run.add(Child("beat", python("-m", "celery", "-A", "dashboard", "beat")))
    run.wait(lambda: healthy(port), "web", START_SECONDS)
    (data_dir / "demo.json").write_text(
        json.dumps({"address": address, "kubeconfig": str(kubeconfig)}), encoding="utf-8"
    )
    lock.write(f", {address}")
    lock.flush()
    start_experiment(run, cluster_port)
    replay(run)
    describe(address, data_dir, kubeconfig)


def main() -> int:
    options = arguments()
    options.data_dir = options.data_dir.resolve()
    kubeconfig = options.data_dir / "kubeconfig"
    try:
        with only_one(options.data_dir) as lock:
            fresh(options.data_dir)
            socket_path = valkey.socket_in(options.data_dir)
            env = environment(options.data_dir, socket_path, kubeconfig)
            run = Supervisor(options.data_dir / "logs", ROOT, env, say)
            run.catch_signals()
            try:
                start(run, options, kubeconfig, socket_path, lock)
                run.watch()
            except Stopped:
                say("\nStopping ...")
                return 0
            finally:
                killed = run.stop()
                say(
                    "Everything has ended."
                    + (f" Killed, for not ending in time: {', '.join(killed)}." if killed else "")
                )
    except Failed as failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
