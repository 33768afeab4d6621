"""Decoding of watch lines, list pages and recordings; whatever comes in, only DecodeError comes out."""

import gzip
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.domain.facts import Condition, EventFacts, JobFacts, PodFacts, PodGroupFacts, ReplicaSpec, Terminated
from jobs.domain.kinds import EVENTS, KINDS, PODS, VOLCANO_PODGROUPS
from jobs.ingest.decode import (
    BOOKMARK,
    ERROR,
    DecodeError,
    decode_identity,
    decode_line,
    decode_list,
    decode_object,
    decode_recorded,
    decode_status,
    understands,
)
from tests.ingest import recorded

TFJOBS = "tfjobs.kubeflow.org"
META = {"name": "n", "namespace": "ns", "uid": "u", "resourceVersion": "7"}


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()


def facts_of(resource: str, value: dict[str, Any], **metadata: Any) -> Any:
    return decode_object(resource, encode({"metadata": META | metadata, **value}))[1]


def reason_of(resource: str, line: bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        decode_line(resource, line)
    return caught.value.reason


# --- real lines


def test_a_recorded_pod_line_becomes_identity_and_facts() -> None:
    pods = [line for line in map(decode_recorded, recorded.lines("seed-exitcode-138")) if line.resource == PODS]
    failed = next(line for line in pods if isinstance(f := line.event.facts, PodFacts) and f.phase == "Failed")
    assert failed.event.type == failed.type == "MODIFIED"
    meta, facts = failed.event.meta, failed.event.facts
    assert (meta.namespace, meta.name) == ("seed-exitcode-138", "tftest-worker-0")
    assert meta.resource_version == failed.event.resource_version > 0
    assert (facts.operator_name, facts.replica_type, facts.replica_index) == ("tfjob-controller", "worker", 0)
    assert (facts.job_kind, facts.job_name, facts.job_api_version) == ("TFJob", "tftest", "kubeflow.org/v1")
    assert (facts.restart_policy, facts.group_name, facts.ready, facts.ready_reason) == (
        "Never",
        "tftest",
        False,
        "PodFailed",
    )
    (container,) = facts.containers
    assert (container.name, container.state, container.image) == ("tensorflow", "terminated", "busybox:1.37.0-glibc")
    assert container.terminated.exit_code == 138
    assert container.terminated.finished_at - container.terminated.started_at == pytest.approx(10, abs=1)


def test_a_recorded_volcano_job_and_its_pods_are_read_by_volcanos_labels() -> None:
    lines = [decode_recorded(line) for line in recorded.lines("volcano-job")]
    jobs = [line.event.facts for line in lines if line.resource == "jobs.batch.volcano.sh" and line.event.facts]
    assert list(dict.fromkeys(job.phase for job in jobs))[:4] == [
        None,
        "Pending",
        "Running",
        "Restarting",
    ]
    assert jobs[0].replicas == (ReplicaSpec("main", 2, "Never", "busybox:1.37.0-glibc"),)
    assert not jobs[0].has_status
    assert jobs[-1].has_status
    assert max(job.retry_count or 0 for job in jobs) == 4
    pods = [line.event.facts for line in lines if line.resource == PODS and line.event.facts]
    assert {(pod.replica_type, pod.replica_index) for pod in pods} == {("main", 0), ("main", 1)}


def test_the_mpi_launcher_has_no_index() -> None:
    pods = [decode_recorded(line) for line in recorded.lines("mpi-worker-fails")]
    facts = [line.event.facts for line in pods if line.resource == PODS and line.event.facts]
    assert {(f.replica_type, f.replica_index) for f in facts} == {("launcher", None), ("worker", 0), ("worker", 1)}


def test_a_resource_that_is_not_understood_gives_a_line_without_event() -> None:
    line = decode_recorded(b'{"received_at":1.5,"resource":"nodes","type":"ADDED","object":{"metadata":null}}')
    assert line == (1.5, "nodes", "ADDED", None)
    assert not understands("nodes")


@pytest.mark.skipif(not recorded.ALL.exists(), reason="the full set of recordings is not beside this checkout")
def test_every_recorded_line_decodes() -> None:
    for path in sorted(recorded.ALL.glob("*/watch.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            decode_recorded(line)


def test_a_write_of_lastReconcileTime_alone_changes_no_fact() -> None:
    status = {"conditions": [{"type": "Created", "status": "True"}], "lastReconcileTime": "2026-11-29T12:00:00Z"}
    later = status | {"lastReconcileTime": "2026-11-29T12:00:07Z"}
    first, second = facts_of(TFJOBS, {"status": status}), facts_of(TFJOBS, {"status": later}, resourceVersion="9")
    assert first == second


def test_a_podgroup_cycle_that_only_counts_anew_changes_no_fact() -> None:
    def group(message: str, at: str, transition: str) -> PodGroupFacts:
        condition = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": message}
        condition |= {"lastTransitionTime": at, "transitionID": transition}
        return facts_of(VOLCANO_PODGROUPS, {"status": {"phase": "Pending", "conditions": [condition]}})

    first = group("1/2 tasks unschedulable", "2026-11-29T12:00:00Z", "a")
    assert first == group("0/2 tasks unschedulable", "2026-11-29T12:00:01Z", "b")
    assert first.conditions == (Condition("Unschedulable", "True", "NotEnoughResources"),)
    assert (first.running, first.failed) == (0, 0)


# --- single rules


def test_deletion_time_is_the_timestamp_less_the_grace_period() -> None:
    facts = facts_of(PODS, {}, deletionTimestamp="2026-11-29T12:49:47Z", deletionGracePeriodSeconds=5)
    assert (facts.deletion_at, facts.deletion_grace) == (1795956582.0, 5)
    assert facts_of(PODS, {}, deletionTimestamp="2026-11-29T12:49:47Z").deletion_at == 1795956587.0


def test_the_controlling_owner_wins_over_the_first() -> None:
    owners: list[Any] = [None, {"uid": "a", "kind": "A"}, {"uid": "b", "kind": "B", "controller": True}]
    assert facts_of(PODS, {}, ownerReferences=owners).job_uid == "b"
    assert facts_of(PODS, {}, ownerReferences=owners[:2]).job_uid == "a"
    assert facts_of(PODS, {}, ownerReferences=None).job_uid is None


@pytest.mark.parametrize(
    ("label", "index"), [("0", 0), ("41", 41), ("-1", None), ("x", None), ("１", None), ("", None)]
)
def test_an_unreadable_replica_index_is_none(label: str, index: int | None) -> None:
    labels = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": label}
    assert facts_of(PODS, {}, labels=labels).replica_index == index


def test_containers_keep_the_specs_order_with_init_containers_first() -> None:
    spec = {
        "initContainers": [{"name": "init"}, {"name": "proxy", "restartPolicy": "Always"}],
        "containers": [{"name": "main", "image": "asked"}, {"name": "side"}],
    }
    statuses = [
        {"name": "side", "restartCount": 3},
        {"name": "main", "image": "resolved", "imageID": "id", "restartCount": 1},
        {"name": "unasked", "image": "other"},
    ]
    facts = facts_of(PODS, {"spec": spec, "status": {"containerStatuses": statuses}})
    assert [(c.name, c.init, c.sidecar, c.restart_count) for c in facts.containers] == [
        ("init", True, False, 0),
        ("proxy", True, True, 0),
        ("main", False, False, 1),
        ("side", False, False, 3),
        ("unasked", False, False, 0),
    ]
    assert (facts.containers[2].image, facts.containers[2].image_id) == ("asked", "id")


def test_pod_conditions_become_facts() -> None:
    conditions: list[Any] = [
        None,
        {"type": "PodScheduled", "status": "False", "message": "no room"},
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "why"},
        {"type": "Ready", "status": "Unknown"},
        {"type": "example.org/gate", "status": "True"},
    ]
    gates = [{"conditionType": "example.org/gate"}, {"conditionType": "example.org/other"}, None]
    facts = facts_of(PODS, {"spec": {"readinessGates": gates}, "status": {"conditions": conditions}})
    assert (facts.scheduled_at, facts.unschedulable, facts.ready) == (None, "no room", None)
    assert (facts.disruption, facts.disruption_message) == ("PreemptionByScheduler", "why")
    assert facts.readiness_gates == (("example.org/gate", True), ("example.org/other", False))


def test_an_unknown_phase_is_kept_as_it_is() -> None:
    assert facts_of(PODS, {"status": {"phase": "Dreaming"}}).phase == "Dreaming"


def test_the_kubelets_filler_with_null_times_decodes() -> None:
    end = {"exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": None, "finishedAt": None}
    status = {"containerStatuses": [{"name": "main", "state": {"terminated": end}, "lastState": None}]}
    (container,) = facts_of(PODS, {"status": status}).containers
    assert container.terminated == Terminated(exit_code=137, reason="ContainerStatusUnknown")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.conditions], ids=lambda kind: kind.kind)
