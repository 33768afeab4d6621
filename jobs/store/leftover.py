"""Streams of an earlier configuration, with other namespaces: what was theirs goes to the streams that cover it now."""

from collections.abc import Sequence

from django.db import transaction

from jobs.domain.kinds import BY_RESOURCE, PODS
from jobs.models import Cluster, Job, KubeObject, Stream

NOT_CONFIGURED = "not configured"  # the state of a stream that is left


def hand_over(cluster: Cluster, streams: Sequence[Stream]) -> list[Stream]:
    """Give ``streams``, those that are watched from now on, the objects of those that were watched before.

    Answers the streams that are left, of a namespace each: objects or jobs are there that nobody watches any more.
    """
    left = []
    with transaction.atomic():
        for old in Stream.objects.filter(cluster=cluster).exclude(pk__in=[stream.pk for stream in streams]):
            alike = [new for new in streams if (new.resource, new.selector) == (old.resource, old.selector)]
            for new in alike:
                if not (new.namespace and old.namespace):
                    _hand_over(old, new)
            split = _split(old, {new.namespace for new in alike})
            left += split
            if alike:  # whose object was is of no matter once it is gone
                KubeObject.objects.filter(stream=old, present=False).update(stream=alike[0])
            if old not in split and not KubeObject.objects.filter(stream=old).exists():
                old.delete()
    return left


def _hand_over(old: Stream, new: Stream) -> None:
    """What is the old stream's in the new one's namespace. Nobody watched it since the old one was last alive."""
    theirs = KubeObject.objects.filter(stream=old, present=True)
    (theirs.filter(namespace=new.namespace) if new.namespace else theirs).update(stream=new)
    if new.listed_at is None and old.alive_at is not None:
        new.alive_at = old.alive_at if new.alive_at is None else min(new.alive_at, old.alive_at)
    new.gap_open = new.gap_open or old.gap_open
    new.save(update_fields=["alive_at", "gap_open"])


def _split(old: Stream, covered: set[str]) -> list[Stream]:
    """The streams of what is still the old one's, of all namespaces or its own, and is not ``covered``."""
    found = []
    for namespace in sorted(_namespaces(old) - covered) if "" not in covered else ():
        if namespace == old.namespace:
            found.append(old)
            continue
        stream, _ = Stream.objects.get_or_create(
            cluster_id=old.cluster_id,
            resource=old.resource,
            selector=old.selector,
            namespace=namespace,
            defaults={"alive_at": old.alive_at, "gap_open": old.gap_open},
        )
        KubeObject.objects.filter(stream=old, namespace=namespace).update(stream=stream)
        found.append(stream)
    return found


def _namespaces(old: Stream) -> set[str]:
    """Those in which there is something that the stream watched, or jobs whose pods it would watch."""
    there = KubeObject.objects.filter(stream=old, present=True)
    jobs = Job.objects.filter(cluster_id=old.cluster_id, present=True)
    if old.namespace:
        jobs = jobs.filter(namespace=old.namespace)
    if old.resource != PODS:
        kind = BY_RESOURCE.get(old.resource)
        jobs = jobs.filter(kind=kind.kind) if kind is not None else jobs.none()
    return {*there.values_list("namespace", flat=True).distinct(), *jobs.values_list("namespace", flat=True).distinct()}
