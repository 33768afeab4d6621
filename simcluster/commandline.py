"""The options of `python -m simcluster`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from simcluster.controllers import quantity
from simcluster.controllers.kubelet import NodeSpec
from simcluster.controllers.podgroup import COSCHEDULING, VOLCANO

NO_GANGS = "none"
_MOST_NODES = 190  # as many as have addresses of their own for their pods


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options. Ends the process with 2 and a sentence for one that makes no sense."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if not 0 <= given.port <= 65535:
        parser.error(f"--port {given.port}: a port lies between 0 and 65535")
    for name in ("bookmark_seconds", "keep_seconds"):
        if not 0 < getattr(given, name) < float("inf"):
            parser.error(f"--{name.replace('_', '-')}: give a number of seconds above 0")
    if not 1 <= given.nodes <= _MOST_NODES:
        parser.error(f"--nodes {given.nodes}: give a number from 1 to {_MOST_NODES}")
    for name in ("node_cpu", "node_memory", "node_pods"):
        if getattr(given, name) and not quantity.amounts({name: getattr(given, name)}).get(name):
            option = f"--{name.replace('_', '-')}"
            parser.error(f"{option} {getattr(given, name)}: give a quantity above 0, such as 4, 500m or 16Gi")
    controllers = (given.run, given.rules, given.gang_scheduler, given.busy, given.restricted_init)
    if given.bare and any(controllers):
        names = "--run, --rules, --gang-scheduler, --busy and --restricted-init"
        parser.error(f"{names} need the controllers that --bare leaves out")
    return given


def nodes(given: argparse.Namespace) -> list[NodeSpec]:
    """The nodes that the options ask for: las1, las2 and so on."""
    usual = NodeSpec()
    cpu, memory, pods = given.node_cpu or usual.cpu, given.node_memory, given.node_pods or usual.pods
    return [
        NodeSpec(
            f"las{number}",
            f"192.0.2.{number + 1}",
            cpu,
            memory or usual.memory,
            memory or usual.allocatable_memory,
            pods,
        )
        for number in range(1, given.nodes + 1)
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simcluster",
        description="A simulated cluster on a loopback port, until SIGTERM or SIGINT.",
        epilog="With state, truth, audit, compact, end-watches, stall, faults, forbidden, missing, clock or act as the "
        "first word it sends that request to one that runs: see python -m simcluster act --help.",
    )
    add = parser.add_argument
    add("--port", type=int, default=0, help="port on 127.0.0.1; another is taken if it is busy (default: any)")
    add("--seed", type=int, default=1, help="what all chance is drawn from")
    add("--speed", type=float, default=1.0, help="simulated seconds per second")
    add("--start", default="", metavar="TIME", help="simulated time to start at, RFC 3339 (default: now)")
    add(
        "--again",
        action="store_true",
        help="versions begin beyond those of any earlier process, which are answered 410",
    )
    add("--namespace", action="append", default=[], help="a namespace to create (repeatable)")
    add("--run", action="append", default=[], metavar="NAME", help="an experiment or scenario to start (repeatable)")
    add("--rules", type=Path, metavar="FILE", help="rules that say what containers do")
    add(
        "--gang-scheduler",
        default="",
        choices=(VOLCANO, COSCHEDULING, NO_GANGS),
        help=f"whose PodGroups the operator makes (default: what --run needs, else {VOLCANO})",
    )
    add("--busy", action="store_true", help="the operator has many other jobs to look after")
    add(
        "--restricted-init",
        action="store_true",
        help="the operator's init containers may run in namespaces that enforce restricted pod security",
    )
    add("--nodes", type=int, default=1, metavar="N", help="number of nodes (1)")
    add("--node-cpu", default="", metavar="QUANTITY", help="cpu of each node (2)")
    add("--node-memory", default="", metavar="QUANTITY", help="memory of each node (24684092Ki)")
    add("--node-pods", default="", metavar="N", help="pods that each node takes (200)")
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
