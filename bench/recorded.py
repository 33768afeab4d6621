"""Input for benches: the recordings, cloned under new UIDs, as a busy cluster would send them."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

FOLDERS = (Path(__file__).resolve().parent.parent / "tests" / "data" / "recordings",)
WATCHED = (b'"resource": "pods"', b'"resource":"pods"')
UID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def scenarios() -> list[Path]:
    """The recorded scenarios of the kinds that are counted."""
    folders = [path for folder in FOLDERS for path in sorted(folder.iterdir()) if (path / "truth.json").exists()]
    return [path for path in folders if "trainjob" not in path.name]


def recorded_lines(path: Path) -> list[bytes]:
    with gzip.open(path / "watch.jsonl.gz") as file:
        return file.read().splitlines()


def clone(lines: list[bytes], number: int) -> list[bytes]:
    """The same lines with every UID changed; clone 0 is the original."""
    if number == 0:
        return lines
    mark = f"{number:08x}".encode()

    def renamed(match: re.Match[bytes]) -> bytes:
        # The first group of the UID is XOR-ed, so equal UIDs stay equal and clones never meet.
        return f"{int(match[0][:8], 16) ^ int(mark, 16):08x}".encode() + match[0][8:]

    return [UID.sub(renamed, line) for line in lines]


def stream(clones: int, paths: list[Path] | None = None) -> Iterator[bytes]:
    """``clones`` times every recording, one after the other."""
    originals = [recorded_lines(path) for path in (scenarios() if paths is None else paths)]
    for number in range(clones):
        for lines in originals:
            yield from clone(lines, number)
