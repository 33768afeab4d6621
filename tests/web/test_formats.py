"""Counts, durations and times: written the same way by the server and by the browser."""

import json
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation

from jobs.domain.lengths import length
from jobs.numbers import number
from jobs.templatetags.restartscope import when
from jobs.web.formats import chip_text, duration, exit_text, lasted, lasted_note, measured, whole_seconds

TABLES = Path(__file__).parent.parent / "js"
TABLE = json.loads((TABLES / "durations.json").read_text(encoding="utf-8"))
LENGTHS = json.loads((TABLES / "lengths.json").read_text(encoding="utf-8"))
NUMBERS = json.loads((TABLES / "numbers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("language", "count", "text"), NUMBERS)
def test_counts(language: str, count: int, text: str) -> None:
    with translation.override(language):
        assert number(count) == text


def test_every_language_of_the_pages_is_in_the_table_of_counts() -> None:
    assert {language for language, *_ in NUMBERS} == {language for language, _name in settings.LANGUAGES}


@pytest.mark.parametrize(("seconds", "text"), TABLE)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_no_duration_is_nothing() -> None:
    assert duration(None) == lasted(None) == lasted_note(None) == measured(None) == ""


@pytest.mark.parametrize(("seconds", "said", "text", "note"), LENGTHS)
def test_lengths(seconds: float, said: float | None, text: str, note: str) -> None:
    with translation.override("en"):
        known = length(seconds, said)
        assert (lasted(known), lasted_note(known)) == (text, note)


def test_the_clusters_clock_knows_whole_seconds() -> None:
    assert [whole_seconds(n) for n in (0, 1, 75)] == ["< 1 s", "1 s", "1 m 15 s"]


def test_ends() -> None:
    assert exit_text(138, "Error") == "138"
    assert exit_text(137, "OOMKilled") == "137 OOMKilled"
    assert exit_text(None, "Evicted") == "Evicted"
    assert chip_text(137, oom=True) == "137 OOM"
    assert chip_text(None, oom=False) == "—"


def test_times_are_utc_for_browsers_to_localise() -> None:
    assert when(1795956231.062618, "exact") == (
        '<time datetime="2026-11-29T12:43:51.062618+00:00" data-form="exact">2026-11-29 12:43:51.062 UTC</time>'
    )


@pytest.mark.parametrize("epoch", [None, 1e300, float("nan"), float("inf"), -1e18])
def test_a_time_that_no_calendar_has_is_left_out(epoch: float | None) -> None:
    assert when(epoch) == ""