def test_each_kinds_replica_specs_are_read_from_its_own_field(kind: Any) -> None:
    containers = [{"name": "helper", "image": "no"}, {"name": kind.container, "image": "yes"}]
    worker = {"replicas": 2, "restartPolicy": "ExitCode", "template": {"spec": {"containers": containers}}}
    policy = {"suspend": True, "backoffLimit": 3, "schedulingPolicy": {"minAvailable": 2, "queue": "q"}}
    spec = {kind.specs: {"Worker": worker, "Nothing": None}, "runPolicy": policy}
    facts = facts_of(kind.resource, {"spec": spec}, generation=4, labels={"b": "2", "a": None})
    assert facts.replicas == (ReplicaSpec("Worker", 2, "ExitCode", "yes"),)
    assert (facts.kind, facts.api_version, facts.has_status) == (kind.kind, kind.api_version, False)
    assert (facts.suspend, facts.backoff_limit, facts.min_member, facts.queue) == (True, 3, 2, "q")
    assert (facts.generation, facts.labels) == (4, (("a", ""), ("b", "2")))


def test_an_event_without_count_and_times_takes_them_from_series_and_eventTime() -> None:
    series = {"count": 4, "lastObservedTime": "2026-11-29T12:00:09.5Z"}
    value = {"involvedObject": {"kind": "TFJob", "name": "j"}, "eventTime": "2026-11-29T12:00:00.25Z", "series": series}
    facts = facts_of(EVENTS, {**value, "count": None, "source": {}, "reportingComponent": "jobset"})
    assert isinstance(facts, EventFacts)
    assert (facts.count, facts.source, facts.involved_uid) == (4, "jobset", None)
    assert facts.last_at - facts.first_at == pytest.approx(9.25)
    assert facts_of(EVENTS, {}).count == 1


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2026-11-29", "2026-11-29T12:00:00", "0001-01-01T00:00:00Z", "2026-13-29T12:00:00Z", "9" * 50],
)
def test_an_unreadable_time_is_none(text: str) -> None:
    assert facts_of(PODS, {}, creationTimestamp=text).created_at is None


