"""The filter language of the search box: ``exit:137 ns:team-a restarts:>5 since:2h tftest``.

One parser for the page, the JSON and the CSV, and for what completes words. A word that cannot be understood does not
spoil the others: it is told with its place in the text.
"""

import re
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext as _

from jobs.domain.codes import CLASSES
from jobs.domain.kinds import KINDS
from jobs.numbers import number
from jobs.store.pages.jobfilter import FIELDS, NUMBERS, OPERATORS, Comparison, JobFilter, moment

MAX_TEXT = 2000  # of the whole query
MAX_VALUE = 300
MAX_WORDS = 60
SHORT = {"namespace": "ns"}  # how a field is written
WORDS = {name: name for name in FIELDS} | {short: name for name, short in SHORT.items()} | {"code": "exit"}
OTHER_WORDS = (*NUMBERS, "since", "until")
STATES = ("Created", "Running", "Restarting", "Suspended", "Succeeded", "Failed", "Deleted", "Unknown")
POLICIES = ("ExitCode", "OnFailure", "Always", "Never")
CAUSES = (
    "exit",
    "oom",
    "start-error",
    "completed",
    "deleted",
    "evicted",
    "evicted-api",
    "evicted-kubelet",
    "preempted",
    "node-lost",
    "deadline",
    "pod-gc",
    "gang",
    "init",
    "sidecar",
    "unknown",
)
CHOICES: dict[str, tuple[str, ...]] = {
    "state": STATES,
    "kind": tuple(dict.fromkeys(kind.kind for kind in KINDS)),
    "policy": POLICIES,
    "class": CLASSES,
    "actual": ("permanent", "retryable"),
    "cause": CAUSES,
}
SPANS = ("15m", "1h", "2h", "24h", "7d", "30d")
_TOKEN = re.compile(r'(?:([A-Za-z][A-Za-z_-]*):)?("(?:[^"\\]|\\.)*"?|\S*)')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NUMBER = re.compile(r"(>=|<=|>|<|=)?(\d{1,9})")
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})")


class Token(NamedTuple):
    """A word of the query: ``key`` is "" for a plain one; ``start`` and ``end`` are places in the text."""

    key: str
    value: str
    start: int
    end: int


class Problem(NamedTuple):
    """A word that could not be understood, where it stands, and what to write instead."""

    word: str
    start: int
    end: int
    hint: str


@dataclass(frozen=True)
class Parsed:
    chosen: JobFilter
    problems: tuple[Problem, ...] = ()


Known = Callable[[str, str], Sequence[tuple[str, int]]]


class WrongValueError(Exception):
    """A value that its field does not take; the text is the hint."""


def tokens(text: str) -> Iterator[Token]:
    """The words of a query. A quoted value may hold spaces; a quote that is not closed ends with the text."""
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = _TOKEN.match(text, position)
        assert match is not None  # it matches anything
        yield Token((match[1] or "").lower(), _unquoted(match[2]), position, match.end())
        position = max(match.end(), position + 1)


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    closed = _QUOTED.fullmatch(text)
    return re.sub(r"\\(.)", r"\1", closed[1] if closed else text[1:])


def parse(text: str) -> Parsed:
    """The filter that a query says, and what in it could not be understood."""
    found = _Collected()
    problems = []
    if len(text) > MAX_TEXT:
        hint = _("A search has at most %(n)s characters; this is its beginning.") % {"n": number(MAX_TEXT)}
        problems.append(Problem(text[MAX_TEXT:][:20] + "…", MAX_TEXT, len(text), hint))
        text = text[:MAX_TEXT]
    for position, token in enumerate(tokens(text)):
        try:
            if position >= MAX_WORDS:
                raise WrongValueError(_("A search has at most %(n)d words.") % {"n": MAX_WORDS})
            found.take(token)
        except WrongValueError as error:
            problems.append(Problem(text[token.start : token.end], token.start, token.end, str(error)))
    return Parsed(found.filter(), tuple(problems))


class _Collected:
    """What the words said so far."""

    def __init__(self) -> None:
        self._fields: dict[str, list[str]] = {}
        self._numbers: list[Comparison] = []
        self._times = {"since": "", "until": ""}
        self._text: list[str] = []

    def take(self, token: Token) -> None:
        """Raises WrongValueError."""
        if len(token.value) > MAX_VALUE or not token.value.isprintable():
            raise WrongValueError(_("A word has at most %(n)d characters, all printable.") % {"n": MAX_VALUE})
        if not token.key:
            self._text.append(token.value)
        elif token.key in WORDS:
            name = WORDS[token.key]
            self._fields.setdefault(name, []).append(value_of(name, token.value))
        elif token.key in NUMBERS:
            self._numbers.extend(_comparisons(token.key, token.value))
        elif token.key in self._times:
            self._times[token.key] = _time(token.value)
        else:
            raise WrongValueError(_unknown(token))

    def filter(self) -> JobFilter:
        return JobFilter.of(self._fields, self._numbers, self._times["since"], self._times["until"], self._text)


