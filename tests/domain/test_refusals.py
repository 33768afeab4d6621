"""Pods that the API server refuses: which are missing now, since when, and in whose words."""

import pytest

from jobs.domain.evidence import rests_on
from jobs.domain.refusals import KEPT, refused
from jobs.domain.report import job_report
from tests.domain.story import BEGIN, Story

POLICY = 'pods "job-worker-0" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
QUOTA = 'pods "job-worker-0" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2'
WEBHOOK = 'admission webhook "no.example" denied the request: not on a Sunday'


def failed(words: str, event: str = "E1", count: int = 1) -> str:
    return f"~{event} FailedCreatePod x{count} Error creating: {words}"


def missing(story: Story) -> list[tuple[str, float]]:
    """The words of each missing pod, and since when in seconds of the script."""
    return [(one.words, one.since - BEGIN) for one in refused(story.jobs["uid-J"])]


def test_a_refused_pod_is_missing_from_the_first_time_on() -> None:
    story = Story().run(f"""
        +J Created=True
        @10
        {failed(POLICY)}
        @50
        {failed(POLICY, count=9)}
    """)
    assert missing(story) == [(POLICY, 10)]
    assert story.told(12) == {}, "what fails by chance is tried again at once"
    assert story.told(60)["replica-refused"] == f"worker 0 could not be created: {POLICY}."


@pytest.mark.parametrize("after", [0, 1, 30])
def test_it_is_no_longer_missing_once_it_was_created(after: int) -> None:
    """In the same second, too: the cluster's times are whole seconds."""
    story = Story().run(f"""
        +J Created=True
        @10
        {failed(QUOTA)}
        @{10 + after}
        +w0#a R
    """)
    assert missing(story) == []


@pytest.mark.parametrize("words", [POLICY, WEBHOOK])
def test_nothing_is_told_of_pods_that_nobody_watches(words: str) -> None:
    """The pod may have been created long since, and the job's own object says that it runs."""
    story = Story().run(f"""
        +J Created=True
        @10
        {failed(words)}
    """)
    assert missing(story.away(11)) == []
    story.run("@20\n~J Created=True Running=True")
    assert not {"replica-refused", "pods-refused"} & set(story.told(1000))
    assert missing(story.back()) == [(words, 10)], "no pod is there"
    story.run("@30\n=w0#a R\n=w1#a R\n=w2#a R")
    assert missing(story) == []


@pytest.mark.parametrize("dated", [11, 13, 16])
def test_a_refusal_of_before_a_pod_may_be_dated_after_its_creation(dated: int) -> None:
    """By another clock, or from an old cache: when the pod is gone, nothing has been said of the next."""
    story = Story(workers=1).run(f"""
        +J Created=True Running=True
        @11
        +w0#a R
        @{dated}
        {failed(QUOTA)}
        @3600
        ~w0#a deleting
        @3601
        xw0#a
    """)
    assert missing(story) == []
    story.run(f"@3602\n{failed(QUOTA, count=2)}")
    assert missing(story) == [(QUOTA, 3601)]


def test_a_pod_that_failed_at_once_cannot_be_made_anew_at_once() -> None:
    story = Story(workers=1).run(f"""
        +J Created=True Running=True
        @11
        +w0#a F term(138,Error)
        @12
        ~w0#a deleting
        @13
        xw0#a
        {failed(QUOTA)}
    """)
    assert missing(story) == [(QUOTA, 14)]


def test_another_pod_of_the_job_changes_nothing() -> None:
    story = Story().run(f"""
        +J Created=True
        @10
        {failed(POLICY)}
        +m0#a R
        +w1#a R
    """)
    assert missing(story) == [(POLICY, 10)]


def test_a_pod_that_cannot_be_made_anew_is_missing_from_the_old_ones_end_on() -> None:
    """The quota's words are those of a refusal before: the same Event counts on."""
    story = Story().run(f"""
        +J Created=True Running=True
        @10
        {failed(QUOTA)}
        @20
        +w0#a R
        @60
        ~w0#a F term(138,Error)
        @61
        ~w0#a deleting
        @62
        xw0#a
        {failed(QUOTA, count=2)}
    """)
    assert missing(story) == [(QUOTA, 62)]
    story.run("@90\n+w0#b R")
    assert missing(story) == []


