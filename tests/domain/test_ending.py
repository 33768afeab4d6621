"""Why a job is over, in one sentence."""

import pytest

from tests.domain.story import Story

BACKOFF = 'says="Job job has failed because it has reached the specified backoff limit"'
DEADLINE = 'says="Job job has failed because it was active longer than specified deadline"'


def test_the_main_replica_completed() -> None:
    story = Story(policies={"master": "Never"}).run("""
        +J Created=True
        +m0#a R
        +w0#a R
        ~m0#a S term(0,Completed)
        ~J Created=True Succeeded=True done
    """)
    assert story.ended() == ("main-completed", "Succeeded: master 0 completed.")


def test_backoff_limit_by_restarts_in_place_of_several() -> None:
    """The operator adds up all pods and all containers."""
    story = Story(policy="OnFailure", backoff_limit=4).run(f"""
        +J Created=True
        +w0#a R
        +w1#a R
        ~w0#a R rc=3
        ~w1#a R side(metrics,rc=1)
        ~J Created=True Failed=True done {BACKOFF}
    """)
    assert story.ended() == (
        "backoff-limit",
        "Failed: backoffLimit 4 was reached by 4 restarts in place (worker 0: 3, worker 1: 1).",
    )


def test_backoff_limit_zero() -> None:
    story = Story(backoff_limit=0).run(f"""
        +J Created=True
        +w0#a R
        +w1#a R
        ~w0#a F term(138,Error)
        ~w1#a deleting
        ~w1#a F term(143,Error)
        ~J Created=True Failed=True done {BACKOFF}
    """)
    assert story.ended() == (
        "backoff-zero",
        "Failed: with backoffLimit 0 the first failure ends the job (worker 0: exit 138 (user-defined, retryable)).",
    )


@pytest.mark.parametrize(("deadline", "code"), [(20, "deadline"), (None, "deadline-unknown")])
def test_a_deadline(deadline: int | None, code: str) -> None:
    story = Story(deadline=deadline).run(f"+J Created=True\n+w0#a R\n~w0#a deleting\n~J Failed=True done {DEADLINE}")
    assert (story.ended() or ("",))[0] == code


@pytest.mark.parametrize(
    ("kind", "policy", "end", "code"),
    [
        ("PyTorchJob", "ExitCode", "term(1,Error)", "permanent-exit"),
        ("PyTorchJob", "ExitCode", "term(127,Error)", "permanent-exit"),
        ("PyTorchJob", "Never", "term(1,Error)", "policy-never"),
        ("MPIJob", "OnFailure", "term(1,Error)", "not-recreated"),
        ("XGBoostJob", "OnFailure", "reason=Evicted bare", "replica-failed"),
    ],
)
def test_one_replica_ended_the_job(kind: str, policy: str, end: str, code: str) -> None:
    story = Story(kind, policy=policy).run(f"+J Created=True\n+w0#a R\n~w0#a F {end}\n~J Failed=True done")
    assert (story.ended() or ("",))[0] == code
    assert [e["uid"] for e in story.report()["ended"]["evidence"]] == ["uid-J", "uid-w0#a"]


@pytest.mark.parametrize(
    ("kind", "policy", "code"),
    [
        ("XGBoostJob", "OnFailure", "pod-deleted"),
        ("XGBoostJob", "ExitCode", "replica-failed"),
        ("TFJob", "ExitCode", "pod-deleted"),
        ("PyTorchJob", "Never", "policy-never"),
        ("JAXJob", "Never", "policy-never"),
        ("PaddleJob", "OnFailure", "replica-failed"),
    ],
)
def test_whose_deleted_pod_fails_the_job(kind: str, policy: str, code: str) -> None:
    """A program killed by SIGTERM, under the policies of each kind."""
    story = Story(kind, policy=policy).run("""
        +J Created=True
        +w0#a R
        ~w0#a deleting
        ~w0#a F term(143,Error)
        ~J Failed=True done
    """)
    assert (story.ended() or ("",))[0] == code


CRASH_LOOP = "~w0#a term(3,Error)\n~w0#a waiting(CrashLoopBackOff) last(3,Error)"


