"""The statements of a shell script, as far as they are understood, as a tree of tuples."""

from __future__ import annotations

import re
from collections.abc import Callable


class NotUnderstood(ValueError):
    """The script does something that is not simulated."""


_TOKEN = re.compile(
    r"""(?P<space>[ \t]+|\\\n|\#[^\n]*)|(?P<op>;;|&&|\|\||[;&|()\n!](?![^\s])|;;|[;&|()\n]|2>&1|[12]?>>?|<)
    |(?P<word>(?:"(?:\\.|[^"\\])*"|'[^']*'|\$\(\((?:[^()]|\([^()]*\))*\)\)|\$\((?:[^()]|\([^()]*\))*\)|\$\{[^}]*\}|\\.
    |[^\s;&|()<>"'\\])+)""",
    re.VERBOSE | re.DOTALL,
)

Statement = tuple[str, object]
_RESERVED = frozenset(
    {"if", "then", "elif", "else", "fi", "case", "esac", "for", "while", "until", "do", "done", "{", "}"}
)


class Parser:
    """Statements as tuples: ("simple", words), ("if", branches), ("and"/"or", (left, right)), ..."""

    def __init__(self, script: str) -> None:
        self._tokens = self._split(script)
        self._at = 0

    @staticmethod
    def _split(script: str) -> list[tuple[str, str]]:
        tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(script):
            match = _TOKEN.match(script, position)
            if match is None:
                raise NotUnderstood(f"at {script[position : position + 20]!r}")
            position = match.end()
            if match.lastgroup != "space":
                tokens.append((match.lastgroup or "", match.group()))
        return tokens

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._at += 1
        return token

    def _expect(self, text: str) -> None:
        self._skip_separators()
        if self._next()[1] != text:
            raise NotUnderstood(f"{text!r} is missing")

    def _skip_separators(self) -> None:
        while self._peek() in (("op", ";"), ("op", "\n")):
            self._at += 1

    def statements(self, *ends: str) -> list[Statement]:
        """Up to one of the words `ends`, which is left; without any up to the script's end."""
        found: list[Statement] = []
        while True:
            self._skip_separators()
            kind, text = self._peek()
            if kind == "end":
                if ends:
                    raise NotUnderstood(f"{ends[-1]!r} is missing")
                return found
            if text in ends:
                return found
            found.append(self._and_or())

    def _and_or(self) -> Statement:
        left = self._pipeline()
        while self._peek()[1] in ("&&", "||"):
            kind = "and" if self._next()[1] == "&&" else "or"
            self._skip_separators()
            left = (kind, (left, self._pipeline()))
        if self._peek() == ("op", "&"):
            self._at += 1
            return ("background", left)
        return left

    def _pipeline(self) -> Statement:
        if self._peek()[1] == "!":
            self._at += 1
            return ("not", self._command())
        return self._command()

    def _command(self) -> Statement:
        word = self._peek()[1]
        compound: dict[str, Callable[[], Statement]] = {
            "if": self._if,
            "case": self._case,
            "for": self._for,
            "while": self._while,
            "until": self._while,
            "{": self._group,
        }
        return compound[word]() if word in compound else self._simple()

    def _group(self) -> Statement:
        self._at += 1
        body = self.statements("}")
        self._at += 1
        return ("group", body)

    def _if(self) -> Statement:
        branches: list[tuple[list[Statement], list[Statement]]] = []
        otherwise: list[Statement] = []
        word = self._next()[1]
        while word in ("if", "elif"):
            condition = self.statements("then")
            self._at += 1
            branches.append((condition, self.statements("elif", "else", "fi")))
            word = self._next()[1]
        if word == "else":
            otherwise = self.statements("fi")
            self._at += 1
        return ("if", (branches, otherwise))

    def _case(self) -> Statement:
        self._at += 1
        subject = self._next()[1]
        self._expect("in")
        branches: list[tuple[list[str], list[Statement]]] = []
        self._skip_separators()
        while self._peek()[1] != "esac":
            patterns: list[str] = []
            while True:
                kind, text = self._next()
                if kind == "end":
                    raise NotUnderstood("'esac' is missing")
                if text == ")":
                    break
                if kind == "word":
                    patterns.append(text)
            branches.append((patterns, self.statements(";;", "esac")))
            if self._peek()[1] == ";;":
                self._at += 1
            self._skip_separators()
        self._at += 1
        return ("case", (subject, branches))

    def _for(self) -> Statement:
        self._at += 1
        name = self._next()[1]
        self._expect("in")
        words: list[str] = []
        while self._peek()[0] == "word":
            words.append(self._next()[1])
        self._expect("do")
        body = self.statements("done")
        self._at += 1
        return ("for", (name, words, body))

    def _while(self) -> Statement:
        word = self._next()[1]
        condition = self.statements("do")
        self._at += 1
        body = self.statements("done")
        self._at += 1
        return (word, (condition, body))

    def _simple(self) -> Statement:
        words: list[str] = []
        target = ""
        while True:
            kind, text = self._peek()
            if kind == "op" and text.lstrip("12") in (">", ">>"):
                self._at += 1
                name = self._next()[1]
                target = target if text.startswith("2") else text.lstrip("1") + name
            elif kind == "op" and text == "2>&1":
                self._at += 1
            elif kind == "word" and not (not words and text in _RESERVED):
                words.append(text)
                self._at += 1
            else:
                break
        if not words:
            raise NotUnderstood(f"at {text!r}")
        return ("simple", (words, target))
