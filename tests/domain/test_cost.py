"""What restarts cost: the waits of each replica, and what the gang lost by them."""

import pytest

from tests.domain.story import Story


def test_a_recreation_costs_from_its_end_to_running_again() -> None:
    """Ten seconds of waiting in a life of a hundred; four replicas stood still."""
    story = Story().run("""
        +J Created=True Running=True
        +w0#a R
        +w1#a R
        +w2#a R
        +w3#a R
        @50
        ~w0#a F term(138,Error)
        xw0#a
        +w0#b Pe
        @60
        ~w0#b R
    """)
    cost = story.cost(100)
    assert (cost.life, cost.incomplete, cost.gang_lost, cost.replica_seconds) == (100, 10, 40, 10)
    assert cost.productive == pytest.approx(0.9)
    assert cost.waited == {("worker", 0, 0): 10}


def test_waits_that_overlap_are_the_gangs_once() -> None:
    """Two replicas wait 50 to 60 and 55 to 70: each has its own cost, the gang was incomplete for 20 s."""
    story = Story().run("""
        +J Created=True Running=True
        +w0#a R
        +w1#a R
        @50
        ~w0#a F term(138,Error)
        @55
        ~w1#a F term(138,Error)
        xw0#a
        xw1#a
        +w0#b Pe
        @60
        ~w0#b R
        +w1#b Pe
        @70
        ~w1#b R
    """)
    cost = story.cost(200)
    assert (cost.incomplete, cost.replica_seconds, cost.gang_lost) == (20, 25, 40)
    assert cost.productive == pytest.approx(0.9)


def test_the_order_of_replicas_does_not_matter() -> None:
    """Worker 1 waited first, worker 0 later and for longer."""
    story = Story().run("+J Created=True Running=True\n+w0#a R\n+w1#a R")
    for replica, start, end in (("w1", 20, 30), ("w0", 40, 60)):
        story.run(f"@{start}\n~{replica}#a F term(138,Error)\nx{replica}#a\n+{replica}#b Pe\n@{end}\n~{replica}#b R")
    cost = story.cost(100)
    assert (cost.incomplete, cost.replica_seconds) == (30, 30)
    overlapping = Story().run("+J Created=True\n+w0#a R\n+w1#a R\n@20\n~w1#a F term(138,Error)")
    overlapping.run("@40\n~w0#a F term(138,Error)\nxw0#a\nxw1#a\n+w0#b Pe\n+w1#b Pe\n@50\n~w0#b R\n~w1#b R")
    assert overlapping.cost(100).incomplete == 31


def test_a_wait_in_place_costs_too_and_an_open_one_until_now() -> None:
    story = Story(policy="OnFailure").run("""
        +J Created=True Running=True
        +w0#a R
        @10
        ~w0#a term(1,Error)
        @15
        ~w0#a running last(1,Error) rc=1
        @20
        ~w0#a term(1,Error)
        ~w0#a waiting(CrashLoopBackOff) last(1,Error)
    """)
    assert story.cost(40).waited == {("worker", 0, 0): 25}
    assert story.cost(50).waited == {("worker", 0, 0): 35}


def test_the_job_that_ends_closes_the_bill() -> None:
    """Deleted while a successor was still pending: what came after is not the restart's cost."""
    story = Story().run("""
        +J Created=True Running=True
        +w0#a R
        @10
        ~w0#a F term(138,Error)
        xw0#a
        +w0#b Pe
        @20
        xJ
        @30
        xw0#b
    """)
    cost = story.cost(1000)
    assert (cost.life, cost.incomplete) == (20, 10)
    assert cost.productive == pytest.approx(0.5)


def test_a_suspension_is_neither_life_nor_cost() -> None:
    story = Story().run("""
        +J Created=True Running=True
        +w0#a R
        @10
        ~J suspend
        ~w0#a deleting
        xw0#a
        @15
        ~J Created=True Running=False Suspended=True
        @115
        ~J resume
        ~J Created=True Suspended=False
        +w0#b R
        @117
        ~J Created=True Suspended=False Running=True
    """)
    cost = story.cost(201)
    assert (cost.life, cost.incomplete, cost.productive) == (100, 0, 1.0)


def test_a_completed_replica_costs_from_its_deletion() -> None:
    """Between its exit 0 and the deletion nothing was lost."""
    story = Story().run("""
        +J Created=True Running=True
        +w0#a R
        @10
        ~w0#a S term(0,Completed)
        @50
        ~w0#a deleting
        xw0#a
        @54
        +w0#b R
    """)
    assert story.cost(100).incomplete == 4


def test_no_restart_no_cost() -> None:
    cost = Story().run("+J Created=True Running=True\n+w0#a R").cost(100)
    assert (cost.incomplete, cost.gang_lost, cost.productive, cost.waited) == (0, 0, 1.0, {})


def test_a_job_without_a_life_has_no_share() -> None:
    assert Story().run("+J Created=True").cost(0).productive is None


def test_the_report_says_it_in_seconds() -> None:
    story = Story().run(
        "+J Created=True\n+w0#a R\n@10\n~w0#a F term(138,Error)\nxw0#a\n@14\n+w0#b R\n@40\n~J Running=True"
    )
    assert story.report()["cost"] == {
        "life_seconds": 40.0,
        "incomplete_seconds": 4.0,
        "replica_seconds_waited": 4.0,
        "gang_replica_seconds_lost": 4.0,
        "productive": 0.9,
        "replicas": [{"type": "worker", "index": 0, "job_index": 0, "waited_seconds": 4.0}],
    }
