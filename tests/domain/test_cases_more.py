"""Situations that people have reported, told as watch events with the right answer: gangs, gaps, what is stuck."""

import pytest

from jobs.domain.facts import JobFacts
from jobs.domain.phases import phases
from jobs.domain.state import PODGROUP_LANE
from tests.domain.story import Story

KUBEFLOW = ["TFJob", "PyTorchJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"]


@pytest.mark.parametrize("kind", [*KUBEFLOW, "Job"])
def test_a_successor_that_comes_before_the_old_pod_is_gone(kind: str) -> None:
    """Row 17: two pods of one replica at the same time."""
    story = Story(kind, policies={"main": "OnFailure"}).run("""
        +J Created=True
        +n0#a R
        ~n0#a deleting
        +n0#b R
        xn0#a
    """)
    assert len(story.report()["replicas"]) == 1
    replica = story.replica("n0")
    assert replica["true_restarts"] == 1
    assert [pod["uid"] for pod in replica["pods"]] == ["uid-n0#a", "uid-n0#b"]
    assert replica["state"] == "Running"


def test_a_podgroup_that_makes_the_job_wait_and_flips_during_a_restart() -> None:
    """Row 18: 300 writes that change nothing, one wait for the PodGroup, one restart; finished stays finished."""
    story = Story().run("+J Created=True\n+PG Pending")
    job = story.jobs["uid-J"]
    for _ in range(300):
        story.run("~J")
    assert {lane: len(spans) for lane, spans in job.spans.items()} == {"state": 1, "podgroup": 1}
    story.run("""
        ~PG Inqueue
        +w0#a R
        ~PG Running
        ~J Created=True Running=True
        ~w0#a F term(138,Error)
        xw0#a
        ~PG Pending
        +w0#b Pe
        ~PG Inqueue
        ~w0#b R
        ~PG Running
        ~w0#b S term(0,Completed)
        ~J Created=True Running=False Succeeded=True done
        xPG
    """)
    report = story.report()
    assert (report["state"], report["true_restarts"]) == ("Succeeded", 1)
    told = phases(job.spans[PODGROUP_LANE])
    assert [phase.value for phase in told][:3] == ["Pending", "Inqueue", "Running"]
    assert told[0].end is not None and told[0].end - (told[0].start or 0.0) == 301.0
    assert story.told(400) == {}


def test_seen_again_cut_and_listed_anew() -> None:
    """Row 19: duplicates change nothing; after the gap a pod is missing and another one there: at least one restart."""
    story = Story().run(
        "+J Created=True Running=True\n+w0#a R\n+w1#a R\n+E1 SuccessfulCreatePod x1 Created pod: job-worker-0"
    )
    before = story.report()
    version, story.version = story.version, 100
    story.run("+J Created=True Running=True\n+w0#a R\n+w1#a R")
    story.version = version
    assert {**story.report(), "findings": None, "cost": None} == {**before, "findings": None, "cost": None}
    story.run("@60\n?w0#a\n=w0#c R\n=w1#a R").gap(10, 60)
    story.run("xE1 SuccessfulCreatePod x1 Created pod: job-worker-0")
    report = story.report()
    assert (report["true_restarts"], report["at_least"]) == (1, True)
    assert [pod["uid"] for pod in story.replica("w0")["pods"]] == ["uid-w0#a", "uid-w0#c"]
    assert story.causes("w0")[0] == ("unknown", "no exit code seen")
    assert len(report["unobserved"]) == 1


def test_one_node_dies_and_a_thousand_replicas_restart() -> None:
    """Row 21: the others restart in place at different moments within minutes: one wave that names the first."""
    story = Story(policy="OnFailure", workers=1000, check_sums=False).run("+J Created=True Running=True")
    for index in range(1000):
        story.run(f"@{index / 100}\n+w{index}#a R" + (" node=las7" if index == 417 else ""))
    story.run("@100\n~w417#a deleting disrupted(DeletionByTaintManager)\n~w417#a F term(143,Error)\nxw417#a")
    for index in range(1000):
        if index != 417:
            story.run(f"@{105 + index / 5}\n~w{index}#a term(1,Error)\n~w{index}#a running last(1,Error) rc=1")
    story.run("@400\n+w417#b R")
    report = story.report()
    assert report["true_restarts"] == 1000
    assert {replica["true_restarts"] for replica in report["replicas"]} == {1}
    told = story.told(400)
    assert set(told) == {"restart-wave-node"}
    assert told["restart-wave-node"] == (
        "Restart wave: 1000 restarts of 1000 replicas within 3 min, in which node las7 was lost; "
        "worker 417 was first: node las7 lost."
    )


