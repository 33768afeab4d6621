"""A cluster's API server over the kubernetes client's configuration, authentication and connection pool.

Not over its ``Watch`` nor its models: answers are handed on as raw bytes. The client is imported on first use, because
it costs 20 MB and a third of a second beyond urllib3 and there is no lighter documented way to its authentication.
"""

import contextlib
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlencode, urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from jobs.ingest.transport import Cut, Stalled, Stop, Unreachable

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

log = logging.getLogger(__name__)

KUBECONFIG = "kubeconfig"
IN_CLUSTER = "in-cluster"
CONNECT_TIMEOUT = 10.0  # seconds: TCP and TLS handshakes
KEEPALIVE = (30, 10, 3)  # seconds idle, seconds between probes, probes: a dead peer is noticed within a minute
POOL_SIZE = 64  # connections kept: one per stream
RELOAD_INTERVAL = 60.0  # seconds between two readings of the configuration because of 401
CHUNK = 1 << 16  # bytes per read
USER_AGENT = "restartscope"

_importing = threading.Lock()  # two threads that import the client at once deadlock in it, and it stays half imported


class ConnectionSettingError(Exception):
    """The source of a connection cannot be used; the text says what to do."""


def connect(source: str = KUBECONFIG) -> "Connection":
    """A connection to the cluster that ``source`` names; nothing is sent yet.

    ``kubeconfig`` (the default kubeconfig and its current context), ``FILE[#context]``, or ``in-cluster`` (the pod's
    service account). Raises ``ConnectionSettingError``.
    """
    with _importing:
        import kubernetes.client  # noqa: PLC0415
        import kubernetes.config  # noqa: F401, PLC0415
    return Connection(source, _client(source))


def _client(source: str) -> "ApiClient":
    from kubernetes.client import ApiClient, Configuration  # noqa: PLC0415 - see the module's docstring

    configuration = Configuration()
    _load(source, configuration)
    configuration.retries = False  # one failure policy: the list/watch loop's
    configuration.connection_pool_maxsize = POOL_SIZE
    configuration.socket_options = _keepalive()
    client = ApiClient(configuration)
    client.user_agent = USER_AGENT
    client.rest_client.pool_manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return client


def _load(source: str, configuration: Any) -> None:
    from kubernetes.config import (  # noqa: PLC0415
        ConfigException,
        load_incluster_config,
        load_kube_config,
    )

    if source == IN_CLUSTER:
        try:
            load_incluster_config(client_configuration=configuration)
        except (ConfigException, OSError) as error:
            hint = "Run in a pod with a service account, or name a kubeconfig."
            raise ConnectionSettingError(f"cannot connect from inside a cluster: {error} {hint}") from error
        return
    file, _, context = ("", "", "") if source == KUBECONFIG else source.partition("#")
    name = f"kubeconfig {file}" if file else "the default kubeconfig (KUBECONFIG, else ~/.kube/config)"
    if file and not Path(file).expanduser().is_file():
        raise ConnectionSettingError(f"cannot read {name}: there is no such file. Name one that exists.")
    try:
        load_kube_config(
            config_file=str(Path(file).expanduser()) if file else None,
            context=context or None,
            client_configuration=configuration,
        )
    except Exception as error:  # the loader raises whatever the file's content leads to
        raise ConnectionSettingError(f"cannot use {name}: {_reason(error, context)}") from error


def _reason(error: Exception, context: str) -> str:
    """Only texts that quote no value of the file: it holds credentials."""
    from kubernetes.config import ConfigException  # noqa: PLC0415

    if isinstance(error, PermissionError):
        return "it may not be read. Give this process read access."
    if isinstance(error, ConfigException):
        text = str(error)
        if context and context in text:
            return f"it has no context {context}. `kubectl config get-contexts` lists them."
        if "No configuration found" in text:
            return "there is none. Create one, or name another source."
        if len(text) < 200 and "Expected" in text:
            return f"{text}. Check it with `kubectl config view`."
    return f"{type(error).__name__}. Check it with `kubectl config view`."


def _keepalive() -> list[tuple[int, int, int]]:
    from kubernetes.utils.keepalive import tcp_keepalive_socket_options  # noqa: PLC0415

    idle, interval, count = KEEPALIVE
    options: list[tuple[int, int, int]] = tcp_keepalive_socket_options(idle=idle, interval=interval, count=count)
    return options


# --- sockets: named while a request waits, so that another thread can shut them down

_call = threading.local()


def _attach(sock: Any) -> None:
    call: _Call | None = getattr(_call, "current", None)
    if call is not None:
        call.sock = sock
        call.stop.attach(sock)


