"""Which streams are watched: one for each resource, namespace and selector, because selectors cannot say "or"."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jobs.domain.kinds import EVENTS, PLUGINS_PODGROUPS, PODS, VOLCANO_PODGROUPS, JobKind

OPERATOR_LABEL = "training.kubeflow.org/operator-name"
VOLCANO_LABEL = "volcano.sh/job-name"
PODGROUP_KIND = "PodGroup"

_PODGROUP_PATHS = {
    VOLCANO_PODGROUPS: ("scheduling.volcano.sh", "v1beta1", "podgroups"),
    PLUGINS_PODGROUPS: ("scheduling.x-k8s.io", "v1alpha1", "podgroups"),
}


class StreamKey(NamedTuple):
    """What a cursor belongs to. ``namespace`` "" means all; ``selector`` is the label or field selector."""

    resource: str
    namespace: str
    selector: str

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.resource}{where}" + (f" ({self.selector})" if self.selector else "")


class StreamSpec(NamedTuple):
    """What one stream lists and watches."""

    resource: str  # as in observations: "pods", "tfjobs.kubeflow.org"
    group: str  # "" is the core group
    version: str
    plural: str
    namespace: str = ""  # "" means all
    label_selector: str = ""
    field_selector: str = ""

    @property
    def key(self) -> StreamKey:
        return StreamKey(self.resource, self.namespace, self.label_selector or self.field_selector)

    @property
    def path(self) -> str:
        """Of the list and of the watch: ``/apis/kubeflow.org/v1/tfjobs``."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        namespace = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{root}{namespace}/{self.plural}"

    @property
    def bookmarks(self) -> bool:
        """Whether the API server sends bookmarks. Of Events it sends none, so an idle Event stream is no fault."""
        return self.resource != EVENTS

    def selectors(self) -> dict[str, str]:
        """The query parameters that narrow the stream."""
        query = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {name: value for name, value in query.items() if value}


def streams_for(kinds: Iterable[JobKind], namespaces: Sequence[str] = ()) -> list[StreamSpec]:
    """The streams that following ``kinds`` needs, in all namespaces or in each of ``namespaces``.

    Jobs, PodGroups of both groups, pods with the operator's label (and with Volcano's, for its own Jobs), and the
    Events about jobs and PodGroups: never those about pods, which are most of a cluster's.
    """
    kinds = tuple(kinds)
    everywhere = [*_job_streams(kinds), *_podgroup_streams(), *_pod_streams(kinds), *_event_streams(kinds)]
    return [stream._replace(namespace=namespace) for namespace in namespaces or ("",) for stream in everywhere]


def _job_streams(kinds: tuple[JobKind, ...]) -> list[StreamSpec]:
    return [StreamSpec(kind.resource, kind.group, kind.version, kind.plural) for kind in kinds]


def _podgroup_streams() -> list[StreamSpec]:
    return [StreamSpec(resource, *path) for resource, path in _PODGROUP_PATHS.items()]


def _pod_streams(kinds: tuple[JobKind, ...]) -> list[StreamSpec]:
    labels = []
    if any(kind.operator for kind in kinds):
        labels.append(OPERATOR_LABEL)
    if any(not kind.operator for kind in kinds):
        labels.append(VOLCANO_LABEL)
    return [StreamSpec(PODS, "", "v1", "pods", label_selector=label) for label in labels]


def _event_streams(kinds: tuple[JobKind, ...]) -> list[StreamSpec]:
    selectors = [_event_selector(kind) for kind in kinds] + [f"involvedObject.kind={PODGROUP_KIND}"]
    return [StreamSpec(EVENTS, "", "v1", "events", field_selector=selector) for selector in dict.fromkeys(selectors)]


def _event_selector(kind: JobKind) -> str:
    """Volcano's Job shares its kind with the batch Job, whose Events are not wanted."""
    selector = f"involvedObject.kind={kind.kind}"
    return selector if kind.operator else f"{selector},involvedObject.apiVersion={kind.api_version}"
