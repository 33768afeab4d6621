"""The count: what is a restart, of which kind, and what kubectl shows of it."""

import pytest

from tests.domain.story import Story


def test_recreations_count_though_kubectl_shows_none() -> None:
    """A master is OOM-killed four times; the operator deletes it each time and creates it again."""
    story = Story("PyTorchJob", policies={"master": "ExitCode"}, backoff_limit=2).run("+J Created=True")
    for letter in "abcd":
        story.run(f"""
            +m0#{letter} Pe
            ~m0#{letter} R
            ~m0#{letter} F term(137,OOMKilled)
            xm0#{letter}
        """)
    story.run("""
        +m0#e Pe
        ~m0#e R
        ~J Created=True Running=True
    """)
    report = story.report()
    assert (report["true_restarts"], report["kubectl_restarts"], report["hidden_restarts"]) == (4, 0, 4)
    assert [pod["cause_code"] for pod in story.replica("m0")["pods"]] == ["oom"] * 4 + [None]
    assert report["state"] == "Running"
    assert not report["at_least"]


def test_a_restart_count_that_falls_keeps_its_maximum() -> None:
    """The kubelet reports 0, 1, 2, 1, 3 of one pod."""
    story = Story(policy="OnFailure").run("+J Created=True\n+w0#a R")
    for count in (1, 2, 1, 3):
        story.run(f"~w0#a rc={count}")
    assert story.replica("w0")["in_place_restarts"] == 3
    assert story.replica("w0")["true_restarts"] == 3


def test_in_place_restarts_and_recreations_add_up() -> None:
    """Two restarts in place, an eviction, and one more restart in place of the successor."""
    replica = (
        Story(policy="OnFailure")
        .run("""
        +J Created=True
        +w0#a R
        ~w0#a rc=1
        ~w0#a rc=2
        ~w0#a F reason=Evicted
        xw0#a
        +w0#b R
        ~w0#b rc=1
    """)
        .replica("w0")
    )
    assert (replica["recreations"], replica["in_place_restarts"], replica["true_restarts"]) == (1, 3, 4)
    assert (replica["kubectl_restarts"], replica["hidden_restarts"]) == (1, 3)


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"])
def test_a_suspension_explains_a_recreation(kind: str) -> None:
    """Suspended and resumed: the pods come back as new ones, and nothing was restarted."""
    report = (
        Story(kind)
        .run("""
        +J Created=True
        +w0#a R
        ~J Created=True Running=True
        ~J suspend
        ~w0#a deleting
        ~w0#a F term(143,Error)
        xw0#a
        ~J Created=True Running=False Suspended=True
        .
        ~J resume
        ~J Created=True Running=False Suspended=False
        +w0#b Pe
        ~w0#b R
        ~J Created=True Suspended=False Running=True
    """)
        .report()
    )
    assert report["true_restarts"] == 0
    assert report["state"] == "Running"
    assert len(report["segments"]) == 2
    assert report["segments"][1]["end"] is None
    assert report["restarting"] == []


def test_a_suspension_does_not_explain_a_restart_before_or_after_it() -> None:
    """One failure, then suspend and resume, then another failure: two restarts."""
    story = Story().run("""
        +J Created=True
        +w0#a R
        ~w0#a F term(138,Error)
        xw0#a
        +w0#b R
        ~w0#b deleting
        xw0#b
        ~J Created=True Suspended=True
        .
        ~J Created=True Suspended=False
        +w0#c R
        ~w0#c F term(138,Error)
        xw0#c
        +w0#d R
    """)
    assert story.replica("w0")["true_restarts"] == 2
    assert [pod["was_restart"] for pod in story.replica("w0")["pods"]] == [True, False, True, False]


def test_a_suspension_that_is_read_late_explains_all_the_same() -> None:
    """The pods' stream is read to its end before the job's: the count is the same."""
    story = Story().run("""
        +J Created=True
        +w0#a R
        xw0#a
        @20
        +w0#b R
    """)
    assert story.replica("w0")["true_restarts"] == 1
    story.run("@10\n~J Created=True Suspended=True")
    assert story.replica("w0")["true_restarts"] == 0
    assert story.replica("w0")["pods"][0]["excluded"] == "suspended"


