"""``python -m bench.simcluster``: what the simulated cluster bears: 30,000 pods, 1,000 writes a second, 50 watchers.

The API server runs in a process of its own, as `python -m simcluster` does, with a writer inside that stands for the
controllers; the watchers are in this process, on real connections. What counts is the server's share of one core,
how late the last watcher hears of a write, and the server's memory.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import re
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from simcluster.actors import controller, kubelet
from simcluster.clock import LoopClock
from simcluster.controllers.podspec import completed_pod
from simcluster.http import ApiServer
from simcluster.resources import PODS
from simcluster.server import bind, collect_rarely, serve
from simcluster.store import Store

Obj = dict[str, Any]
OPERATOR, KUBELET = controller("training-operator"), kubelet("las1")
MARK = b"bench-sent-"
STAMP = re.compile(MARK + rb"(\d+\.\d{6})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=30_000)
    parser.add_argument("--rate", type=int, default=1_000, help="writes a second")
    parser.add_argument("--watchers", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=10)
    given = parser.parse_args()
    print(f"start to first answer          {_start_seconds():8.2f} s")
    parent, child = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_server, args=(child, given.pods, given.rate))
    server.start()
    try:
        asyncio.run(_measure(given, parent, psutil.Process(server.pid)))
    finally:
        parent.send("stop")
        server.join(10)
        server.kill()
    return 0


def _start_seconds() -> float:
    """From the command to the written port file."""
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder) / "port"
        begun = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "simcluster", "--run", "seed", "--port-file", str(port_file)],
            stdout=subprocess.DEVNULL,
        )
        while not port_file.exists() and process.poll() is None:
            time.sleep(0.01)
        taken = time.monotonic() - begun
        process.terminate()
        process.wait(10)
    return taken


async def _measure(given: argparse.Namespace, pipe: Connection, process: psutil.Process) -> None:
    loop = asyncio.get_running_loop()
    port = await loop.run_in_executor(None, pipe.recv)
    print(f"memory with {given.pods:,} pods      {process.memory_info().rss / 1e6:8.0f} MB")
    begun = time.monotonic()
    version = await _list(port)
    print(f"list of all pods               {time.monotonic() - begun:8.2f} s")
    lags: list[float] = []
    # One of them looks into what it gets: reading for all would take more than the server does.
    watchers = [
        asyncio.create_task(_watch(port, version, None if number else lags)) for number in range(given.watchers)
    ]
    await asyncio.sleep(1)
    pipe.send("write")
    await asyncio.sleep(2)  # warm
    lags.clear()
    cpu, begun, before = sum(process.cpu_times()[:2]), time.monotonic(), await _written(pipe)
    await asyncio.sleep(given.seconds)
    taken = time.monotonic() - begun
    after, used = await _written(pipe), sum(process.cpu_times()[:2]) - cpu
    seen = sorted(lags)
    for watcher in watchers:
        watcher.cancel()
    print(f"writes a second                {(after - before) / taken:8.0f}   (wanted {given.rate:,})")
    print(f"processor time used            {used:8.2f} s in {taken:.2f} s: {100 * used / taken:.0f} % of one core")
    print(f"processor time of a write      {1000 * used / max(1, after - before):8.3f} ms")
    print(f"lines to each of {given.watchers} watchers    {len(seen) / taken:8.0f}")
    print(f"write to watcher, median       {1000 * seen[len(seen) // 2]:8.1f} ms")
    print(f"write to watcher, 99th of 100  {1000 * seen[len(seen) * 99 // 100]:8.1f} ms")
    print(f"memory afterwards              {process.memory_info().rss / 1e6:8.0f} MB")


async def _written(pipe: Connection) -> int:
    pipe.send("count")
    return int(await asyncio.get_running_loop().run_in_executor(None, pipe.recv))


async def _list(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    writer.write(b"GET /api/v1/pods HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
    body = await reader.read()
    writer.close()
    return json.loads(body[body.index(b'{"resourceVersion"') :].split(b"}", 1)[0] + b"}")["resourceVersion"]


async def _watch(port: int, version: str, lags: list[float] | None) -> None:
    """Reads for ever; notes in `lags` how old each write is that arrives."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    path = f"/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=600"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())
    rest = b""
    while data := await reader.read(1 << 20):
        if lags is None:
            continue
        now, rest = time.time(), rest + data
        found = list(STAMP.finditer(rest))
        lags += [now - float(match[1]) for match in found]
        rest = rest[found[-1].end() if found else max(0, len(rest) - 64) :]


