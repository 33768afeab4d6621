"""The cluster's word for when something happened, read from an object's facts. Whole seconds, epoch."""

from jobs.domain.facts import EventFacts, Facts, JobFacts, PodFacts


def occurred_at(facts: Facts | None) -> float | None:
    """The latest moment that the object itself names, None where it names none."""
    if facts is None:
        return None
    if isinstance(facts, EventFacts):
        return facts.last_at or facts.first_at
    moments = [facts.created_at, facts.deletion_at]
    if isinstance(facts, PodFacts):
        moments.append(facts.scheduled_at)
        for container in facts.containers:
            moments.append(container.running_since)
            if container.terminated is not None:
                moments.append(container.terminated.finished_at)
    else:
        moments.extend(c.transition_at for c in facts.conditions)
        if isinstance(facts, JobFacts):
            moments.append(facts.completed_at)
            moments.append(facts.phase_at)
    known = [at for at in moments if at is not None]
    return max(known) if known else None
