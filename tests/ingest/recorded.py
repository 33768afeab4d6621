"""Recorded lines and exchanges of a real cluster, for the tests of this folder."""

import gzip
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
COPIED = ROOT / "tests" / "data" / "recordings"
ALL = ROOT.parent / "shared" / "recordings"
WIRE = ROOT / "tests" / "data" / "wire"


class Exchange(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


@cache
def lines(scenario: str) -> list[bytes]:
    return gzip.decompress((COPIED / scenario / "watch.jsonl.gz").read_bytes()).splitlines()


def exchange(name: str) -> Exchange:
    """One recorded answer: a comment line, the status line, headers, an empty line, the body."""
    head, _, body = (WIRE / f"{name}.http").read_bytes().partition(b"\r\n\r\n")
    status_line, *header_lines = head.decode().splitlines()[1:]
    headers = dict(line.split(": ", 1) for line in header_lines)
    return Exchange(int(status_line.split()[1]), headers, body)
