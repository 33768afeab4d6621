"""Each check on event scripts (tests/domain/story.py): when it waits, is met, differs, or cannot tell."""

import pytest

from jobs.experiments import checks_jobs, checks_pods, checks_restarts
from jobs.experiments.experiment import Check, Observed, Outcome, StepState
from tests.domain.story import BEGIN, Story

WAITING, MET, DIFFERS, UNKNOWN = StepState.WAITING, StepState.MET, StepState.DIFFERS, StepState.UNKNOWN


def outcome(story: Story, check: Check, now: float = 60.0) -> Outcome:
    """Of what is known ``now`` seconds after the beginning."""
    return check(Observed(tuple(story.jobs.values()), BEGIN, BEGIN + now))


def told(story: Story, check: Check, now: float = 60.0) -> tuple[StepState, str]:
    found = outcome(story, check, now)
    return found.state, found.seen.en if found.seen else ""


def restarted(replica: str, letters: str, code: str = "138,Error") -> str:
    """Pods of a replica that run, fail and are deleted, one after the other, and the next one that runs."""
    gone = "".join(
        f"+{replica}#{a} Pe\n~{replica}#{a} R\n~{replica}#{a} F term({code})\n~{replica}#{a} deleting\nx{replica}#{a}\n"
        for a in letters
    )
    last = chr(ord(letters[-1]) + 1)
    return f"{gone}+{replica}#{last} Pe\n~{replica}#{last} R"


# --- a job that was not created, or not read


@pytest.mark.parametrize("jobs", [(), (None,)])
def test_without_its_job_a_check_waits(jobs: tuple[None, ...]) -> None:
    assert checks_jobs.job_runs()(Observed(jobs, BEGIN, BEGIN + 10)).state is WAITING


# --- exits and causes


def test_an_exit_is_met_by_its_code_and_dated_by_when_it_was_seen() -> None:
    story = Story().run("+J Created=True\n+w0#a R\n@30\n~w0#a F term(138,Error)")
    found = outcome(story, checks_pods.exits("worker-0", 138, 10))
    assert (found.state, found.at, found.uids) == (MET, BEGIN + 30, ("uid-w0#a",))
    assert told(story, checks_pods.exits("worker-0", 137, 10)) == (DIFFERS, "exit 138 (Error)")
    assert told(story, checks_pods.exits("worker-0", 138, 10, nth=1)) == (WAITING, "")
    assert told(story, checks_pods.exits("worker-1", 138, 10)) == (WAITING, "")


def test_a_known_cause_differs_only_when_nothing_can_change_it_any_more() -> None:
    story = Story().run("+J Created=True\n+w0#a R\n~w0#a deleting")
    check = checks_pods.ends_by("worker-0", ("evicted-api",))
    assert told(story, check) == (WAITING, "deleted")
    story.run("~w0#a F term(143,Error) deleting\nxw0#a")
    assert told(story, check) == (DIFFERS, "deleted, exit 143")
    assert told(story, checks_pods.ends_by("worker-0", ("deleted",))) == (MET, "deleted, exit 143")


def test_a_completed_replica_is_told_from_one_that_failed() -> None:
    assert told(Story().run("+J Created=True\n+w0#a R\n~w0#a S term(0)"), checks_pods.completed("worker-0"))[0] is MET
    failed = Story().run("+J Created=True\n+w0#a R\n~w0#a F term(1)")
    assert told(failed, checks_pods.completed("worker-0")) == (DIFFERS, "exit 1 (permanent)")


# --- recreations and restarts in place


def test_a_recreation_is_met_by_the_new_pod_and_rests_on_both() -> None:
    story = Story().run("+J Created=True").run(restarted("w0", "ab"))
    found = outcome(story, checks_pods.recreated("worker-0", times=2))
    assert (found.state, found.uids) == (MET, ("uid-w0#b", "uid-w0#c"))
    assert told(story, checks_pods.recreated("worker-0", times=3))[0] is WAITING
    story.run("~J Created=True Failed=True")
    assert told(story, checks_pods.recreated("worker-0", times=3)) == (
        DIFFERS,
        "2 such restarts until the job was Failed",
    )


def test_too_few_restarts_cannot_be_told_after_a_gap() -> None:
    story = Story().run("+J Created=True").run(restarted("w0", "a")).gap(5, 8).run("~J Created=True Failed=True")
    assert told(story, checks_pods.recreated("worker-0", times=2)) == (UNKNOWN, "1 seen, some may have been missed")
    assert told(story, checks_pods.recreated("worker-0"))[0] is MET


IN_PLACE = "\n+w0#a R\n~w0#a term(1)\n~w0#a running rc=1\n@20\n~w0#a term(1)\n@40\n~w0#a running rc=2"