def test_scaling_down_and_up_is_no_restart() -> None:
    """Worker 2 is scaled away and comes back; worker 0 restarts in the meantime."""
    story = Story(workers=3).run("""
        +J Created=True
        +w0#a R
        +w2#a R
        ~J worker=2
        ~w2#a deleting
        xw2#a
        ~w0#a F term(138,Error)
        xw0#a
        +w0#b R
        ~J worker=3
        +w2#b R
    """)
    assert story.replica("w2")["true_restarts"] == 0
    assert story.replica("w0")["true_restarts"] == 1


def test_a_completed_replica_that_runs_again_counts_and_is_flagged() -> None:
    """Its pod is deleted by a person after exit 0: a recreation, not a failure."""
    story = Story().run("""
        +J Created=True
        +w1#a R
        ~w1#a S term(0,Completed)
        .
        ~w1#a deleting
        xw1#a
        +w1#b R
        ~J Created=True Running=True
    """)
    replica = story.replica("w1")
    assert replica["true_restarts"] == 1
    assert replica["flags"] == ["completed-replica-run-again"]
    assert replica["pods"][0]["cause_code"] == "completed"
    # The restart begins with the deletion, not with the exit 0.
    assert story.report()["restarting"][0]["start"] == "2027-01-15T08:00:04Z"


def test_a_recreation_under_policy_never_is_unexpected() -> None:
    replica = (
        Story(policy="Never")
        .run("""
        +J Created=True
        +w0#a R
        ~w0#a F term(1,Error)
        xw0#a
        +w0#b R
    """)
        .replica("w0")
    )
    assert replica["true_restarts"] == 1
    assert "unexpected-for-policy-never" in replica["flags"]


def test_a_job_of_the_same_name_is_another_job() -> None:
    """A pod of the old job still terminates while the new one is there."""
    story = Story().run("""
        +J Created=True
        +w0#a R
        ~w0#a deleting
        xJ
        +J:2 Created=True
        ~w0#a F term(143,Error)
        xw0#a
        +w0#b Pe of=J:2
        ~w0#b R of=J:2
    """)
    assert story.report("J")["true_restarts"] == 0
    assert not story.report("J")["present"]
    assert story.replica("w0", "J:2")["true_restarts"] == 0
    assert story.replica("w0", "J:2")["incarnations"] == 1


def test_init_restarts_are_not_the_main_containers() -> None:
    """A worker waits for its master: three init restarts, then the job fails by backoffLimit and the pods go."""
    story = Story(policy="OnFailure", backoff_limit=3).run("+J Created=True\n+w0#a Pe init(init-pytorch)")
    for count in (1, 2, 3):
        story.run(f"~w0#a init(init-pytorch,1,rc={count})")
    assert story.replica("w0")["kubectl_restarts"] == 3  # kubectl shows the init containers' while initialising
    story.run("""
        ~w0#a R init(init-pytorch,0,rc=3)
        ~J Created=True Running=False Failed=True
        ~w0#a deleting
        xw0#a
    """)
    replica = story.replica("w0")
    assert (replica["true_restarts"], replica["init_restarts"]) == (0, 3)
    assert replica["kubectl_restarts"] == 0
    assert story.report()["state"] == "Failed"


def test_a_failing_sidecar_shows_in_kubectl_and_nowhere_else() -> None:
    replica = (
        Story(policy="OnFailure")
        .run("""
        +J Created=True
        +w0#a R side(metrics)
        ~w0#a side(metrics,3,rc=1)
        ~w0#a side(metrics,3,rc=3)
    """)
        .replica("w0")
    )
    assert (replica["true_restarts"], replica["kubectl_restarts"], replica["hidden_restarts"]) == (0, 3, 0)
    assert replica["sidecar_restarts"] == 3


def test_duplicates_and_stale_versions_change_nothing() -> None:
    story = Story().run("""
        +J Created=True
        +w0#a R
        ~w0#a F term(138,Error)
        xw0#a
        +w0#b R
    """)
    before = story.report()
    version, story.version = story.version, 100  # the same versions once more
    story.run("+J Created=True\n+w0#a R\n~w0#a F term(1,Error)")
    story.version = version
    assert story.report() == before
