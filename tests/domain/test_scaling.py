"""Scaling down and up again is no restart, in whatever order the pods and the job are read, and however late."""

from collections.abc import Iterator
from itertools import combinations

import pytest

from jobs.domain import facts as f
from tests.domain.story import BEGIN, Story

JOB = ["~J worker=2", "~J worker=3"]  # at 10 and at 15


def test_scaled_and_failed_in_turn() -> None:
    """Worker 2 fails once before it is scaled away, and once after it is back."""
    story = Story().run("""
        +J Created=True Running=True
        +w2#a R
        ~w2#a F term(138,Error)
        xw2#a
        +w2#b R
        ~J worker=2
        ~w2#b deleting
        xw2#b
        ~J worker=3
        +w2#c R
        ~w2#c F term(138,Error)
        xw2#c
        +w2#d R
    """)
    replica = story.replica("w2")
    assert replica["true_restarts"] == 2
    assert [pod["excluded"] for pod in replica["pods"]] == [None, "scaled", None, None]


def test_scaled_away_for_good_explains_nothing() -> None:
    """A person deleted worker 2 before: that was a restart, and stays one."""
    story = Story().run("""
        +J Created=True Running=True
        +w2#a R
        ~w2#a deleting
        xw2#a
        +w2#b R
        @20
        ~J worker=2
        ~w2#b deleting
        xw2#b
    """)
    assert story.replica("w2")["true_restarts"] == 1


def test_a_scale_down_says_nothing_of_the_replicas_below() -> None:
    story = Story().run("+J Created=True\n+w0#a R\n~w0#a deleting\nxw0#a\n~J worker=2\n~J worker=3\n+w0#b R")
    assert story.replica("w0")["true_restarts"] == 1


GOES = {
    "fails": "~w1#a F term(138,Error)\n~w1#a deleting\nxw1#a",
    "is deleted": "~w1#a deleting\nxw1#a",
    "completed": "~w1#a S term(0,Completed)\n@400\n~w1#a deleting\nxw1#a",
}


@pytest.mark.parametrize("end", GOES.values(), ids=GOES)
@pytest.mark.parametrize("scaled", ["~J worker=1\n~J worker=3", "~J worker=0\n~J worker=1\n~J worker=2"])
def test_a_pod_that_a_scale_down_spared_restarts_later_like_any_other(scaled: str, end: str) -> None:
    """The change was taken back before the controller followed; minutes later the pod goes for a reason of its own."""
    story = Story().run(f"+J Created=True Running=True\n+w1#a R\n@10\n{scaled}\n@300\n{end}\n+w1#b R")
    assert story.replica("w1")["true_restarts"] == 1


def test_a_pod_that_goes_within_seconds_of_the_undoing_went_with_the_scale_down() -> None:
    story = Story().run("+J Created=True Running=True\n+w2#a R\n@10\n~J worker=2\n~J worker=3\n@14")
    assert story.run("~w2#a deleting\nxw2#a\n+w2#b R").replica("w2")["true_restarts"] == 0


def test_a_pod_that_is_not_asked_for_again_was_not_spared() -> None:
    """Only worker 1 is wanted again; worker 2 goes much later, when its finalizer lets it, and is wanted after that."""
    story = Story().run("+J Created=True Running=True\n+w2#a R\n@10\n~J worker=1\n~J worker=2")
    story.run("@300\n~w2#a deleting\nxw2#a\n@310\n~J worker=3\n+w2#b R")
    assert story.replica("w2")["true_restarts"] == 0


@pytest.mark.parametrize("cycles", [1, 2, 3])
def test_each_scale_down_explains_one_recreation(cycles: int) -> None:
    """All pods are read, then all that was done to the job: after an outage each stream comes in one go."""
    story = Story().run("+J Created=True")
    for letter in "abcd"[: cycles + 1]:
        story.run(f"@{10 * ord(letter) - 900}\n+w2#{letter} R\n~w2#{letter} deleting\nxw2#{letter}")
    assert story.replica("w2")["true_restarts"] == cycles
    story.run("@500\n" + "\n".join(JOB * cycles))
    assert story.replica("w2")["true_restarts"] == 0
    assert [pod["was_restart"] for pod in story.replica("w2")["pods"]] == [False] * (cycles + 1)


def orders() -> Iterator[tuple[int, ...]]:
    """Every interleaving of ten lines of the pods with two of the job: where the job's come."""
    yield from combinations(range(12), 2)


def test_a_scale_down_explains_no_failure_of_an_init_container() -> None:
    """Worker 1 fails before its main container begins, three times. Then it is scaled away, and asked for again when
    the job is over: no pod came of that, and the failures before stay what they were."""
    story = Story(workers=2).run("+J Created=True Running=True")
    for letter in "abc":
        story.run(f"""
            +w1#{letter} Pe init(fetch-data)
            ~w1#{letter} Pe init(fetch-data,7)
            ~w1#{letter} F
            ~w1#{letter} deleting
            xw1#{letter}
        """)
    story.run("""
        +w1#d Pe init(fetch-data)
        ~J worker=1
        ~w1#d deleting
        xw1#d
        ~J Created=True Running=False Succeeded=True done
        ~J worker=2
    """)
    assert story.replica("w1")["true_restarts"] == 3


@pytest.mark.parametrize("late", [0.0, 300.0])
def test_the_order_of_reading_changes_no_count(late: float) -> None:
    """Worker 2 is scaled away at 10 and back at 20; at 30 it fails by itself. Read so much later, in any order."""
    for places in orders():
        story = Story().run("+J Created=True")
        read = BEGIN + 5 + late
        pods, job = list(pod_lines(story)), list(JOB)
        for number in range(12):
            story.now = read + number
            if number in places:
                story.run(job.pop(0))
            else:
                uid, verb, facts = pods.pop(0)
                story.version += 1
                observation = f.Observation(verb, "pods", "ns", "job-worker-2", uid, story.version, story.now, facts)
                story.observe(observation, "uid-J")
        replica = story.replica("w2")
        assert replica["true_restarts"] == 1, places
        assert replica["incarnations"] == 3


def pod_lines(story: Story) -> Iterator[tuple[str, str, f.PodFacts]]:
    """Three pods by the cluster's clock, whenever they are read: two taken away, the last but one failed."""
    for number, (letter, created) in enumerate((("a", 1.0), ("b", 21.0), ("c", 33.0))):
        pod = story._new_pod(f"w2#{letter}", "uid-J")._replace(created_at=BEGIN + created)
        main = pod.containers[0]._replace(state="running", waiting_reason=None)
        running = pod._replace(phase="Running", containers=(main,))
        yield f"uid-{letter}", f.ADDED, pod
        yield f"uid-{letter}", f.MODIFIED, running
        if number == 0:
            going = running._replace(deletion_at=BEGIN + 10, deletion_grace=30)
            yield f"uid-{letter}", f.MODIFIED, going
            yield f"uid-{letter}", f.DELETED, going
        if number == 1:
            end = f.Terminated(138, "Error", finished_at=BEGIN + 30, container_id="c-b")
            failed = main._replace(state="terminated", terminated=end)
            over = running._replace(phase="Failed", containers=(failed,))
            yield f"uid-{letter}", f.MODIFIED, over
            yield f"uid-{letter}", f.DELETED, over._replace(deletion_at=BEGIN + 32)
