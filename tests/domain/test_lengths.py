"""How long a phase lasted: measured where its ends were read apart, else what the cluster's clock says of it."""

import pytest

from jobs.domain.intervals import job_end
from jobs.domain.lengths import Length, length, restarting_length, span_length
from jobs.domain.state import RESTARTING_LANE, STATE_LANE, JobState, Span
from tests.domain.story import BEGIN, Story

BEFORE = """
    +J Created=True
    ~J Created=True Running=True
"""


def restarting(*lines: str, now: float = 100.0) -> Length | None:
    """The length of the only Restarting of a script."""
    job = played(*lines)
    (span,) = job.spans[RESTARTING_LANE]
    return restarting_length(span, job, job_end(job), BEGIN + now)


def played(*lines: str) -> JobState:
    return Story().run(BEFORE + "\n".join(lines)).jobs["uid-J"]


def test_two_writes_that_were_read_apart_are_measured() -> None:
    known = restarting("@10.2", "~J Restarting=True", "@10.225", "~J Running=True")
    assert known is not None and known.seconds == pytest.approx(0.025, abs=1e-6)
    across = restarting("@10.99", "~J Restarting=True", "@11.02", "~J Running=True")
    assert across is not None and across.seconds == pytest.approx(0.03, abs=1e-6), "a second began in between"


@pytest.mark.parametrize(
    ("began", "ended", "said"), [(10.1, 10.9, 0), (10.9, 11.0, 1), (10, 24, 14), (10, 200, 190)], ids=str
)
def test_two_writes_of_one_read_are_as_long_as_the_cluster_says(began: float, ended: float, said: int) -> None:
    known = restarting(f"@{began}", "~J Restarting=True read=210", f"@{ended}", "~J Running=True read=210.0003")
    assert known == Length(None, said)


def test_a_read_that_came_late_is_not_taken_for_a_short_phase() -> None:
    """A watch that catches up reads thousands of writes: those of one job may lie a few hundredths apart."""
    known = restarting("@10", "~J Restarting=True read=40", "@24", "~J Running=True read=40.04")
    assert known == Length(None, 14)


def test_without_the_clusters_dates_nothing_is_known() -> None:
    assert span_length(Span("podgroup", 0, "Pending", 5.0, 5.0001), 9.0) == Length(None, None)
    assert span_length(Span("podgroup", 0, "Pending", 5.0, 5.3), 9.0) == Length(pytest.approx(0.3))
    assert span_length(Span("podgroup", 0, "Pending", None, 5.3), 9.0) is None


def test_a_restarting_that_the_failure_cut_in_the_same_read() -> None:
    failed = "~J Restarting=True Failed=True read=40.0002"
    assert restarting("@10", "~J Restarting=True read=40", "@12", failed) == Length(None, 2)


def test_an_open_restarting_grows_with_the_clock() -> None:
    known = restarting("@10", "~J Restarting=True", now=17.5)
    assert known == Length(pytest.approx(7.5))


def test_of_the_states_too() -> None:
    job = played(
        "@10",
        "~J Restarting=True read=60",
        "@24",
        "~J Running=True read=60.0002",
        "@27",
        "~J Succeeded=True read=60.0004",
    )
    lengths = {span.value: span_length(span, BEGIN + 99) for span in job.spans[STATE_LANE]}
    assert lengths["Restarting"] == Length(None, 14)
    assert lengths["Created"] == Length(pytest.approx(1.0)), "its date is not that of a change, and is not asked"
    assert [span_length(span, BEGIN + 99) for span in job.spans[STATE_LANE] if span.value == "Running"][1] == Length(
        None, 3
    )


def test_volcanos_phases_are_dated_too() -> None:
    story = Story(kind="Job").run("""
        +J phase=Running
        @10
        ~J phase=Restarting read=40
        @15
        ~J phase=Running read=40.0002
    """)
    (span,) = story.jobs["uid-J"].spans[RESTARTING_LANE]
    assert span_length(span, BEGIN + 99) == Length(None, 5)


def test_the_report_says_what_our_clock_said() -> None:
    story = Story().run(BEFORE + "@10\n~J Restarting=True read=40\n@24\n~J Running=True read=40.25")
    (span,) = story.report()["restarting_condition"]
    assert set(span) == {"start", "end"}
    assert span["end"].endswith(".250000Z")


@pytest.mark.parametrize(
    ("known", "limit", "under"),
    [
        (Length(0.025), 0.1, True),
        (Length(0.5), 0.1, False),
        (Length(None, 0), 1.0, True),
        (Length(None, 0), 0.1, False),
        (Length(None, 1), 1.0, False),
        (Length(None, None), 1.0, False),
    ],
)
def test_shorter_is_what_is_known_to_be(known: Length, limit: float, under: bool) -> None:
    assert known.under(limit) is under


def test_a_date_that_goes_back_is_not_believed() -> None:
    assert length(0.03, -4.0) == Length(0.03)
    assert length(0.0001, -4.0) == Length(None, None)
