"""Situations that people have reported, told as watch events with the right answer: restarts and how jobs end."""

import itertools

import pytest

from tests.domain.story import Story

KUBEFLOW = ["TFJob", "PyTorchJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"]
RECREATING = [kind for kind in KUBEFLOW if kind != "MPIJob"]


def killed(replica: str, letters: str, code: str = "137,OOMKilled") -> str:
    """A replica's pods that run, fail and are deleted, one after the other."""
    return "\n".join(
        f"+{replica}#{a} Pe\n~{replica}#{a} R\n~{replica}#{a} F term({code})\n~{replica}#{a} deleting\nx{replica}#{a}"
        for a in letters
    )


@pytest.mark.parametrize("kind", RECREATING)
@pytest.mark.parametrize(("replica", "replica_type"), [("m0", "master"), ("w0", "worker")])
def test_four_oom_kills_of_which_kubectl_shows_none(kind: str, replica: str, replica_type: str) -> None:
    """Row 1: a replica is OOM-killed and recreated four times, though backoffLimit is 2."""
    story = Story(kind, policies={replica_type: "ExitCode"}, backoff_limit=2).run("+J Created=True")
    story.run(killed(replica, "abcd")).run(f"+{replica}#e Pe\n~{replica}#e R\n~J Created=True Running=True")
    report = story.report()
    assert (report["true_restarts"], report["kubectl_restarts"], report["hidden_restarts"]) == (4, 0, 4)
    assert [code for code, _ in story.causes(replica)] == ["oom"] * 4 + [None]
    assert report["state"] == "Running"
    assert story.told(60)["backoff-limit-not-enforced"] == (
        "backoffLimit 2 is not enforced under ExitCode: 4 restarts so far."
    )


def test_a_limit_that_was_not_reached_is_no_finding() -> None:
    story = Story(backoff_limit=2).run("+J Created=True").run(killed("w0", "a")).run("+w0#b R")
    assert "backoff-limit-not-enforced" not in story.told(60)


@pytest.mark.parametrize("workers", [("w0",), ("w0", "w1")])
def test_a_restart_that_the_condition_never_showed(workers: tuple[str, ...]) -> None:
    """Row 2: the job only ever says Running; its Events repeat. The pods tell."""
    story = Story().run("+J Created=True Running=True")
    for replica in workers:
        story.run(killed(replica, "a")).run(f"+{replica}#b Pe\n@{story.now - 1_800_000_000 + 4}\n~{replica}#b R")
    story.run("+E1 PyTorchJobRestarting x2 PyTorchJob job is restarting because 1 Worker replica(s) failed.")
    report = story.report()
    assert report["true_restarts"] == len(workers)
    assert report["restarting_condition"] == []
    assert [span["seen_by"] for span in report["restarting"]] == [["pods"]] * len(workers)


@pytest.mark.parametrize("done", ["", "done"])
def test_a_permanent_exit_code_ends_the_job_and_its_ttl_never_fires(done: str) -> None:
    """Row 4: exit 1 under ExitCode; the job is Failed without a completion time, whatever its last Event says."""
    story = Story(ttl=60).run(f"""
        +J Created=True
        +w0#a R
        ~w0#a F term(1,Error)
        @20
        ~J Created=True Running=False Failed=True {done}
        +E1 PyTorchJobRestarting x1 restarting
    """)
    report = story.report()
    assert (report["state"], report["true_restarts"]) == ("Failed", 0)
    assert report["finished_at"] == "2027-01-15T08:00:20Z"
    assert story.ended() == (
        "permanent-exit",
        "Failed: worker 0 exited 1, and under ExitCode a code below 128 is not retried.",
    )
    told = story.told(60)
    assert ("ttl-never-fires" in told) is not bool(done)


@pytest.mark.parametrize("kind", RECREATING)
@pytest.mark.parametrize("policy", ["ExitCode", "OnFailure", "Always"])
@pytest.mark.parametrize("asked", ["", "~w0#a deleting bare"])
@pytest.mark.parametrize("workers", [("w0",), ("w0", "w1")])
def test_an_eviction_without_container_statuses(kind: str, policy: str, asked: str, workers: tuple[str, ...]) -> None:
    """Row 5: phase Failed, reason Evicted with a message, nothing about containers."""
    story = Story(kind, policy=policy).run("+J Created=True")
    for replica in workers:
        story.run(f"+{replica}#a R")
        facts = story.facts[f"{replica}#a"]
        story.facts[f"{replica}#a"] = facts._replace(status_message="The node was low on resource: memory.")
        story.run(
            f"~{replica}#a F reason=Evicted bare\n{asked.replace('w0', replica)}\nx{replica}#a bare\n+{replica}#b R"
        )
        pod = story.replica(replica)["pods"][0]
        assert (pod["cause_code"], pod["exit_code"], pod["reason"]) == ("evicted-kubelet", None, "Evicted")
        assert (pod["message"], pod["ends"]) == ("The node was low on resource: memory.", [])
    assert story.report()["true_restarts"] == len(workers)


