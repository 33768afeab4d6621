"""What is said of a run that nobody saw begin or end: a pod is seen between two runs, or its kubelet was silent."""

from typing import Any

import pytest

from jobs.domain.restarts import lived
from jobs.domain.state import InPlace
from jobs.domain.summary import open_wait
from tests.domain.story import BEGIN, Story

HOUR = "2027-01-15T08:"


def in_place(story: Story) -> list[InPlace]:
    return story.jobs["uid-J"].pods["uid-w0#a"].in_place


def told(story: Story) -> list[tuple[int, float | None, float | None, int | None]]:
    """(number, ended, running again, exit code), in seconds of the script."""
    return [(one.number, since(one.ended_at), since(one.running_at), one.exit_code) for one in in_place(story)]


def since(at: float | None) -> float | None:
    return None if at is None else at - BEGIN


def listed(state: str, **options: Any) -> Story:
    """Worker 0 of a job that nobody watched until 60, when the list shows it so."""
    story = Story(policy="OnFailure", **options).run("=J Created=True Running=True\n+w1#a R")
    story.now = BEGIN + 2
    story._pod("w0#a", "uid-J", [("R", None)])
    return story.run(f"@60\n=w0#a {state}")


# --- whose end it is


def test_an_end_that_no_run_followed_is_no_restarts() -> None:
    """Listed in back-off after its third run, which ended with 3: how the two before ended, nobody knows."""
    story = listed("last(3,Error,at=50) waiting(CrashLoopBackOff) rc=2")
    assert story.replica("w0")["true_restarts"] == 2
    assert told(story) == [(1, None, None, None), (2, None, None, None)]
    story.run("@70\n~w0#a running rc=3")
    assert told(story)[2] == (3, 50, 70, 3)


def test_the_last_state_of_a_run_that_goes_on_is_the_end_before_it() -> None:
    story = listed("last(3,Error,at=50) running rc=2")
    assert told(story) == [(1, None, None, None), (2, 50, 60, 3)]


def test_the_last_state_of_a_run_that_ended_is_the_end_before_it() -> None:
    story = listed("last(3,Error,at=40) term(4,Error,at=50) rc=2")
    assert told(story) == [(1, None, None, None), (2, 40, None, 3)]
    story.run("@70\n~w0#a last(4,Error,at=50) running rc=3")
    assert told(story)[2] == (3, 50, 70, 4)


@pytest.mark.parametrize(
    "seen", ["term(5,Error,at=20) last(4,Error,at=5)", "last(5,Error,at=20) waiting(CrashLoopBackOff)"]
)
def test_a_run_too_short_to_be_seen_leaves_each_restart_its_own_code(seen: str) -> None:
    """It ends with 4 at 5; the next run is only seen when it has ended with 5."""
    story = Story(policy="OnFailure").run("+J Created=True Running=True\n+w0#a R\n@5\n~w0#a term(4,Error,at=5)")
    story.run(f"@21\n~w0#a {seen} rc=1\n@40\n~w0#a last(5,Error,at=20) running rc=2")
    assert told(story) == [(1, 5, None, 4), (2, 21, 40, 5)]
    assert story.replica("w0")["true_restarts"] == 2


def test_a_restart_that_is_counted_while_the_container_waits_is_dated_when_it_runs() -> None:
    """After a container was lost with its node's memory, the kubelet counts first and runs it then."""
    story = Story(policy="OnFailure").run("+J Created=True Running=True\n+w0#a R")
    story.run("@9\n~w0#a last(137,ContainerStatusUnknown) waiting(ContainerCreating) rc=1\n@12\n~w0#a running rc=1")
    assert told(story) == [(1, None, 12, None)]


# --- the wait under way


def test_a_wait_that_a_list_shows_began_when_the_run_ended() -> None:
    """In back-off since 50, listed at 60, running again at 70."""
    story = listed("last(3,Error,at=50) waiting(CrashLoopBackOff) rc=2")
    assert open_wait(story.jobs["uid-J"].replicas["worker", 0, 0]) == BEGIN + 50
    assert story.report()["restarting"] == [{"start": f"{HOUR}00:50Z", "end": None, "seen_by": ["pods"]}]
    story.run("@70\n~w0#a running rc=3 last(3,Error,at=50)")
    assert story.report()["restarting"] == [{"start": f"{HOUR}00:50Z", "end": f"{HOUR}01:10Z", "seen_by": ["pods"]}]


def test_a_container_that_never_ran_waits_for_no_next_run() -> None:
    story = listed("waiting(ContainerCreating)")
    assert story.report()["restarting"] == []


def test_a_failed_pod_in_a_list_ended_when_its_container_did() -> None:
    """It failed at 20, is listed at 60, and its successor runs at 70: that wait lasted 50 s."""
    story = Story().run("=J Created=True Running=True\n@2\n+w1#a R")
    story._pod("w0#a", "uid-J", [("R", None)])
    story.run("@60\n=w0#a F term(138,Error,ran=10,at=20)\nxw0#a\n@70\n+w0#b R")
    pod = story.replica("w0")["pods"][0]
    assert pod["ended_at"] == f"{HOUR}00:20Z"
    assert story.report()["restarting"] == [{"start": f"{HOUR}00:20Z", "end": f"{HOUR}01:10Z", "seen_by": ["pods"]}]


