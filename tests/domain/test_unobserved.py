"""What is said where nobody watched: at least, with bounds, and no invented moment."""

from typing import Any

import pytest

from jobs.domain import facts as f
from jobs.domain.state import JobState
from tests.domain.story import BEGIN, Story

HOUR = "2027-01-15T08:"


def late(story: Story) -> Story:
    """A watcher that begins now: what is there comes in a list, and nothing of what was before."""
    new = Story(story.kind, story.policy, story.policies, workers=story.workers)
    new.facts, new.version, new.now = dict(story.facts), story.version, story.now
    new.run("\n".join(f"={target}" for target in story.facts))
    return new


def restarts(story: Story, name: str = "w0") -> tuple[int, bool]:
    replica = story.replica(name)
    return replica["true_restarts"], replica["at_least"]


def state(story: Story) -> JobState:
    return story.jobs["uid-J"]


def all_times(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in all_times(part)]
    if isinstance(value, list):
        return [text for part in value for text in all_times(part)]
    return [value] if isinstance(value, str) and value.startswith(HOUR) else []


# --- a late start


def test_a_job_as_listed_without_conditions_has_no_past() -> None:
    story = Story().run("=J\n~J Created=True\n+w0#a R")
    assert story.report()["unobserved"] == []
    assert restarts(story) == (0, False)


def test_a_late_start_leaves_the_time_before_it_open() -> None:
    story = late(Story().run("+J Created=True Running=True\n@30\n+w0#a R\n@50"))
    assert story.report()["unobserved"] == [{"start": f"{HOUR}00:00Z", "end": f"{HOUR}00:50Z"}]
    assert restarts(story) == (0, True)


def test_restarting_in_the_list_began_at_its_transition() -> None:
    """The condition says 10, the list is read at 40."""
    first = Story().run("+J Created=True Running=True\n@10\n~J Created=True Restarting=True\n@40")
    report = late(first).report()
    assert report["restarting_condition"] == [{"start": f"{HOUR}00:10Z", "end": None}]


def test_a_container_in_the_list_runs_since_it_says_so() -> None:
    """It exited at 10, ran again at 12 and is listed at 60: its wait lasted 2 s, not 50."""
    first = Story(policy="OnFailure").run("+J Created=True Running=True\n+w0#a R\n@10\n~w0#a term(138,Error)\n@12")
    first.run("~w0#a running last(138,Error) rc=1\n@60")
    pod = first.facts["w0#a"]
    end = pod.containers[-1].last_terminated._replace(finished_at=BEGIN + 10)
    first.facts["w0#a"] = pod._replace(containers=(pod.containers[-1]._replace(last_terminated=end),))
    story = late(first)
    assert restarts(story) == (1, True)
    assert story.report()["restarting"] == [
        {"start": f"{HOUR}00:10Z", "end": f"{HOUR}00:12Z", "seen_by": ["pods"]},
    ]


def test_pods_of_a_job_that_is_gone_are_kept() -> None:
    first = Story().run("+J Created=True\n+w0#a R\n~w0#a deleting\n@40")
    del first.facts["J"]
    report = late(first).report()
    assert (report["state"], report["present"], report["at_least"]) == ("Unknown", False, True)
    assert [pod["uid"] for pod in report["replicas"][0]["pods"]] == ["uid-w0#a"]
    assert report["deleted_at"] is None


@pytest.mark.parametrize("script", ["+J Created=True\n+w0#a R", "+w0#a R\n+J Created=True"])
def test_a_job_whose_pods_are_read_first_was_watched_all_the_same(script: str) -> None:
    assert restarts(Story().run(script)) == (0, False)


# --- Events raise the bound


def watched_late(script: str, **options: Any) -> Story:
    """A job of which nobody saw the beginning; its pods and Events as the script says, from second 100 on."""
    return Story(**options).run("=J Created=True Running=True\n@100\n" + script)


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "XGBoostJob", "PaddleJob", "JAXJob"])
def test_an_event_proves_creations(kind: str) -> None:
    """Four creations by 100, one pod left of them."""
    story = watched_late("=E:1 SuccessfulCreatePod x4 Created pod: job-worker-0\n=w0#d R", kind=kind)
    assert restarts(story) == (3, True)
    assert story.replica("w0")["incarnations"] == 1


def test_pods_that_come_after_the_event_count_on() -> None:
    """Four by 100, then two recreations that are watched, whose Events were dropped."""
    story = watched_late("""
        =E:1 SuccessfulCreatePod x4 Created pod: job-worker-0
        @110
        =w0#d R
        ~w0#d F term(138,Error)
        xw0#d
        @120
        +w0#e R
        xw0#e
        @130
        +w0#f R
    """)
    # w0#d is made by the story at 110; a list at 100 would have held it, so it is one more than the Event's four.
    assert restarts(story) == (6, True)


