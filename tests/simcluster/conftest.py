"""A real API server for the tests of the simulated cluster."""

from collections.abc import Callable, Iterator

import pytest

from simcluster.options import Options
from tests.simcluster.simserver import SimServer


@pytest.fixture
def start_server() -> Iterator[Callable[..., SimServer]]:
    """Starts a server with options; all are stopped at the test's end."""
    servers: list[SimServer] = []

    def start(options: Options | None = None, **settings: tuple[str, ...]) -> SimServer:
        servers.append(SimServer(options, **settings).start())
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def server(start_server: Callable[..., SimServer]) -> SimServer:
    return start_server()


@pytest.fixture(scope="module")
def shared_server() -> Iterator[SimServer]:
    """One server for all tests of a file that ask what changes nothing."""
    shared = SimServer().start()
    yield shared
    shared.stop()
