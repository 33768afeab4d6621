"""Words of shell scripts: quotes, variables, `${name#pattern}` and its kin, `$(...)` and `$((...))`."""

import fnmatch
import re
from collections.abc import Callable

from simcluster.controllers.shell_arithmetic import evaluate
from simcluster.controllers.shell_parser import NotUnderstood

MAX_TEXT = 20_000  # characters of one word

_EXPANSION = re.compile(
    r"\$\(\((?P<sum>(?:[^()]|\([^()]*\))*)\)\)|\$\((?P<command>(?:[^()]|\([^()]*\))*)\)|\$\{(?P<braced>[^}]*)\}"
    r"|\$(?P<name>[A-Za-z_]\w*|[?!#$@*0-9])",
    re.DOTALL,
)
_BRACED = re.compile(r"(#?)([A-Za-z_]\w*)(?:(##|#|%%|%|:-)(.*))?", re.DOTALL)


class Words:
    """Expands words with the variables that are set. `printed_by`: what a script prints, for command substitution;
    `status`: that of the last command. All methods raise NotUnderstood."""

    def __init__(self, variables: dict[str, str], printed_by: Callable[[str], str], status: Callable[[], int]) -> None:
        self.variables = variables
        self._printed_by, self._status = printed_by, status

    def fields(self, raw: str) -> list[str]:
        """A word expanded; one that is nothing but an empty variable vanishes, as in a shell."""
        expanded = self.expanded(raw)
        if not expanded and not raw.startswith(('"', "'")):
            return []
        return expanded.split() if raw.startswith("$") and " " in expanded else [expanded]

    def expanded(self, raw: str) -> str:
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
            named = re.sub(r"[A-Za-z_]\w*", lambda name: self.variables.get(name.group(), "0") or "0", words)
            return str(evaluate(named))
        if match["command"] is not None:
            return self._printed_by(match["command"])
        if match["braced"] is not None:
            return self._braced(match["braced"])
        name = match["name"]
        special = {"?": str(self._status()), "!": "2", "$": "$$"}
        return special.get(name, self.variables.get(name, ""))

    def _braced(self, text: str) -> str:
        match = _BRACED.fullmatch(text)
        if match is None:
            raise NotUnderstood(f"${{{text}}}")
        length, name, how, argument = match.groups()
        value = self.variables.get(name, "")
        if length:
            return str(len(value))
        if how == ":-":
            return value or self.expanded(argument)
        return _trimmed(value, how, self.expanded(argument)) if how else value


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