def test_the_latest_words_are_told_of_several() -> None:
    used = QUOTA.replace("used: pods=2", "used: pods=3")
    story = Story().run(f"""
        +J Created=True
        @10
        {failed(QUOTA, "E1")}
        @20
        {failed(used, "E2")}
    """)
    assert missing(story) == [(used, 10)]


def test_folded_events_are_read_as_well() -> None:
    story = Story().run(f"""
        +J Created=True
        @10
        ~E1 FailedCreatePod x9 (combined from similar events): Error creating: {POLICY}
    """)
    assert missing(story) == [(POLICY, 10)]


@pytest.mark.parametrize(
    ("kind", "said", "words"),
    [
        ("MPIJob", "MPIJobFailed x1 worker pod created failed: ", POLICY),
        ("MPIJob", "MPIJobFailed x1 launcher pod created failed: ", POLICY.replace("worker-0", "launcher")),
        ("TFJob", "FailedCreatePod x1 Error creating: ", POLICY),
    ],
)
def test_each_operators_words(kind: str, said: str, words: str) -> None:
    story = Story(kind, policies={"launcher": "Never"}).run(f"+J Created=True\n@10\n~E1 {said}{words}")
    assert missing(story) == [(words, 10)]


@pytest.mark.parametrize("rest", ['", Reason:"Forbidden", Code:403}}]', '", Reason:"Forb…', "…"])
def test_volcano_prints_the_refusal_in_gos_notation(rest: str) -> None:
    """The first of several, and as much of it as the Event holds."""
    words = 'pods "job-main-0" is forbidden: exceeded quota: few'
    printed = words.replace('"', '\\"') + rest
    story = Story("Job", policies={"main": "Never"}).run(f"""
        +J phase=Pending
        @10
        ~E1 FailedCreate x3 Error creating pods: [failed to create pod job-main-0, err: &StatusError{{Message:"{printed}
    """)
    assert missing(story) == [(words + rest * (rest == "…"), 10)]
    story.run("+n0#a R")
    assert missing(story) == []


@pytest.mark.parametrize(
    "said",
    [
        'FailedCreatePod x1 Error creating: pods "job-worker-0" already exists',
        'FailedCreatePod x1 Error creating: object is being deleted: pods "job-worker-0" already exists',
        "FailedCreatePod x1 Created worker pod: ",
        "FailedCreatePod x1 ",
        "FailedCreateService x1 Error creating: no",
        "MPIJobFailed x1 MPIJob ns/job has failed",
    ],
)
def test_what_is_no_refusal(said: str) -> None:
    assert missing(Story().run(f"+J Created=True\n~E1 {said}")) == []


def test_a_webhook_names_no_pod() -> None:
    """Then it stands until any pod was created since, or none is missing."""
    story = Story(workers=2).run(f"""
        +J Created=True
        @10
        {failed(WEBHOOK)}
    """)
    assert missing(story) == [(WEBHOOK, 10)]
    assert story.told(60)["pods-refused"] == f"Pods could not be created: {WEBHOOK}."
    story.run("@20\n+w0#a R")
    assert missing(story) == []
    story.run(f"@30\n{failed(WEBHOOK, count=2)}")
    assert missing(story) == [(WEBHOOK, 20)], "worker 1 is refused still"
    story.run("@40\n+w1#a R")
    assert missing(story) == []


def test_a_webhook_that_let_pods_in_is_counted_from_the_last_of_them_on() -> None:
    """The same Event counts on for as long as the job lives."""
    story = Story(workers=2).run(f"""
        +J Created=True
        @10
        {failed(WEBHOOK)}
        @12
        +w0#a R
        @12
        +w1#a R
        @5000
        ~w0#a deleting
        @5001
        xw0#a
        {failed(WEBHOOK, count=2)}
    """)
    assert missing(story) == [(WEBHOOK, 5001)]
    assert "pods-refused" not in story.told(5003)
    assert "pods-refused" in story.told(5007)


