"""What a cluster allows: whether it is a simulated one, and in which namespaces jobs may be created."""

import time
from collections.abc import Iterable, Sequence

from django.conf import settings

from dashboard.env import DNS_LABEL, ClusterSource
from jobs.domain.kinds import JobKind
from jobs.experiments.writes import Writer
from jobs.models import Job, Lease

SYSTEM = ("kube-system", "kube-public", "kube-node-lease")
PREFERRED = ("restartscope-experiments", "experiments", "demo", "default")
ASKED = 60  # namespaces that are asked about one by one
READ_EACH = 20  # namespaces whose labels are read one by one
KNOWN_SECONDS = 20.0  # that an answer is taken for true: a form asks at each key

_known: dict[tuple[str, tuple[str, ...]], tuple[float, list[str]]] = {}


def cluster_named(name: str) -> ClusterSource | None:
    """A configured cluster."""
    clusters: tuple[ClusterSource, ...] = settings.RESTARTSCOPE_CLUSTERS
    return next((source for source in clusters if source.name == name), None)


def is_watched(cluster: str) -> bool:
    """Whether somebody follows the cluster now; without that nothing of a run is seen."""
    return Lease.objects.filter(cluster__name=cluster, expires_at__gt=time.time()).exists()


def namespaces_for(cluster: str, kinds: Iterable[JobKind], writer: Writer) -> list[str]:
    """The watched namespaces in which jobs of all these kinds may be created, as the cluster itself says.

    Raises ``Away`` and ``Refused``.
    """
    wanted = tuple(kinds)
    key = cluster, tuple(kind.resource for kind in wanted)
    at, found = _known.get(key, (0.0, []))
    if time.monotonic() - at < KNOWN_SECONDS and at:
        return found
    found = _asked(cluster, wanted, writer)
    _known[key] = time.monotonic(), found
    return found


def pod_security(namespaces: Sequence[str], writer: Writer) -> dict[str, str]:
    """The pod security standard that each of the namespaces enforces by its label, "" for none; those whose labels may
    not be read are left out. Raises ``Away`` and ``Refused``.

    Where namespaces may not be listed only some are read, the usual one among them.
    """
    listed = writer.namespaces()
    if listed is None:
        first = usual(namespaces)
        ordered = sorted(namespaces, key=lambda name: name != first)
        each = {name: writer.pod_security(name) for name in ordered[:READ_EACH]}
        return {name: level for name, level in each.items() if level is not None}
    return {name: listed[name] for name in namespaces if name in listed}


def usual(namespaces: Sequence[str]) -> str:
    """The one that a launch takes which names none; "" if there is none."""
    return next((name for name in PREFERRED if name in namespaces), next(iter(namespaces), ""))


def forget() -> None:
    """For tests: every cluster is asked anew."""
    _known.clear()


def _asked(cluster: str, kinds: tuple[JobKind, ...], writer: Writer) -> list[str]:
    places = _places(cluster, writer)
    for kind in kinds:
        if not writer.may("create", kind.group, kind.plural):
            places = [place for place in places[:ASKED] if writer.may("create", kind.group, kind.plural, place)]
    return places


def _places(cluster: str, writer: Writer) -> list[str]:
    """The namespaces that come into question, in order: only what is watched is of use."""
    watched: tuple[str, ...] = settings.RESTARTSCOPE_NAMESPACES
    listed = writer.namespaces()
    names = [*listed] if listed is not None else [*watched]
    if listed is None and not names:  # they may not be listed: those that are known from elsewhere
        seen = Job.objects.filter(cluster__name=cluster).values_list("namespace", flat=True).distinct()
        names = [*seen[:ASKED], "default"]
    chosen = {name for name in names if not watched or name in watched}
    return sorted(name for name in chosen if name not in SYSTEM and DNS_LABEL.fullmatch(name))
