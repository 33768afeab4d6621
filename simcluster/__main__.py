"""`python -m simcluster`: a simulated cluster on a loopback port, until SIGTERM or SIGINT, or a request to one."""

import argparse
import asyncio
import json
import logging
import random
import secrets
import signal
import sys
import time
from pathlib import Path

from simcluster import client, commandline, rbac
from simcluster.certificate import self_signed
from simcluster.clock import LoopClock, parse_rfc3339
from simcluster.cluster import Cluster
from simcluster.controllers.rules import read_rules
from simcluster.errors import ApiError
from simcluster.gc import GarbageCollector
from simcluster.http import ApiServer
from simcluster.kubeconfig import kubeconfig
from simcluster.options import Options, parse_forbidden, parse_missing
from simcluster.scenarios import needed_gang_scheduler, needs_busy_operator
from simcluster.server import bind, collect_rarely, serve
from simcluster.store import Store

_COMPACTION_EVERY = 30.0  # real seconds between compactions
_FASTEST = 1000  # writes a second that no process exceeds for long: so the clock is ahead of every version
_NAMESPACES = ("default", "kube-system")


def main(arguments: list[str] | None = None) -> int:
    """Exit codes: 0 stopped by a signal, or the request was answered; 1 the request was refused; 2 for a wrong option
    or a file that cannot be read or written."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in client.COMMANDS:
        return client.main(arguments)
    given = commandline.parsed(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    # A connection that is cut on purpose is no error worth a traceback.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
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


async def _run(given: argparse.Namespace, options: Options) -> None:
    collect_rarely()
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    clock = LoopClock(loop, given.speed, parse_rfc3339(given.start) if given.start else None)
    store, cluster = _start_cluster(clock, given)
    if given.again:
        store.go_on_after(int(time.time() * _FASTEST))
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
    gang_scheduler = given.gang_scheduler or needed_gang_scheduler(given.run)
    cluster = Cluster(
        clock,
        given.seed,
        nodes=commandline.nodes(given),
        namespaces=namespaces,
        gang_scheduler="" if gang_scheduler == commandline.NO_GANGS else gang_scheduler,
        busy=given.busy or needs_busy_operator(given.run),
        restricted_init=given.restricted_init,
        rules=read_rules(given.rules) if given.rules else (),
    )
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
