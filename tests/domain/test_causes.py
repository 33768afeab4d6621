"""Why an incarnation ended: the order of the rules, and the words."""

import pytest

from jobs.domain.codes import meaning
from tests.domain.story import Story


def cause(script: str, replica: str = "w0", **story: object) -> tuple[str | None, str | None]:
    """The cause of the replica's first pod."""
    return Story(**story).run("+J Created=True\n" + script).causes(replica)[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reason", "code", "words"),
    [
        ("Evicted", "evicted-kubelet", "evicted by the kubelet"),
        ("Preempting", "preempted", "preempted by the kubelet"),
        ("Terminated", "node-lost", "node las1 shut down"),
        ("NodeShutdown", "node-lost", "node las1 shut down"),
        ("NodeLost", "node-lost", "node las1 lost"),
        ("DeadlineExceeded", "deadline", "deadline exceeded"),
        ("UnexpectedAdmissionError", "unknown", "refused by the kubelet: UnexpectedAdmissionError"),
        ("OutOfcpu", "unknown", "refused by the kubelet: OutOfcpu"),
    ],
)
def test_the_pods_own_reason_comes_first(reason: str, code: str, words: str) -> None:
    assert cause(f"+w0#a R\n~w0#a F reason={reason} bare") == (code, words)
    if code != "unknown":
        both = f"+w0#a R\n~w0#a deleting disrupted(EvictionByEvictionAPI)\n~w0#a F term(143,Error) reason={reason}"
        assert cause(both) == (code, words)


@pytest.mark.parametrize(
    ("reason", "code", "words"),
    [
        ("PreemptionByScheduler", "preempted", "preempted by the scheduler"),
        ("DeletionByTaintManager", "node-lost", "node las1 lost"),
        ("EvictionByEvictionAPI", "evicted-api", "evicted by the API"),
        ("DeletionByPodGC", "pod-gc", "removed by pod garbage collection"),
        ("TerminationByKubelet", "evicted-kubelet", "terminated by the kubelet"),
        ("SomethingNew", "deleted", "deleted (SomethingNew), exit 143"),
    ],
)
def test_a_disruption_comes_before_the_deletion(reason: str, code: str, words: str) -> None:
    script = f"+w0#a R\n~w0#a R disrupted({reason})\n~w0#a deleting\n~w0#a F term(143,Error)\nxw0#a"
    assert cause(script) == (code, words)


def test_a_disruption_that_was_called_off_is_no_cause() -> None:
    """The eviction was announced and did not come; the pod failed by itself later."""
    story = Story().run("+J Created=True\n+w0#a R\n~w0#a R disrupted(EvictionByEvictionAPI)")
    story.facts["w0#a"] = story.facts["w0#a"]._replace(disruption=None)
    story.run("~w0#a R\n~w0#a F term(138,Error)")
    assert story.causes("w0") == [("exit", "exit 138 (user-defined, retryable)")]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("F term(2,Error)", ("exit", "exit 2 (permanent)")),
        ("F term(137,OOMKilled)", ("oom", "OOM killed (exit 137)")),
        ("S term(0,Completed)", ("completed", "completed")),
        ("F reason=Evicted", ("evicted-kubelet", "evicted by the kubelet")),
    ],
)
@pytest.mark.parametrize("reason", ["EvictionByEvictionAPI", "DeletionByTaintManager", "PreemptionByScheduler"])
def test_a_pod_that_had_ended_is_not_ended_by_a_drain(reason: str, end: str, expected: tuple[str, str]) -> None:
    """A finished job's pods stay until their node is drained an hour later."""
    script = f"+w0#a R\n~w0#a {end}\n@3600\n~w0#a disrupted({reason})\n~w0#a deleting\nxw0#a"
    assert cause(script) == expected


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("~w0#a deleting\n.\n~w0#a F term(143,Error)\nxw0#a", "deleted, exit 143"),
        ("~w0#a deleting\nxw0#a", "deleted, no exit code seen"),
        ("~w0#a deleting", "deleted"),
        ("~w0#a deleting\n.\n~w0#a F term(137,ContainerStatusUnknown)\nxw0#a", "deleted, no exit code seen"),
        ("~w0#a deleting\n.\n~w0#a F term(137,OOMKilled)\nxw0#a", "deleted, exit 137 (OOMKilled)"),
        ("~w0#a deleting\n.\n~w0#a F term(128,StartError)\nxw0#a", "deleted, exit 128 (StartError)"),
        ("xw0#a", "deleted, no exit code seen"),
    ],
)
def test_a_pod_that_was_deleted_while_it_ran(script: str, words: str) -> None:
    assert cause(f"+w0#a R\n{script}") == ("deleted", words)