def test_texts_from_the_cluster_are_bounded_and_fit_a_database() -> None:
    end = {"exitCode": 1, "message": "m" * 9000, "reason": "r" * 9000}
    status = {"containerStatuses": [{"name": "c", "state": {"terminated": end}}], "message": "nul \0 here" + "x" * 5000}
    facts = facts_of(PODS, {"status": status})
    assert len(facts.containers[0].terminated.message) == 4096
    assert len(facts.containers[0].terminated.reason) == 256
    assert len(facts.status_message) == 1024
    assert facts.status_message.startswith("nul \ufffd here")
    assert len(facts_of(TFJOBS, {}, labels={f"l{i}": "v" for i in range(99)}).labels) == 32


def test_repeated_words_are_one_object_in_memory() -> None:
    first, second = (facts_of(PODS, {"spec": {"nodeName": "a-node"}}) for _ in range(2))
    assert first.node is second.node


# --- lines that are no change


def test_bookmarks_carry_a_version_and_may_end_a_streaming_list() -> None:
    *_, last = recorded.exchange("watch-initial-events").body.splitlines()
    event = decode_line(PODS, last)
    assert (event.type, event.resource_version, event.initial_events_end) == (BOOKMARK, 25309, True)
    plain = decode_line(PODS, b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"5"}}}')
    assert (plain.type, plain.resource_version, plain.initial_events_end) == (BOOKMARK, 5, False)


@pytest.mark.parametrize("resource", [PODS, TFJOBS, EVENTS, VOLCANO_PODGROUPS, "jobs.batch.volcano.sh"])
def test_an_error_event_is_understood_on_every_resource(resource: str) -> None:
    event = decode_line(resource, recorded.exchange("watch-too-old").body.strip())
    assert event.type == ERROR
    assert event.error == (410, "Expired", "too old resource version: 50 (24539)", None)
    assert decode_line(resource, b'{"type":"ERROR","object":null}').error is not None


def test_a_list_page_gives_version_token_and_items_that_decode() -> None:
    page = decode_list(recorded.exchange("list-paged").body)
    assert page.resource_version == 25305
    assert page.continue_token is not None
    assert page.continue_token.startswith("eyJ2")
    assert [decode_object(PODS, item)[0].name for item in page.items] == ["tftest-worker-0", "tftest-worker-1"]