def test_a_pod_is_not_counted_by_the_event_and_by_itself() -> None:
    """The Event comes 5 s late, about the pod that was seen."""
    story = watched_late("""
        =E:1 SuccessfulCreatePod x4 Created pod: job-worker-0
        @120
        +w0#e R
        ~E:1 SuccessfulCreatePod x5 Created pod: job-worker-0
    """)
    assert restarts(story) == (4, True)


def test_a_pod_of_the_same_seconds_as_the_event_is_not_told_from_it() -> None:
    """Two whole-second clocks cannot say which came first: the lower number is right for sure."""
    story = watched_late("=E:1 SuccessfulCreatePod x4 Created pod: job-worker-0\n+w0#e R")
    assert restarts(story) == (3, True)


def test_what_an_event_said_first_still_counts_when_it_rises_too_little() -> None:
    """Four before the list, then three pods of which the recorder let one through."""
    story = watched_late("=E:1 SuccessfulCreatePod x4 Created pod: job-worker-0")
    for number, letter in enumerate("efg"):
        story.run(f"@{120 + 10 * number}\n+w0#{letter} R\nxw0#{letter}")
    story.run("~E:1 SuccessfulCreatePod x5 Created pod: job-worker-0")
    assert restarts(story) == (6, True)


def said(story: Story, uid: str, name: str, count: int, **odd: Any) -> None:
    """An Event with a name and UID of its own is listed."""
    pod = odd.get("pod", "job-worker-0")
    at, message = odd.get("at", BEGIN + 100), odd.get("message", f"Created pod: {pod}")
    reason = odd.get("reason", "SuccessfulCreatePod")
    facts = f.EventFacts(story.kind, story.name, "uid-J", reason, message, "Normal", "controller", count, at, at)
    story.version += 1
    story.observe(f.Observation(f.LISTED, "events", "ns", name, uid, story.version, story.now, facts), "uid-J")


def test_an_event_that_expired_and_came_back_is_the_same_event() -> None:
    """Its name stays and its count goes on, under a new UID: seven, not twelve."""
    story = watched_late("=w0#a R")
    said(story, "uid-1", "job.17", 5)
    said(story, "uid-2", "job.17", 7)
    assert restarts(story)[0] == 6


def test_events_of_two_operators_add_up() -> None:
    """A new operator knows nothing of the old one's Event and counts from one."""
    story = watched_late("=w0#a R")
    said(story, "uid-1", "job.17", 5)
    said(story, "uid-2", "job.18", 2)
    assert restarts(story)[0] == 6


def test_an_expired_event_takes_nothing_back() -> None:
    story = watched_late("=w0#a R\n=E:1 SuccessfulCreatePod x4 Created pod: job-worker-0")
    story.run("xE:1 SuccessfulCreatePod x4 Created pod: job-worker-0")
    assert restarts(story)[0] == 3


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("SuccessfulCreatePod", "(combined from similar events): Created pod: job-worker-0"),
        ("SuccessfulCreatePod", "Created pod: other-worker-0"),
        ("SuccessfulCreatePod", "Created pod: job-worker-"),
        ("SuccessfulCreatePod", "Created pod: job-worker-" + "9" * 900),
        ("SuccessfulCreatePod", "Created pod: job-worker-٣"),
        ("SuccessfulCreatePod", ""),
        ("SuccessfulCreateService", "Created service: job-worker-0"),
        ("FailedCreatePod", "Created pod: job-worker-0"),
        ("ExitedWithCode", "Pod: ns.job-worker-0 exited with code 138"),
        ("PyTorchJobRestarting", "Created pod: job-worker-0"),
    ],
)
def test_what_proves_no_creation(reason: str, message: str) -> None:
    story = watched_late("=w0#a R")
    said(story, "uid-1", "job.17", 9, message=message, reason=reason)
    assert restarts(story) == (0, True)
    assert len(story.report()["replicas"]) == 1


def test_the_pods_of_an_mpijob_are_named_otherwise() -> None:
    story = watched_late("=w0#a R", kind="MPIJob")
    said(story, "uid-1", "job.17", 3, message="Created worker pod: job-worker-0")
    said(story, "uid-2", "job.18", 2, message="launcher pod created success: job-launcher", reason="MPIJobRunning")
    assert restarts(story)[0] == 2
    assert restarts(story, "l0")[0] == 1


