"""Removing what a run created: only what carries its label and the UID that was created."""

import time

from jobs.domain.kinds import JobKind, kind_of
from jobs.experiments.audit import note
from jobs.experiments.labels import run_of, uid_of
from jobs.experiments.models import ExperimentObject, ExperimentRun
from jobs.experiments.writes import Refused, Writer

LEFT_ALONE = "left alone: it does not carry the run's label any more"


def clean(run: ExperimentRun, writer: Writer, who: str) -> None:
    """Delete the run's objects and note when all have been. Raises ``Away``, and ``Refused`` for what may not be.

    May be called again and again: what is gone is passed over.
    """
    for row in run.created.filter(deleted_at=None):
        kind = kind_of(row.api_version, row.kind)
        assert kind is not None
        for uid in [row.uid] if row.uid else _unconfirmed(row, kind, run, writer):
            result = _delete(row, kind, uid, run, writer)
            note(run, who, "delete", f"{row.kind} {run.namespace}/{row.name} {uid}", result)
        row.deleted_at = time.time()
        row.save(update_fields=["deleted_at"])
    run.cleaned_at = time.time()
    run.save(update_fields=["cleaned_at"])


def _unconfirmed(row: ExperimentObject, kind: JobKind, run: ExperimentRun, writer: Writer) -> list[str]:
    """The UIDs of what was sent without an answer: found by the label, if it is there."""
    found = [uid_of(one) for one in writer.labelled(kind, run.namespace, str(run.id)) if _name(one) == row.name]
    known = set(run.created.exclude(uid="").values_list("uid", flat=True))
    return [uid for uid in found if uid not in known]


def _delete(row: ExperimentObject, kind: JobKind, uid: str, run: ExperimentRun, writer: Writer) -> str:
    there = writer.get(kind, run.namespace, row.name)
    if there is None or uid_of(there) != uid:
        return "gone already"
    if run_of(there) != str(run.id):
        return LEFT_ALONE
    try:
        writer.delete(kind, run.namespace, row.name, uid)
    except Refused as refusal:
        if not refusal.is_gone:
            note(run, run.who, "delete", f"{row.kind} {run.namespace}/{row.name} {uid}", refusal.message)
            raise
        return "gone already"
    return "done"


def _name(obj: dict[str, object]) -> object:
    metadata = obj.get("metadata")
    return metadata.get("name") if isinstance(metadata, dict) else None