def test_an_end_in_a_gap_is_not_dated_before_the_last_sight() -> None:
    """Seen running at 20.7; the container's whole seconds say that it ended at 20."""
    story = Story().run("+J Created=True Running=True\n+w0#a R\n@20.7\n~w0#a R").gap(21, 60)
    story.run("@60\n=w0#a F term(138,Error,at=20)")
    assert story.jobs["uid-J"].pods["uid-w0#a"].ended_at == BEGIN + 20.7


def test_a_clock_that_is_behind_dates_nothing() -> None:
    """The node says that the container ended before its pod was created."""
    story = Story().run("=J Created=True Running=True")
    story.now = BEGIN + 30
    story._pod("w0#a", "uid-J", [("R", None)])
    story.run("@60\n=w0#a F term(138,Error,ran=5,at=25)")
    assert story.jobs["uid-J"].pods["uid-w0#a"].ended_at == BEGIN + 60


def gap_until(created: int) -> Story:
    """Worker 0 fails at 10 and is gone at 12; nobody watches from 13 to 600, when a pod is listed that runs since then.

    It was created two seconds before it ran, at ``created``.
    """
    story = Story().run("+J Created=True Running=True\n+w0#a R\n@10\n~w0#a F term(138,Error)\n@12\nxw0#a").gap(13, 600)
    story.now = BEGIN + created
    story._pod("w0#c", "uid-J", [])
    story.now += 2
    story._pod("w0#c", "uid-J", [("R", None)])
    return story.run("@600\n=w0#c")


def test_what_nobody_watched_was_no_wait_from_end_to_end() -> None:
    """Others may have run before the pod that was created at 590: what is sure is 10 to 12, and 590 to 592."""
    story = gap_until(590)
    pieces = [(span["start"], span["end"]) for span in story.report()["restarting"]]
    assert pieces == [(f"{HOUR}00:10Z", f"{HOUR}00:12Z"), (f"{HOUR}09:50Z", f"{HOUR}09:52Z")]
    assert story.cost(700).incomplete == 4


def test_a_successor_that_came_at_once_leaves_no_room_for_others() -> None:
    story = gap_until(14)
    assert [(span["start"], span["end"]) for span in story.report()["restarting"]] == [
        (f"{HOUR}00:10Z", f"{HOUR}00:16Z")
    ]


# --- how long a run lasted


def seconds(story: Story, number: int = 0) -> float | None:
    return lived(story.jobs["uid-J"].pods["uid-w0#a"], number)


def test_a_watched_run_lived_as_it_was_watched() -> None:
    story = Story().run(
        "+J Created=True Running=True\n+w0#a Pe\n@2.5\n~w0#a R\n@12\n~w0#a F term(138,Error,ran=9,at=11)"
    )
    assert seconds(story.run("xw0#a\n+w0#b R")) == 9.5


def test_a_completed_run_did_not_live_until_its_pod_was_deleted() -> None:
    story = Story().run(
        "+J Created=True Running=True\n+w0#a Pe\n@3\n~w0#a R\n@13\n~w0#a S term(0,Completed,ran=9,at=12)"
    )
    assert seconds(story.run("@90\n~w0#a deleting\nxw0#a\n+w0#b R")) == 10


def test_each_run_in_place_has_a_life_of_its_own() -> None:
    story = Story(policy="OnFailure").run("""
        +J Created=True Running=True
        +w0#a Pe
        ~w0#a R
        @7
        ~w0#a term(1,Error,ran=5,at=7)
        @10
        ~w0#a running rc=1 last(1,Error,ran=5,at=7)
        @30
        ~w0#a term(2,Error,ran=20,at=30)
        @40
        ~w0#a running rc=2 last(2,Error,ran=20,at=30)
        @41
        ~w0#a deleting
        @43
        ~w0#a F term(143,Error,ran=3,at=43)
        xw0#a
        +w0#b R
    """)
    assert [seconds(story, number) for number in (1, 2, 0)] == [5, 20, 3]


@pytest.mark.parametrize(
    ("state", "number"),
    [
        ("F term(138,Error,ran=12,at=40)", 0),
        ("last(1,Error,ran=12,at=40) running rc=1", 1),
        ("last(1,Error,ran=12,at=40) running rc=3", 3),
    ],
)
def test_a_run_that_nobody_watched_lived_as_the_container_says(state: str, number: int) -> None:
    story = listed(state)
    assert seconds(story if number else story.run("xw0#a\n+w0#b R"), number) == 12


def test_a_run_that_was_read_in_one_go_lived_as_the_container_says() -> None:
    """Its beginning and its end came in one read, half a millisecond apart."""
    story = Story().run(
        "+J Created=True Running=True\n+w0#a Pe\n@9\n~w0#a R\n@9.0005\n~w0#a F term(138,Error,ran=4,at=8)"
    )
    assert seconds(story.run("xw0#a\n+w0#b R")) == 4


def test_a_run_of_which_nothing_is_said_has_no_length() -> None:
    story = listed("last(1,Error,ran=12,at=40) running rc=3")
    assert seconds(story, 2) is None


def test_an_end_that_a_silent_kubelet_told_late_lengthens_no_run() -> None:
    """The node was lost at 10, after a run of 5 s; it came back at 90."""
    story = Story().run("+J Created=True Running=True\n+w0#a Pe\n@3\n~w0#a R\n@20\n~w0#a deleting")
    assert seconds(story.run("@90\n~w0#a F term(138,Error,ran=5,at=8)\nxw0#a\n+w0#b R")) == 5
