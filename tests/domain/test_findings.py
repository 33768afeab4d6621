"""What deserves attention in a job, and what it rests on."""

import pytest

from jobs.domain.findings import ORDER, findings
from jobs.domain.report import job_report
from jobs.domain.said import FINDINGS, seconds_words
from tests.domain.story import BEGIN, Story


def restarting(replica: str, times: int, every: float, start: float = 0.0, code: int = 138) -> str:
    """A replica that fails and is recreated, a failure each ``every`` seconds."""
    lines = [f"@{start}", f"+{replica}#0 R"]
    for number in range(times):
        at = start + (number + 1) * every
        lines += [f"@{at}", f"~{replica}#{number} F term({code},Error)", f"x{replica}#{number}"]
        lines += [f"@{at + 0.5}", f"+{replica}#{number + 1} R"]
    return "\n".join(lines)


# --- waves, first failures


@pytest.mark.parametrize(
    ("replicas", "workers", "is_wave"), [(2, 4, False), (3, 6, True), (3, 7, False), (10, 60, True)]
)
def test_how_many_replicas_make_a_wave(replicas: int, workers: int, is_wave: bool) -> None:
    """Half of a small job, ten of a large one, and never fewer than three."""
    story = Story(check_sums=False).run("+J Created=True Running=True")
    story.run("\n".join(f"@0\n+w{index}#0 R" for index in range(workers)))
    for index in range(replicas):
        story.run(f"@{10 + index}\n~w{index}#0 F term(134,Error)\nxw{index}#0\n+w{index}#1 R")
    assert ("restart-wave" in story.told(100)) == is_wave
    assert ("first-failure" in story.told(100)) is not is_wave


def test_two_waves_are_told_apart_by_a_quiet_minute() -> None:
    story = Story().run("+J Created=True Running=True")
    for index in range(4):
        story.run(restarting(f"w{index}", 2, 200, start=index))
    found = [one for one in findings(story.jobs["uid-J"], BEGIN + 500) if one.code == "restart-wave"]
    assert [(one.params["count"], one.params["replica"]) for one in found] == [(4, "worker 0"), (4, "worker 0")]
    assert [one.at for one in found] == [BEGIN + 200, BEGIN + 400]


def test_one_replica_alone_is_no_wave() -> None:
    story = Story(workers=1).run("+J Created=True Running=True").run(restarting("w0", 5, 10))
    assert "restart-wave" not in story.told(100)


def test_the_first_failure_of_a_gang_that_failed() -> None:
    """Worker 1 ends the job; it was never restarted."""
    story = Story().run("""
        +J Created=True
        +w0#a R
        +w1#a R
        ~w1#a F term(1,Error)
        ~J Created=True Failed=True done
        ~w0#a deleting
        ~w0#a F term(143,Error)
        xw0#a
    """)
    assert story.told(10)["first-failure"] == "The first failure was worker 1: exit 1 (permanent)."


def test_pods_that_a_deadline_deletes_did_not_fail() -> None:
    """The operator deletes them, then says Failed: nobody failed first."""
    story = Story(deadline=20).run("""
        +J Created=True
        +w0#a R
        +w1#a R
        ~w0#a deleting
        ~w1#a deleting
        ~J Failed=True done says="Job job has failed because it was active longer than specified deadline"
        ~w0#a F term(143,Error)
    """)
    assert "first-failure" not in story.told(10)


# --- runaway, crash loops


@pytest.mark.parametrize(
    ("times", "every", "runs_away"), [(8, 10, True), (7, 10, False), (8, 80, True), (20, 90, False)]
)
def test_a_runaway_is_a_rate(times: int, every: int, runs_away: bool) -> None:
    """Twenty restarts in half an hour are no runaway, eight in a minute are."""
    story = Story(workers=1).run("+J Created=True Running=True").run(restarting("w0", times, every))
    assert ("runaway" in story.told(times * every + 5)) == runs_away


def test_a_runaway_that_came_to_rest() -> None:
    story = Story(workers=1).run("+J Created=True Running=True").run(restarting("w0", 19, 5))
    assert story.told(100) == {"runaway": "worker 0 runs away: 19 restarts within 90 s, one every 5.0 s."}
    assert story.told(900) == {"runaway-over": "worker 0 ran away: 19 restarts within 90 s, one every 5.0 s."}


def test_the_kubelets_own_back_off_is_no_runaway() -> None:
    """Restarts in place after 10, 20, 40 s and so on, each run short."""
    story = Story(policy="OnFailure", workers=1).run("+J Created=True\n+w0#a R")
    at = 10.0
    for count, wait in enumerate((0, 10, 20, 40, 80, 160, 300, 300), start=1):
        story.run(f"@{at}\n~w0#a term(1,Error)\n@{at + wait + 1}\n~w0#a running last(1,Error) rc={count}")
        at += wait + 6
    assert story.told(at) == {}


@pytest.mark.parametrize("words", ["init(fetch,back-off,7,rc=3)", "side(metrics,back-off,7,rc=3)"])
def test_another_container_that_crash_loops(words: str) -> None:
    name = "fetch" if "init" in words else "metrics"
    story = Story(policy="OnFailure").run(f"+J Created=True\n+w0#a Pe {words}")
    assert story.told(10) == {"crash-loop-other": f"Container {name} of worker 0 is crash-looping (restarts: 3)."}


# --- stuck


def test_a_successor_that_finds_no_room() -> None:
    story = Story().run(
        '+J Created=True Running=True\n+w0#a R\n~w0#a deleting\nxw0#a\n@10\n+w0#b Pe unschedulable="no room"'
    )
    words = "worker 0 has been pending since its restart, for 2 min: no room."
    assert story.told(131) == {"pending-since-restart": words}
    assert "pending-since-restart" not in story.told(60)
    story.run("~w0#b R")
    assert "pending-since-restart" not in story.told(131)