@pytest.mark.parametrize("disruption", ["", "disrupted(EvictionByEvictionAPI)"])
@pytest.mark.parametrize("failed_first", [True, False])
@pytest.mark.parametrize("policy", ["OnFailure", "ExitCode", "Never", "Always"])
def test_a_deleted_pod_fails_a_tfjob(disruption: str, failed_first: bool, policy: str) -> None:
    """Row 6: Running with a deletionTimestamp counts as failed at once; the 143 comes before or after the verdict."""
    says = "TFJob ns/job has failed because 1 Worker replica(s) failed."
    lines = [
        f'~J Created=True Running=False Failed=True done says="{says}"',
        "~w1#a F term(143,Error)",
    ]
    story = Story("TFJob", policy=policy).run("+J Created=True Running=True\n+w0#a R\n+w1#a R\n+w2#a R")
    story.run(f"~w1#a R deleting {disruption}")
    story.run("\n".join(lines if failed_first else reversed(lines))).run("xw1#a")
    cause = ("evicted-api", "evicted by the API") if disruption else ("deleted", "deleted, exit 143")
    assert story.causes("w1") == [cause]
    assert (story.report()["state"], story.report()["true_restarts"]) == ("Failed", 0)
    assert story.ended() == (
        "pod-deleted",
        f"Failed: the pod of worker 1 was deleted while it ran ({cause[1]}), which fails a TFJob.",
    )


@pytest.mark.parametrize("kind", ["PyTorchJob", "PaddleJob", "JAXJob"])
def test_a_deleted_pod_restarts_other_kinds(kind: str) -> None:
    """The same deletion of a PyTorchJob's pod is a restart."""
    story = Story(kind, policy="OnFailure").run("""
        +J Created=True Running=True
        +w1#a R
        ~w1#a deleting
        ~w1#a F term(143,Error)
        xw1#a
        +w1#b R
    """)
    assert story.replica("w1")["true_restarts"] == 1
    assert story.causes("w1")[0] == ("deleted", "deleted, exit 143")
    assert story.ended() is None


@pytest.mark.parametrize("counts", [(1, 2, 1, 3), (3, 1), (1, 3, 0), (2, 3, 3, 2)])
@pytest.mark.parametrize("kind", KUBEFLOW)
def test_a_restart_count_that_falls(kind: str, counts: tuple[int, ...]) -> None:
    """Row 7: the kubelet's count of one pod goes up and down; the highest counts."""
    story = Story(kind, policy="OnFailure").run("+J Created=True\n+w0#a R")
    for count in counts:
        story.run(f"~w0#a rc={count}")
    assert story.replica("w0")["true_restarts"] == 3


@pytest.mark.parametrize("kind", KUBEFLOW)
def test_restarts_in_place_of_both_pods_and_the_recreation_between(kind: str) -> None:
    """Row 8: two restarts in place, an eviction, one more in place: four."""
    story = Story(kind, policy="OnFailure").run("""
        +J Created=True
        +w0#a R
        ~w0#a rc=1
        ~w0#a rc=2
        ~w0#a F reason=Evicted bare
        xw0#a
        +w0#b R
        ~w0#b rc=1
    """)
    replica = story.replica("w0")
    assert (replica["true_restarts"], replica["kubectl_restarts"], replica["hidden_restarts"]) == (4, 1, 3)


def test_init_restarts_reach_the_backoff_limit() -> None:
    """Row 9: a worker waits in vain for its master; the job fails when the pod runs and its restarts are added up."""
    story = Story(policy="OnFailure", backoff_limit=3).run("+J Created=True\n+w0#a Pe init(init-pytorch)")
    for count in (1, 2, 3):
        story.run(f"~w0#a init(init-pytorch,1,rc={count})")
    story.run("""
        ~w0#a R init(init-pytorch,0,rc=3)
        ~J Created=True Failed=True done says="Job job has failed because it has reached the specified backoff limit"
        ~w0#a deleting
        ~w0#a F term(143,Error)
        xw0#a
    """)
    replica = story.replica("w0")
    assert (replica["true_restarts"], replica["init_restarts"]) == (0, 3)
    assert story.ended() == (
        "backoff-limit",
        "Failed: backoffLimit 3 was reached by 3 restarts in place (worker 0: 3).",
    )
    assert replica["pods"][0]["exit_code"] == 143
    assert replica["pods"][0]["cause"] == "deleted, exit 143"


