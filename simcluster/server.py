"""Runs the API server on a loopback port until it is told to stop."""

import asyncio
import contextlib
import gc
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import uvicorn

from simcluster.http import ApiServer

_GRACE_SECONDS = 1  # for requests under way; watches are ended before
_BACKLOG = 512
# Objects between two collections: a store keeps most of what a write makes, so there is little to find.
_COLLECT_AFTER = (50_000, 20, 50)


def collect_rarely() -> None:
    """For a process that does nothing but serve: looking for garbage as often as usual takes a third of each write."""
    gc.set_threshold(*_COLLECT_AFTER)


def bind(port: int) -> socket.socket:
    """A listening socket on 127.0.0.1: on `port`, or on another one if that is 0, taken or not allowed."""
    for candidate in (port, 0):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", candidate))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            if candidate == 0:
                raise
        else:
            return listener
    raise AssertionError("unreachable")


async def serve(
    api: ApiServer, listener: socket.socket, stop: asyncio.Event, pems: tuple[str, str] | None = None
) -> None:
    """Serves until `stop` is set, then ends within 2 s, with open watches too. `pems`: certificate and key for TLS."""
    config = uvicorn.Config(
        api.app(),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    if pems is not None:
        _load_with_tls(config, pems)
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    api.close()
    server.should_exit = True
    await running


def _load_with_tls(config: uvicorn.Config, pems: tuple[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "certificate", Path(folder) / "key"
        for file, pem in zip(files, pems, strict=True):
            file.write_text(pem, encoding="ascii")
        config.ssl_certfile, config.ssl_keyfile = files
        config.load()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the caller's business."""
        yield
