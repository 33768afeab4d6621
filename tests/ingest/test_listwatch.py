"""The list/watch state machine in virtual time: what it asks, what it says, how long it waits."""

import random
from typing import Any

import pytest

from jobs.domain.kinds import KINDS
from jobs.ingest.listwatch import follow
from jobs.ingest.messages import (
    Bookmark,
    Changed,
    Expired,
    ListDone,
    Listed,
    Listing,
    Message,
    Skipped,
    State,
    Status,
    cursor_after,
)
from jobs.ingest.streams import StreamSpec, streams_for
from jobs.ingest.timing import Backoff, Timing
from jobs.ingest.transport import Cut, Stop, Unreachable
from tests.ingest.recorded import exchange
from tests.ingest.virtual import (
    Script,
    ScriptedTransport,
    VirtualClock,
    a_bookmark,
    a_change,
    a_line,
    a_list,
    an_error,
    an_object,
    refusal,
)

ALL = streams_for(KINDS)
PODS = next(stream for stream in ALL if stream.resource == "pods")
TFJOBS = next(stream for stream in ALL if stream.resource == "tfjobs.kubeflow.org")
EVENTS = next(stream for stream in ALL if stream.resource == "events")


class Run:
    """Plays a script to its end."""

    def __init__(self, *script: Script | Exception, stream: StreamSpec = PODS, **options: Any) -> None:
        self.clock = VirtualClock()
        self.transport = ScriptedTransport(self.clock, *script)
        parts = {"clock": self.clock, "rng": random.Random(7), "stop": Stop()} | options
        self.messages: list[Message] = list(follow(stream, self.transport, **parts))

    @property
    def asked(self) -> list[str]:
        return self.transport.asked

    @property
    def pauses(self) -> list[float]:
        return self.clock.pauses

    def said(self, *types: type) -> list[Any]:
        return [message for message in self.messages if isinstance(message, types)]

    @property
    def states(self) -> list[State]:
        return [status.state for status in self.said(Status)]


def shape(messages: list[Message]) -> list[str]:
    return [type(message).__name__ for message in messages]


# --- the normal course


def test_a_stream_lists_then_watches_from_the_lists_version() -> None:
    run = Run(Script(a_list(50, an_object("a", 10), an_object("b", 99))), Script(a_change("a", 51)))
    assert run.asked[:2] == ["list", "watch 50"]  # not 99: never from items
    assert shape(run.messages)[:5] == ["Listing", "Listed", "ListDone", "Status", "Changed"]
    (listed,) = run.said(Listed)
    assert [(meta.name, meta.resource_version) for meta, _ in listed.items] == [("a", 10), ("b", 99)]
    (done,) = run.said(ListDone)
    assert (done.resource_version, done.seen, done.unreadable) == (50, {"uid-a", "uid-b"}, 0)
    assert run.transport.requests[0][1] == {"limit": "500", "labelSelector": "training.kubeflow.org/operator-name"}


def test_a_watch_asks_for_bookmarks_and_a_random_timeout_between_four_and_five_minutes() -> None:
    run = Run(*[Script(60.0, a_bookmark(60 + i)) for i in range(20)], resume_rv=50)
    timeouts = {int(query["timeoutSeconds"]) for _, query in run.transport.requests}
    assert min(timeouts) >= 240
    assert max(timeouts) <= 300
    assert len(timeouts) > 5
    assert all(query["allowWatchBookmarks"] == "true" for _, query in run.transport.requests)


def test_a_stored_version_is_resumed_without_a_list() -> None:
    run = Run(Script(a_change("a", 51)), resume_rv=50)
    assert run.asked[0] == "watch 50"
    assert not run.said(Listing)


def test_a_watch_that_ends_properly_goes_on_from_objects_and_bookmarks() -> None:
    run = Run(
        Script(a_change("a", 51), 140.0),
        Script(100.0, a_bookmark(70), 100.0),
        Script(a_change("a", 80, "DELETED"), 9.0),
        resume_rv=50,
    )
    assert run.asked == ["watch 50", "watch 51", "watch 70", "watch 80"]
    assert run.pauses == []
    assert [cursor_after(message) for message in run.said(Changed, Bookmark)] == [51, 70, 80]