@pytest.mark.parametrize("kind", KUBEFLOW)
@pytest.mark.parametrize("late", [False, True])
def test_suspended_and_resumed(kind: str, late: bool) -> None:
    """Row 12: the pods go, then the job says Suspended; it comes back as new pods. Nothing was restarted."""
    story = Story(kind).run("""
        +J Created=True Running=True
        +PG Running
        +w0#a R
        ~J suspend
        ~w0#a deleting
        ~w0#a F term(143,Error)
        xw0#a
        xPG
    """)
    suspended = """
        @9
        ~J Created=True Running=False Suspended=True
        @20
        ~J resume
        ~J Created=True Running=False Suspended=False
    """
    pods = "@22\n+PG:2 Pending\n+w0#b Pe\n~w0#b R"
    story.run("\n".join((pods, suspended) if late else (suspended, pods)))
    story.run("@30\n~J Created=True Suspended=False Running=True")
    report = story.report()
    assert (report["true_restarts"], report["state"]) == (0, "Running")
    assert [segment["end"] is None for segment in report["segments"]] == [False, True]
    assert story.replica("w0")["pods"][0]["excluded"] == "suspended"


def test_a_volcano_job_that_was_aborted_and_resumed() -> None:
    """The same of a Volcano Job, whose phase says Aborted."""
    story = Story("Job", policies={"main": "Never"}).run("""
        +J phase=Running
        +n0#a R
        ~J phase=Aborting
        ~n0#a deleting
        xn0#a
        ~J phase=Aborted
        @20
        ~J phase=Pending
        +n0#b R
        ~J phase=Running
    """)
    assert story.report()["true_restarts"] == 0
    assert len(story.report()["segments"]) == 2


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ("Created=True Running=False Succeeded=True Failed=True", "Failed"),
        ("Created=True Restarting=True Succeeded=True", "Succeeded"),
        ("Created=True Restarting=True Failed=True", "Failed"),
    ],
)
@pytest.mark.parametrize("kind", KUBEFLOW)
def test_end_states_that_contradict_themselves(kind: str, conditions: str, state: str) -> None:
    """Row 13: whatever else is True, and in any order."""
    for order in itertools.permutations(conditions.split()):
        story = Story(kind).run("+J " + " ".join(order))
        assert story.report()["state"] == state
        both = "Succeeded=True" in order and "Failed=True" in order
        assert (story.ended() or ("", ""))[0] == "failed-after-success" or not both


@pytest.mark.parametrize("kind", KUBEFLOW)
def test_a_job_of_the_same_name_while_the_old_pod_terminates(kind: str) -> None:
    """Row 15: two jobs in the list, and the new one has no restart."""
    story = Story(kind).run("""
        +J Created=True
        +w0#a R
        ~w0#a deleting
        xJ
        +J:2 Created=True
        +E1 FailedCreatePod x1 of=J:2
        ~w0#a F term(143,Error)
        xw0#a
        +w0#b R of=J:2
    """)
    assert len(story.jobs) == 2
    assert story.replica("w0", "J:2")["true_restarts"] == 0
    assert story.replica("w0", "J")["true_restarts"] == 0
    assert story.ended("J") == ("job-deleted", "Deleted while it was Created.")


@pytest.mark.parametrize("kind", RECREATING)
@pytest.mark.parametrize("asked", ["", "~w1#a deleting"])
def test_a_completed_replica_is_run_again(kind: str, asked: str) -> None:
    """Row 16: a recreation, flagged, and no failure."""
    story = Story(kind, policy="OnFailure").run(f"""
        +J Created=True Running=True
        +w1#a R
        ~w1#a S term(0,Completed)
        {asked or "."}
        xw1#a
        +w1#b R
    """)
    replica = story.replica("w1")
    assert (replica["true_restarts"], replica["flags"]) == (1, ["completed-replica-run-again"])
    assert replica["pods"][0]["cause_code"] == "completed"
    assert story.told(10) == {"completed-run-again": "worker 1 had completed and was run again."}


def test_a_program_that_ends_well_on_sigterm_had_not_completed() -> None:
    """Deleted while it ran, it traps SIGTERM and exits 0."""
    story = Story().run("""
        +J Created=True Running=True
        +w1#a R
        ~w1#a deleting
        .
        ~w1#a S term(0,Completed)
        xw1#a
        +w1#b R
    """)
    assert story.replica("w1")["flags"] == []
    assert story.causes("w1")[0] == ("deleted", "deleted, exit 0")
