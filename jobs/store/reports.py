"""Jobs for ``manage.py report``, filtered."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q, QuerySet

from jobs import models
from jobs.domain.report import Json, job_report
from jobs.store.load import load_states
from jobs.store.sql import chunks

STATES = ("Created", "Running", "Restarting", "Suspended", "Succeeded", "Failed", "Unknown")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class FilterError(Exception):
    """A filter that cannot be understood; the message names it."""


@dataclass(frozen=True, slots=True)
class ReportFilter:
    """What to report. None: no restriction. Times are epoch seconds."""

    cluster: str | None = None
    namespace: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    state: str | None = None
    exit_code: int | None = None
    since: float | None = None
    until: float | None = None

    @classmethod
    def parse(cls, options: dict[str, Any], now: float) -> "ReportFilter":
        """From the command's options. Raises ``FilterError``."""
        words = {name: options.get(name) for name in ("cluster", "namespace", "kind", "name", "uid")}
        return cls(
            **words,
            state=_state(options.get("state")),
            exit_code=_code(options.get("exit_code")),
            since=_time("--since", options.get("since"), now),
            until=_time("--until", options.get("until"), now),
        )


def _state(text: str | None) -> str | None:
    if text is None:
        return None
    for state in STATES:
        if state.lower() == text.lower():
            return state
    raise FilterError(f"--state {text}: no such state; one of {', '.join(STATES)}.")


def _code(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        code = int(text)
    except ValueError:
        raise FilterError(f"--exit-code {text}: not a number.") from None
    if not 0 <= code <= 255:
        raise FilterError(f"--exit-code {text}: exit codes lie between 0 and 255.")
    return code


def _time(option: str, text: str | None, now: float) -> float | None:
    if text is None:
        return None
    relative = re.fullmatch(r"(\d+)([smhd])", text)
    if relative:
        return now - int(relative[1]) * UNITS[relative[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise FilterError(f"{option} {text}: not a time; write 2026-11-29T12:00:00Z, or 2h.") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _rows(wanted: ReportFilter) -> QuerySet[models.Job]:
    rows = models.Job.objects.all()
    for column in ("namespace", "name", "uid", "state"):
        if getattr(wanted, column) is not None:
            rows = rows.filter(**{column: getattr(wanted, column)})
    if wanted.cluster is not None:
        rows = rows.filter(cluster__name=wanted.cluster)
    if wanted.kind is not None:
        rows = rows.filter(kind__iexact=wanted.kind)
    if wanted.since is not None:
        rows = rows.filter(Q(present=True) | Q(last_observed_at__gte=wanted.since))
    if wanted.until is not None:
        rows = rows.filter(created_at__lte=wanted.until)
    return rows


def reports(wanted: ReportFilter) -> Iterator[Json]:
    """The reports of the jobs that fit, in the order in which they were first seen."""
    clusters = dict(models.Cluster.objects.values_list("name", "observed_until"))
    ids = list(_rows(wanted).order_by("id").values_list("id", flat=True))
    for part in chunks(ids, 100):
        states = load_states(part)
        for job_id in part:
            if job_id not in states:
                continue
            report = job_report(states[job_id], clusters.get(states[job_id].cluster))
            if wanted.exit_code is None or _has_code(report, wanted.exit_code):
                yield report


def _has_code(report: Json, code: int) -> bool:
    return any(
        end["exit_code"] == code for replica in report["replicas"] for pod in replica["pods"] for end in pod["ends"]
    )
