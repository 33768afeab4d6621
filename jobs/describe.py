"""One observation as a line for people, in kubectl's words."""

from datetime import UTC, datetime

from jobs.domain.conditions import job_state
from jobs.domain.facts import EventFacts, JobFacts, Observation, PodFacts, PodGroupFacts
from jobs.domain.pods import main_container


def describe(observation: Observation) -> str:
    """``12:43:51.065 DELETED  pods seed/tftest-worker-0: Failed, exit 138 (Error)``; printable characters only."""
    moment = datetime.fromtimestamp(observation.observed_at, UTC).strftime("%H:%M:%S.%f")[:-3]
    what = f"{observation.resource} {observation.namespace}/{observation.name}"
    text = f"{moment} {observation.verb:<8} {what}: {_words(observation)}"
    return "".join(character if character.isprintable() else "?" for character in text)


def _words(observation: Observation) -> str:
    facts = observation.facts
    if isinstance(facts, PodFacts):
        return _pod(facts)
    if isinstance(facts, JobFacts):
        counts = ", ".join(f"{s.type} {s.active}/{s.succeeded}/{s.failed}" for s in facts.statuses)
        return job_state(facts) + (f" (active/succeeded/failed: {counts})" if counts else "")
    if isinstance(facts, PodGroupFacts):
        return f"{facts.phase or 'no phase'}, {facts.running} of {facts.min_member} running"
    if isinstance(facts, EventFacts):
        return f"{facts.reason} x{facts.count}: {facts.message}"
    return "gone"


def _pod(facts: PodFacts) -> str:
    words = [facts.phase or "no phase"]
    main = main_container(facts)
    end = main.terminated if main else None
    if end is not None:
        words.append(f"exit {end.exit_code} ({end.reason})")
    elif main is not None and main.waiting_reason:
        words.append(main.waiting_reason)
    if main is not None and main.restart_count:
        words.append(f"restarted in place {main.restart_count} times")
    if facts.deletion_at is not None:
        words.append("terminating")
    return ", ".join(words)
