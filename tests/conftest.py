"""Fixtures that every test may use: real servers, processes that are always killed, a browser."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone, translation

from demo import processes as child_processes
from demo import valkey as embedded_valkey
from tests.support import busybox, chromium, postgres

ROOT = Path(__file__).resolve().parent.parent
BEFORE = pytest.StashKey[dict[str, Any]]()  # what a test found
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences", "live_server"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--database-only", action="store_true", help="only tests that use Django's database")


def pytest_configure() -> None:
    """Whoever starts the tests in the background of a script has them, and what they start, ignore Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--database-only"):
        return
    uses = [bool(item.get_closest_marker("django_db") or DATABASE_FIXTURES & set(_fixtures(item))) for item in items]
    config.hook.pytest_deselected(items=[item for item, used in zip(items, uses, strict=True) if not used])
    items[:] = [item for item, used in zip(items, uses, strict=True) if used]


def _fixtures(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", ()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line that names the tests that were left out for want of a program, so that green does not hide them."""
    for tests, missing in (("Browser tests", chromium.MISSING), ("Tests of scripts", busybox.MISSING)):
        skipped = [report for report in terminalreporter.getreports("skipped") if missing in str(report.longrepr)]
        if skipped:
            names = ", ".join(dict.fromkeys(report.nodeid for report in skipped))
            terminalreporter.write_line(f"{tests} skipped, {missing}: {names}", yellow=True)


@pytest.fixture(autouse=True)
def forget_the_index() -> Iterator[None]:
    """The list's index follows a database by its sequence numbers, and the next test's begins with the same ones."""
    yield
    index = sys.modules.get("jobs.store.pages.index")
    if index is not None:
        index.forget()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    item.stash[BEFORE] = _process_wide()
    yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Which tests share a process is chance, so what one of them leaves changed makes another fail now and then."""
    yield
    translation.deactivate()  # Django's test client leaves the last request's
    timezone.deactivate()
    before = item.stash[BEFORE]
    changed = {name: (before[name], now) for name, now in _process_wide().items() if now != before[name]}
    assert not changed, f"left changed for the next test (before, after): {changed}"


def _process_wide() -> dict[str, Any]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return {
        "signal handlers": [signal.getsignal(number) for number in numbers],
        "environment": environment,
        "working folder": str(Path.cwd()),
        "umask": _umask(),
        "socket timeout": socket.getdefaulttimeout(),
    }


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


class Processes:
    """Starts programs for one test and kills their whole process groups at its end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.logs: dict[int, Path] = {}
        self._children: list[subprocess.Popen[bytes]] = []

    def start(
        self, *args: str, env: Mapping[str, str] | None = None, name: str | None = None, cwd: Path = ROOT
    ) -> subprocess.Popen[bytes]:
        """Start a program with `env` on top of this process's environment; its output goes to `log_of(child)`."""
        log = self.folder / f"{len(self._children)}-{name or Path(args[0]).name}.log"
        child = child_processes.start(args, log=log, env=os.environ | (env or {}), cwd=cwd)
        self._children.append(child)
        self.logs[child.pid] = log
        return child

    def python(
        self, *args: str, env: Mapping[str, str] | None = None, name: str | None = None
    ) -> "subprocess.Popen[bytes]":
        """Start this interpreter with arguments, for example `-m celery …`."""
        return self.start(sys.executable, *args, env=env, name=name)

    def log_of(self, child: subprocess.Popen[bytes]) -> str:
        """Everything a child has printed so far."""
        return self.logs[child.pid].read_text(encoding="utf-8", errors="replace")

    def wait_for(
        self, condition: Callable[[], object], *children: subprocess.Popen[bytes], seconds: float = 30
    ) -> None:
        """Wait until `condition()` is true. Fails with the children's output when it is not, or when one ends."""
        deadline = time.monotonic() + seconds
        while not condition():
            ended = [child for child in children if child.poll() is not None]
            if ended or time.monotonic() > deadline:
                what = f"ended with status {ended[0].returncode}" if ended else f"not ready after {seconds} s"
                pytest.fail(f"{what}\n" + "\n".join(self.log_of(child) for child in children))
            time.sleep(0.05)

    def stop(self, *children: subprocess.Popen[bytes], grace: float = 5) -> list[int]:
        """End these children (all, if none is named). Returns the pids that had to be killed."""
        return child_processes.stop(children or self._children, grace=grace)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """A helper that starts programs and always kills them; their logs lie in the test's folder."""
    folder = tmp_path / "logs"
    folder.mkdir()
    helper = Processes(folder)
    yield helper
    helper.stop(grace=3)


@pytest.fixture
def free_port() -> int:
    """A TCP port that is free on loopback."""
    return child_processes.free_port()


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[Path]:
    """The Unix socket of a real Valkey that lives as long as the test session."""
    with tempfile.TemporaryDirectory(prefix="rsvk-") as name:
        socket_path = embedded_valkey.socket_in(Path(name))
        log = Path(name) / "log"
        child = child_processes.start(embedded_valkey.command(socket_path), log=log, env=os.environ)
        try:
            if not child_processes.wait(child, lambda: embedded_valkey.answers(socket_path), 10):
                pytest.fail(f"Valkey did not start:\n{child_processes.tail(log)}")
            yield socket_path
        finally:
            child_processes.stop([child], grace=3)


@pytest.fixture
def valkey(valkey_server: Path) -> Iterator[str]:
    """The URL (`unix://…`, as REDIS_URL takes it) of a real and empty Valkey."""
    import redis

    url = embedded_valkey.url(valkey_server)
    with redis.Redis.from_url(url) as connection:
        connection.flushall()
        yield url
        connection.flushall()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a real PostgreSQL server that lives as long as the test session."""
    try:
        with postgres.server() as url:
            yield url
    except RuntimeError as error:
        pytest.fail(str(error))


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL (as DATABASE_URL takes it) of an empty database of the test's own on a real PostgreSQL."""
    with postgres.database(postgres_server, f"test_{uuid.uuid4().hex[:12]}") as url:
        yield url


def _program(path: str | None, missing: str) -> str:
    """The path of a program. Without it the test is skipped, but in CI (CI=true) that is a failure."""
    if path is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    return path


@pytest.fixture(scope="session")
def chromium_path() -> str:
    return _program(chromium.find(), chromium.MISSING)


@pytest.fixture(scope="session")
def busybox_path() -> str:
    return _program(busybox.find(), busybox.MISSING)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    tmp_path_factory: pytest.TempPathFactory, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    """SQLite tests use a file, as the product does: a database in memory has no write-ahead log and other locks."""
    from django.conf import settings

    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        database["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
