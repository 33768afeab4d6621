"""A small reading of `sh -c` scripts: how long a container runs, with which code it ends, what it prints.

Understood are the statements that test jobs are made of: assignments, `echo` and `printf` (also into a file), `cat`,
`sleep`, `wait`, `exit`, `trap "exit N" TERM`, `[ ... ]`, `true`, `false`, `tail /dev/zero`, `case`, `if`, `for`,
`while`, `&&`, `||`, `!`, and in words variables, `${name#pattern}` and its kin, `$(...)` and `$((...))`. Anything else
raises NotUnderstood: the caller then takes its default.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field

from simcluster.controllers.shell_arithmetic import evaluate
from simcluster.controllers.shell_parser import NotUnderstood, Parser, Statement
from simcluster.controllers.shell_words import Words

MAX_STEPS = 10_000
MAX_PRINTED = 20_000  # lines, and characters of a file
SIGKILL_CODE = 137

__all__ = ["NotUnderstood", "Outcome", "run_script"]


class _Exit(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


class _OutOfMemory(Exception):
    pass


@dataclass
class Outcome:
    """What a script does when nothing disturbs it. `seconds` None: it runs for ever. `term_code` None: SIGTERM is
    ignored, as the first process of a container does without a trap, or while the shell waits for a program."""

    seconds: float | None = 0.0
    code: int = 0
    out_of_memory: bool = False
    term_code: int | None = None
    printed: list[tuple[float, str]] = field(default_factory=list)  # seconds since the start, line


def run_script(script: str, environment: Mapping[str, str], files: MutableMapping[str, str]) -> Outcome:
    """Runs a script on the environment and the files (path to content) it sees. Raises NotUnderstood."""
    shell = _Shell(dict(environment), files)
    outcome = shell.outcome
    try:
        shell.run(Parser(script).statements())
        outcome.code = shell.status
    except _Exit as ended:
        outcome.code = ended.code
    except _OutOfMemory:
        outcome.code, outcome.out_of_memory = SIGKILL_CODE, True
    except RecursionError:
        raise NotUnderstood("it is nested too deeply") from None
    outcome.term_code = shell.term_code if shell.listens else None
    return outcome


_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class _Shell:
    def __init__(self, variables: dict[str, str], files: MutableMapping[str, str]) -> None:
        self.outcome = Outcome()
        self.status = 0
        self.term_code: int | None = None
        self.listens = True  # at the last wait a trap would have been run at once
        self._words = Words(variables, self._printed_by, lambda: self.status)
        self._files = files
        self._background: list[float | None] = []
        self._steps = 0

    def run(self, statements: list[Statement]) -> None:
        for statement in statements:
            self._run(statement)

    def _run(self, statement: Statement) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise NotUnderstood("it goes on for too long")
        kind, detail = statement
        getattr(self, f"_run_{kind}")(detail)

    def _run_simple(self, detail: tuple[list[str], str]) -> None:
        raw, target = detail
        assigned = []
        while raw and (match := _ASSIGNMENT.fullmatch(raw[0])):
            assigned.append((match[1], match[2]))
            raw = raw[1:]
        for name, value in assigned:
            self.status = 0
            self._words.variables[name] = self._words.expanded(value)
        if not raw:
            return
        words = [part for word in raw for part in self._words.fields(word)]
        if not words:
            return
        self._call(words, target)

    def _run_group(self, detail: list[Statement]) -> None:
        self.run(detail)

    def _run_not(self, detail: Statement) -> None:
        self._run(detail)
        self.status = 0 if self.status else 1

    def _run_and(self, detail: tuple[Statement, Statement]) -> None:
        self._run(detail[0])
        if self.status == 0:
            self._run(detail[1])

    def _run_or(self, detail: tuple[Statement, Statement]) -> None:
        self._run(detail[0])
        if self.status != 0:
            self._run(detail[1])

    def _run_background(self, detail: Statement) -> None:
        kind, body = detail
        words = body[0] if kind == "simple" else []  # type: ignore[index]
        if len(words) != 2 or words[0] != "sleep":
            raise NotUnderstood("only sleep is understood in the background")
        self._background.append(self._seconds(self._words.expanded(words[1])))
        self.status = 0

    def _run_if(self, detail: tuple[list[tuple[list[Statement], list[Statement]]], list[Statement]]) -> None:
        branches, otherwise = detail
        for condition, body in branches:
            self.run(condition)
            if self.status == 0:
                self.run(body)
                return
        self.status = 0
        self.run(otherwise)

    def _run_case(self, detail: tuple[str, list[tuple[list[str], list[Statement]]]]) -> None:
        subject, branches = self._words.expanded(detail[0]), detail[1]
        self.status = 0
        for patterns, body in branches:
            if any(fnmatch.fnmatchcase(subject, self._words.expanded(pattern)) for pattern in patterns):
                self.run(body)
                return

    def _run_for(self, detail: tuple[str, list[str], list[Statement]]) -> None:
        name, words, body = detail
        for value in [part for word in words for part in self._words.fields(word)]:
            self._words.variables[name] = value
            self.run(body)

    def _run_while(self, detail: tuple[list[Statement], list[Statement]], until: bool = False) -> None:
        condition, body = detail
        while self.outcome.seconds is not None:
            if self._steps > MAX_STEPS // 2 and self.outcome.seconds > 0:
                self.outcome.seconds = None  # it sleeps in every round: for ever, as far as anybody waits
                raise _Exit(0)
            self.run(condition)
            if (self.status == 0) is until:
                break
            self.run(body)
        self.status = 0

    def _run_until(self, detail: tuple[list[Statement], list[Statement]]) -> None:
        self._run_while(detail, until=True)

    def _printed_by(self, script: str) -> str:
        """Command substitution, in a shell of its own that takes no time."""
        inner = _Shell(dict(self._words.variables), self._files)
        try:
            inner.run(Parser(script).statements())
        except _Exit as ended:
            inner.status = ended.code
        self.status = inner.status
        return "\n".join(line for _, line in inner.outcome.printed)

    # Commands

    def _call(self, words: list[str], target: str) -> None:
        command = getattr(self, f"_do_{_NAMES.get(words[0], words[0])}", None)
        if command is None:
            raise NotUnderstood(f"{words[0]!r} is not simulated")
        self.status = 0
        printed = command(words[1:])
        if printed is None:
            return
        if not target:
            at = self.outcome.seconds or 0.0
            if len(self.outcome.printed) > MAX_PRINTED:
                raise NotUnderstood("it prints too much")
            self.outcome.printed += [(at, line) for line in printed.split("\n")]
            return
        path = self._words.expanded(target.lstrip(">"))
        before = self._files.get(path, "") if target.startswith(">>") else ""
        if path != "/dev/null" and len(before) < MAX_PRINTED:
            self._files[path] = f"{before}{printed}\n"

    def _do_true(self, _words: list[str]) -> None:
        self.status = 0

    def _do_false(self, _words: list[str]) -> None:
        self.status = 1

    def _do_echo(self, words: list[str]) -> str:
        return " ".join(word for word in words if word not in ("-n", "-e"))

    def _do_printf(self, words: list[str]) -> str:
        text = words[0] if words else ""
        for value in words[1:]:
            head, found, tail = re.split(r"(%[sd])", text, maxsplit=1) if re.search(r"%[sd]", text) else (text, "", "")
            text = head + (value if found else "") + tail
        return text.replace("\\n", "\n").rstrip("\n")

    def _do_cat(self, words: list[str]) -> str | None:
        found = [self._files[path] for path in words if path in self._files]
        self.status = 0 if len(found) == len(words) else 1
        return "".join(found).rstrip("\n") if found else None

    def _do_ignored(self, _words: list[str]) -> None:
        self.status = 0

    def _do_exit(self, words: list[str]) -> None:
        code = words[0] if words else str(self.status)
        if not code.isdigit():
            raise NotUnderstood(f"exit {code}")
        raise _Exit(int(code) & 255)

    def _do_exec(self, words: list[str]) -> None:
        if words:
            self._call(words, "")
            raise _Exit(self.status)

    def _do_trap(self, words: list[str]) -> None:
        match = re.fullmatch(r"\s*exit(?:\s+(\d+))?\s*;?\s*", words[0]) if words else None
        if match is None and words and words[0] not in ("", "-"):
            raise NotUnderstood("only traps that exit are understood")
        if any(name in ("TERM", "SIGTERM", "15") for name in words[1:]):
            self.term_code = int(match[1] or 0) & 255 if match else None

    def _do_sleep(self, words: list[str]) -> None:
        self.listens = False
        self._pass(self._seconds(words[0] if words else ""))

    def _do_wait(self, _words: list[str]) -> None:
        self.listens = True
        waits, self._background = self._background, []
        self._pass(None if None in waits else max((each for each in waits if each is not None), default=0.0))

    def _do_tail(self, words: list[str]) -> None:
        if words == ["/dev/zero"]:
            raise _OutOfMemory
        if words == ["-f", "/dev/null"]:
            self.listens = False
            self._pass(None)
            return
        raise NotUnderstood("tail")

    def _do_kill(self, words: list[str]) -> None:
        numbers = {"-9": 137, "-KILL": 137, "-SEGV": 139, "-11": 139, "-ABRT": 134, "-6": 134, "-TERM": 143, "-15": 143}
        if len(words) != 2 or words[0] not in numbers or words[1] not in ("$$", "1"):
            raise NotUnderstood("kill")
        raise _Exit(numbers[words[0]])

    def _do_test(self, words: list[str]) -> None:
        words = words[:-1] if words and words[-1] == "]" else words
        if words and words[0] == "!":
            self._do_test(words[1:])
            self.status = 0 if self.status else 1
            return
        self.status = 0 if self._holds(words) else 1

    def _holds(self, words: list[str]) -> bool:
        if len(words) <= 1:
            return bool(words and words[0])
        if len(words) == 2:
            unary = {
                "-n": lambda word: word != "",
                "-z": lambda word: word == "",
                "-f": lambda word: word in self._files,
                "-e": lambda word: word in self._files,
                "-s": lambda word: bool(self._files.get(word)),
            }
            if words[0] in unary:
                return bool(unary[words[0]](words[1]))
        elif len(words) == 3:
            left, how, right = words
            if how in ("=", "=="):
                return left == right
            if how == "!=":
                return left != right
            compare = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}
            if how in compare:
                return bool(evaluate(f"({left or 0}){compare[how]}({right or 0})"))
        raise NotUnderstood(f"[ {' '.join(words)} ]")

    def _pass(self, seconds: float | None) -> None:
        """Time goes by; None: for ever, and nothing after it happens."""
        if seconds is None or self.outcome.seconds is None:
            self.outcome.seconds = None
            raise _Exit(0)
        self.outcome.seconds += seconds

    @staticmethod
    def _seconds(text: str) -> float | None:
        if text in ("infinity", "inf"):
            return None
        match = _DURATION.fullmatch(text)
        if match is None:
            raise NotUnderstood(f"sleep {text}")
        return float(match[1]) * _UNITS[match[2]]


_NAMES = {"[": "test", ":": "true", "set": "ignored", "export": "ignored", "mkdir": "ignored", "cd": "ignored",
          "date": "ignored", "touch": "ignored", "rm": "ignored", "sync": "ignored"}  # fmt: skip