@pytest.mark.parametrize(
    "script",
    [
        "~w0#a R term(139,Error)\n~w0#a deleting\n~w0#a F\nxw0#a",
        "~w0#a F term(139,Error)\n~w0#a deleting\nxw0#a",
        "~w0#a F term(139,Error)\nxw0#a",
    ],
)
def test_a_pod_that_had_ended_before_it_was_deleted(script: str) -> None:
    """Its end is the cause, not the deletion that follows it."""
    code, words = cause(f"+w0#a R\n{script}")
    assert (code, words) == ("exit", "exit 139 (documented as permanent, in fact retryable)")


@pytest.mark.parametrize(("asked", "expected"), [(9.7, "deleted"), (10.9, "deleted"), (11.2, "exit")])
def test_an_end_that_is_seen_after_the_deletion_is_dated_by_the_cluster(asked: float, expected: str) -> None:
    """The job is deleted when a pod has just ended, of which the kubelet has not told yet: finishedAt is second 10."""
    story = Story().run(f"+J Created=True\n+w0#a R\n@{asked}\n~w0#a R deleting\n~w0#a F term(139,Error,at=10)\nxw0#a")
    assert story.causes("w0")[0][0] == expected


def test_a_crash_looping_pod_keeps_its_last_code() -> None:
    """Deleted in the wait between two tries; and in another pod, after one more try had begun."""
    story = Story(policy="OnFailure").run("""
        +J Created=True
        +w0#a R
        ~w0#a term(3,Error)
        ~w0#a waiting(CrashLoopBackOff) last(3,Error)
        ~w0#a deleting
        xw0#a
        +w1#a R
        ~w1#a term(3,Error)
        ~w1#a waiting(CrashLoopBackOff) last(3,Error)
        ~w1#a deleting
        ~w1#a running rc=1
        ~w1#a F term(143,Error)
        xw1#a
    """)
    assert story.causes("w0") == [("exit", "exit 3")]
    assert story.causes("w1") == [("deleted", "deleted, exit 143")]


def test_a_replica_of_policy_always_is_never_done() -> None:
    """Deleted in the wait after an exit 0: it would have been run again in any case."""
    story = Story(policy="Always").run("""
        +J Created=True
        +w0#a R
        ~w0#a term(0,Completed)
        ~w0#a waiting(CrashLoopBackOff) last(0,Completed)
        ~w0#a deleting
        ~w0#a S
        xw0#a
        +w0#b R
    """)
    assert story.causes("w0")[0] == ("completed", "completed")
    assert story.replica("w0")["flags"] == []
    assert story.replica("w0")["true_restarts"] == 1


def test_the_end_of_an_earlier_run_is_not_the_pods() -> None:
    """Restarted in place after exit 3, then gone while it ran: the last known code stays, the cause differs."""
    story = Story(policy="OnFailure").run("""
        +J Created=True
        +w0#a R
        ~w0#a term(3,Error)
        ~w0#a running rc=1 last(3,Error)
        ~w0#a F term(137,ContainerStatusUnknown)
        xw0#a
    """)
    pod = story.replica("w0")["pods"][0]
    assert (pod["exit_code"], pod["cause_code"], pod["cause"]) == (3, "unknown", "deleted, no exit code seen")


def test_a_known_code_is_not_overwritten_by_the_kubelets_filler() -> None:
    script = "+w0#a R\n~w0#a R term(138,Error)\n~w0#a F term(137,ContainerStatusUnknown)\nxw0#a"
    assert cause(script)[0] == "exit"
    story = Story().run("+J Created=True\n+w0#a R\n~w0#a F term(137,ContainerStatusUnknown)")
    pod = story.replica("w0")["pods"][0]
    assert (pod["exit_code"], pod["reason"], pod["cause_code"]) == (None, None, "unknown")
    assert pod["cause"] == "no exit code seen"
    assert pod["ends"] == []


@pytest.mark.parametrize("reason", ["StartError", "ContainerCannotRun"])
def test_a_container_that_never_started(reason: str) -> None:
    expected = ("start-error", f"container never started: {reason}")
    assert cause(f"+w0#a Pe\n~w0#a Pe term(128,{reason})\n~w0#a F\nxw0#a") == expected


