"""The connection against a real server on loopback: what it sends, what ends it, what it says when it cannot."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.ingest.client import ConnectionSettingError
from jobs.ingest.connection import Connection, connect
from jobs.ingest.transport import Cut, Stalled, Stop, TransportError, Unreachable
from tests.ingest.recorded import exchange
from tests.ingest.scripted_server import Reply, ScriptedServer, kubeconfig
from tests.support.promptness import fair

PODS = "/api/v1/pods"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def connection(server: ScriptedServer, tmp_path: Path) -> Iterator[Connection]:
    opened = connect(kubeconfig(tmp_path / "config", server.url, token="secret-token"))
    yield opened
    opened.close()


def patience(seconds: float) -> Callable[[], float]:
    return lambda: seconds


def fetch(connection: Connection, limit: int = 1 << 20) -> tuple[int, bytes]:
    with connection.open(PODS, {}, timeout=5, stop=Stop()) as answer:
        return answer.status, answer.read(limit)


# --- settings


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectionSettingError, match=r"cannot read kubeconfig .*absent: there is no such file"):
        connect(str(tmp_path / "absent"))


def test_a_context_that_is_not_there_is_named(tmp_path: Path) -> None:
    source = kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    with pytest.raises(ConnectionSettingError, match=r"it has no context elsewhere.*get-contexts"):
        connect(f"{source}#elsewhere")


@pytest.mark.parametrize("content", ["", "[]", "users: [{token: hunter2", "current-context: a\nusers: hunter2\n"])
def test_an_unusable_file_is_refused_without_quoting_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "config").write_text(content)
    with pytest.raises(ConnectionSettingError, match="cannot use kubeconfig") as caught:
        connect(str(tmp_path / "config"))
    assert "hunter2" not in str(caught.value)


def test_inside_no_cluster_the_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ConnectionSettingError, match="service account, or name a kubeconfig"):
        connect("in-cluster")


def test_a_context_is_chosen_after_the_hash(tmp_path: Path) -> None:
    source = kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    assert connect(source).host == "http://127.0.0.1:1"
    assert connect(f"{source}#there").host == "http://127.0.0.1:9"


def test_decoding_alone_does_not_import_the_kubernetes_client() -> None:
    program = "import sys, jobs.ingest.session, jobs.ingest.connection; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# --- requests


def test_a_request_carries_path_query_and_credentials(server: ScriptedServer, connection: Connection) -> None:
    server.replies = [Reply([b"{}"])]
    with connection.open(PODS, {"labelSelector": "a/b=c,d", "limit": "5"}, timeout=5, stop=Stop()) as answer:
        assert (answer.status, answer.read(100)) == (200, b"{}")
        assert answer.headers["CONTENT-TYPE"] == "application/json"
    (request,) = server.requests
    assert (request.path, request.query) == (PODS, {"labelSelector": "a/b=c,d", "limit": "5"})
    assert request.headers["authorization"] == "Bearer secret-token"
    assert request.headers["user-agent"] == "restartscope"


def test_a_dead_peer_is_probed(server: ScriptedServer, connection: Connection) -> None:
    server.replies = [Reply([b"x"], then="hang")]
    with connection.open(PODS, {}, timeout=5, stop=Stop()) as answer:
        sock = answer._call.sock
        options = [
            sock.getsockopt(*option)
            for option in (
                (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
                (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
                (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
                (socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
            )
        ]
    assert options == [1, 30, 10, 3]


def test_a_finished_answer_leaves_its_connection_for_the_next(server: ScriptedServer, connection: Connection) -> None:
    server.replies = [Reply([b"{}"]), Reply([b"{}"]), Reply([b"half"], then="hang"), Reply([b"{}"])]
    fetch(connection)
    fetch(connection)
    with connection.open(PODS, {}, timeout=5, stop=Stop()) as answer:
        assert next(answer.chunks(patience(5))) == b"half"
    fetch(connection)
    ports = [request.port for request in server.requests]
    assert ports[0] == ports[1] == ports[2] != ports[3]


def test_an_error_answer_is_no_exception(server: ScriptedServer, connection: Connection) -> None:
    server.replies = [Reply.of(exchange("not-installed")), Reply.of(exchange("watch-bad-rv"))]
    assert fetch(connection) == (404, b"404 page not found\n")
    assert fetch(connection)[0] == 500


def test_nothing_is_retried_behind_our_back(server: ScriptedServer, connection: Connection) -> None:
    server.replies = [Reply(then="cut", head_first=False), Reply([b"{}"])]
    with pytest.raises(Unreachable):
        fetch(connection)
    assert len(server.requests) == 1
    server.replies = [Reply(status=302, headers={"Location": "/elsewhere"})]
    assert fetch(connection)[0] == 302


def test_refused_credentials_are_read_anew_once_a_minute(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect(kubeconfig(tmp_path / "config", server.url, token="old"))
    kubeconfig(tmp_path / "config", server.url, token="new")
    server.replies = [Reply.of(exchange("unauthorized"))]
    assert fetch(connection)[0] == 401  # a moment after connecting it is not tried
    connection._reloaded_at -= 61
    server.replies = [Reply.of(exchange("unauthorized")), Reply([b"{}"])]
    assert fetch(connection)[0] == 200
    tokens = [request.headers["authorization"] for request in server.requests]
    assert tokens == ["Bearer old", "Bearer old", "Bearer new"]


# --- endings


def test_chunks_come_as_they_arrive(server: ScriptedServer, connection: Connection) -> None:
    server.replies = [Reply([b"one", b"two"])]
    with connection.open(PODS, {}, timeout=5, stop=Stop()) as answer:
        assert b"".join(answer.chunks(patience(5))) == b"onetwo"


def test_a_cut_is_told_from_an_end(server: ScriptedServer, connection: Connection) -> None:
    server.replies = [Reply([b"one"], then="cut"), Reply([b"one"], then="cut")]
    with connection.open(PODS, {}, timeout=5, stop=Stop()) as answer:
        chunks = answer.chunks(patience(5))
        assert next(chunks) == b"one"
        with pytest.raises(Cut, match="was cut"):
            next(chunks)
    with pytest.raises(Cut):
        fetch(connection)


def test_silence_is_given_up(server: ScriptedServer, connection: Connection) -> None:
    server.replies = [Reply([b"one"], then="hang")]
    with connection.open(PODS, {}, timeout=5, stop=Stop()) as answer:
        chunks = answer.chunks(patience(0.1))
        assert next(chunks) == b"one"
        with pytest.raises(Stalled, match="went silent"):
            next(chunks)


def test_a_head_that_does_not_come_is_unreachable(server: ScriptedServer, connection: Connection) -> None:
    server.replies = [Reply(head_first=False, then="hang")]
    with pytest.raises(Unreachable, match="does not answer"):
        connection.open(PODS, {}, timeout=0.1, stop=Stop())


def test_an_answer_without_end_is_bounded(server: ScriptedServer, connection: Connection) -> None:
    server.replies = [Reply([b"x" * 1000] * 50)]
    with pytest.raises(Cut, match="more than"):
        fetch(connection, limit=10_000)


@pytest.mark.parametrize("reply", [Reply([b"one"], then="hang"), Reply(head_first=False, then="hang")])
def test_a_stop_ends_a_waiting_reader(server: ScriptedServer, connection: Connection, reply: Reply) -> None:
    server.replies = [reply]
    _assert_stop_ends_reader(server, connection)


def _assert_stop_ends_reader(server: ScriptedServer, connection: Connection) -> None:
    stop = Stop()
    ended: list[BaseException | None] = []

    def read() -> None:
        try:
            with connection.open(PODS, {}, timeout=60, stop=stop) as answer:
                for _ in answer.chunks(patience(60)):
                    pass
            ended.append(None)
        except TransportError as error:
            ended.append(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    assert server.arrived.acquire(timeout=60)
    time.sleep(0.1)  # let it block in the read
    began = time.monotonic()
    stop.set()
    reader.join(5)
    assert not reader.is_alive()
    assert ended
    assert time.monotonic() - began < fair(1)


def test_a_stopped_reader_opens_nothing_that_lasts(server: ScriptedServer, connection: Connection) -> None:
    stop = Stop()
    stop.set()
    server.replies = [Reply(head_first=False, then="hang")]
    began = time.monotonic()
    with pytest.raises(TransportError):
        connection.open(PODS, {}, timeout=60, stop=stop)
    assert time.monotonic() - began < fair(2)


# --- unreachable


def test_a_refused_connection_says_so(tmp_path: Path, free_port: int) -> None:
    connection = connect(kubeconfig(tmp_path / "config", f"http://127.0.0.1:{free_port}"))
    with pytest.raises(Unreachable, match=f"http://127.0.0.1:{free_port} refuses connections"):
        fetch(connection)


def test_a_name_that_does_not_resolve_says_so(tmp_path: Path) -> None:
    connection = connect(kubeconfig(tmp_path / "config", "http://no-such-host.invalid"))
    with pytest.raises(Unreachable, match="has a name that cannot be resolved"):
        fetch(connection)


def test_a_server_without_tls_says_so(server: ScriptedServer, tmp_path: Path) -> None:
    connection = connect(kubeconfig(tmp_path / "config", server.url.replace("http:", "https:")))
    with pytest.raises(Unreachable, match="speaks no TLS"):
        fetch(connection)


def test_a_failing_credential_plugin_is_named_without_its_words(server: ScriptedServer, connection: Connection) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("hunter2")

    connection._client.configuration.refresh_api_key_hook = fail
    with pytest.raises(Unreachable, match="cannot refresh the credentials") as caught:
        fetch(connection)
    assert "hunter2" not in caught.value.sentence
    assert not server.requests


# --- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key"), "-out", str(folder / "cert")]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl to make a certificate with")
    return folder / "cert", folder / "key"


def test_a_stop_ends_a_reader_over_tls(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    server = ScriptedServer(Reply([b"{}"]), Reply([b"one"], then="hang"))
    server.use_tls(*certificate)
    with server:
        connection = connect(kubeconfig(tmp_path / "config", server.url, token="t", ca=certificate[0]))
        assert fetch(connection) == (200, b"{}")
        assert server.arrived.acquire(timeout=60)
        _assert_stop_ends_reader(server, connection)


def test_a_certificate_that_is_not_trusted_says_so(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    server = ScriptedServer(Reply([b"{}"]))
    server.use_tls(*certificate)
    with server:
        connection = connect(kubeconfig(tmp_path / "config", server.url))
        with pytest.raises(Unreachable, match="a certificate that is not trusted"):
            fetch(connection)


def test_inside_a_cluster_the_service_account_is_used(
    certificate: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kubernetes.config import incluster_config

    (tmp_path / "token").write_text("mounted-token")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(certificate[0]))
    server = ScriptedServer(Reply([b"{}"]))
    server.use_tls(*certificate)
    with server:
        host, port = server.url.removeprefix("https://").split(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        assert fetch(connect("in-cluster")) == (200, b"{}")
    assert server.requests[0].headers["authorization"] == "bearer mounted-token"
