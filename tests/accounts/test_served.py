"""Several real web processes before one database: what they count together, and whom they believe."""

import http.client
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from demo.processes import free_port
from tests.accounts.conftest import RIGHT, WRONG

FORM = "application/x-www-form-urlencoded"
PAGE = "/sign-in/"


class Site:
    """Web processes with one environment. ``settings`` are added to it."""

    def __init__(self, processes: Any, folder: Path, database: str, *, servers: int = 1, **settings: str) -> None:
        self.processes = processes
        self.env = {
            "DATABASE_URL": database,
            "RESTARTSCOPE_DATA_DIR": str(folder),
            "REDIS_URL": "redis://127.0.0.1:1/0",  # nobody listens there: signing in needs no broker
            **settings,
        }
        self.ports = [free_port() for _ in range(servers)]
        self.children = [
            processes.python(
                *("-m", "uvicorn", "dashboard.asgi:application", "--port", str(port)), env=self.env, name=f"web-{port}"
            )
            for port in self.ports
        ]
        processes.wait_for(self._up, *self.children, seconds=60)

    def _up(self) -> bool:
        try:
            return all(self.ask("GET", "/static/icon.svg", server=n)[0] == 200 for n in range(len(self.ports)))
        except OSError:
            return False

    def ask(
        self, method: str, path: str, body: Any = None, *, server: int = 0, **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        """Status, text and headers. A body that is an iterator is sent in chunks, without its length."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[server], timeout=60)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named, encode_chunked=not isinstance(body, str | None))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, answer.read().decode(), found
        finally:
            connection.close()

    def sign_in(
        self, name: str = "ann", password: str = WRONG, *, server: int = 0, **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        cookie, token = self.form(server)
        body = urlencode({"username": name, "password": password, "csrfmiddlewaretoken": token})
        return self.ask("POST", PAGE, body, server=server, content_type=FORM, cookie=cookie, **headers)

    def form(self, server: int = 0) -> tuple[str, str]:
        """The cookie and the token of a form that has just been fetched."""
        _, text, headers = self.ask("GET", PAGE, server=server)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', text)
        assert token
        return headers["set-cookie"].partition(";")[0], token[1]

    def log(self) -> str:
        return "".join(self.processes.log_of(child) for child in self.children)


def with_ann(url: str, folder: Path) -> str:
    """The URL of a database, now migrated, in which ann has a password."""
    env = os.environ | {
        "DATABASE_URL": url,
        "RESTARTSCOPE_DATA_DIR": str(folder),
        "DJANGO_SUPERUSER_PASSWORD": RIGHT,
    }
    for command in (["migrate", "-v0"], ["createsuperuser", "--no-input", "--username=ann", "--email=a@example.org"]):
        subprocess.run([sys.executable, "manage.py", *command], env=env, check=True, capture_output=True)
    return url


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    with_ann(f"sqlite:///{folder}/site.sqlite3", folder)
    return folder / "site.sqlite3"


@pytest.fixture
def sqlite_url(prepared: Path, tmp_path: Path) -> str:
    """A copy of its own; the last connection that was closed left everything in this one file."""
    return f"sqlite:///{shutil.copy(prepared, tmp_path)}"


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """On SQLite, but where a test names PostgreSQL."""
    if getattr(request, "param", "sqlite") == "postgres":
        return with_ann(request.getfixturevalue("postgres_url"), tmp_path)
    return str(request.getfixturevalue("sqlite_url"))


@pytest.fixture
def site(processes: Any, tmp_path: Path, database: str) -> Callable[..., Site]:
    return lambda **options: Site(processes, tmp_path, database, **options)


@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
def test_web_processes_count_together(site: Callable[..., Site]) -> None:
    served = site(servers=2)
    with ThreadPoolExecutor(12) as pool:
        statuses = list(pool.map(lambda n: served.sign_in(server=n % 2)[0], range(12)))
    assert sorted(statuses) == [200] * 5 + [429] * 7, "attempts at once cannot all pass"
    for server in (0, 1):
        status, text, headers = served.sign_in(password=RIGHT, server=server, accept_language="zh-CN")
        assert status == 429
        assert "尝试次数过多" in text
        assert 0 < int(headers["retry-after"]) <= 900
    assert served.sign_in("bob", server=1)[0] == 200, "another name"
    assert served.log().count("'ann' from 127.0.0.1 has tried too often to sign in") == 7 + 2
    for word in ("Traceback", RIGHT, WRONG):
        assert word not in served.log()


def test_a_proxy_is_believed_only_if_the_server_was_told_of_it(site: Callable[..., Site]) -> None:
    strict = site(FORWARDED_ALLOW_IPS="192.0.2.99")
    for n in range(5):
        assert strict.sign_in(x_forwarded_for=f"203.0.113.{n}")[0] == 200
    assert strict.sign_in(x_forwarded_for="203.0.113.77")[0] == 429
    assert "'ann' from 127.0.0.1 has tried too often" in strict.log()


def test_behind_a_proxy_each_visitor_is_counted_alone(site: Callable[..., Site]) -> None:
    """A proxy adds the address that it saw to what its visitor claims."""
    proxied = site(FORWARDED_ALLOW_IPS="127.0.0.1")
    for n in range(5):
        assert proxied.sign_in(x_forwarded_for=f"198.51.100.{n}, 203.0.113.1")[0] == 200
    assert proxied.sign_in(x_forwarded_for="198.51.100.77, 203.0.113.1")[0] == 429
    status, _, headers = proxied.sign_in(password=RIGHT, x_forwarded_for="203.0.113.2")
    assert (status, headers["location"]) == (302, "/experiments/")
    statuses = [proxied.sign_in(x_forwarded_for=f"nonsense-{n}")[0] for n in range(6)]
    assert statuses == [200] * 5 + [429]
    assert "'ann' from an unknown address has tried too often" in proxied.log()


def test_a_form_that_does_not_say_how_long_it_is(site: Callable[..., Site]) -> None:
    served = site()
    cookie, _ = served.form()
    pieces = (b"x" * 100_000 for _ in range(100))
    status, text, _ = served.ask("POST", PAGE, pieces, content_type=FORM, cookie=cookie, transfer_encoding="chunked")
    assert status == 413
    assert "longer than what this site takes" in text
    (line,) = [line for line in served.log().splitlines() if "RequestDataTooBig" in line]
    assert line.endswith(f": {PAGE}")
    assert "Traceback" not in served.log()


@pytest.mark.parametrize("url", ["sqlite:///{folder}", "postgresql://nobody:geheim@127.0.0.1:1/none"])
def test_a_database_that_is_away_is_told(processes: Any, tmp_path: Path, url: str) -> None:
    (tmp_path / "folder").mkdir()
    served = Site(processes, tmp_path, url.format(folder=tmp_path / "folder"))
    status, text, _ = served.sign_in()
    assert status == 503
    assert "The database of this site does not answer. Try again in a minute" in text
    status, text, _ = served.ask("GET", PAGE, cookie="sessionid=somebody")
    assert status == 503
    assert "Nobody can sign in just now" in text
    log = served.log()
    assert log.count("nobody can sign in: ") == 2
    for word in ("Traceback", "geheim", WRONG):
        assert word not in log