@pytest.mark.parametrize("state", ["Succeeded", "Failed"])
def test_pods_left_running_after_the_end(state: str) -> None:
    """Row 22: the chief is done, three workers run on."""
    story = Story("TFJob", policies={"chief": "Never"}).run(f"""
        +J Created=True Running=True
        +c0#a R
        +w0#a R
        +w1#a R
        +w2#a R
        ~c0#a S term(0,Completed)
        ~J Created=True Running=False {state}=True done
    """)
    assert story.report()["state"] == state
    assert story.told(60)["pods-left-running"] == (
        f"The job is {state}, but 3 pods are still running: job-worker-0, job-worker-1, job-worker-2."
    )
    assert "pods-left-running" not in story.told(10)  # the operator is given time to clean up
    story.run("~w0#a deleting\nxw0#a\n~w1#a F term(143,Error)")
    assert "1 pod is still running: job-worker-2" in story.told(60)["pods-left-running"]


def test_a_crash_looping_worker_of_a_running_job() -> None:
    """Row 23: the master runs, a worker is held back by the kubelet."""
    story = Story(policies={"master": "OnFailure"}, policy="OnFailure").run("""
        +J Created=True Running=True
        +m0#a R
        +w0#a R
        ~w0#a term(1,Error)
        ~w0#a running rc=1 last(1,Error)
        ~w0#a term(1,Error)
        ~w0#a waiting(CrashLoopBackOff) last(1,Error)
    """)
    assert story.report()["state"] == "Running"
    replica = story.replica("w0")
    assert (replica["flags"], replica["state"], replica["true_restarts"]) == (["crash-loop"], "CrashLoopBackOff", 1)
    assert story.replica("m0")["state"] == "Running"
    assert story.told(10)["crash-loop"] == ("worker 0 is crash-looping (restarts: 1), held back by the kubelet.")
    story.run("~w0#a running rc=2")
    assert (story.replica("w0")["flags"], "crash-loop" in story.told(20)) == ([], False)


@pytest.mark.parametrize("phase", ["Inqueue", "Running"])
def test_a_gang_that_is_admitted_and_gets_no_pods(phase: str) -> None:
    """Row 24: ten minutes after its admission there is not one pod."""
    story = Story().run(f"+J Created=True\n+PG Pending\n~PG {phase}")
    assert story.told(603)["admitted-without-pods"] == ("The gang is admitted, but pods were not created for 10 min.")
    assert "admitted-without-pods" not in story.told(30)
    story.run("+w0#a Pe")
    assert "admitted-without-pods" not in story.told(603)


def test_a_gang_that_waits_for_room() -> None:
    story = Story().run("+J Created=True\n+PG\n~PG Pending")
    assert story.told(121) == {"gang-waits": "The gang has waited for room for 2 min."}
    story.run("xJ\nxPG")
    assert story.told(300) == {}


@pytest.mark.parametrize(
    ("phase", "reserves"),
    [("Inqueue", True), ("Running", True), ("Unknown", True)]
    + [(phase, False) for phase in ("Pending", "Completed", "Finished")],
)
def test_a_podgroup_that_reserves_resources_for_a_failed_job(phase: str, reserves: bool) -> None:
    """Row 25: the job has failed, its PodGroup is still admitted."""
    story = Story().run(f"+J Created=True\n+PG {phase}\n~J Created=True Failed=True done")
    told = story.told(300)
    assert ("podgroup-reserves" in told) == reserves
    if reserves:
        assert told["podgroup-reserves"] == (
            f"The PodGroup ({phase}) still reserves resources, 4 min after the job's end."
        )
    story.run("xPG")
    assert "podgroup-reserves" not in story.told(300)


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        ("1,Error", ("exit", "exit 1 (permanent)")),
        ("1,OOMKilled", ("oom", "OOM killed (exit 1)")),
        ("0,OOMKilled", ("oom", "OOM killed (exit 0)")),
        ("137,Error", ("exit", "exit 137 (retryable)")),
        ("137,OOMKilled", ("oom", "OOM killed (exit 137)")),
    ],
)
def test_oom_is_said_by_the_reason_only(end: str, cause: tuple[str, str]) -> None:
    """Row 26: a child process was killed; the code alone proves nothing."""
    assert Story().run(f"+J Created=True\n+w0#a R\n~w0#a F term({end})").causes("w0") == [cause]