def test_a_list_comes_in_pages_and_in_messages_of_one_transaction() -> None:
    first, second = ([an_object(f"{page}{i}", i) for i in range(300)] for page in "ab")
    run = Run(Script(a_list(50, *first, token="t1")), Script(a_list(50, *second)), Script(9.0))
    assert run.asked[:3] == ["list", "list more", "watch 50"]
    assert run.transport.requests[1][1]["continue"] == "t1"
    assert [len(listed.items) for listed in run.said(Listed)] == [200, 100, 200, 100]
    assert len(run.said(ListDone)[0].seen) == 600


def test_a_recorded_list_page_and_a_recorded_watch_are_followed() -> None:
    page = exchange("list-paged").body.replace(b'"continue": "eyJ2', b'"none": "')
    run = Run(Script(page), Script(exchange("watch-timeout").body))
    assert run.asked == ["list", "watch 25305", "watch 25305"]
    assert [change.event.meta.name for change in run.said(Changed)] == [f"tftest-worker-{i}" for i in range(3)]


def test_the_version_does_not_go_back_within_a_watch() -> None:
    run = Run(Script(a_change("a", 60), a_change("b", 55), 9.0), resume_rv=50)
    assert run.asked == ["watch 50", "watch 60"]


# --- bad objects


def test_an_odd_object_is_skipped_named_and_not_taken_for_gone() -> None:
    odd = an_object("odd", 11, status={"phase": 7}, spec={"containers": [{"env": "hunter2"}]})
    run = Run(Script(a_list(50, odd, an_object("a", 10), {"metadata": None})), Script(a_line("ADDED", odd), 9.0))
    assert [(s.reason, s.uid) for s in run.said(Skipped)] == [
        ("wrong type: status.phase", "uid-odd"),
        ("no metadata", ""),
        ("wrong type: status.phase", "uid-odd"),
    ]
    assert run.said(Skipped)[0].sample == "ns/odd"
    (done,) = run.said(ListDone)
    assert (done.seen, done.unreadable) == ({"uid-odd", "uid-a"}, 1)
    assert State.WATCHING in run.states


def test_a_bad_line_does_not_end_the_watch() -> None:
    lines = [a_change("a", 51), b"\xff\xfe not json\n", b"\n", a_line("MOVED", an_object("a", 52)), a_change("a", 53)]
    run = Run(Script(*lines, 9.0), resume_rv=50)
    assert [skipped.reason for skipped in run.said(Skipped)] == ["not JSON", "unknown event type"]
    assert all(character.isprintable() for skipped in run.said(Skipped) for character in skipped.sample)
    assert [change.event.resource_version for change in run.said(Changed)] == [51, 53]
    assert run.asked[1] == "watch 53"


def test_a_huge_line_is_dropped_in_bounded_memory() -> None:
    chunks = [a_change("a", 51)[:-1], b"\n" + b"x" * 600, b"y" * 600, b"y\n" + a_change("a", 52)]
    run = Run(Script(*chunks, 9.0), resume_rv=50, timing=Timing(max_line=1000))
    assert [(s.reason, s.sample) for s in run.said(Skipped)] == [("line too long", "x" * 80)]
    assert [change.event.resource_version for change in run.said(Changed)] == [51, 52]


def test_chunk_borders_inside_characters_do_not_matter() -> None:
    line = a_line("ADDED", an_object("a", 51, status={"message": "détaillé 中文"}))
    run = Run(Script(*[line[i : i + 1] for i in range(len(line))], 9.0), resume_rv=50)
    assert run.said(Changed)[0].event.facts.status_message == "détaillé 中文"


# --- 410


@pytest.mark.parametrize("recorded", ["watch-too-old", "watch-too-old-crd"])
def test_an_expired_version_opens_a_gap_and_lists_again_at_once(recorded: str) -> None:
    run = Run(Script(exchange(recorded).body), Script(a_list(90)), Script(9.0), resume_rv=50)
    assert run.asked[:3] == ["watch 50", "list", "watch 90"]
    assert run.said(Expired) == [Expired(50, "410")]
    assert shape(run.messages)[:5] == ["Status", "Status", "Expired", "Listing", "ListDone"]
    assert run.pauses == []


