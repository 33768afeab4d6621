"""A real API server on a free port, in a thread of the test's process."""

import asyncio
import json
import random
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from simcluster.clock import LoopClock
from simcluster.gc import GarbageCollector
from simcluster.http import ApiServer
from simcluster.options import Options
from simcluster.server import bind, serve
from simcluster.store import Store

Obj = dict[str, Any]


class Answer:
    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def json(self) -> Any:
        return json.loads(self.body)


class SimServer:
    """`call` runs a function on the server's loop, where the store may be touched."""

    def __init__(self, options: Options | None = None, namespaces: tuple[str, ...] = ("default", "wire")) -> None:
        self.options = options or Options()
        self._namespaces = namespaces
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    def start(self) -> "SimServer":
        self._thread.start()
        assert self._started.wait(60)
        return self

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    async def _main(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self.clock = LoopClock(self.loop)
        self.store = Store(self.clock, random.Random(1))
        GarbageCollector(self.store, self.clock, random.Random(2))
        for name in self._namespaces:
            self.store.ensure_namespace(name)
        self.api = ApiServer(self.store, self.options)
        listener = bind(0)
        self.port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.loop.call_soon(self._started.set)
        await serve(self.api, listener, self._stop)
        self.clock.close()

    def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        async def run() -> Any:
            return fn(*args, **kwargs)

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **headers: str
    ) -> Answer:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("Content-Type", content_type)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, **headers)

    def control(self, action: str, **body: Any) -> Obj:
        answer = self.request("POST", f"/sim/{action}", body)
        assert answer.status == 200, answer.body
        return dict(answer.json())

    def events(self, path: str) -> list[Obj]:
        """The lines of a watch, up to its end."""
        return [json.loads(line) for line in self.get(path).body.splitlines()]

    def open_watch(self, path: str) -> "RawWatch":
        return RawWatch(self.port, path)


class RawWatch:
    """A watch on a bare socket, so that a test sees when bytes stop and how the connection ends."""

    def __init__(self, port: int, path: str, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: sim\r\n\r\n".encode())
        self.received = b""
        while b"\r\n\r\n" not in self.received:
            self.received += self._more()

    def wait_for(self, text: bytes) -> None:
        while text not in self.received:
            more = self._more()
            assert more, f"ended before {text!r}: {self.received[-500:]!r}"
            self.received += more

    def to_end(self) -> bool:
        """Reads to the end; whether it was a proper one (the last, empty chunk came)."""
        while not self.received.endswith(b"0\r\n\r\n"):
            try:
                more = self._more()
            except ConnectionError:
                return False
            if not more:
                return False
            self.received += more
        return True

    def silent_for(self, seconds: float) -> bool:
        self.socket.settimeout(seconds)
        try:
            more = self._more()
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(60)
        self.received += more
        return False

    def close(self) -> None:
        self.socket.close()

    def _more(self) -> bytes:
        return self.socket.recv(65536)


def tfjob(name: str = "tftest", namespace: str = "wire", **metadata: Any) -> Obj:
    container = {"name": "tensorflow", "image": "busybox"}
    worker = {"replicas": 3, "restartPolicy": "ExitCode", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"tfReplicaSpecs": {"Worker": worker}},
    }


def pod(name: str, namespace: str = "wire", node: str | None = None, **metadata: Any) -> Obj:
    spec: Obj = {"containers": [{"name": "tensorflow", "image": "busybox"}], "terminationGracePeriodSeconds": 5}
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": spec,
    }