@pytest.mark.parametrize("change", ["suspend", "resume", "worker=2", "worker=5"])
def test_a_changed_spec_may_explain_creations(change: str) -> None:
    story = watched_late(f"=w0#a R\n=E:1 SuccessfulCreatePod x4 Created pod: job-worker-0\n~J {change}")
    assert restarts(story) == (0, True)


def test_marking_for_deletion_changes_no_spec() -> None:
    """The API server raises the generation then, too."""
    story = watched_late("=w0#a R\n=E:1 SuccessfulCreatePod x4 Created pod: job-worker-0")
    story.facts["J"] = story.facts["J"]._replace(deletion_at=story.now, generation=2)
    story.run("~J")
    assert restarts(story)[0] == 3


def test_events_prove_a_replica_of_which_no_pod_was_seen() -> None:
    story = watched_late("=E:1 SuccessfulCreatePod x4 Created pod: job-worker-2")
    replica = story.replica("w2")
    assert (replica["incarnations"], replica["recreations"], replica["pods"]) == (0, 3, [])


def test_events_do_not_matter_where_all_was_watched() -> None:
    story = Story().run("+J Created=True\n+w0#a R\n+E:1 SuccessfulCreatePod x9 Created pod: job-worker-0")
    assert restarts(story) == (0, False)


def test_no_more_events_are_kept_than_a_recorder_lets_through() -> None:
    story = watched_late("=w0#a R")
    for number in range(400):
        said(story, f"uid-{number}", f"job.{number}", 2, pod=f"job-worker-{number}")
    for count in range(3, 100):
        said(story, "uid-0", "job.0", count, at=BEGIN + 100 + count)
    kept = state(story).creations
    assert len(kept) == 256
    assert len(kept["job.0"].earlier) == 8
    assert restarts(story)[0] == 98


# --- gaps


def test_a_pod_that_vanished_has_bounds_and_its_successor_counts() -> None:
    """Last seen at 2, missing from the list at 50, when another one is there."""
    story = Story().run("+J Created=True\n+w0#a R\n~w0#a R").gap(3, 50).run("@50\n=w0#b R\n?w0#a")
    replica = story.replica("w0")
    assert restarts(story) == (1, True)
    vanished = replica["pods"][0]
    assert vanished["deleted_between"] == [f"{HOUR}00:02Z", f"{HOUR}00:51Z"]
    assert (vanished["deleted_at"], vanished["ended_at"], vanished["exit_code"]) == (None, None, None)
    assert story.report()["restarting"] == []  # nobody knows how long it waited


def test_a_pod_that_vanished_for_good_is_no_restart() -> None:
    story = Story().run("+J Created=True\n+w0#a R").gap(3, 50).run("@50\n?w0#a")
    assert restarts(story) == (0, True)


def test_a_job_that_vanished_has_bounds() -> None:
    """Its pods are watched until 30, it itself was last seen at 3."""
    story = Story().run("+J Created=True\n+w0#a R\n@3\n~J Created=True Restarting=True\n@30\n~w0#a deleting\n@50\n?J")
    report = story.report()
    assert (report["state"], report["present"]) == ("Restarting", False)
    assert report["deleted_between"] == [f"{HOUR}00:03Z", f"{HOUR}00:50Z"]
    assert (report["deleted_at"], report["finished_at"]) == (None, None)
    assert report["restarting_condition"] == [{"start": f"{HOUR}00:03Z", "end": None}]


def test_a_state_that_changed_in_the_gap_is_dated_by_its_condition() -> None:
    """Seen Running until 5; the list at 60 says that it restarted at 20."""
    story = Story().run("+J Created=True Running=True\n@5\n~J Created=True Running=True")
    story.now = BEGIN + 20
    story._job("J", [("Created", "True"), ("Restarting", "True")])
    story.gap(6, 60).run("@60\n=J")
    assert story.report()["restarting_condition"] == [{"start": f"{HOUR}00:20Z", "end": None}]
    story.now = BEGIN + 70
    story._job("J", [("Created", "True"), ("Running", "True")])
    story.gap(61, 90).run("@90\n=J")
    assert story.report()["restarting_condition"] == [{"start": f"{HOUR}00:20Z", "end": f"{HOUR}01:10Z"}]


def test_a_transition_from_before_the_gap_dates_nothing_in_it() -> None:
    """The condition's time stood still at 1, though it was gone at 30: only the list is sure."""
    story = Story().run("+J Created=True Restarting=True\n@30\n~J Created=True Running=True")
    facts = story.facts["J"]
    old = f.Condition("Restarting", "True", "r", "m", BEGIN + 1)
    story.facts["J"] = facts._replace(conditions=(facts.conditions[0], old))
    story.gap(31, 60).run("@60\n=J")
    assert story.report()["restarting_condition"][-1]["start"] == f"{HOUR}01:00Z"


