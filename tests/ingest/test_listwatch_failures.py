"""The list/watch state machine in virtual time: refusals, clusters that are away, what it says of them."""

import random

import pytest

from jobs.ingest.messages import (
    Expired,
    ListDone,
    State,
    Status,
)
from jobs.ingest.timing import Backoff, Timing
from jobs.ingest.transport import Cut, Unreachable
from tests.ingest.following import TFJOBS, Run
from tests.ingest.recorded import exchange
from tests.ingest.virtual import (
    Script,
    a_bookmark,
    a_change,
    a_list,
    an_error,
    refusal,
)


def test_429_keeps_the_version_and_waits_as_long_as_it_is_asked_to() -> None:
    run = Run(refusal(429, "TooManyRequests", headers={"Retry-After": "17"}), Script(9.0), resume_rv=50)
    assert run.asked[:2] == ["watch 50", "watch 50"]
    assert 17 <= run.pauses[0] <= 18
    assert run.states[0] is State.THROTTLED


def test_429_as_an_error_event_waits_too() -> None:
    run = Run(Script(an_error(429, "TooManyRequests", retryAfterSeconds=5)), Script(9.0), resume_rv=50)
    assert run.asked[:2] == ["watch 50", "watch 50"]
    assert 5 <= run.pauses[0] <= 6


@pytest.mark.parametrize("header", ["", "soon", "-5", "99999999999999999999"])
def test_an_unreadable_retry_after_is_backed_off(header: str) -> None:
    run = Run(refusal(429, headers={"Retry-After": header}), Script(9.0), resume_rv=50)
    assert 0.8 <= run.pauses[0] <= 1.6


def test_a_retry_after_of_hours_is_not_believed() -> None:
    run = Run(refusal(429, headers={"Retry-After": "86400"}), Script(9.0), resume_rv=50)
    assert run.pauses[0] <= 301


def test_another_error_event_is_told_and_not_fatal() -> None:
    run = Run(
        Script(a_change("a", 51), an_error(500, "InternalError", "etcd leader changed")), Script(9.0), resume_rv=50
    )
    assert run.asked[:2] == ["watch 50", "watch 51"]
    (status,) = [status for status in run.said(Status) if status.state is State.SERVER_ERROR]
    assert 'It says "etcd leader changed".' in status.sentence


@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        ("forbidden", State.FORBIDDEN, "grant list and watch on tfjobs by a ClusterRole"),
        ("not-installed", State.NOT_INSTALLED, "kubeflow.org/v1 has no tfjobs"),
        ("unauthorized", State.UNAUTHORIZED, "renew this connection's token"),
        ("malformed", State.REFUSED, "with status 400"),
    ],
)
def test_what_a_person_must_mend_is_said_once_and_retried_slowly(answer: str, state: State, words: str) -> None:
    recorded = exchange(answer)
    script = [Script(recorded.body, status=recorded.status) for _ in range(5)]
    run = Run(*script, Script(a_list(50)), Script(9.0), stream=TFJOBS)
    assert run.asked[:7] == ["list"] * 6 + ["watch 50"]
    assert len(run.pauses) == 5
    assert all(54 <= pause <= 66 for pause in run.pauses)
    assert run.states == [state, State.WATCHING]
    assert words in run.said(Status)[0].sentence


def test_a_forbidden_watch_keeps_its_version() -> None:
    recorded = exchange("forbidden-watch")
    run = Run(Script(a_list(50)), Script(recorded.body, status=403), Script(9.0), stream=TFJOBS)
    assert run.asked[:3] == ["list", "watch 50", "watch 50"]
    assert "cannot watch resource" in run.said(Status)[0].sentence


def test_an_unreachable_cluster_is_said_once_and_tried_with_growing_pauses() -> None:
    away = [Unreachable("10.0.0.1 refuses connections: check it.") for _ in range(12)]
    run = Run(*away, Script(a_list(60)), resume_rv=50)
    assert run.states == [State.UNREACHABLE, State.WATCHING]
    assert run.said(Status)[0].sentence == "10.0.0.1 refuses connections: check it."
    assert all(0.8 <= pause <= 30 for pause in run.pauses)
    assert run.pauses[0] <= 1.6
    assert min(run.pauses[6:]) >= 15
    assert run.asked[:3] == ["watch 50", "list", "list"]


def test_a_cluster_that_was_away_is_asked_for_its_version_and_resumed() -> None:
    run = Run(Unreachable("no"), Unreachable("no"), Script(a_list(80)), Script(9.0), Script(9.0), resume_rv=50)
    assert run.asked[:5] == ["watch 50", "list", "list", "watch 50", "watch 50"]
    assert [query["limit"] for _, query in run.transport.requests[1:3]] == ["1", "1"]
    assert (run.said(Expired), run.said(ListDone)) == ([], [])


@pytest.mark.parametrize("newest", [20, 4999])
def test_a_cluster_that_comes_back_with_lower_versions_is_listed_at_once(newest: int) -> None:
    run = Run(Unreachable("no"), Script(a_list(newest)), Script(a_list(newest)), Script(9.0), resume_rv=5000)
    assert run.asked[:4] == ["watch 5000", "list", "list", f"watch {newest}"]
    assert run.said(Expired) == [Expired(5000, "the cluster's versions went back")]
    assert len(run.pauses) == 1


def test_a_cluster_that_cannot_tell_its_version_yet_is_asked_again() -> None:
    run = Run(Unreachable("no"), Script(b"{}", status=503), Script(a_list(20)), Script(a_list(20)), resume_rv=5000)
    assert run.asked[:5] == ["watch 5000", "list", "list", "list", "watch 20"]


def test_a_list_that_is_no_list_is_told_and_tried_again() -> None:
    run = Run(Script(b"<html>login</html>"), Script(a_list(50)), Script(9.0))
    assert run.asked[:3] == ["list", "list", "watch 50"]
    assert "no list (not JSON)" in run.said(Status)[0].sentence


def test_two_healthy_minutes_reset_the_backoff() -> None:
    failures: list[Script | Exception] = [Unreachable("no") for _ in range(8)]
    healthy = Script(60.0, a_bookmark(51), 61.0, a_bookmark(52), end=Cut("cut"))
    run = Run(*failures, Script(a_list(50)), healthy, resume_rv=50)
    assert run.pauses[-2] > 10
    assert run.pauses[-1] <= 1.6


def test_pauses_stay_in_their_bounds_and_vary() -> None:
    pauses = [Backoff(Timing(), random.Random(seed)).next() for seed in range(50)]
    assert len(set(pauses)) == 50
    assert all(0.8 <= pause <= 1.6 for pause in pauses)
