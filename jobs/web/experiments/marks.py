"""What runs did to a job, for its timeline: marks "done by the experiment"."""

from typing import Any

from jobs.experiments.catalogue import experiments
from jobs.experiments.models import ExperimentObject
from jobs.experiments.observe import records_of

Json = dict[str, Any]


def marks(cluster: str, uid: str) -> list[Json]:
    """``[{"key", "at" (epoch seconds), "what", "target", "error", "text": {language: text}}]``, oldest first."""
    rows = ExperimentObject.objects.filter(uid=uid, run__cluster=cluster).select_related("run")
    found = [
        _mark(record.as_dict(), row.run.experiment, row.run.values)
        for row in rows
        for record in records_of(row.run)
        if record.job_uid == uid and record.done_at is not None
    ]
    return sorted(found, key=lambda mark: mark["at"])


def _mark(record: Json, name: str, values: Json) -> Json:
    experiment = experiments().get(name)
    acts = {act.key: act for act in experiment.acts(values)} if experiment is not None else {}
    act = acts.get(record["key"])
    texts = {"en": act.text.en, "zh-hans": act.text.zh} if act is not None else {"en": record["what"]}
    kept = {field: record[field] for field in ("key", "what", "target", "error")}
    return kept | {"at": record["at"], "text": texts}