def _server(pipe: Connection, pods: int, rate: int) -> None:
    asyncio.run(_serve(pipe, pods, rate))


async def _serve(pipe: Connection, pods: int, rate: int) -> None:
    collect_rarely()
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    store = Store(LoopClock(loop), random.Random(1))
    store.ensure_namespace("bench")
    api = ApiServer(store)
    rng = random.Random(2)
    for number in range(pods):
        created = store.acting_as(OPERATOR).create(PODS, completed_pod(_pod(number), rng), "bench")
        store.acting_as(KUBELET).update(PODS, {**created, "status": _running(number)}, "status")
    listener = bind(0)
    counted = {"writes": 0}

    async def write() -> None:
        view, number, due = store.acting_as(KUBELET), 0, loop.time()
        while not stop.is_set():
            for _ in range(max(1, rate // 100)):
                number = (number + 7919) % pods
                pod = store.get(PODS, "bench", f"job-{number // 60}-worker-{number % 60}-{number}")
                view.update(PODS, {**pod, "status": _running(number, f"{MARK.decode()}{time.time():.6f}")}, "status")
                counted["writes"] += 1
            due += 0.01
            await asyncio.sleep(max(0, due - loop.time()))

    def listen() -> None:
        match pipe.recv():
            case "write":
                tasks.append(loop.create_task(write()))
            case "count":
                pipe.send(counted["writes"])
            case _:
                stop.set()

    tasks: list[asyncio.Task[None]] = []
    loop.add_reader(pipe.fileno(), listen)
    loop.call_soon(pipe.send, listener.getsockname()[1])
    await serve(api, listener, stop)


def _pod(number: int) -> Obj:
    prefix = "training.kubeflow.org"
    job, index = number // 60, number % 60
    labels = {
        f"{prefix}/job-name": f"job-{job}",
        f"{prefix}/operator-name": "tfjob-controller",
        f"{prefix}/replica-index": str(index),
        f"{prefix}/replica-type": "worker",
    }
    cluster = ",".join(f'"job-{job}-worker-{each}.bench.svc:2222"' for each in range(4))
    container = {
        "name": "tensorflow",
        "image": "busybox:1.37.0-glibc",
        "command": ["sh", "-c", "sleep 3600"],
        "ports": [{"name": "tfjob-port", "containerPort": 2222}],
        "env": [{"name": "TF_CONFIG", "value": f'{{"cluster":{{"worker":[{cluster}]}}}}'}],
        "resources": {"limits": {"cpu": "20m", "memory": "50Mi"}},
    }
    metadata = {"name": f"job-{job}-worker-{index}-{number}", "labels": labels}
    return {"metadata": metadata, "spec": {"containers": [container], "nodeName": "las1"}}


def _running(number: int, message: str = "") -> Obj:
    at = "2026-11-29T12:43:35Z"
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": at, "observedGeneration": 1}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    container = {
        "name": "tensorflow",
        "state": {"running": {"startedAt": at}},
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "image": "docker.io/library/busybox:1.37.0-glibc",
        "imageID": f"sha256:{'2740bde9' * 8}",
        "containerID": f"containerd://{number:064x}",
        "started": True,
    }
    address = f"10.244.{number // 250 % 250}.{number % 250}"
    return {
        "phase": "Running",
        **({"message": message} if message else {}),
        "conditions": conditions,
        "hostIP": "192.0.2.2",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": at,
        "containerStatuses": [container],
        "qosClass": "Guaranteed",
    }


if __name__ == "__main__":
    sys.exit(main())
