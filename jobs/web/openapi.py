"""The JSON API as an OpenAPI document; tests hold it against real answers."""

from typing import Any

from jobs.store.pages.jobfilter import FIELDS, NUMBERS
from jobs.store.pages.jobs import SORTS
from jobs.web.query import CHOICES

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "integer"}
REAL: Json = {"type": "number"}
FLAG: Json = {"type": "boolean"}
TIME: Json = {"type": "string", "format": "date-time"}
ANY: Json = {"type": "object"}


def maybe(schema: Json) -> Json:
    """The same, or null."""
    return {**schema, "type": [schema["type"], "null"]}


def array(items: Json) -> Json:
    return {"type": "array", "items": items}


def record(**properties: Json) -> Json:
    """An object that has all of these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


INTERVAL = record(start=maybe(TIME), end=maybe(TIME))
PLACE = record(name=TEXT, ends=NUMBER)
CODE = record(exit_code=maybe(NUMBER), oom=FLAG, ends=NUMBER)
SAID: Json = {
    "code": TEXT,
    "at": maybe(TIME),
    "sentence": TEXT,
    "params": ANY,
    "evidence": array(record(resource=TEXT, uid=TEXT, at=maybe(TIME))),
}
COUNTS: Json = {"true_restarts": NUMBER, "kubectl_restarts": NUMBER, "hidden_restarts": NUMBER}
IDENTITY: Json = {
    "cluster": TEXT,
    "namespace": TEXT,
    "api_group": TEXT,
    "kind": TEXT,
    "name": TEXT,
    "uid": TEXT,
    "state": {**TEXT, "enum": [state for state in CHOICES["state"] if state != "Deleted"]},
    "present": FLAG,
    "created_at": maybe(TIME),
    "finished_at": maybe(TIME),
    "deleted_at": maybe(TIME),
    "at_least": FLAG,
    **COUNTS,
}
POD = record(
    uid=TEXT,
    name=TEXT,
    node=maybe(TEXT),
    created_at=maybe(TIME),
    running_at=maybe(TIME),
    ended_at=maybe(TIME),
    deleted_at=maybe(TIME),
    deleted_between=maybe(array(TIME)),
    exit_code=maybe(NUMBER),
    documented_class=maybe(TEXT),
    actual_class=maybe(TEXT),
    signal=maybe(TEXT),
    reason=maybe(TEXT),
    message=maybe(TEXT),
    cause_code=maybe(TEXT),
    cause=maybe(TEXT),
    first_cause_uid=maybe(TEXT),
    restart_count=NUMBER,
    was_restart=FLAG,
    excluded=maybe(TEXT),
    ends=array(record(at=maybe(TIME), exit_code=maybe(NUMBER), reason=maybe(TEXT))),
)
REPLICA = record(
    type=TEXT,
    index=NUMBER,
    job_index=NUMBER,
    restart_policy=maybe(TEXT),
    incarnations=NUMBER,
    recreations=NUMBER,
    in_place_restarts=NUMBER,
    at_least=FLAG,
    init_restarts=NUMBER,
    sidecar_restarts=NUMBER,
    state=TEXT,
    flags=array(TEXT),
    pods=array(ref("Pod")),
    **COUNTS,
)
COST = record(
    life_seconds=REAL,
    incomplete_seconds=REAL,
    replica_seconds_waited=REAL,
    gang_replica_seconds_lost=REAL,
    productive=maybe(REAL),
    replicas=array(record(type=TEXT, index=NUMBER, job_index=NUMBER, waited_seconds=REAL)),
)
SCHEMAS: Json = {
    "Error": record(error=record(code=TEXT, message=TEXT)),
    "ListedJob": record(
        **IDENTITY,
        shown_state={**TEXT, "enum": list(CHOICES["state"])},
        last_restart_at=maybe(TIME),
        podgroup_phase=TEXT,
        replicas=NUMBER,
        exit_codes=array(CODE),
        failed_by=maybe(
            record(at=maybe(TIME), exit_code=maybe(NUMBER), cause_code=TEXT, reason=TEXT, pod_uid=TEXT, node=TEXT)
        ),
        found_by={"type": "object", "additionalProperties": array({"type": ["string", "integer"]})},
    ),
    "Jobs": record(
        jobs=array(ref("ListedJob")), next=maybe(TEXT), sequence=NUMBER, totals=record(jobs=NUMBER, **COUNTS)
    ),
    "AllJobs": array(ref("ListedJob")),
    "Facets": record(
        facets={
            "type": "object",
            "additionalProperties": array(record(value=TEXT, jobs=NUMBER, text=TEXT)),
        }
    ),
    "Completion": record(start=NUMBER, end=NUMBER, suggestions=array(record(insert=TEXT, jobs=maybe(NUMBER)))),
    "ExitCodes": record(
        codes=array(
            record(
                exit_code=maybe(NUMBER),
                restarts=NUMBER,
                failures=NUMBER,
                jobs=NUMBER,
                nodes=array(PLACE),
                images=array(PLACE),
                over_time=array(NUMBER),
            )
        ),
        start=maybe(TIME),
        end=maybe(TIME),
    ),
    "Pod": POD,
    "Replica": REPLICA,
    "Job": record(
        **IDENTITY,
        deleted_between=maybe(array(TIME)),
        last_observed_at=maybe(TIME),
        job_restarts=maybe(NUMBER),
        backoff_limit=maybe(NUMBER),
        replicas=array(ref("Replica")),
        restarting_condition=array(INTERVAL),
        restarting=array(record(start=maybe(TIME), end=maybe(TIME), seen_by=array(TEXT))),
        segments=array(INTERVAL),
        unobserved=array(INTERVAL),
        ended=maybe(record(**SAID)),
        findings=array(record(severity={**TEXT, "enum": ["error", "warning", "info"]}, **SAID)),
        cost=COST,
    ),
    "Timeline": {
        "type": "object",
        "description": "Times are epoch seconds. What is narrower than a pixel is in heaps.",
        "required": ["seq", "now"],
        "properties": {
            "seq": NUMBER,
            "now": REAL,
            "start": maybe(REAL),
            "end": maybe(REAL),
            "whole": FLAG,
            "story": {"type": "object", "additionalProperties": TEXT},
            "replicas": array(record(key=TEXT, true=NUMBER)),
            "spans": array(ANY),
            "lanes": {"type": "object", "required": ["pixel"], "properties": {"pixel": REAL}},
            "rows": array(TEXT),
            "pixel": REAL,
            "pods": array(ANY),
            "restarts": array(ANY),
            "heaps": array(
                record(
                    replica=TEXT,
                    first=TEXT,
                    start=REAL,
                    end=REAL,
                    pods=NUMBER,
                    restarts=NUMBER,
                    codes={"type": "object", "additionalProperties": NUMBER},
                )
            ),
            "heat": ANY,
            "bands": array(record(start=REAL, end=maybe(REAL))),
            "unobserved": array(record(start=maybe(REAL), end=maybe(REAL))),
            "marks": array(
                record(
                    key=TEXT,
                    at=REAL,
                    what=TEXT,
                    target=TEXT,
                    error=TEXT,
                    text={"type": "object", "additionalProperties": TEXT},
                )
            ),
        },
    },
    "Evidence": record(
        what=TEXT,
        job=TEXT,
        value={"type": ["string", "integer"]},
        parts=array(record(what=TEXT, value={"type": ["string", "integer"]}, href=TEXT)),
        observations=array(
            record(
                id=NUMBER,
                resource=TEXT,
                namespace=TEXT,
                name=TEXT,
                uid=TEXT,
                resource_version=TEXT,
                verb={**TEXT, "enum": ["ADDED", "MODIFIED", "DELETED", "LISTED", "VANISHED"]},
                occurred_at=maybe(TIME),
                observed_at=TIME,
                facts=ANY,
            )
        ),
        left_out=NUMBER,
    ),
    "Health": {
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": {**TEXT, "enum": ["ok", "unavailable"]},
            "reason": TEXT,
            "sequence": NUMBER,
            "clusters": {
                "type": "object",
                "additionalProperties": record(last_event_age_seconds=maybe(REAL)),
            },
        },
    },
}


def parameter(name: str, description: str, *, where: str = "query", **schema: Any) -> Json:
    found: Json = {"name": name, "in": where, "description": description, "schema": schema or TEXT}
    return found | {"required": True} if where == "path" else found


UID = parameter("uid", "UID of the job.", where="path")
CLUSTER = parameter("cluster", "Cluster, where several have a job of this UID; else the newest one is meant.")
FILTER = [
    parameter("q", "Filter language: `exit:137 ns:team-a restarts:>5 since:2h tftest`; see docs/api.md."),
    *(
        parameter(name, f"As `{name}:` in `q`; may be repeated.", type="array", items=TEXT)
        for name in (*FIELDS, *NUMBERS)
    ),
]
VIEW = [
    parameter("from", "Epoch seconds; with `to` and `width` it says what is narrower than a pixel.", type="number"),
    parameter("to", "Epoch seconds.", type="number"),
    parameter("width", "Pixels of the range.", type="number"),
    parameter("order", "Whose rows come first.", type="string", enum=["index", "worst"], default="index"),
    parameter("rows", "These replicas alone, such as `worker/0/0,worker/1/0`."),
    parameter("lanes", "With any value: the job's phases in the range alone."),
]
SORT = parameter(
    "sort",
    "Order; behind a minus the smallest come first.",
    type="string",
    enum=[*SORTS, *(f"-{name}" for name in SORTS)],
    default=SORTS[0],
)
AFTER = parameter("after", "The `next` of the page before.")


def get(summary: str, schema: str, parameters: list[Json], *errors: int, media: str = "application/json") -> Json:
    """One GET operation. ``schema``: of its answer, "" where it is no JSON."""
    content = {"schema": ref(schema)} if schema else {}
    responses: Json = {"200": {"description": "The answer.", "content": {media: content}}}
    words = {400: "The request cannot be understood.", 404: "Nothing of that name is known."}
    for status in errors:
        responses[str(status)] = {
            "description": words[status],
            "content": {"application/json": {"schema": ref("Error")}},
        }
    return {"get": {"summary": summary, "parameters": parameters, "responses": responses}}


STREAM = "text/event-stream"
SINCE = parameter("since", "Sequence number up to which the reader knows everything.", type="integer")
WINDOW = parameter("since", "Window.", type="string", enum=["1h", "24h", "7d", "30d"])
PATHS: Json = {
    "/api/jobs/": get("Jobs, 50 at a time", "Jobs", [*FILTER, SORT, AFTER], 400),
    "/api/jobs.json": get("All jobs that match", "AllJobs", [*FILTER, SORT], 400),
    "/api/jobs.csv": get("All jobs that match, as a table", "", [*FILTER, SORT], 400, media="text/csv"),
    "/api/facets/": get("How many jobs have each value of each field", "Facets", FILTER, 400),
    "/api/complete/": get(
        "What the word at a place of a filter may become",
        "Completion",
        [FILTER[0], parameter("at", "Place of the cursor in `q`.", type="integer")],
        400,
    ),
    "/api/exit-codes/": get("Which exit codes end runs, where and when", "ExitCodes", [WINDOW], 400),
    "/api/jobs/events": get("Changes of the list, as they happen", "", [*FILTER, SINCE], 400, media=STREAM),
    "/api/jobs/{uid}/": get("One job, as `manage.py report` tells it", "Job", [UID, CLUSTER], 404),
    "/api/jobs/{uid}/timeline/": get("What the timeline draws", "Timeline", [UID, CLUSTER, *VIEW], 400, 404),
    "/api/jobs/{uid}/events": get(
        "Changes of one job, as they happen", "", [UID, CLUSTER, SINCE], 400, 404, media=STREAM
    ),
    "/api/jobs/{uid}/evidence/": get(
        "The observations that a number, a phase or a finding rests on",
        "Evidence",
        [
            UID,
            CLUSTER,
            parameter(
                "what",
                "`count`, `replica:<type>:<index>`, `restart:<pod UID>:<number>`, `phase:<lane>:<number>`, `ended`, "
                "`finding:<code>`.",
            ),
        ],
        400,
        404,
    ),
    "/healthz": get("Whether this process can answer", "Health", []),
}


def document() -> Json:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Restartscope",
            "version": "1",
            "description": "True restart counts of Kubeflow training jobs. Everything is read only. Times are UTC.",
        },
        "paths": PATHS,
        "components": {"schemas": SCHEMAS},
    }