@pytest.mark.parametrize("words", [POLICY, WEBHOOK])
@pytest.mark.parametrize(
    ("away", "again"),
    [
        ("~J Created=True Suspended=True suspend", "~J Created=True Suspended=False resume"),
        ("~J worker=0", "~J worker=3"),
    ],
)
def test_an_old_refusal_counts_from_when_the_pod_was_asked_for_again(words: str, away: str, again: str) -> None:
    story = Story().run(f"""
        +J Created=True
        @10
        {failed(words)}
        @11
        {away}
        @500
        {again}
    """)
    assert missing(story) == [(words, 500)]
    story.run(f"@501\n{failed(words, count=2)}")
    assert missing(story) == [(words, 500)]


def test_a_resume_that_was_not_watched_counts_too() -> None:
    story = Story().run(f"""
        +J Created=True
        @10
        {failed(POLICY)}
        @500
        =J Created=True Suspended=False gen=3
    """)
    assert missing(story) == [(POLICY, 500)]


def test_a_webhook_is_counted_from_the_larger_number_on() -> None:
    """There was no refusal that stood until somebody asked for more."""
    story = Story(workers=1).run(f"""
        +J Created=True
        @10
        {failed(WEBHOOK)}
        @12
        +w0#a R
        @500
        ~J worker=2
        {failed(WEBHOOK, count=2)}
    """)
    assert missing(story) == [(WEBHOOK, 500)]


def test_a_replica_that_was_never_scaled_away_is_missing_as_before() -> None:
    story = Story().run(f"""
        +J Created=True
        @10
        {failed(POLICY)}
        @20
        ~J worker=2
        @30
        ~J worker=5
    """)
    assert missing(story) == [(POLICY, 10)]


@pytest.mark.parametrize(
    "after",
    [
        "~J Created=True Failed=True done",
        "~J Created=True Suspended=True suspend",
        "~J worker=0",
        "xJ",
    ],
)
def test_what_nobody_wants_any_more_is_not_missing(after: str) -> None:
    story = Story().run(f"+J Created=True\n@10\n{failed(POLICY)}\n@20\n{after}")
    assert missing(story) == []
    assert "replica-refused" not in story.told(100)


def test_that_an_event_expires_takes_nothing_back() -> None:
    story = Story().run(f"+J Created=True\n@10\n{failed(POLICY)}\n@20\nxE1 FailedCreatePod x1 Error creating: {POLICY}")
    assert missing(story) == [(POLICY, 10)]


def test_many_replicas_are_one_finding() -> None:
    lines = [failed(POLICY.replace("worker-0", f"worker-{n}"), f"E{n}") for n in range(5)]
    story = Story(workers=5).run("\n".join(["+J Created=True", *lines]))
    told = story.told(60)["replica-refused"]
    assert told.startswith("5 replicas could not be created (worker 0, worker 1, worker 2, …): pods ")


def test_what_is_kept_of_a_job_is_bounded() -> None:
    lines = [failed(QUOTA.replace("used: pods=2", f"used: pods={n}"), f"E{n}") for n in range(3 * KEPT)]
    story = Story().run("\n".join(["+J Created=True", *lines]))
    assert len(story.jobs["uid-J"].refusals) == KEPT
    assert f"used: pods={3 * KEPT - 1}" in missing(story)[0][0]


def test_the_report_says_it_and_what_it_rests_on() -> None:
    story = Story().run(f"+J Created=True\n@10\n{failed(POLICY)}")
    job = story.jobs["uid-J"]
    assert POLICY in rests_on(job, "finding:replica-refused", BEGIN + 60).value
    (sight,) = rests_on(job, "finding:replica-refused", BEGIN + 60).sights
    assert (sight.resource, sight.uid) == ("events", "uid-E1")
    assert job_report(job)["true_restarts"] == 0
