"""What watchers say is translated, whatever it is: the sentences are read from the watchers' own code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from jobs.domain.kinds import KINDS
from jobs.ingest import failures, unreachable
from jobs.ingest.decode import ApiStatus
from jobs.ingest.failures import Kind, of_status
from jobs.ingest.streams import streams_for
from jobs.web.streamwords import stream_words

ROOT = Path(__file__).resolve().parents[2] / "jobs"
STREAM = streams_for(KINDS)[0]
SAID_BY = {"DecodeError", "Skipped", "Stalled", "Cut", "Unreachable", "Failure"}


def sentences_in(path: Path) -> Iterator[str]:
    """The literal texts of what is raised or skipped; what is put into them stands as ``x``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAID_BY:
            for argument in node.args:
                text = literal(argument)
                if text:
                    yield text


def literal(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = literal(node.left), literal(node.right)
        return left + (right or "x") if left else ""
    return ""


def said() -> Iterator[str]:
    for path in sorted((ROOT / "ingest").glob("*.py")):
        yield from sentences_in(path)
    for stream in (STREAM, STREAM._replace(namespace="team-a")):
        for code in (None, 401, 403, 404, 410, 418, 429, 500):
            yield of_status(stream, "watch", ApiStatus(code=code)).sentence
    yield from (f"https://api:6443 {text}" for _, text in unreachable.CAUSES)
    yield unreachable.why_unreachable("https://api:6443", OSError())
    yield "Reading pods failed by a fault of this program; see the log. It is tried again."


@pytest.mark.parametrize("sentence", sorted(set(said())))
def test_it_is_said_in_chinese(sentence: str) -> None:
    with translation.override("zh-hans"):
        assert stream_words(sentence) != sentence
    with translation.override("en"):
        assert stream_words(sentence) == sentence


def test_every_kind_of_failure_was_tried() -> None:
    kinds = {of_status(STREAM, "list", ApiStatus(code=code)).kind for code in (None, 401, 403, 404, 410, 418, 429)}
    assert kinds == set(failures.STATES) - {Kind.UNREACHABLE, Kind.CUT, Kind.STALLED}


@pytest.mark.parametrize(
    "reason",
    [
        "listed again",
        "nothing comes from this version",
        "Event of another kind of object",
        "pod of another kind of owner",
    ],
)
def test_a_reason_is_said_in_chinese(reason: str) -> None:
    with translation.override("zh-hans"):
        assert stream_words(reason) != reason


def test_what_the_cluster_said_stays() -> None:
    sentence = of_status(STREAM, "list", ApiStatus(code=403, message='no "way" It says 100 % %(x)s')).sentence
    with translation.override("zh-hans"):
        words = stream_words(sentence)
    assert '"no \\"way\\" It says 100 % %(x)s"' in words
    assert "grant list" not in words


@pytest.mark.parametrize("odd", ["", "410", "%(host)s <b>", "x" * 100_000])
def test_what_is_not_known_stays_as_it_is(odd: str) -> None:
    with translation.override("zh-hans"):
        assert stream_words(odd) == odd
