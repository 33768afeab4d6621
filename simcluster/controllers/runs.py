"""One run of a container, as a plan or a rule describes it."""

import math
import random
from dataclasses import dataclass
from typing import Any

SIGTERM_CODE = 143
SIGKILL_CODE = 137
OOM_REASON = "OOMKilled"
START_ERROR_CODE = 128
START_ERROR_REASON = "StartError"
_KEYS = frozenset({"after", "code", "reason", "message", "term", "log", "start_error", "pull_error", "pulled_after"})


@dataclass(frozen=True)
class Run:
    """One run of a container: seconds until it ends (a range to draw from; None: never) and how.

    `term_code` is the exit code on SIGTERM; None ignores it. `log`: (seconds since its start or None, line).
    `pulled_after`: seconds of the pod's life after which the image comes in spite of `pull_error`; None: never.
    """

    after: tuple[float, float] | None = (30.0, 30.0)
    code: int = 0
    reason: str = ""
    message: str = ""
    term_code: int | None = SIGTERM_CODE
    log: tuple[tuple[float | None, str], ...] = ()
    start_error: str = ""
    pull_error: str = ""
    pulled_after: float | None = None

    def seconds(self, rng: random.Random) -> float | None:
        return None if self.after is None else rng.uniform(*self.after)

    @property
    def shown_reason(self) -> str:
        return self.reason or ("Completed" if self.code == 0 else "Error")


class PlanError(ValueError):
    """A plan cannot be read; the text says why."""


def parsed_runs(value: Any, where: str) -> list[Run]:
    """One entry or a list of entries. Raises PlanError, its text beginning with `where`."""
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise PlanError(f"{where} must name a run")
    return [_parsed_run(entry, where) for entry in entries]


def _parsed_run(entry: Any, where: str) -> Run:
    if not isinstance(entry, dict):
        raise PlanError(f"{where} must be an object or a list of objects")
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        raise PlanError(f"{where} has an unknown key {unknown[0]!r}")
    code, term = entry.get("code", 0), entry.get("term", SIGTERM_CODE)
    for name, number in (("code", code), ("term", 0 if term is None else term)):
        if not _is_number(number) or not 0 <= number <= 255 or number != int(number):
            raise PlanError(f"{where}: {name} must be an exit code, 0 to 255")
    texts = {name: entry.get(name, "") for name in ("reason", "message", "start_error", "pull_error")}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise PlanError(f"{where}: {name} must be a string")
    pulled = entry.get("pulled_after")
    if pulled is not None and (not _is_number(pulled) or pulled < 0):
        raise PlanError(f"{where}: pulled_after must be seconds or null")
    lines = entry.get("log", [])
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise PlanError(f"{where}: log must be a list of strings")
    return Run(
        _parsed_after(entry.get("after", 30), where),
        int(code),
        term_code=None if term is None else int(term),
        log=tuple((None, line) for line in lines),
        pulled_after=pulled,
        **texts,
    )


def _parsed_after(value: Any, where: str) -> tuple[float, float] | None:
    if value is None:
        return None
    ends = value if isinstance(value, list) else [value, value]
    if len(ends) != 2 or not all(_is_number(each) and each >= 0 for each in ends):
        raise PlanError(f"{where}: after must be seconds, [low, high] or null")
    return (float(min(ends)), float(max(ends)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