def test_410_as_http_status_does_the_same() -> None:
    run = Run(refusal(410, "Expired"), Script(a_list(90)), Script(9.0), resume_rv=50)
    assert (run.asked[:3], run.said(Expired)) == (["watch 50", "list", "watch 90"], [Expired(50, "410")])


def test_410_again_and_again_waits() -> None:
    expired = [answer for _ in range(4) for answer in (Script(an_error(410, "Expired")), Script(a_list(90)))]
    run = Run(*expired, resume_rv=50)
    assert len(run.pauses) == 3  # the first time at once
    assert all(0.8 <= pause <= 30 for pause in run.pauses)


@pytest.mark.parametrize("refused", [refusal(410, "Expired"), Script(exchange("list-bad-continue").body, status=400)])
def test_a_continue_token_that_is_refused_begins_the_list_anew(refused: Script) -> None:
    run = Run(
        Script(a_list(50, an_object("a", 1), token="t1")), refused, Script(a_list(60, an_object("b", 2))), Script(9.0)
    )
    assert run.asked[:4] == ["list", "list more", "list", "watch 60"]
    assert run.said(Expired) == []  # nothing was watched yet
    assert [done.seen for done in run.said(ListDone)] == [{"uid-b"}]
    assert len(run.said(Listing)) == 2


# --- cut, stalled, silent


def test_a_cut_in_the_middle_of_a_line_resumes_from_the_last_whole_one() -> None:
    half = a_change("a", 52)[:30]
    run = Run(Script(a_change("a", 51), half, end=Cut("cut")), Script(a_change("a", 52), 9.0), resume_rv=50)
    assert run.asked[:2] == ["watch 50", "watch 51"]
    assert [change.event.resource_version for change in run.said(Changed)] == [51, 52]
    assert run.said(Skipped, Expired, Listing) == []
    assert run.states[:3] == [State.WATCHING, State.RECONNECTING, State.WATCHING]


def test_silence_without_bookmarks_ends_after_150_s_and_resumes() -> None:
    run = Run(Script(a_change("a", 51), 1000.0), Script(9.0), resume_rv=50)
    assert run.asked[:2] == ["watch 50", "watch 51"]
    assert run.transport.requests[1][0] - run.transport.requests[0][0] == pytest.approx(151, abs=1)


def test_bookmarks_keep_an_idle_watch_alive() -> None:
    run = Run(Script(119.0, a_bookmark(60), 60.0, a_bookmark(61), 60.0, a_bookmark(62), 9.0), resume_rv=50)
    assert (run.asked, run.pauses) == (["watch 50", "watch 62"], [])


def test_a_watch_that_drips_past_its_timeout_is_given_up() -> None:
    drip: list[bytes | float] = [part for i in range(100) for part in (10.0, a_bookmark(60 + i))]
    run = Run(Script(*drip), Script(9.0), resume_rv=50)
    lasted = run.transport.requests[1][0] - run.transport.requests[0][0]
    assert 270 <= lasted <= 345
    assert run.said(Expired) == []


def test_an_idle_event_stream_is_no_fault_and_is_listed_afresh() -> None:
    run = Run(Script(a_list(50)), Script(245.0), Script(a_list(80)), Script(9.0), stream=EVENTS)
    assert run.asked == ["list", "watch 50", "list", "watch 80", "watch 80"]
    assert (run.said(Expired), run.pauses) == ([], [])


def test_an_event_stream_that_was_away_for_long_is_listed_afresh() -> None:
    away = [Unreachable("no") for _ in range(20)]
    run = Run(Script(a_list(50)), Script(100.0), *away, Script(a_list(80)), Script(9.0), stream=EVENTS)
    assert run.asked[-3:] == ["list", "watch 80", "watch 80"]
    assert run.said(Expired) == []


def test_a_busy_event_stream_is_resumed() -> None:
    run = Run(Script(a_list(50)), Script(200.0, a_change("e", 70), 60.0), Script(9.0), stream=EVENTS)
    assert run.asked[:3] == ["list", "watch 50", "watch 70"]