@pytest.mark.parametrize(("kind", "code"), [("TFJob", "pod-deleted"), ("XGBoostJob", "pod-deleted")])
@pytest.mark.parametrize("policy", ["OnFailure", "Always"])
def test_a_crash_looping_pod_that_is_deleted_fails_the_job_too(kind: str, code: str, policy: str) -> None:
    """Its phase is Running in the wait between two tries, and that is all that the operator looks at."""
    story = Story(kind, policy=policy).run(f"""
        +J Created=True
        +w0#a R
        {CRASH_LOOP}
        ~w0#a deleting
        ~J Failed=True done
        xw0#a
    """)
    assert story.ended() == (
        code,
        f"Failed: the pod of worker 0 was deleted while it ran (exit 3), which fails a {kind}.",
    )


def test_a_pod_that_is_started_although_it_was_told_to_go() -> None:
    """Deleted while it was Pending, it was Running for a moment: that is what the operator saw."""
    story = Story("TFJob", policy="OnFailure").run("""
        +J Created=True
        +w0#a Pe
        ~w0#a Pe deleting
        ~w0#a R
        ~J Failed=True done
        ~w0#a F term(143,Error)
        xw0#a
    """)
    assert (story.ended() or ("",))[0] == "pod-deleted"


@pytest.mark.parametrize("later", ["@20\n~w0#a deleting", "~w0#a deleting"])
def test_a_crash_looping_pod_that_goes_with_the_job_is_not_its_cause(later: str) -> None:
    """Worker 0 had crashed long before worker 1 failed under its policy, and would have been restarted for ever."""
    story = Story(policy="OnFailure", policies={"master": "Never"}).run(f"""
        +J Created=True
        +m0#a R
        +w0#a R
        {CRASH_LOOP}
        @10
        ~m0#a F term(9,Error)
        ~J Failed=True done
        {later}
    """)
    assert story.ended() == (
        "policy-never",
        "Failed: master 0 failed under restart policy Never (exit 9 (undefined, permanent)).",
    )


@pytest.mark.parametrize("reason", ["EvictionByEvictionAPI", "DeletionByTaintManager"])
def test_a_drain_long_after_the_end_does_not_change_why(reason: str) -> None:
    story = Story("TFJob").run(f"""
        +J Created=True
        +w0#a R
        ~w0#a F term(2,Error)
        ~J Failed=True done
        @3600
        ~w0#a disrupted({reason})
        ~w0#a deleting
        xw0#a
    """)
    assert (story.ended() or ("",))[0] == "permanent-exit"


def test_a_pod_that_the_kubelet_evicted_had_not_been_deleted_while_it_ran() -> None:
    """It was Failed when the operator cleaned up."""
    story = Story(policy="Never").run("""
        +J Created=True
        +w0#a R
        ~w0#a F reason=Evicted disrupted(TerminationByKubelet)
        ~J Failed=True done
        ~w0#a deleting
        xw0#a
    """)
    assert story.ended() == (
        "policy-never",
        "Failed: worker 0 failed under restart policy Never (evicted by the kubelet).",
    )


def test_a_failure_that_is_retried_gives_way_to_one_that_is_final() -> None:
    """Under ExitCode 137 is retried; what failed the job came a second later."""
    story = Story().run("""
        +J Created=True
        +w0#a R
        +w1#a R
        ~w0#a F term(137,Error)
        ~w1#a F term(2,Error)
        ~J Failed=True done
    """)
    assert (story.ended() or ("", ""))[1].startswith("Failed: worker 1 exited 2")


def test_a_pod_of_an_earlier_run_segment_did_not_fail_the_job() -> None:
    """Suspended and resumed; one pod is held by a finalizer, Failed, and is what the operator sees under limit 0."""
    story = Story(policy="Never", backoff_limit=0).run(f"""
        +J Created=True
        +w0#a R
        +w1#a R
        ~J suspend
        ~w0#a deleting
        ~w1#a deleting held(hold)
        ~w0#a F term(143,Error)
        xw0#a
        ~w1#a F term(143,Error)
        ~J Suspended=True
        @30
        ~J resume Suspended=False
        ~J Created=True Suspended=False Failed=True done {BACKOFF}
    """)
    assert story.ended() == (
        "backoff-zero",
        "Failed: with backoffLimit 0 the first failure ends the job (worker 1: deleted, exit 143).",
    )


