"""`python -m simcluster`: a simulated cluster on a loopback port, until SIGTERM or SIGINT."""

import argparse
import asyncio
import json
import logging
import random
import secrets
import signal
import sys
from pathlib import Path

from simcluster import rbac
from simcluster.certificate import self_signed
from simcluster.clock import LoopClock, parse_rfc3339
from simcluster.cluster import Cluster
from simcluster.errors import ApiError
from simcluster.gc import GarbageCollector
from simcluster.http import ApiServer
from simcluster.kubeconfig import kubeconfig
from simcluster.options import Options, parse_forbidden, parse_missing
from simcluster.server import bind, collect_rarely, serve
from simcluster.store import Store

_COMPACTION_EVERY = 30.0  # real seconds between compactions
_NAMESPACES = ("default", "kube-system")


def main(arguments: list[str] | None = None) -> int:
    """Exit codes: 0 stopped by a signal, 2 for a wrong option or a file that cannot be written."""
    parser = _parser()
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    # A connection that is cut on purpose is no error worth a traceback.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    if not 0 <= given.port <= 65535:
        parser.error(f"--port {given.port}: a port lies between 0 and 65535")
    for name in ("bookmark_seconds", "keep_seconds"):
        if not 0 < getattr(given, name) < float("inf"):
            parser.error(f"--{name.replace('_', '-')}: give a number of seconds above 0")
    if given.bare and given.run:
        parser.error("--run needs the controllers that --bare leaves out")
    try:
        options = Options(
            token=given.token or (secrets.token_urlsafe(24) if given.rbac else ""),
            rbac=given.rbac,
            forbidden=parse_forbidden(given.forbid),
            missing=parse_missing(given.without),
            bookmark_seconds=given.bookmark_seconds,
        )
        asyncio.run(_run(given, options))
    except (OSError, ApiError, ValueError) as error:
        print(f"simcluster: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simcluster", description=__doc__)
    add = parser.add_argument
    add("--port", type=int, default=0, help="port on 127.0.0.1; another is taken if it is busy (default: any)")
    add("--seed", type=int, default=1, help="what all chance is drawn from")
    add("--speed", type=float, default=1.0, help="simulated seconds per second")
    add("--start", default="", metavar="TIME", help="simulated time to start at, RFC 3339 (default: now)")
    add("--namespace", action="append", default=[], help="a namespace to create (repeatable)")
    add("--run", action="append", default=[], metavar="NAME", help="an experiment to start, e.g. seed (repeatable)")
    add("--bare", action="store_true", help="no controllers: what is written stays as it is")
    add("--kubeconfig-out", type=Path, metavar="FILE", help="write a kubeconfig")
    add("--port-file", type=Path, metavar="FILE", help="write the port once requests are answered")
    add("--token", default="", help="the administrator's bearer token (default: none is asked for)")
    add("--rbac", action="store_true", help="rights come from roles and bindings; everybody needs a token")
    add("--tls", action="store_true", help="serve HTTPS, with a certificate made at the start (implied by --rbac)")
    add("--truth-out", type=Path, metavar="FILE", help="write at the end what really happened")
    add("--forbid", action="append", default=[], metavar="RESOURCE[:VERB,...]", help="answer 403 (repeatable)")
    add("--without", action="append", default=[], metavar="RESOURCE", help="leave a CRD out (repeatable)")
    add("--bookmark-seconds", type=float, default=60.0, help="between the bookmarks of a watch")
    add("--keep-seconds", type=float, default=300.0, help="history that survives compaction, in real seconds")
    return parser


async def _run(given: argparse.Namespace, options: Options) -> None:
    collect_rarely()
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    clock = LoopClock(loop, given.speed, parse_rfc3339(given.start) if given.start else None)
    store, cluster = _start_cluster(clock, given)
    rng = random.Random(given.seed + 1)  # noqa: S311
    api = ApiServer(store, options, rng, logs=cluster.logs if cluster else None, acts=cluster)
    if options.rbac:
        rbac.bootstrap(store)
    for name in given.run:
        if cluster is not None:
            cluster.run(name)
    listener = bind(given.port)
    port = listener.getsockname()[1]
    pems = self_signed() if given.tls or given.rbac else None
    address = f"{'https' if pems else 'http'}://127.0.0.1:{port}"
    if given.kubeconfig_out:
        namespace, certificate = (given.namespace or ["default"])[0], pems[0] if pems else ""
        _write(given.kubeconfig_out, kubeconfig(address, options.token, namespace, certificate))
    if given.port and port != given.port:
        print(f"simcluster: port {given.port} is taken", file=sys.stderr)
    compaction = asyncio.create_task(_compact(store, clock, given.keep_seconds))
    print(f"simcluster: API server at {address}", flush=True)
    if given.port_file:
        _write(given.port_file, f"{port}\n")
    try:
        await serve(api, listener, stop, pems)
    finally:
        compaction.cancel()
        clock.close()
        if given.truth_out:
            _write(given.truth_out, json.dumps(api.truth.told(" ".join(given.run)), indent=1) + "\n")


def _start_cluster(clock: LoopClock, given: argparse.Namespace) -> tuple[Store, Cluster | None]:
    namespaces = (*_NAMESPACES, *given.namespace)
    if given.bare:
        store = Store(clock, random.Random(given.seed))  # noqa: S311
        GarbageCollector(store, clock, random.Random(given.seed))  # noqa: S311
        for name in namespaces:
            store.ensure_namespace(name)
        return store, None
    cluster = Cluster(clock, given.seed, namespaces=namespaces)
    return cluster.store, cluster


async def _compact(store: Store, clock: LoopClock, keep_seconds: float) -> None:
    while True:
        await asyncio.sleep(min(_COMPACTION_EVERY, keep_seconds / 2 + 0.1))
        store.compact(keep_seconds=keep_seconds * clock.speed)


def _write(path: Path, text: str) -> None:
    """Whole or not at all: whoever waits for the file must not read half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