def test_a_restart_in_place_keeps_the_pod() -> None:
    story = Story(policy="OnFailure").run(f"+J Created=True{IN_PLACE}")
    assert told(story, checks_pods.restarted_in_place("worker-0", times=2))[0] is MET
    assert told(story, checks_pods.restarted_in_place("worker-0", times=3))[0] is WAITING
    recreated = Story().run("+J Created=True").run(restarted("w0", "a"))
    assert told(recreated, checks_pods.restarted_in_place("worker-0")) == (DIFFERS, "a new pod was created")


def test_the_kubelets_wait_grows() -> None:
    story = Story(policy="OnFailure").run(f"+J Created=True{IN_PLACE}")
    assert told(story, checks_pods.back_off_grows("worker-0")) == (MET, "1 s, then 20 s")
    even = "\n+w0#a R\n@10\n~w0#a term(1)\n@15\n~w0#a running rc=1\n@20\n~w0#a term(1)\n@25\n~w0#a running rc=2"
    even_story = Story(policy="OnFailure").run(f"+J Created=True{even}")
    assert told(even_story, checks_pods.back_off_grows("worker-0")) == (DIFFERS, "5 s, then 5 s")


def test_what_kubectl_shows_is_asked_after_the_restarts() -> None:
    check = checks_pods.kubectl_shows("worker-0", 0, after_restarts=2)
    once = Story().run("+J Created=True").run(restarted("w0", "a"))
    assert told(once, check)[0] is WAITING
    assert told(once.run("~w0#b F term(138)\nxw0#b\n+w0#c R"), check) == (MET, "RESTARTS 0 after 2 restarts")
    in_place = Story(policy="OnFailure").run(f"+J Created=True{IN_PLACE}")
    assert told(in_place, check) == (DIFFERS, "RESTARTS 2 after 2 restarts")


def test_a_sidecars_restarts_are_not_the_main_containers() -> None:
    story = Story(policy="OnFailure").run("+J Created=True\n+w0#a R\n~w0#a side(metrics,rc=2)")
    assert told(story, checks_pods.others_restart("worker-0", container="sidecar"))[0] is MET
    assert told(story, checks_pods.others_restart("worker-0", container="init"))[0] is WAITING
    assert told(story, checks_pods.kubectl_counts_others("worker-0")) == (MET, "RESTARTS 2, 0 of the main container")
    main = Story(policy="OnFailure").run(f"+J Created=True{IN_PLACE}")
    assert told(main, checks_pods.others_restart("worker-0", container="sidecar")) == (
        DIFFERS,
        "the main container restarted",
    )


def test_a_pod_that_never_ran_and_one_that_did() -> None:
    dead = "+w0#a Pe\n~w0#a F init(fetch,1)\nxw0#a\n+w0#b Pe\n~w0#b F init(fetch,1)\nxw0#b"
    story = Story().run(f"+J Created=True\n{dead}")
    assert told(story, checks_pods.never_ran("worker-0", pods=2)) == (MET, "2 pods, none of them ran")
    assert told(story, checks_pods.never_ran("worker-0", pods=3))[0] is WAITING
    story.run("+w0#c R")
    assert told(story, checks_pods.never_ran("worker-0", pods=2))[0] is DIFFERS


def test_a_pod_that_waits_for_ever_is_met_only_after_that_time() -> None:
    story = Story().run("+J Created=True\n+w0#a Pe")
    check = checks_pods.waits_for("worker-0", 20)
    assert told(story, check, now=10)[0] is WAITING
    assert told(story, check, now=25) == (MET, "still waiting")
    story.run("@15\n~w0#a R")
    assert told(story, check, now=25) == (DIFFERS, "it ran or ended")


# --- what is not counted


def test_a_suspension_explains_a_new_pod_and_a_failure_does_not() -> None:
    check = checks_pods.not_counted("worker-0", "suspended")
    paused = Story().run(
        "+J Created=True\n+w0#a R\n~J suspend\n~w0#a deleting\nxw0#a\n~J Created=True Suspended=True\n@20\n~J resume"
    )
    assert told(paused, check)[0] is WAITING
    assert told(paused.run("+w0#b R"), check)[0] is MET
    assert told(paused, checks_pods.not_counted("worker-0", "scaled"))[0] is WAITING
    failed = Story().run("+J Created=True").run(restarted("w0", "a"))
    assert told(failed, check) == (DIFFERS, "it counted as a restart")


