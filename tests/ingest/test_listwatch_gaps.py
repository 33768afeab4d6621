"""The list/watch state machine in virtual time: versions that expired, and watches that end, stall or say nothing."""

import pytest

from jobs.ingest.messages import (
    Changed,
    Expired,
    ListDone,
    Listing,
    Skipped,
    State,
)
from jobs.ingest.transport import Cut, Unreachable
from tests.ingest.following import EVENTS, Run, shape
from tests.ingest.recorded import exchange
from tests.ingest.virtual import (
    Script,
    a_bookmark,
    a_change,
    a_list,
    an_error,
    an_object,
    refusal,
)

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