def test_a_version_that_only_silence_comes_from_is_given_up() -> None:
    silence = [Script(1000.0) for _ in range(3)]
    run = Run(*silence, Script(a_list(20)), Script(9.0), resume_rv=5000)  # a restored cluster: 5000 is its future
    assert run.asked[:5] == ["watch 5000"] * 3 + ["list", "watch 20"]
    assert [expired.since for expired in run.said(Expired)] == [5000]


def test_a_version_that_the_server_chokes_on_for_ten_minutes_is_given_up() -> None:
    broken = [Script(exchange("watch-bad-rv").body, status=500) for _ in range(60)]
    run = Run(*broken, resume_rv=5000)
    tries = run.asked.index("list")
    assert set(run.asked[:tries]) == {"watch 5000"}
    assert 570 <= sum(run.pauses[:tries]) <= 660
    assert run.said(Expired)[0] == Expired(5000, "only errors come from this version")


def test_an_api_server_that_restarts_costs_no_version() -> None:
    """Half a minute of 503, a line, and half a minute of 503 again: the count stays exact."""
    down = [Script(exchange("watch-bad-rv").body, status=503) for _ in range(6)]
    run = Run(*down, Script(a_change("a", 60), 9.0), *down, Script(9.0), resume_rv=50)
    assert run.said(Expired) == []
    assert "list" not in run.asked
    assert run.asked[-1] == "watch 60"


def test_idle_connections_that_are_cut_every_minute_open_no_gap_and_do_not_slow_down() -> None:
    run = Run(*[Script(60.0, end=Cut("cut")) for _ in range(30)], resume_rv=50)
    assert set(run.asked) == {"watch 50"}
    assert run.said(Expired) == []
    assert max(run.pauses) <= 3.2


def test_a_server_that_ends_watches_at_once_does_not_make_us_spin() -> None:
    run = Run(*[Script() for _ in range(8)], resume_rv=50)
    assert len(run.pauses) == 8
    assert run.pauses[-1] > 10


# --- other failures


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


# --- streaming lists


def test_a_streaming_list_is_told_as_a_list_and_goes_on_as_a_watch() -> None:
    body = exchange("watch-initial-events").body
    run = Run(Script(body, a_change("x", 25310), 9.0), streaming_lists=True)
    assert run.asked == ["watch all", "watch 25310"]
    assert run.transport.requests[0][1]["sendInitialEvents"] == "true"
    assert shape(run.messages)[:5] == ["Listing", "Status", "Listed", "ListDone", "Changed"]
    (done,) = run.said(ListDone)
    assert (done.resource_version, len(done.seen)) == (25309, 3)


@pytest.mark.parametrize("answer", [refusal(422, "Invalid"), Script(a_change("a", 5, "ADDED"), 9.0)])
def test_a_cluster_without_streaming_lists_is_paged(answer: Script) -> None:
    run = Run(answer, Script(a_list(50)), Script(9.0), streaming_lists=True)
    assert run.asked[:3] == ["watch all", "list", "watch 50"]
    assert run.pauses == []


def test_an_interrupted_streaming_list_is_not_taken_for_complete() -> None:
    run = Run(
        Script(a_change("a", 5, "ADDED"), end=Cut("cut")),
        Script(a_change("a", 5, "ADDED"), a_bookmark(9, initial=True), 9.0),
        streaming_lists=True,
    )
    assert run.asked[:3] == ["watch all", "watch all", "watch 9"]
    assert len(run.said(ListDone)) == 1


# --- stop


def test_a_stop_ends_the_stream_between_messages() -> None:
    clock, stop = VirtualClock(), Stop()
    transport = ScriptedTransport(clock, Script(a_change("a", 51), a_change("a", 52), end=Cut("shut down")))
    messages = []
    for message in follow(PODS, transport, clock=clock, rng=random.Random(1), stop=stop, resume_rv=50):
        messages.append(message)
        if isinstance(message, Changed) and message.event.resource_version == 52:
            stop.set()
    assert shape(messages) == ["Status", "Changed", "Changed"]  # the shut socket is no trouble to tell
    assert clock.pauses == []
