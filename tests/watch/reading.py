"""What the product says of what was watched."""

import json
import os
from io import StringIO
from typing import Any
from urllib.parse import urlsplit

from django.core.management import call_command
from django.db import connection

from jobs import models
from jobs.ingest.streams import StreamKey

Counts = dict[tuple[str, str, int], tuple[int, int]]  # job name, replica type, index: incarnations, restarts in place


def report(cluster: str | None = None, **filters: Any) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("report", output="json", stdout=out, cluster=cluster, **filters)
    jobs: list[dict[str, Any]] = json.loads(out.getvalue())["jobs"]
    return jobs


def only_job(cluster: str | None = None) -> dict[str, Any]:
    (job,) = report(cluster)
    return job


def counts(cluster: str | None = None) -> Counts:
    return {
        (job["name"], replica["type"], replica["index"]): (replica["incarnations"], replica["in_place_restarts"])
        for job in report(cluster)
        for replica in job["replicas"]
    }


def missed(cluster: str | None = None) -> list[tuple[str, Any]]:
    """What makes a count less than missed, by job: intervals that nobody watched, or only pods were seen."""
    return [(job["name"], job["unobserved"] or job["state"]) for job in report(cluster) if job["at_least"]]


def without_times(job: dict[str, Any]) -> dict[str, Any]:
    """A report's job as every watcher must tell it: each has its own clock and name, the rest is the cluster's."""
    pods = ("uid", "name", "exit_code", "reason", "cause_code", "restart_count", "was_restart", "ends")
    replicas = [
        {**replica, "pods": [{name: one[name] for name in pods} for one in replica["pods"]]}
        for replica in job["replicas"]
    ]
    names = ("uid", "name", "state", "present", "true_restarts", "kubectl_restarts", "hidden_restarts", "at_least")
    spans = len(job["restarting_condition"])
    return {name: job[name] for name in names} | {"replicas": replicas, "restarting_condition": spans}


def told(cluster: str) -> dict[str, dict[str, Any]]:
    """What the report says of each job, by UID: the order in which jobs were first seen is a watcher's own, too."""
    return {job["uid"]: without_times(job) for job in report(cluster)}


def stream(key: StreamKey, cluster: str) -> models.Stream:
    return models.Stream.objects.get(
        cluster__name=cluster, resource=key.resource, namespace=key.namespace, selector=key.selector
    )


def database_url() -> str:
    """The test database, as other processes are given it."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
