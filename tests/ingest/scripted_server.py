"""A real HTTP/1.1 server on loopback that plays one scripted answer per request."""

import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from tests.ingest.recorded import Exchange


@dataclass
class Reply:
    """``chunks`` go out one HTTP chunk each. ``then``: "end" the answer properly, "cut" the connection, or "hang"."""

    chunks: Sequence[bytes] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    then: str = "end"
    head_first: bool = True  # False: hang before the status line

    @classmethod
    def of(cls, exchange: Exchange) -> Self:
        """A recorded answer, as it was."""
        keep = {name: value for name, value in exchange.headers.items() if name not in ("content-length", "date")}
        return cls([exchange.body], exchange.status, keep)


@dataclass
class Request:
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # names in lower case
    port: int  # the client's: tells connections apart


class ScriptedServer:
    """Plays ``replies`` in order; when there is none left, a request hangs until the server is closed."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []
        self.arrived = threading.Semaphore(0)  # released once per request
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.scheme = "http"

    def use_tls(self, certificate: Path, key: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.scheme = "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def play(self, handler: Any) -> None:
        url = urlsplit(handler.path)
        with self._lock:
            headers = {name.lower(): value for name, value in handler.headers.items()}
            request = Request(url.path, dict(parse_qsl(url.query)), headers, handler.client_address[1])
            self.requests.append(request)
            reply = self.replies.pop(0) if self.replies else Reply(head_first=False, then="hang")
        self.arrived.release()
        if reply.head_first:
            self._head(handler, reply)
            for chunk in reply.chunks:
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                handler.wfile.flush()
        if reply.then == "hang":
            self._closing.wait(30)
        if reply.then == "end":
            handler.wfile.write(b"0\r\n\r\n")
        else:
            handler.close_connection = True

    def _head(self, handler: Any, reply: Reply) -> None:
        handler.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.flush()


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            try:
                server.play(self)
            except OSError:  # the client went away, as some tests want
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def kubeconfig(path: Path, url: str, *, token: str | None = None, ca: Path | None = None) -> str:
    """Writes a kubeconfig for ``url`` and gives its path, as ``connect`` takes it."""
    user = f"\n    token: {token}" if token else " {}"
    authority = f"\n    certificate-authority: {ca}" if ca else ""
    path.write_text(
        f"""apiVersion: v1
kind: Config
current-context: here
clusters:
- name: scripted
  cluster:
    server: {url}{authority}
- name: nowhere
  cluster:
    server: http://127.0.0.1:9
users:
- name: tester
  user:{user}
contexts:
- name: here
  context: {{cluster: scripted, user: tester}}
- name: there
  context: {{cluster: nowhere, user: tester}}
"""
    )
    return str(path)
