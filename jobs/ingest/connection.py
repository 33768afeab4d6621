"""A cluster's API server over the kubernetes client's configuration, authentication and connection pool.

Not over its ``Watch`` nor its models: answers are handed on as raw bytes.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlencode, urlsplit

import urllib3

from jobs.ingest.client import KUBECONFIG, ConnectionSettingError, client_for
from jobs.ingest.sockets import Call
from jobs.ingest.transport import Cut, Stalled, Stop, Unreachable
from jobs.ingest.unreachable import why_unreachable

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

log = logging.getLogger(__name__)

CONNECT_TIMEOUT = 10.0  # seconds: TCP and TLS handshakes
RELOAD_INTERVAL = 60.0  # seconds between two readings of the configuration because of 401
CHUNK = 1 << 16  # bytes per read


def connect(source: str = KUBECONFIG) -> "Connection":
    """A connection to the cluster that ``source`` names; nothing is sent yet.

    ``kubeconfig`` (the default kubeconfig and its current context), ``FILE[#context]``, or ``in-cluster`` (the pod's
    service account). Raises ``ConnectionSettingError``.
    """
    return Connection(source, client_for(source))


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
        try:
            with Call(stop) as call:
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
            raise Unreachable(why_unreachable(self.host, error)) from error
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
                self._client = client_for(self.source)
            except ConnectionSettingError as error:
                log.warning("credentials are refused and the configuration cannot be read again: %s", error)
                return False
            return True


class HttpAnswer:
    """An answer whose body is still on the wire."""

    def __init__(self, response: Any, call: Call, host: str) -> None:
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
        """See ``transport.Answer``."""
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
        """See ``transport.Answer``."""
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
