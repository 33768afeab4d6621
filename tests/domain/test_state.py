"""A job's state and its Restarting spans, from conditions alone."""

import itertools

import pytest

from tests.domain.story import Story


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ("Created=True", "Created"),
        ("Created=True Running=False", "Created"),
        ("Created=True Running=True", "Running"),
        ("Created=True Restarting=True", "Restarting"),
        ("Created=True Running=False Succeeded=True Failed=True", "Failed"),
        ("Created=True Restarting=True Succeeded=True", "Succeeded"),
        ("Created=True Restarting=True Failed=True", "Failed"),
        ("Created=True Running=False Suspended=True", "Suspended"),
        ("Created=True Suspended=False Running=True", "Running"),
        ("Created=True Running=Unknown", "Created"),
    ],
)
def test_the_order_of_conditions_means_nothing(conditions: str, state: str) -> None:
    for order in itertools.permutations(conditions.split()):
        assert Story().run("+J " + " ".join(order)).report()["state"] == state


def test_a_job_without_status_is_unknown() -> None:
    assert Story().run("+J").report()["state"] == "Unknown"


def test_a_span_of_restarting_has_our_clocks_milliseconds() -> None:
    """Restarting=True for 25 ms, then Running again."""
    report = (
        Story()
        .run("""
        +J Created=True Running=True
        @10.5
        ~J Created=True Restarting=True
        @10.525
        ~J Created=True Running=True
    """)
        .report()
    )
    assert report["restarting_condition"] == [
        {"start": "2027-01-15T08:00:10.500000Z", "end": "2027-01-15T08:00:10.525000Z"}
    ]


def test_a_span_stays_open_when_the_job_is_deleted_in_it() -> None:
    report = Story().run("+J Created=True\n~J Created=True Restarting=True\nxJ").report()
    assert [span["end"] for span in report["restarting_condition"]] == [None]
    assert report["restarting"][0]["end"] == "2027-01-15T08:00:02Z"  # the highlight closes with the job
    assert (report["state"], report["present"]) == ("Restarting", False)


def test_a_span_that_was_open_at_the_list_starts_at_its_transition() -> None:
    """The list finds the job Restarting since second 5."""
    story = Story()
    story.run("@5")
    story.run("+J Created=True Restarting=True")
    late = Story()
    late.facts = dict(story.facts)
    report = late.run("@30\n=J").report()
    assert report["restarting_condition"][0]["start"] == "2027-01-15T08:00:05Z"
    assert report["unobserved"] == [{"start": "2027-01-15T08:00:05Z", "end": "2027-01-15T08:00:30Z"}]


def test_restarting_is_highlighted_from_the_pods_where_the_condition_never_shows_it() -> None:
    """PyTorchJob whose Running=True never gives way: the pods tell."""
    report = (
        Story()
        .run("""
        +J Created=True
        +w0#a R
        ~J Created=True Running=True
        @10
        ~w0#a F term(137,OOMKilled)
        xw0#a
        +w0#b Pe
        @15
        ~w0#b R
    """)
        .report()
    )
    assert report["restarting_condition"] == []
    assert report["restarting"] == [
        {"start": "2027-01-15T08:00:10Z", "end": "2027-01-15T08:00:15Z", "seen_by": ["pods"]}
    ]


def test_a_wait_in_place_is_highlighted_while_it_lasts() -> None:
    """CrashLoopBackOff under OnFailure, still waiting."""
    report = (
        Story(policy="OnFailure")
        .run("""
        +J Created=True
        +w0#a R
        @10
        ~w0#a term(1,Error)
        ~w0#a waiting(CrashLoopBackOff) last(1,Error)
    """)
        .report()
    )
    assert report["restarting"] == [{"start": "2027-01-15T08:00:10Z", "end": None, "seen_by": ["pods"]}]
    assert report["replicas"][0]["flags"] == ["crash-loop"]


def test_failed_ends_the_highlight_though_restarting_stays_true() -> None:
    report = (
        Story()
        .run("""
        +J Created=True
        @10
        ~J Created=True Restarting=True
        @20
        ~J Created=True Restarting=True Failed=True
    """)
        .report()
    )
    assert report["restarting"][0]["end"] == "2027-01-15T08:00:20Z"
    assert report["restarting_condition"][0]["end"] is None
    assert report["finished_at"] == "2027-01-15T08:00:20Z"