def test_a_status_body_is_read_and_plain_text_is_no_status() -> None:
    assert decode_status(recorded.exchange("forbidden").body)[:2] == (403, "Forbidden")
    assert decode_status(recorded.exchange("not-installed").body) == (None, None, None, None)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not JSON"),
        (b'{"type":"ADDED","object":{"metad', "not JSON"),
        (b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}', "not JSON"),
        (b"[1]", "wrong type: object"),
        (b'{"type":"ADDED"}', "no metadata"),
        (b'{"type":"ADDED","object":null}', "no metadata"),
        (b'{"type":"ADDED","object":{"metadata":{"name":"n","resourceVersion":"1"}}}', "no uid"),
        (b'{"type":"ADDED","object":{"metadata":{"uid":"u","resourceVersion":"1"}}}', "no name"),
        (b'{"type":"ADDED","object":{"metadata":{"uid":"u","name":"n"}}}', "no resourceVersion"),
        (
            b'{"type":"ADDED","object":{"metadata":{"uid":"u","name":"n","resourceVersion":"1.5"}}}',
            "unreadable resourceVersion",
        ),
        (
            b'{"type":"ADDED","object":{"metadata":{"uid":"u","name":"n","resourceVersion":"99999999999999999999"}}}',
            "unreadable resourceVersion",
        ),
        (b'{"type":"MOVED","object":{"metadata":{"uid":"u","name":"n"}}}', "unknown event type"),
        (b'{"type":"ADDED","object":{"status":{"phase":7}}}', "wrong type: status.phase"),
        (
            b'{"type":"ADDED","object":{"status":{"containerStatuses":[{"restartCount":"3"}]}}}',
            "wrong type: status.containerStatuses[...].restartCount",
        ),
        (b'{"type":"ADDED","object":{"x":' + b"[" * 100_000 + b"}}", "too deep"),
        (b'{"type":"BOOKMARK","object":{"metadata":{}}}', "no resourceVersion"),
    ],
)
def test_a_bad_line_is_named_by_its_reason(line: bytes, reason: str) -> None:
    assert reason_of(PODS, line) == reason


def test_an_undecodable_object_can_still_be_named() -> None:
    bad = encode({"metadata": META, "status": {"phase": 7}})
    with pytest.raises(DecodeError):
        decode_object(PODS, bad)
    assert decode_identity(bad) == ("ns", "n", "u")
    assert decode_identity(b"nonsense") == ("", "", "")


# --- hostile input

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, child in children for found in _paths(child, (*path, key)))]


def _replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], junk)
    return copy


SAMPLES = [
    {"resource": line.resource, "value": json.loads(raw)}
    for scenario in ("seed-exitcode-138", "volcano-job", "mpi-worker-fails")
    for raw in recorded.lines(scenario)[::9]
    if (line := decode_recorded(raw)).event is not None
]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_mutated_object_decodes_or_raises_decode_error(data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SAMPLES))
    mutated = sample["value"]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(_paths(mutated)))
        mutated = _replaced(mutated, path, data.draw(JUNK))
    line = encode(mutated)
    for attempt in (lambda: decode_recorded(line), lambda: decode_line(sample["resource"], line)):
        try:
            attempt()
        except DecodeError as error:
            assert error.reason.split(":")[0] in KNOWN_REASONS


KNOWN_REASONS = {
    "not JSON",
    "too deep",
    "wrong type",
    "no metadata",
    "no name",
    "no uid",
    "no resourceVersion",
    "unreadable resourceVersion",
    "unknown event type",
    "unknown resource",
    "no received_at",
}


@settings(max_examples=300, deadline=None)
@given(data=st.data(), resource=st.sampled_from([PODS, TFJOBS, EVENTS, VOLCANO_PODGROUPS]))
def test_every_field_may_be_null(data: st.DataObject, resource: str) -> None:
    sample = data.draw(st.sampled_from([s for s in SAMPLES if s["resource"] == resource]))
    paths = [path for path in _paths(sample["value"]) if path[:1] == ("object",) and path[1:2] != ("metadata",)]
    line = encode(_replaced(sample["value"], data.draw(st.sampled_from([p for p in paths if len(p) > 1])), None))
    assert decode_recorded(line).event is not None


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_bytes_never_raise_anything_else(raw: bytes) -> None:
    for attempt in (lambda: decode_line(PODS, raw), lambda: decode_recorded(raw), lambda: decode_list(raw)):
        with pytest.raises(DecodeError):
            attempt()


def test_job_facts_compare_by_value() -> None:
    assert isinstance(facts_of(TFJOBS, {}), JobFacts)
    assert facts_of(TFJOBS, {}) == facts_of(TFJOBS, {})
