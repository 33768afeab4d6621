"""`python -m simcluster act ...` and its like: a request of the control API to a simulated cluster that runs."""

import argparse
import base64
import json
import os
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

Obj = dict[str, Any]

_REPORTS = ("state", "truth", "audit")
_ACTIONS = {
    "compact": "compact",
    "end-watches": "watches/end",
    "stall": "watches/stall",
    "faults": "faults",
    "forbidden": "forbidden",
    "missing": "missing",
    "clock": "clock",
    "act": "act",
}
COMMANDS = frozenset({*_REPORTS, *_ACTIONS})
_EXAMPLES = """
  python -m simcluster act lose_node name=las1
  python -m simcluster act evict namespace=demo name=tftest-worker-0
  python -m simcluster compact
  python -m simcluster end-watches mode=abort resource=pods
  python -m simcluster stall on=true
  python -m simcluster faults code=429 count=3 resource=pods
  python -m simcluster clock jump=3600
  python -m simcluster clock speed=10
  python -m simcluster truth scenario=seed-exitcode-138
"""


def main(arguments: Sequence[str]) -> int:
    """Prints the answer. Exit codes: 0, 1 if the cluster refused or did not answer, 2 for a wrong argument."""
    parser = _parser()
    given = parser.parse_intermixed_args(arguments)
    words = [*([given.name] if given.name else []), *given.parameters]
    body: Obj = {}
    if given.command == "act":
        if not words or "=" in words[0]:
            parser.error("name the act first, such as lose_node; python -m simcluster state lists them")
        body["act"] = words.pop(0)
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            parser.error(f"{word}: parameters are written key=value")
        body[key] = _value(value)
    try:
        server, context = _server(given)
        print(json.dumps(_answer(given.command, server, context, body), indent=1, ensure_ascii=False))
    except urllib.error.HTTPError as error:
        print(f"simcluster: {_reason(error)}", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"simcluster: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simcluster",
        usage="%(prog)s COMMAND [act] [key=value ...] [--kubeconfig FILE] [--server URL]",
        description="Sends a request of the control API to a simulated cluster that runs.",
        epilog=f"examples:{_EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=sorted(COMMANDS))
    parser.add_argument("name", nargs="?", default="", help="of the act")
    parser.add_argument("parameters", nargs="*", metavar="key=value", help="a value is JSON, or else a text")
    usual = os.environ.get("KUBECONFIG") or "var/kubeconfig"
    parser.add_argument("--kubeconfig", type=Path, default=Path(usual), help=f"which cluster ({usual})")
    parser.add_argument("--server", default="", metavar="URL", help="its address, instead of a kubeconfig")
    return parser


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _server(given: argparse.Namespace) -> tuple[str, ssl.SSLContext | None]:
    """The address, and whom to trust. Raises OSError, ValueError for a file that is no kubeconfig."""
    if given.server:
        return given.server.rstrip("/"), None
    try:
        cluster = yaml.safe_load(given.kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]
        server, certificate = cluster["server"], cluster.get("certificate-authority-data")
    except (yaml.YAMLError, UnicodeDecodeError, LookupError, TypeError, AttributeError):
        raise ValueError(f"{given.kubeconfig} is no kubeconfig") from None
    trusted = ssl.create_default_context(cadata=base64.b64decode(certificate).decode()) if certificate else None
    return server, trusted


def _answer(command: str, server: str, context: ssl.SSLContext | None, body: Obj) -> Any:
    if not server.startswith(("http://", "https://")):
        raise ValueError(f"{server}: an address begins with http:// or https://")
    if command in _REPORTS:
        url = f"{server}/sim/{command}?{urllib.parse.urlencode(body)}"
        request = urllib.request.Request(url)  # noqa: S310
    else:
        content = json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310
            f"{server}/sim/{_ACTIONS[command]}", content, {"Content-Type": "application/json"}
        )
    handlers: list[Any] = [urllib.request.ProxyHandler({})]  # the cluster is on this machine
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    with urllib.request.build_opener(*handlers).open(request, timeout=30) as answer:
        return json.load(answer)


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (ValueError, LookupError, TypeError):
        return f"HTTP {error.code}"
