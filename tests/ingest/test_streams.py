"""Which streams following a set of kinds takes."""

from jobs.domain.kinds import BY_RESOURCE, EVENTS, KINDS, PODS
from jobs.ingest.decode import understands
from jobs.ingest.streams import StreamKey, streams_for


def test_all_kinds_in_all_namespaces() -> None:
    streams = streams_for(KINDS)
    paths = {(stream.path, stream.key.selector) for stream in streams}
    assert ("/apis/kubeflow.org/v1/tfjobs", "") in paths
    assert ("/apis/batch.volcano.sh/v1alpha1/jobs", "") in paths
    assert ("/apis/scheduling.volcano.sh/v1beta1/podgroups", "") in paths
    assert ("/apis/scheduling.x-k8s.io/v1alpha1/podgroups", "") in paths
    assert ("/api/v1/pods", "training.kubeflow.org/operator-name") in paths
    assert ("/api/v1/pods", "volcano.sh/job-name") in paths
    assert ("/api/v1/events", "involvedObject.kind=TFJob") in paths
    assert ("/api/v1/events", "involvedObject.kind=PodGroup") in paths
    assert len(streams) == len({stream.key for stream in streams}) == 7 + 2 + 2 + 8
    assert all(understands(stream.resource) for stream in streams)


def test_volcanos_job_does_not_bring_the_events_of_batch_jobs() -> None:
    (selector,) = [s.field_selector for s in streams_for(KINDS) if "kind=Job" in s.field_selector]
    assert selector == "involvedObject.kind=Job,involvedObject.apiVersion=batch.volcano.sh/v1alpha1"


def test_no_stream_has_the_events_of_pods() -> None:
    selectors = [stream.field_selector for stream in streams_for(KINDS) if stream.resource == EVENTS]
    assert all(selector.startswith("involvedObject.kind=") for selector in selectors)
    assert "involvedObject.kind=Pod" not in selectors


def test_one_kind_needs_one_pod_stream() -> None:
    pods = [s.label_selector for s in streams_for([BY_RESOURCE["tfjobs.kubeflow.org"]]) if s.resource == PODS]
    assert pods == ["training.kubeflow.org/operator-name"]
    pods = [s.label_selector for s in streams_for([BY_RESOURCE["jobs.batch.volcano.sh"]]) if s.resource == PODS]
    assert pods == ["volcano.sh/job-name"]


def test_rights_in_some_namespaces_take_a_stream_in_each() -> None:
    streams = streams_for([BY_RESOURCE["tfjobs.kubeflow.org"]], ["a", "b"])
    assert [s.path for s in streams if s.resource.startswith("tfjobs")] == [
        "/apis/kubeflow.org/v1/namespaces/a/tfjobs",
        "/apis/kubeflow.org/v1/namespaces/b/tfjobs",
    ]
    assert {s.path for s in streams if s.resource == PODS} == {"/api/v1/namespaces/a/pods", "/api/v1/namespaces/b/pods"}


def test_a_key_reads_as_what_it_is() -> None:
    assert str(StreamKey("pods", "", "a/b")) == "pods (a/b)"
    assert str(StreamKey("tfjobs.kubeflow.org", "ns", "")) == "tfjobs.kubeflow.org in ns"
