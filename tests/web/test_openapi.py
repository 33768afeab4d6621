"""The description of the API against what it answers."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern

from jobs.models import Job, Restart
from jobs.store.pages.jobfilter import JobFilter
from jobs.store.pages.jobs import Order, list_all
from jobs.web.openapi import SCHEMAS, document
from jobs.web.urls import urlpatterns
from jobs.web.views.listing import _csv_parts, _json_parts
from tests.support.recorded import replay

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("recorded")]
SCENARIOS = ("seed-exitcode-138", "mixed-codes", "exit-sweep-1", "gang-waits", "node-lost", "volcano-job", "name-reuse")
TYPES = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}


@pytest.fixture(scope="module")
def recorded(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), transaction.atomic():
        replay(*SCENARIOS)
        yield
        transaction.set_rollback(True)


def check(value: Any, schema: dict[str, Any], where: str = "answer") -> None:
    """The part of JSON Schema that the document uses."""
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert any(isinstance(value, TYPES[kind]) for kind in kinds), (where, value, kinds)  # type: ignore[arg-type]
    assert not isinstance(value, bool) or "boolean" in kinds, (where, value)
    assert value is None or "enum" not in schema or value in schema["enum"], (where, value)
    if schema.get("format") == "date-time" and value is not None:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", value), (where, value)
    if isinstance(value, list):
        for number, item in enumerate(value):
            check(item, schema["items"], f"{where}[{number}]")
    if isinstance(value, dict):
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        assert set(schema.get("required", ())) <= set(value), (where, set(schema["required"]) - set(value))
        for name, item in value.items():
            if name in properties:
                check(item, properties[name], f"{where}.{name}")
            elif isinstance(rest, dict):
                check(item, rest, f"{where}.{name}")
            else:
                assert rest, (where, name)


def schema_of(path: str, status: int = 200) -> dict[str, Any]:
    return document()["paths"][path]["get"]["responses"][str(status)]["content"]["application/json"]["schema"]


def answer(address: str, path: str, status: int = 200) -> Any:
    response = Client().get(address)
    assert response.status_code == status, (address, response.content)
    found = response.json()
    check(found, schema_of(path, status))
    return found


def test_lists_are_as_described() -> None:
    found = answer("/api/jobs/", "/api/jobs/")
    assert len(found["jobs"]) == Job.objects.count() == found["totals"]["jobs"]
    answer("/api/jobs/?q=exit:1+restarts:0&sort=-created", "/api/jobs/")
    answer("/api/facets/?kind=TFJob", "/api/facets/")
    answer("/api/complete/?q=exit:1&at=6", "/api/complete/")
    answer("/api/exit-codes/", "/api/exit-codes/")
    answer("/healthz", "/healthz")


def test_jobs_are_as_described() -> None:
    for job in Job.objects.all():
        answer(f"/api/jobs/{job.uid}/", "/api/jobs/{uid}/")
        answer(f"/api/jobs/{job.uid}/timeline/", "/api/jobs/{uid}/timeline/")
        answer(f"/api/jobs/{job.uid}/evidence/?what=count", "/api/jobs/{uid}/evidence/")
        restart = Restart.objects.filter(job=job, counts=True).first()
        if restart is not None:
            what = f"restart:{restart.pod_uid}:{restart.number}"
            answer(f"/api/jobs/{job.uid}/evidence/?what={what}", "/api/jobs/{uid}/evidence/")


@pytest.mark.parametrize(
    ("address", "path", "status"),
    [
        ("/api/jobs/?q=foo:bar", "/api/jobs/", 400),
        ("/api/jobs/?after=x", "/api/jobs/", 400),
        ("/api/jobs/?sort=x", "/api/jobs/", 400),
        ("/api/jobs.json?exit=x", "/api/jobs.json", 400),
        ("/api/jobs.csv?exit=x", "/api/jobs.csv", 400),
        ("/api/facets/?q=state:x", "/api/facets/", 400),
        ("/api/complete/?at=x", "/api/complete/", 400),
        ("/api/exit-codes/?since=x", "/api/exit-codes/", 400),
        ("/api/jobs/none/", "/api/jobs/{uid}/", 404),
        ("/api/jobs/none/timeline/", "/api/jobs/{uid}/timeline/", 404),
        ("/api/jobs/none/evidence/?what=count", "/api/jobs/{uid}/evidence/", 404),
    ],
)
def test_errors_are_as_described(address: str, path: str, status: int) -> None:
    answer(address, path, status)


def test_every_address_of_the_api_is_described() -> None:
    routes = {str(one.pattern) for one in urlpatterns if isinstance(one, URLPattern)}
    api = {"/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route) for route in routes if route.startswith("api/")}
    assert api - {"/api/openapi.json"} == {path for path in document()["paths"] if path.startswith("/api/")}
    assert Client().get("/api/openapi.json").json() == json.loads(json.dumps(document()))


def test_exports_hold_exactly_what_is_filtered() -> None:
    chosen, order = JobFilter.of({"kind": ["TFJob"]}), Order("restarts")
    listed = Client().get("/api/jobs/?kind=TFJob&sort=restarts").json()["jobs"]
    exported = json.loads("".join(_json_parts(list_all(chosen, order, 0.0))))
    assert exported == listed
    check(exported, SCHEMAS["AllJobs"])
    head, *lines = "".join(_csv_parts(list_all(chosen, order, 0.0))).splitlines()
    assert head.startswith("cluster,namespace,kind,name,uid,state")
    assert [line.split(",")[4] for line in lines] == [job["uid"] for job in listed]
    assert any("138 x5; 0" in line for line in lines)
    assert json.loads("".join(_json_parts(list_all(JobFilter.of({"kind": ["MPIJob"]}), order, 0.0)))) == []


def test_a_cell_is_never_a_formula() -> None:
    Job.objects.filter(namespace="gang-waits").update(name="=cmd()")
    text = "".join(_csv_parts(list_all(JobFilter.of({"namespace": ["gang-waits"]}), Order("recent"), 0.0)))
    assert ",'=cmd()," in text