def test_a_suspension_that_nobody_watched_explains_its_recreations() -> None:
    """Suspended and resumed inside the gap: the list says Suspended=False, since 40."""
    story = Story().run("+J Created=True Running=True\n+w0#a R\n~w0#a R")
    story.run("~J suspend")
    story.now = BEGIN + 40
    story._job("J", [("resume", None), ("Created", "True"), ("Suspended", "False")])
    story.now = BEGIN + 45
    story.gap(5, 60).run("=w0#b R\n?w0#a\n@60\n=J")
    assert restarts(story) == (0, True)
    assert story.replica("w0")["pods"][0]["excluded"] == "suspended"


@pytest.mark.parametrize("pods_first", [True, False])
def test_changes_that_only_the_generation_betrays_may_explain_recreations(pods_first: bool) -> None:
    """Scaled down and up again inside the gap: the replicas are as before, the generation is two higher."""
    story = Story().run("+J Created=True Running=True\n+w0#a R\n~w0#a R").gap(5, 60)
    pods, job = "=w0#b R\n?w0#a\n", "=J gen=3\n"
    story.run("@60\n" + (pods + job if pods_first else job + pods))
    assert restarts(story) == (0, True)
    story.run("@70\n~w0#b F term(138,Error)\nxw0#b\n@80\n+w0#c R")
    assert restarts(story) == (1, True)


def test_one_change_in_the_gap_hides_no_other() -> None:
    story = Story().run("+J Created=True Running=True\n+w0#a R\n~w0#a R").gap(5, 60)
    story.run("@60\n=J worker=5\n=w0#b R\n?w0#a")
    assert restarts(story) == (1, True)


def test_several_restarts_in_place_in_a_gap() -> None:
    """Seen to end at 5; the list at 60 shows three restarts, the last after an exit at 50."""
    story = Story(policy="OnFailure").run("+J Created=True Running=True\n+w0#a R\n@5\n~w0#a term(1,Error)")
    story.now = BEGIN + 50
    story._pod("w0#a", "uid-J", [("last", "2,Error"), ("running", None), ("rc", "3")])
    story.gap(6, 60).run("@60\n=w0#a")
    assert restarts(story) == (3, True)
    entries = state(story).pods["uid-w0#a"].in_place
    assert [(e.number, e.ended_at, e.running_at, e.exit_code) for e in entries] == [
        (1, BEGIN + 5, None, 1),
        (2, None, None, None),
        (3, BEGIN + 50, BEGIN + 50, 2),
    ]


def test_an_absurd_restart_count_is_counted_and_not_listed() -> None:
    story = Story(policy="OnFailure").run("+J Created=True\n+w0#a R\n~w0#a rc=9007199254740992")
    assert restarts(story)[0] == 2**53
    assert len(state(story).pods["uid-w0#a"].in_place) == 100


def test_a_job_that_was_over_before_the_gap_missed_nothing() -> None:
    story = Story().run("+J Created=True\n+w0#a S term(0,Completed)\n~J Created=True Succeeded=True\nxw0#a")
    assert restarts(story.gap(10, 60)) == (0, False)
    assert all(text <= f"{HOUR}00:04Z" for text in all_times(story.report()))


def test_what_was_only_missing_from_a_list_is_there_again() -> None:
    story = Story().run("+J Created=True\n+w0#a R").gap(3, 50).run("@50\n?w0#a\n?J\n@60\n~w0#a R\n~J Created=True")
    report = story.report()
    assert (report["present"], report["deleted_between"]) == (True, None)
    assert report["replicas"][0]["pods"][0]["deleted_between"] is None
    assert state(story).pods_left == 1


def test_a_job_that_finished_while_its_pods_were_not_watched_is_at_least() -> None:
    """The pods' stream lists for the first time when they are all gone, cleaned up after the job's end."""
    story = Story().run("+J Created=True\n@20\n~J Created=True Running=False Failed=True")
    assert not story.report()["at_least"]
    story.gap(5, 30)
    assert story.report()["at_least"]


def test_a_gap_after_the_job_and_its_pods_were_over_changes_nothing() -> None:
    story = Story().run("""
        +J Created=True
        +w0#a R
        @10
        ~w0#a S term(0,Completed)
        ~J Created=True Running=False Succeeded=True
        xw0#a
    """)
    story.gap(15, 30)
    assert not story.report()["at_least"]