class _Call:
    """The request that this thread is making."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.sock: Any = None


class _NamedConnection(HTTPConnection):
    def getresponse(self) -> Any:
        _attach(self.sock)
        return super().getresponse()


class _NamedSecureConnection(HTTPSConnection):
    def getresponse(self) -> Any:
        _attach(self.sock)
        return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _NamedConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _NamedSecureConnection


# --- requests


class _Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    body: Any = None
    content_type: str = ""


class Connection:
    """One cluster. Safe to use from many threads; each answer belongs to the thread that opened it."""

    def __init__(self, source: str, client: "ApiClient") -> None:
        self.source = source
        self._client = client
        self._reloaded_at = time.monotonic()
        self._reload_lock = threading.Lock()

    @property
    def host(self) -> str:
        """The API server's address, without anything a URL could hold besides."""
        parts = urlsplit(str(self._client.configuration.host))
        return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")

    def close(self) -> None:
        self._client.close()

    def open(self, path: str, query: Mapping[str, str], *, timeout: float, stop: Stop) -> "HttpAnswer":
        """GET; see ``transport.Transport``. Credentials that a 401 answers to are read anew once a minute."""
        return self._answered(_Request("GET", path, query), timeout, stop)

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Any, *, content_type: str, timeout: float
    ) -> "HttpAnswer":
        """A request with a JSON body. Raises ``TransportError``: then nobody knows whether it was carried out."""
        return self._answered(_Request(method, path, query, body, content_type), timeout, Stop())

    def _answered(self, request: "_Request", timeout: float, stop: Stop) -> "HttpAnswer":
        answer = self._open(request, timeout, stop)
        if answer.status == 401 and self._reload():
            answer.close()
            return self._open(request, timeout, stop)
        return answer

    def _open(self, request: "_Request", timeout: float, stop: Stop) -> "HttpAnswer":
        client = self._client
        query = f"?{urlencode(request.query)}" if request.query else ""
        headers = self._headers(client)
        if request.content_type:
            headers["Content-Type"] = request.content_type
        call = _call.current = _Call(stop)
        try:
            answer = client.call_api(
                request.method,
                f"{client.configuration.host}{request.path}{query}",
                header_params=headers,
                body=request.body,
                _request_timeout=(CONNECT_TIMEOUT, timeout),
            )
        except Unreachable:
            raise
        except Exception as error:
            stop.attach(None)
            raise Unreachable(_why_unreachable(self.host, error)) from error
        finally:
            _call.current = None
        return HttpAnswer(answer.response, call, self.host)

    def _headers(self, client: "ApiClient") -> dict[str, str]:
        headers: dict[str, str] = {"Accept": "application/json", **client.default_headers}
        try:
            client.update_params_for_auth(headers, [], ["BearerToken"], "", "GET", None)
        except Exception as error:  # a credential plugin may fail in any way, and its words may hold a secret
            raise Unreachable(
                f"cannot refresh the credentials for {self.host} ({type(error).__name__}): "
                "run the credential plugin of the kubeconfig by hand to see why."
            ) from error
        return headers

    def _reload(self) -> bool:
        """Read the configuration again, since somebody may have renewed it; False if that was tried a moment ago."""
        with self._reload_lock:
            if time.monotonic() - self._reloaded_at < RELOAD_INTERVAL:
                return False
            self._reloaded_at = time.monotonic()
            try:
                self._client = _client(self.source)
            except ConnectionSettingError as error:
                log.warning("credentials are refused and the configuration cannot be read again: %s", error)
                return False
            return True


class HttpAnswer:
    """An answer whose body is still on the wire."""

    def __init__(self, response: Any, call: _Call, host: str) -> None:
        self._response = response
        self._call = call
        self._host = host

    @property
    def status(self) -> int:
        return int(self._response.status)

    @property
    def headers(self) -> Mapping[str, str]:
        headers: Mapping[str, str] = self._response.headers
        return headers

    def read(self, limit: int) -> bytes:
        with self._named_errors():
            parts: list[bytes] = []
            size = 0
            while part := self._response.read1(CHUNK):
                parts.append(part)
                size += len(part)
                if size > limit:
                    raise Cut(f"{self._host} sends more than {limit >> 20} MB in one answer; it was given up.")
            return b"".join(parts)

    def chunks(self, patience: Callable[[], float]) -> Iterator[bytes]:
        with self._named_errors():
            while True:
                self._allow(patience())
                chunk = self._response.read1(CHUNK)
                if not chunk:
                    return
                yield chunk

    def close(self) -> None:
        """Ends the connection unless the body is at its end: then it is left for the next request."""
        self._call.stop.attach(None)
        if self._response.closed:
            self._response.release_conn()
        else:
            self._response.close()

    def _allow(self, seconds: float) -> None:
        with contextlib.suppress(OSError, AttributeError):  # the server may have closed it already
            self._call.sock.settimeout(seconds)

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (urllib3.exceptions.ReadTimeoutError, TimeoutError) as error:
            raise Stalled(f"{self._host} went silent; the connection was given up.") from error
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise Cut(f"The connection to {self._host} was cut; it is opened again.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_UNREACHABLE: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    (
        (ssl.SSLCertVerificationError,),
        "has a certificate that is not trusted: check the CA and the host name in the kubeconfig.",
    ),
    (
        (ssl.SSLError, urllib3.exceptions.SSLError),
        "speaks no TLS that we understand: check the address and the client certificate.",
    ),
    (
        (urllib3.exceptions.ProxyError,),
        "cannot be reached through the proxy: check the proxy settings.",
    ),
    (
        (socket.gaierror, urllib3.exceptions.NameResolutionError),
        "has a name that cannot be resolved: check the address and DNS.",
    ),
    (
        (ConnectionRefusedError,),
        "refuses connections: check that the API server runs and the address is right.",
    ),
    (
        (TimeoutError, urllib3.exceptions.TimeoutError),
        "does not answer: check the network and the firewalls between.",
    ),
)


def _why_unreachable(host: str, error: Exception) -> str:
    """One sentence for what urllib3, the client or the system raised; no text of theirs, which could hold a secret."""
    causes = list(_causes(error))
    for types, text in _UNREACHABLE:
        if any(isinstance(cause, types) for cause in causes):
            return f"{host} {text}"
    return f"{host} cannot be reached ({type(causes[-1]).__name__}): check the address and the network."


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