def test_a_scaled_replica_leaves_and_comes_back() -> None:
    story = Story(workers=2).run("+J Created=True\n+w1#a R\n~J worker=1\n~w1#a deleting\nxw1#a")
    assert told(story, checks_pods.leaves("worker-1"))[0] is MET
    assert told(story, checks_pods.leaves("worker-0"))[0] is WAITING
    story.run("@20\n~J worker=2\n+w1#b R")
    assert told(story, checks_pods.not_counted("worker-1", "scaled"))[0] is MET


# --- the job


def test_the_podgroup_comes_before_the_pods() -> None:
    check = checks_jobs.podgroup_first()
    assert told(Story().run("+J\n+PG Pending"), check) == (WAITING, "the PodGroup is Pending")
    good = Story().run("+J\n+PG Pending\n~PG Inqueue\n+w0#a Pe")
    assert told(good, check) == (MET, "Inqueue 1.0 s before the first pod")
    late = Story().run("+J\n+PG Pending\n+w0#a Pe\n~PG Inqueue")
    assert told(late, check)[0] is DIFFERS
    none = Story().run("+J\n+w0#a Pe")
    assert told(none, check, now=1.1)[0] is WAITING, "its stream may be read a moment later"
    assert told(none, check) == (DIFFERS, "pods without an admitted PodGroup")


def test_more_pods_than_replicas_differ() -> None:
    story = Story().run("+J Created=True\n+w0#a\n+w1#a")
    assert [told(story, checks_jobs.pods_created(number))[0] for number in (1, 2, 3)] == [DIFFERS, MET, WAITING]


def test_a_job_ends_for_its_reason() -> None:
    story = Story(policy="Never").run("+J Created=True\n+w0#a R\n~w0#a F term(1)\n~J Created=True Failed=True")
    assert told(story, checks_jobs.job_ends("Failed"))[0] is MET
    assert told(story, checks_jobs.job_ends("Failed", "policy-never"))[0] is MET
    assert told(story, checks_jobs.job_ends("Failed", "backoff-limit", "deadline"))[0] is DIFFERS
    assert told(story, checks_jobs.job_ends("Succeeded"))[0] is DIFFERS
    assert told(Story().run("+J Created=True Running=True"), checks_jobs.job_ends("Succeeded"))[0] is WAITING


def test_a_suspended_job_has_no_pods_left() -> None:
    story = Story().run("+J Created=True\n+w0#a R\n~J suspend\n~J Created=True Suspended=True")
    assert told(story, checks_jobs.suspended()) == (WAITING, "Suspended, 1 of its pods left")
    assert told(story.run("xw0#a"), checks_jobs.suspended())[0] is MET
    over = Story().run("+J Created=True\n~J Created=True Succeeded=True")
    assert told(over, checks_jobs.suspended())[0] is DIFFERS


def test_what_is_left_of_a_finished_job() -> None:
    story = Story().run("+J Created=True\n+w0#a R\n+w1#a R\n@10\n~J Created=True Succeeded=True\n~w0#a deleting\nxw0#a")
    assert told(story, checks_jobs.pods_after_end(1), now=12)[0] is WAITING
    assert told(story, checks_jobs.pods_after_end(1), now=16) == (MET, "1 of 2 pods left after the end")
    assert told(story, checks_jobs.pods_after_end(2), now=16)[0] is DIFFERS
    story.run("@30\n~w1#a deleting\nxw1#a\nxJ")
    assert told(story, checks_jobs.pods_after_end(1))[0] is MET, "what went later went with the job"
    assert told(story, checks_jobs.gone_after_end()) == (MET, "gone 22 s after its end")


def test_a_job_deleted_while_it_ran_was_no_matter_of_its_ttl() -> None:
    story = Story().run("+J Created=True Running=True\n@10\nxJ")
    assert told(story, checks_jobs.gone_after_end()) == (DIFFERS, "deleted while it was Running")
    assert told(story, checks_jobs.deleted())[0] is MET
    over = Story().run("+J Created=True\n~J Created=True Succeeded=True\nxJ")
    assert told(over, checks_jobs.deleted())[0] is DIFFERS


def test_a_pending_gang_is_told_after_its_time() -> None:
    story = Story().run("+J\n~J Created=True\n+PG Pending")
    check = checks_jobs.pending_for(20)
    assert told(story, check, now=19)[0] is WAITING
    assert told(story, check, now=20) == (MET, "PodGroup Pending, no pods")
    assert told(story, checks_jobs.says("Created", 20), now=20)[0] is MET
    story.run("@15\n~PG Inqueue")
    assert told(story, check, now=20)[0] is DIFFERS
    assert told(story.run("+w0#a"), check, now=20) == (DIFFERS, "a pod was created")