def test_a_pod_that_never_started() -> None:
    story = Story().run('+J Created=True\n+w0#a Pe unschedulable="0/3 nodes are available"')
    assert story.told(300) == {"pending": "worker 0 has been pending for 4 min: 0/3 nodes are available."}


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"])
def test_an_image_that_cannot_be_pulled(reason: str) -> None:
    """Said at once, and still after the job was deleted."""
    story = Story().run(f"+J Created=True\n+w0#a Pe waiting({reason})")
    words = f"The image of worker 0 cannot be pulled ({reason}): -."
    assert story.told(5) == {"image-not-pulled": words}
    story.run("xJ\n~w0#a deleting\n~w0#a F term(137,ContainerStatusUnknown)\nxw0#a")
    assert story.told(60) == {"image-not-pulled": words}


def test_an_image_that_was_pulled_at_last() -> None:
    story = Story().run("+J Created=True\n+w0#a Pe waiting(ErrImagePull)\n~w0#a R running")
    assert story.told(60) == {}


def test_a_thousand_replicas_with_the_same_trouble_are_one_finding() -> None:
    story = Story(check_sums=False).run("+J Created=True")
    story.run("\n".join(f"@1\n+w{index}#a Pe waiting(ImagePullBackOff)" for index in range(1000)))
    told = story.told(60)
    assert told == {
        "image-not-pulled": "The image of 1000 replicas (worker 0, worker 1, worker 2, …) "
        "cannot be pulled (ImagePullBackOff): -."
    }


def test_a_pod_that_outlives_its_job() -> None:
    """The job is deleted, its pod's node is silent: what the cluster's other streams say keeps the clock going."""
    story = Story().run("+J Created=True\n+w0#a R node=las2\n~w0#a deleting\nxJ")
    assert job_report(story.jobs["uid-J"])["findings"] == []
    (found,) = job_report(story.jobs["uid-J"], BEGIN + 7202)["findings"]
    assert found["sentence"] == "worker 0 has been terminating for 2 h (node las2)."


# --- left behind, unexpected


def test_the_same_trouble_twice_in_one_replica_is_not_two_replicas() -> None:
    story = Story(workers=1).run("+J Created=True Running=True")
    story.run("\n".join(f"+w0#{a} R\n~w0#{a} S term(0,Completed)\n~w0#{a} deleting\nxw0#{a}" for a in "abc"))
    assert story.told(20) == {"completed-run-again": "worker 0 had completed and was run again."}


def test_a_pod_created_after_the_job_had_failed() -> None:
    """A stale cache: it counts, it is flagged, and the verdict stays with the pod that failed."""
    story = Story().run("""
        +J Created=True
        +w0#a R
        ~w0#a F term(1,Error)
        ~J Created=True Failed=True done
        xw0#a
        @20
        +w0#b Pe
    """)
    replica = story.replica("w0")
    assert (replica["true_restarts"], replica["flags"]) == (1, ["created-after-failed"])
    assert "created-after-failed" in story.told(30)
    assert story.ended()[0] == "permanent-exit"  # type: ignore[index]


def test_a_volcano_gang_is_not_unexpected_for_policy_never() -> None:
    story = Story("Job", policies={"main": "Never"}).run(
        "+J phase=Running\n+n0#a R\n~n0#a F term(3,Error)\n~J phase=Restarting retry=1\nxn0#a\n+n0#b R"
    )
    assert story.replica("n0")["flags"] == []
    assert story.replica("n0")["restart_policy"] == "Never"


def test_nothing_to_say_of_a_job_that_just_runs() -> None:
    story = Story(policies={"master": "OnFailure"}, backoff_limit=3, ttl=60).run("""
        +J Created=True
        +PG Pending
        ~PG Inqueue
        +m0#a R
        +w0#a R
        ~PG Running
        ~J Created=True Running=True
    """)
    assert story.told(36_000) == {}
    assert story.ended() is None


# --- their form


def test_the_worst_comes_first_and_each_has_evidence() -> None:
    story = Story(workers=2, backoff_limit=2).run("+J Created=True Running=True").run(restarting("w0", 9, 5))
    story.run("+w1#a Pe waiting(ErrImagePull)")
    found = story.report()["findings"]
    severities = [one["severity"] for one in found]
    assert severities == sorted(severities, key=ORDER.index)
    assert {one["code"] for one in found} == {
        "runaway",
        "image-not-pulled",
        "backoff-limit-not-enforced",
        "first-failure",
    }
    versions = {("pods", uid) for uid in story.jobs["uid-J"].pods} | {("pytorchjobs.kubeflow.org", "uid-J")}
    for one in found:
        assert one["evidence"]
        assert all((e["resource"], e["uid"]) in versions for e in one["evidence"])


def test_evidence_names_the_moment_of_an_observation() -> None:
    """So that the observation behind it can be looked up by object and time."""
    story = Story(workers=1).run("+J Created=True Running=True").run(restarting("w0", 8, 10))
    (runaway,) = findings(story.jobs["uid-J"], BEGIN + 90)
    assert [one.at for one in runaway.evidence] == [BEGIN + 10 * number for number in range(1, 9)]


@pytest.mark.parametrize("code", FINDINGS)
def test_every_finding_has_a_severity_and_whole_templates(code: str) -> None:
    severity, one, many = FINDINGS[code]
    assert severity in ORDER
    assert one.endswith(".") and (not many or many.endswith("."))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172_800, "2 d")],
)
def test_lengths_of_time(seconds: float, words: str) -> None:
    assert seconds_words(seconds) == words