def _unknown(token: Token) -> str:
    near = [word for word in (*WORDS, *OTHER_WORDS) if word[:2] == token.key[:2]]
    if near:
        return _("There is no field %(field)s; did you mean %(near)s?") % {
            "field": token.key,
            "near": ", ".join(f"{word}:" for word in near[:3]),
        }
    quoted = f'"{token.key}:{token.value}"'
    return _("There is no field %(field)s. To search for the text, quote it: %(quoted)s") % {
        "field": token.key,
        "quoted": quoted,
    }


def value_of(name: str, text: str) -> str:
    """The value of a field as it is stored. Raises WrongValueError."""
    if not text:
        raise WrongValueError(_("Write a value behind %(field)s:") % {"field": SHORT.get(name, name)})
    special: dict[str, Callable[[str], str]] = {"exit": _code, "signal": _signal}
    if name in special:
        return special[name](text)
    if name not in CHOICES:
        return text
    for choice in CHOICES[name]:
        if choice.lower() == text.lower():
            return choice
    raise WrongValueError(
        _("%(field)s: takes one of %(choices)s.") % {"field": name, "choices": ", ".join(CHOICES[name])}
    )


def _code(text: str) -> str:
    if not re.fullmatch(r"-?[0-9]{1,10}", text) or not -(2**31) <= int(text) < 2**31:
        raise WrongValueError(_("exit: takes an exit code, such as 137."))
    return str(int(text))


def _signal(text: str) -> str:
    """``SIGKILL``, ``kill`` and ``9`` are the same."""
    try:
        if text.isascii() and text.isdigit():
            return signal.Signals(int(text)).name
        return signal.Signals[text.upper() if text.upper().startswith("SIG") else f"SIG{text.upper()}"].name
    except (ValueError, KeyError):
        raise WrongValueError(_("signal: takes a signal, such as SIGKILL or 9.")) from None


def _comparisons(name: str, text: str) -> list[Comparison]:
    between, one = _RANGE.fullmatch(text), _NUMBER.fullmatch(text)
    if between:
        return [Comparison(name, ">=", int(between[1])), Comparison(name, "<=", int(between[2]))]
    if one:
        return [Comparison(name, one[1] or "=", int(one[2]))]
    raise WrongValueError(_("%(field)s: takes a number: 5, >5, <=5 or 5..10.") % {"field": name})


def _time(text: str) -> str:
    try:
        moment(text, 0.0)
    except (ValueError, OverflowError, OSError):
        raise WrongValueError(_("Write a time as 2h, 30m, 7d, or 2026-11-29T12:00:00Z.")) from None
    return text


def write(chosen: JobFilter) -> str:
    """The query that :func:`parse` reads as this filter."""
    words = [f"{SHORT.get(name, name)}:{_quoted(value)}" for name, values in chosen.fields for value in values]
    words += [f"{name}:{'' if operator == '=' else operator}{value}" for name, operator, value in chosen.numbers]
    words += [f"{name}:{_quoted(at)}" for name, at in (("since", chosen.since), ("until", chosen.until)) if at]
    words += [_quoted(word, plain=True) for word in chosen.text]
    return " ".join(words)


def _quoted(value: str, *, plain: bool = False) -> str:
    """``plain``: not behind a field, so that a colon would make one."""
    if value and not re.search(r'[\s"\\]', value) and not (plain and re.match(r"[A-Za-z][A-Za-z_-]*:", value)):
        return value
    escaped = re.sub(r'(["\\])', r"\\\1", value)
    return f'"{escaped}"'


class Suggestion(NamedTuple):
    """What may stand in place of the word at the cursor. ``jobs``: how many have it, None for a field's name."""

    insert: str
    jobs: int | None = None


@dataclass(frozen=True)
class Completion:
    """``start`` and ``end``: the part of the text that a suggestion replaces."""

    start: int
    end: int
    suggestions: list[Suggestion]


def complete(text: str, cursor: int, known: Known) -> Completion:
    """Suggestions for the word that ends at ``cursor``. ``known``: values of a field that begin like this, and how
    many jobs have each."""
    text = text[: max(0, cursor)][:MAX_TEXT]
    token = next((token for token in tokens(text) if token.end == len(text)), Token("", "", len(text), len(text)))
    if not token.key:
        names = [f"{SHORT.get(name, name)}:" for name in FIELDS] + [f"{name}:" for name in OTHER_WORDS]
        found = [Suggestion(name) for name in names if name.startswith(token.value.lower())]
    else:
        found = [Suggestion(f"{token.key}:{insert}", jobs) for insert, jobs in _values(token, known)]
    return Completion(token.start, token.end, found)


def _values(token: Token, known: Known) -> Iterator[tuple[str, int | None]]:
    if token.key in ("since", "until"):
        yield from ((span, None) for span in SPANS if span.startswith(token.value))
    elif token.key in NUMBERS and not token.value:
        yield from ((f"{operator}0", None) for operator in OPERATORS[2:3])
    elif token.key in WORDS:
        yield from ((_quoted(value), jobs) for value, jobs in known(WORDS[token.key], token.value))