def test_two_pods_deleted_before_they_ran() -> None:
    """Pending pods are no failure before their phase is Failed, whichever was told to go first."""
    story = Story("XGBoostJob", policy="OnFailure").run("""
        +J Created=True
        +w0#a Pe
        +w1#a Pe
        ~w0#a deleting
        ~w1#a deleting
        ~w1#a F term(137,ContainerStatusUnknown)
        ~J Failed=True done
        ~w0#a F term(137,ContainerStatusUnknown)
    """)
    assert (story.ended() or ("", ""))[1].startswith("Failed: worker 1 failed")


def test_a_deletion_alone_does_not_fail_a_volcano_job() -> None:
    """What its policies say about it does."""
    story = Story("Job", policies={"main": "Never"}).run("+J phase=Running\n+n0#a R\n~n0#a deleting\n~J phase=Failed")
    assert story.ended() == ("replica-failed", "Failed: main 0 failed (deleted).")


def test_a_main_exit_0_with_a_sidecar_that_failed() -> None:
    story = Story().run("+J Created=True\n+w0#a R side(metrics,3)\n~w0#a F term(0,Completed)\n~J Failed=True")
    assert story.ended() == (
        "exit-before-sidecar",
        "Failed: worker 0 exited 0, but its pod failed (sidecar metrics exited 3), "
        "and under ExitCode that is not retried.",
    )


def test_pods_that_go_with_the_job_are_not_its_cause() -> None:
    """Worker 1 failed under Never; the others are cleaned up, and worker 0 even before its failure is read."""
    story = Story(policy="Never").run("""
        +J Created=True
        +w0#a R
        +w1#a R
        +w2#a R
        ~w1#a F term(9,Error)
        ~J Failed=True done says="PyTorchJob ns/job has failed because 1 Worker replica(s) failed."
        @30
        ~w0#a deleting
        ~w2#a deleting
        xw0#a
        xw2#a
    """)
    assert (story.ended() or ("", ""))[
        1
    ] == "Failed: worker 1 failed under restart policy Never (exit 9 (undefined, permanent))."


def test_the_type_that_the_operator_names_is_believed() -> None:
    """A worker had failed before; the message says that the master did."""
    story = Story(policies={"master": "ExitCode"}).run("""
        +J Created=True
        +m0#a R
        +w0#a R
        ~w0#a F term(138,Error)
        ~m0#a F term(2,Error)
        ~J Failed=True says="PyTorchJob ns/job has failed because 1 Master replica(s) failed."
    """)
    assert (story.ended() or ("", ""))[1].startswith("Failed: master 0 exited 2")


@pytest.mark.parametrize(
    ("says", "code", "sentence"),
    [
        ('says="quota exceeded: 100% of cpu"', "failed", "Failed: quota exceeded: 100% of cpu"),
        ("", "failed", "Failed: PyTorchJob Failed"),
    ],
)
def test_a_failure_of_which_no_pod_tells(says: str, code: str, sentence: str) -> None:
    assert Story().run(f"+J Created=True\n~J Failed=True {says}").ended() == (code, sentence)


def test_pods_that_fail_after_the_verdict_are_not_its_cause() -> None:
    """The operator failed the job for a reason of its own; its pods went half a minute later."""
    story = Story("TFJob").run(
        '+J Created=True\n+w0#a R\n~J Failed=True says="no such queue"\n@30\n~w0#a deleting\nxw0#a'
    )
    assert story.ended() == ("failed", "Failed: no such queue")


def test_maxretry_of_a_volcano_job() -> None:
    story = Story("Job", policies={"main": "Never"}, backoff_limit=2).run("""
        +J phase=Running
        +n0#a R
        ~n0#a F term(3,Error)
        ~J phase=Failed retry=2
    """)
    assert story.ended() == ("max-retry", "Failed: maxRetry 2 was reached by 2 restarts of the gang.")


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("xJ", "job-deleted", "Deleted while it was Restarting."),
        ("?J", "job-vanished", "Gone while nobody watched; it was last seen Restarting."),
    ],
)
def test_a_job_that_is_gone(line: str, code: str, sentence: str) -> None:
    assert Story().run(f"+J Created=True Restarting=True\n{line}").ended() == (code, sentence)


def test_a_job_of_which_only_pods_were_seen() -> None:
    assert Story().run("+w0#a R\nxw0#a").ended() is None
