"""Why an API server cannot be reached, in one sentence that says what to check."""

import socket
import ssl
from collections.abc import Iterator

import urllib3

CAUSES: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
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


def why_unreachable(host: str, error: Exception) -> str:
    """One sentence for what urllib3, the client or the system raised; no text of theirs, which could hold a secret."""
    causes = list(_causes(error))
    for types, text in CAUSES:
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
