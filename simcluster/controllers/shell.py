"""A small reading of `sh -c` scripts: how long a container runs, with which code it ends, what it prints.

Understood are the statements that test jobs are made of: assignments, `echo` and `printf` (also into a file), `cat`,
`sleep`, `wait`, `exit`, `trap "exit N" TERM`, `[ ... ]`, `true`, `false`, `tail /dev/zero`, `case`, `if`, `for`,
`while`, `&&`, `||`, `!`, and in words variables, `${name#pattern}` and its kin, `$(...)` and `$((...))`. Anything else
raises NotUnderstood: the caller then takes its default.
"""

from __future__ import annotations

import ast
import fnmatch
import operator
import re
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field

from simcluster.controllers.shell_parser import NotUnderstood, Parser, Statement

MAX_STEPS = 10_000
MAX_TEXT = 20_000  # characters of one word, and lines printed
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


# Running

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_EXPANSION = re.compile(
    r"\$\(\((?P<sum>(?:[^()]|\([^()]*\))*)\)\)|\$\((?P<command>(?:[^()]|\([^()]*\))*)\)|\$\{(?P<braced>[^}]*)\}"
    r"|\$(?P<name>[A-Za-z_]\w*|[?!#$@*0-9])",
    re.DOTALL,
)
_BRACED = re.compile(r"(#?)([A-Za-z_]\w*)(?:(##|#|%%|%|:-)(.*))?", re.DOTALL)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class _Shell:
    def __init__(self, variables: dict[str, str], files: MutableMapping[str, str]) -> None:
        self.outcome = Outcome()
        self.status = 0
        self.term_code: int | None = None
        self.listens = True  # at the last wait a trap would have been run at once
        self._variables, self._files = variables, files
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
            self._variables[name] = self._expanded(value)
        if not raw:
            return
        words = [part for word in raw for part in self._fields(word)]
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
        self._background.append(self._seconds(self._expanded(words[1])))
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
        subject, branches = self._expanded(detail[0]), detail[1]
        self.status = 0
        for patterns, body in branches:
            if any(fnmatch.fnmatchcase(subject, self._expanded(pattern)) for pattern in patterns):
                self.run(body)
                return

    def _run_for(self, detail: tuple[str, list[str], list[Statement]]) -> None:
        name, words, body = detail
        for value in [part for word in words for part in self._fields(word)]:
            self._variables[name] = value
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
            if len(self.outcome.printed) > MAX_TEXT:
                raise NotUnderstood("it prints too much")
            self.outcome.printed += [(at, line) for line in printed.split("\n")]
            return
        path = self._expanded(target.lstrip(">"))
        before = self._files.get(path, "") if target.startswith(">>") else ""
        if path != "/dev/null" and len(before) < MAX_TEXT:
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
                return bool(_sum(f"({left or 0}){compare[how]}({right or 0})"))
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

    # Words

    def _fields(self, raw: str) -> list[str]:
        """A word expanded; one that is nothing but an empty variable vanishes, as in a shell."""
        expanded = self._expanded(raw)
        if not expanded and not raw.startswith(('"', "'")):
            return []
        return expanded.split() if raw.startswith("$") and " " in expanded else [expanded]

    def _expanded(self, raw: str) -> str:
        parts = re.findall(r"""'[^']*'|"(?:\\.|[^"\\])*"|\$\(\((?:[^()]|\([^()]*\))*\)\)|\$\((?:[^()]|\([^()]*\))*\)"""
                           r"""|\$\{[^}]*\}|[^'"$\\]+|\\.|\$""", raw, re.DOTALL)  # fmt: skip
        text = ""
        pending = ""
        for part in parts:
            if part.startswith("'"):
                text, pending = text + self._substituted(pending) + part[1:-1], ""
            elif part.startswith('"'):
                inner = re.sub(r'\\(["\\$`])', r"\1", part[1:-1])
                text, pending = text + self._substituted(pending) + self._substituted(inner), ""
            elif part.startswith("\\"):
                text, pending = text + self._substituted(pending) + part[1:], ""
            else:
                pending += part
        text += self._substituted(pending)
        if len(text) > MAX_TEXT:
            raise NotUnderstood("a word is too long")
        return text

    def _substituted(self, text: str) -> str:
        return _EXPANSION.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        if match["sum"] is not None:
            words = _EXPANSION.sub(self._value, match["sum"])
            named = re.sub(r"[A-Za-z_]\w*", lambda name: self._variables.get(name.group(), "0") or "0", words)
            return str(_sum(named))
        if match["command"] is not None:
            return self._printed_by(match["command"])
        if match["braced"] is not None:
            return self._braced(match["braced"])
        name = match["name"]
        special = {"?": str(self.status), "!": "2", "$": "$$"}
        return special.get(name, self._variables.get(name, ""))

    def _printed_by(self, script: str) -> str:
        """Command substitution, in a shell of its own that takes no time."""
        inner = _Shell(dict(self._variables), self._files)
        try:
            inner.run(Parser(script).statements())
        except _Exit as ended:
            inner.status = ended.code
        self.status = inner.status
        return "\n".join(line for _, line in inner.outcome.printed)

    def _braced(self, text: str) -> str:
        match = _BRACED.fullmatch(text)
        if match is None:
            raise NotUnderstood(f"${{{text}}}")
        length, name, how, argument = match.groups()
        value = self._variables.get(name, "")
        if length:
            return str(len(value))
        if how == ":-":
            return value or self._expanded(argument)
        return _trimmed(value, how, self._expanded(argument)) if how else value


def _trimmed(value: str, how: str, pattern: str) -> str:
    """`${value#pattern}` and its kin: without its shortest (or longest) beginning or end that fits."""
    lengths = list(range(len(value) + 1))
    if len(how) == 2:
        lengths.reverse()
    for length in lengths:
        part = value[:length] if how[0] == "#" else value[len(value) - length :]
        if fnmatch.fnmatchcase(part, pattern):
            return value[length:] if how[0] == "#" else value[: len(value) - length]
    return value


def _sum(text: str) -> int:
    """An arithmetic expression of whole numbers. Raises NotUnderstood."""
    try:
        tree = ast.parse(text.strip().replace("&&", " and ").replace("||", " or "), mode="eval")
        return _evaluated(tree.body)
    except (SyntaxError, ArithmeticError, ValueError, RecursionError, MemoryError):
        raise NotUnderstood(f"$(({text}))") from None


_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _evaluated(node: ast.expr) -> int:
    """Raises ValueError for what is no plain sum, or grows out of bounds."""
    match node:
        case ast.Constant(value=int(number)):
            value = int(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = -_evaluated(operand)
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _OPERATORS:
            value = _OPERATORS[type(kind)](_evaluated(left), _evaluated(right))
        case ast.Compare(left=left, ops=[kind], comparators=[right]) if type(kind) in _OPERATORS:
            value = int(_OPERATORS[type(kind)](_evaluated(left), _evaluated(right)))
        case ast.BoolOp(op=kind, values=values):
            truths = [bool(_evaluated(each)) for each in values]
            value = int(all(truths) if isinstance(kind, ast.And) else any(truths))
        case _:
            raise ValueError("no plain sum")
    if abs(value) > 2**63:
        raise ValueError("too large")
    return value


_NAMES = {"[": "test", ":": "true", "set": "ignored", "export": "ignored", "mkdir": "ignored", "cd": "ignored",
          "date": "ignored", "touch": "ignored", "rm": "ignored", "sync": "ignored"}  # fmt: skip