def test_a_pod_that_terminates_for_hours() -> None:
    """Row 27: its node is lost. No restart until there is a new pod."""
    story = Story().run("""
        +J Created=True Running=True
        +w0#a R node=las2
        @60
        ~w0#a deleting disrupted(DeletionByTaintManager)
    """)
    assert story.told(7290)["terminating"] == "worker 0 has been terminating for 2 h (node las2)."
    assert "terminating" not in story.told(120)
    replica = story.replica("w0")
    assert (replica["state"], replica["true_restarts"]) == ("Terminating", 0)
    assert story.causes("w0") == [("node-lost", "node las2 lost")]
    story.run("@7300\n~w0#a F term(143,Error)\nxw0#a\n+w0#b R")
    assert (story.replica("w0")["state"], story.replica("w0")["true_restarts"]) == ("Running", 1)
    assert "terminating" not in story.told(7400)


def test_a_finalizer_that_holds_a_pod() -> None:
    story = Story().run("+J Created=True\n+w0#a R held=example.com/hold\n~w0#a deleting")
    assert story.told(300)["terminating-finalizer"] == (
        "worker 0 has been terminating for 4 min: held by finalizer example.com/hold."
    )


@pytest.mark.parametrize(
    ("line", "state"),
    [("+J bare", "Unknown"), ("+J Created=True Running=Unknown", "Created"), ("+J Suspended=Unknown", "Unknown")],
)
def test_a_status_that_says_nothing(line: str, state: str) -> None:
    """Row 28: shown as unknown; what follows is counted as ever."""
    story = Story().run(line)
    job = story.jobs["uid-J"]
    assert isinstance(job.facts, JobFacts)
    assert story.report()["state"] == state
    story.run("+w0#a bare\n~w0#a F bare\nxw0#a bare\n+w0#b R")
    assert story.replica("w0")["true_restarts"] == 1
    assert story.causes("w0")[0] == ("unknown", "deleted, no exit code seen")


@pytest.mark.parametrize("phase", ["Dreaming", "", "Unknown"])
def test_a_pod_phase_that_nobody_knows(phase: str) -> None:
    """The same of a pod: it is unknown how it fares, and no end; its successor counts."""
    story = Story().run("+J Created=True\n+w0#a bare")
    story.facts["w0#a"] = story.facts["w0#a"]._replace(phase=phase)
    story.run("~w0#a bare")
    assert story.replica("w0")["state"] == "Unknown"
    assert story.causes("w0") == [(None, None)]
    story.run("xw0#a bare\n+w0#b R")
    assert (story.replica("w0")["state"], story.replica("w0")["true_restarts"]) == ("Running", 1)


def test_a_volcano_phase_that_nobody_knows() -> None:
    assert Story("Job").run("+J phase=Dreaming").report()["state"] == "Unknown"


@pytest.mark.parametrize("restarts", [0, 1])
def test_a_flapping_podgroup_is_one_row(restarts: int) -> None:
    """Row 29: Running, Pending, Inqueue, fifty times."""
    story = Story().run("+J Created=True\n+PG Pending\n@100\n~PG Running\n+w0#a R")
    for _ in range(50):
        story.run("~PG Running\n~PG Pending\n~PG Inqueue")
    for letter in "bc"[:restarts]:
        story.run(f"~w0#a F term(138,Error)\nxw0#a\n+w0#{letter} R")
    story.run("~PG Running\n@400")
    rows = phases(story.jobs["uid-J"].spans[PODGROUP_LANE])
    assert [(row.value, row.flaps) for row in rows] == [("Pending", 0), ("Running", 50), ("Running", 0)]
    assert story.told(500)["podgroup-flaps"] == "The PodGroup flapped 50 times (mostly Running)."


def test_a_podgroup_whose_numbers_change_stays_in_one_phase() -> None:
    story = Story().run("+J Created=True\n+PG Inqueue\n~PG Running running=1\n~PG running=2\n~PG running=3")
    rows = phases(story.jobs["uid-J"].spans[PODGROUP_LANE])
    assert [(row.value, row.end is None) for row in rows] == [("Inqueue", False), ("Running", True)]


@pytest.mark.parametrize("kind", KUBEFLOW)
def test_a_new_pod_under_policy_never(kind: str) -> None:
    """Row 30: it counts, and it is unexpected."""
    story = Story(kind, policy="Never").run("""
        +J Created=True
        +w0#a R
        ~w0#a F term(1,Error)
        xw0#a
        +w0#b R
    """)
    assert story.replica("w0")["flags"] == ["unexpected-for-policy-never"]
    assert story.replica("w0")["true_restarts"] == 1
    assert story.told(10)["unexpected-for-policy-never"] == "worker 0 was recreated: unexpected for policy Never."