def test_an_init_container_that_failed() -> None:
    """Under ExitCode there is no main code at all."""
    script = "+w0#a Pe init(fetch-data)\n~w0#a Pe init(fetch-data,7)\n~w0#a F\n~w0#a deleting\nxw0#a"
    assert cause(script) == ("init", "init container fetch-data exited 7")


def test_an_init_container_that_recovered_is_no_cause() -> None:
    """It failed twice, then succeeded; the pod vanishes while the main container runs."""
    story = Story(policy="OnFailure").run("""
        +J Created=True
        +w0#a Pe init(fetch-data,7,rc=1)
        ~w0#a R init(fetch-data,0,rc=2)
        ?w0#a
    """)
    assert story.causes("w0") == [("unknown", "no exit code seen")]
    assert story.replica("w0")["init_restarts"] == 2


def test_a_sidecar_that_failed() -> None:
    """The main container ended well; the pod is Failed all the same."""
    script = "+w0#a R side(metrics)\n~w0#a R side(metrics,3)\n~w0#a R term(0,Completed)\n~w0#a F"
    assert cause(script) == ("sidecar", "sidecar metrics exited 3")


def test_a_sidecar_that_was_restarted_is_no_cause() -> None:
    script = "+w0#a R side(metrics,3)\n~w0#a R side(metrics,rc=1)\n~w0#a F term(5,Error)"
    assert cause(script, policy="OnFailure") == ("exit", "exit 5")
    assert cause("+w0#a R side(metrics,3)\n~w0#a R side(metrics,rc=1)\n?w0#a")[0] == "unknown"


def test_a_completed_pod() -> None:
    assert cause("+w0#a R\n~w0#a S term(0,Completed)\n~w0#a deleting\nxw0#a") == ("completed", "completed")


def test_nothing_ended() -> None:
    assert cause("+w0#a R") == (None, None)


# --- the gang


GANG = {"kind": "Job", "policies": {"main": "Never"}}


def gang(script: str) -> Story:
    return Story(**GANG).run("+J phase=Running\n+n0#a R\n+n1#a R\n+n2#a R\n" + script)  # type: ignore[arg-type]


def test_taken_along_with_the_gang() -> None:
    """One fails, one had completed, one runs: Volcano deletes all and creates all anew."""
    story = gang("""
        ~n2#a S term(0,Completed)
        ~n0#a F term(3,Error)
        ~n1#a deleting
        ~n2#a deleting
        ~n0#a deleting
        ~J phase=Restarting retry=1
        xn0#a
        +n0#b R
        ~n1#a F term(143,Error)
        xn1#a
        +n1#b R
        xn2#a
        +n2#b R
        ~J phase=Running
    """)
    gang_cause = ("gang", "restarted with the gang")
    assert [story.causes(replica)[0] for replica in ("n0", "n1", "n2")] == [("exit", "exit 3"), gang_cause, gang_cause]
    report = story.report()
    assert (report["true_restarts"], report["job_restarts"]) == (3, 1)
    assert [r["pods"][0]["first_cause_uid"] for r in report["replicas"]] == [None, "uid-n0#a", "uid-n0#a"]
    assert [r["flags"] for r in report["replicas"]] == [[], [], ["completed-replica-run-again"]]
    assert story.told(30)["gang-restarted"] == "The whole gang was restarted once; first cause: main 0, exit 3."


def test_a_crash_looping_pod_is_taken_along_too() -> None:
    """It waited for its next try when another pod failed: that is why it was made anew."""
    story = Story(kind="Job", policies={"main": "OnFailure"}).run("""
        +J phase=Running
        +n0#a R
        +n1#a R
        ~n1#a term(2,Error)
        ~n1#a waiting(CrashLoopBackOff) last(2,Error)
        ~n0#a F reason=Evicted
        ~n1#a deleting
        xn0#a
        xn1#a
        +n0#b R
        +n1#b R
    """)
    assert [story.causes(replica)[0][0] for replica in ("n0", "n1")] == ["evicted-kubelet", "gang"]
    assert story.replica("n1")["pods"][0]["exit_code"] == 2


def test_the_next_gang_restart_has_a_first_cause_of_its_own() -> None:
    """Main 0 fails; soon after all came back, main 1 does."""
    story = gang("~n0#a F term(3,Error)\n~n1#a deleting\nxn0#a\nxn1#a\n+n0#b R\n+n1#b R")
    story.run("~n1#b F term(4,Error)\n~n0#b deleting\nxn0#b\nxn1#b\n+n0#c R\n+n1#c R")
    firsts = [[pod["first_cause_uid"] for pod in story.replica(replica)["pods"]] for replica in ("n0", "n1")]
    assert firsts == [[None, "uid-n1#b", None], ["uid-n0#a", None, None]]