def test_another_job_has_the_name_and_not_the_uid() -> None:
    story = Story().run("+J Created=True\nxJ\n+J:2 Created=True")
    assert told(story, checks_jobs.another_job(0, 1))[0] is MET
    assert told(story, checks_jobs.another_job(0, 2))[0] is WAITING
    assert told(story, checks_jobs.another_job(0, 0))[0] is DIFFERS


# --- restarts of the job


def test_restarting_is_shown_by_whoever_sees_it() -> None:
    check = checks_restarts.restarting_shown()
    by_condition = Story().run("+J Created=True\n~J Created=True Restarting=True\n~J Created=True Running=True")
    assert told(by_condition, check) == (MET, "seen by condition, 1000 ms")
    assert told(by_condition, checks_restarts.condition_restarting())[0] is MET
    by_pods = Story().run("+J Created=True").run(restarted("w0", "a"))
    assert told(by_pods, check)[0] is MET
    assert told(by_pods, checks_restarts.condition_restarting())[0] is WAITING
    never = Story().run("+J Created=True\n~J Created=True Succeeded=True")
    assert told(never, check) == (DIFFERS, "Restarting was not seen")
    assert told(never.gap(0, 1), check)[0] is WAITING


def test_a_limit_is_passed_only_beyond_it() -> None:
    check = checks_restarts.backoff_passed("worker-0", 2)
    story = Story(backoff_limit=2).run("+J Created=True").run(restarted("w0", "ab"))
    assert told(story, check)[0] is WAITING
    story.run("~w0#c F term(138)\nxw0#c\n+w0#d R")
    assert told(story, check) == (MET, "3 restarts, backoffLimit 2, the job is Created")
    story.run("~J Created=True Failed=True")
    assert told(story, check)[0] is DIFFERS


def test_restarts_at_the_end_are_counted_exactly() -> None:
    story = Story().run("+J Created=True").run(restarted("w0", "a"))
    none, one, two = (checks_restarts.restarts_at_end(number) for number in range(3))
    assert [told(story, check)[0] for check in (none, one, two)] == [DIFFERS, WAITING, WAITING]
    story.run("~J Created=True Succeeded=True")
    assert [told(story, check)[0] for check in (none, one, two)] == [DIFFERS, MET, DIFFERS]
    assert told(story, checks_restarts.restarts_at_end(0, replica_type="ps"))[0] is MET
    story.gap(2, 3)
    assert [told(story, check)[0] for check in (none, one, two)] == [DIFFERS, UNKNOWN, UNKNOWN]


def test_each_job_of_a_name_has_its_own_count() -> None:
    story = Story().run("+J Created=True").run(restarted("w0", "a"))
    first = checks_restarts.own_count("worker-0", 1, settled_by=1)
    assert told(story, checks_restarts.own_count("worker-0", 1))[0] is MET
    assert told(story, checks_restarts.own_count("worker-0", 0))[0] is DIFFERS
    assert told(story, first)[0] is WAITING
    story.run("xJ\n+J:2 Created=True\n+w0#x R of=J:2")
    assert told(story, first)[0] is WAITING
    story.run("~w0#x F term(138) of=J:2\nxw0#x of=J:2\n+w0#y R of=J:2")
    assert told(story, first)[0] is MET
    assert told(story, checks_restarts.own_count("worker-0", 1, job=1))[0] is MET


def test_a_wave_is_many_replicas_soon_after_each_other() -> None:
    pods = "\n".join(f"+w{number}#a R" for number in range(6))
    fall = "\n".join(f"~w{number}#a F term(134)\nxw{number}#a\n+w{number}#b R" for number in range(6))
    story = Story(workers=6).run(f"+J Created=True\n{pods}").run(fall)
    assert told(story, checks_restarts.wave(6))[0] is MET
    assert told(story, checks_restarts.wave(7)) == (WAITING, "6 replicas so far")
    assert told(story, checks_restarts.kubectl_shows_nothing(6))[0] is MET
    assert told(story, checks_restarts.kubectl_shows_nothing(7))[0] is WAITING


def test_a_completed_replica_that_ran_again_is_flagged() -> None:
    story = Story().run("+J Created=True\n+w1#a R\n~w1#a S term(0)\n~w1#a deleting\nxw1#a")
    assert told(story, checks_restarts.completed_run_again("worker-1"))[0] is WAITING
    assert told(story.run("+w1#b R"), checks_restarts.completed_run_again("worker-1"))[0] is MET


def test_the_seen_words_are_in_both_languages() -> None:
    story = Story().run("+J Created=True").run(restarted("w0", "a"))
    seen = outcome(story, checks_pods.ends_by("worker-0", ("exit",))).seen
    assert seen is not None
    assert (seen.en, seen.zh) == ("exit 138 (user-defined, retryable)", "退出码 138（用户自定义，可重试）")
