"""What an API server, or what stands before it, may answer to a write."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from jobs.experiments.writes import Away, Refused, Writer
from jobs.ingest.transport import Cut, Unreachable
from tests.experiments.small import tfjob


class Scripted:
    """A transport that gives one answer, or raises."""

    def __init__(self, status: int = 200, body: bytes = b"{}", error: Exception | None = None) -> None:
        self.status, self.body, self.error = status, body, error
        self.asked: list[tuple[str, str, Any]] = []

    @contextmanager
    def send(self, method: str, path: str, _query: Mapping[str, str], body: Any, **_: Any) -> Iterator["Scripted"]:
        self.asked.append((method, path, body))
        if isinstance(self.error, Unreachable):
            raise self.error
        yield self

    @contextmanager
    def open(self, path: str, _query: Mapping[str, str], **_: Any) -> Iterator["Scripted"]:
        self.asked.append(("GET", path, None))
        yield self

    def read(self, _limit: int) -> bytes:
        if self.error is not None:
            raise self.error
        return self.body


def status(code: int, reason: str, message: str, **details: Any) -> bytes:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    return json.dumps(body).encode()


def create(transport: Scripted) -> Any:
    return Writer(transport).create(tfjob("mine", "default"), "default")  # type: ignore[arg-type]


DENIED = 'admission webhook "policy.example.org" denied the request: images must come from our mirror'
FAILED = 'Internal error occurred: failed calling webhook "mutate.example.org": context deadline exceeded'


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [(403, "Forbidden", DENIED), (400, "BadRequest", DENIED), (500, "InternalError", FAILED), (422, "Invalid", "bad")],
)
def test_a_webhooks_words_are_the_refusal(code: int, reason: str, message: str) -> None:
    with pytest.raises(Refused) as caught:
        create(Scripted(code, status(code, reason, message)))
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize("code", [429, 502, 503, 504])
def test_a_server_that_is_busy_has_refused_nothing(code: int) -> None:
    with pytest.raises(Away, match=f"answered {code}"):
        create(Scripted(code, b"<html>Bad gateway</html>"))


@pytest.mark.parametrize("error", [Unreachable("it is away"), Cut("it was cut")])
def test_no_answer_is_no_refusal(error: Exception) -> None:
    with pytest.raises(Away, match=str(error)):
        create(Scripted(error=error))


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b'"text"', b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_no_answer(body: bytes) -> None:
    with pytest.raises(Away, match="no JSON object"):
        create(Scripted(200, body))


ODD: list[Any] = [
    {"details": None},
    {"details": {"causes": None}},
    {"details": {"causes": [None, 1, {"field": None, "message": None}]}},
    {"details": {"causes": [{"field": {"a": 1}, "message": ["x"]}]}, "message": 7},
    [],
    "text",
    None,
]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_status_is_a_refusal_all_the_same(odd: Any) -> None:
    with pytest.raises(Refused) as caught:
        create(Scripted(403, json.dumps(odd).encode()))
    assert caught.value.message
    assert all(isinstance(cause.field, str) and isinstance(cause.message, str) for cause in caught.value.causes)


def test_a_very_long_message_is_cut() -> None:
    with pytest.raises(Refused) as caught:
        create(Scripted(403, status(403, "Forbidden", "x" * 100_000)))
    assert len(caught.value.message) == 2000


def test_names_cannot_lead_to_another_path() -> None:
    transport = Scripted()
    Writer(transport).delete_pod("a/../b", "x/log?y=1#z", "uid")  # type: ignore[arg-type]
    assert transport.asked[0][1] == "/api/v1/namespaces/a%2F..%2Fb/pods/x%2Flog%3Fy%3D1%23z"


@pytest.mark.parametrize("answer", [b"{}", b"[]", b'{"status": {"phase": []}}', b'{"items": [{"metadata": {}}]}'])
def test_an_odd_list_of_namespaces_offers_none(answer: bytes) -> None:
    if answer == b"[]":
        with pytest.raises(Away):
            Writer(Scripted(200, answer)).namespaces()  # type: ignore[arg-type]
    else:
        assert Writer(Scripted(200, answer)).namespaces() == {}  # type: ignore[arg-type]