def test_the_first_that_is_deleted_is_the_first_cause_where_none_failed() -> None:
    """A person deletes one pod, the controller the others: their 143 is not their own failure."""
    story = gang("~n1#a deleting\n~n0#a deleting\n~n2#a deleting\n~n0#a F term(143,Error)\n~n1#a F term(143,Error)")
    story.run("xn0#a\nxn1#a\nxn2#a\n+n0#b R\n+n1#b R\n+n2#b R")
    assert [story.causes(f"n{index}")[0][0] for index in range(3)] == ["gang", "deleted", "gang"]


def test_a_second_failure_is_its_own() -> None:
    story = gang("~n0#a F term(3,Error)\n~n1#a F term(9,Error)\n~n2#a deleting\nxn0#a\nxn1#a\nxn2#a")
    story.run("+n0#b R\n+n1#b R\n+n2#b R")
    assert [story.causes(f"n{index}")[0][1] for index in range(3)] == ["exit 3", "exit 9", "restarted with the gang"]


def test_a_list_in_the_middle_of_a_gang_restart() -> None:
    """The list names the deleted pod before the one whose failure came first by the cluster's clock."""
    story = Story(**GANG)  # type: ignore[arg-type]
    story.run(
        "@50\n+J phase=Running\n+n0#a R\n+n1#a R\n@60\n~n1#a F term(3,Error)\n@62\n~n0#a deleting\n~n1#a deleting"
    )
    late = Story(**GANG)  # type: ignore[arg-type]
    late.facts = dict(story.facts)
    late.run("@63\n=J\n=n0#a\n=n1#a\n@66\nxn0#a\nxn1#a\n+n0#b R\n+n1#b R")
    assert [late.causes(f"n{index}")[0][0] for index in range(2)] == ["gang", "exit"]


def test_a_gang_that_does_not_come_back_was_not_restarted() -> None:
    """The job is deleted after one failure: the others are deleted, no more."""
    story = gang("~n0#a F term(3,Error)\nxJ\n~n1#a deleting\n~n1#a F term(143,Error)\nxn1#a")
    assert story.causes("n1") == [("deleted", "deleted, exit 143")]


def test_a_deletion_long_after_a_failure_has_another_cause() -> None:
    """No policy answered the failure; an hour later a person deletes another pod."""
    story = gang("~n0#a F term(3,Error)\n@3600\n~n1#a deleting\n~n1#a F term(143,Error)\nxn1#a\n+n1#b R")
    assert story.causes("n1")[0] == ("deleted", "deleted, exit 143")


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob"])
def test_other_kinds_restart_no_gang(kind: str) -> None:
    story = Story(kind).run("""
        +J Created=True
        +w0#a R
        +w1#a R
        ~w0#a F term(138,Error)
        ~w1#a deleting
        xw1#a
        +w1#b R
    """)
    assert story.causes("w1")[0] == ("deleted", "deleted, no exit code seen")


# --- codes


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "success"),
        *[(code, "permanent") for code in (1, 2, 126, 127)],
        *[(code, "documented as permanent, in fact retryable") for code in (128, 139)],
        *[(code, "retryable") for code in (130, 137, 143)],
        (138, "user-defined, retryable"),
        *[(code, "undefined, permanent") for code in (3, 99, 125)],
        *[(code, "undefined, retryable") for code in (129, 134, 255)],
    ],
)
def test_what_a_code_means_twice(code: int, words: str) -> None:
    assert meaning(code) == words


@pytest.mark.parametrize(
    ("code", "name"), [(139, "SIGSEGV"), (138, "SIGUSR1"), (137, "SIGKILL"), (255, None), (1, None)]
)
def test_the_report_gives_both_classes_and_the_signal(code: int, name: str | None) -> None:
    pod = Story().run(f"+J Created=True\n+w0#a R\n~w0#a F term({code},Error)").replica("w0")["pods"][0]
    assert (pod["documented_class"], pod["actual_class"]) == {
        139: ("permanent", "retryable"),
        138: ("user-defined", "retryable"),
        137: ("retryable", "retryable"),
        255: ("undefined", "retryable"),
        1: ("permanent", "permanent"),
    }[code]
    assert pod["signal"] == name
