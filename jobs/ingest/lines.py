"""Lines out of chunks, whatever the chunks' borders are."""

from collections.abc import Iterable, Iterator


class LineTooLong:
    """Stands for a line that was dropped; ``head`` are its first bytes."""

    def __init__(self, head: bytes) -> None:
        self.head = head


def split_lines(chunks: Iterable[bytes], max_line: int) -> Iterator[bytes | LineTooLong]:
    """Whole lines without their newline; empty ones are left out.

    A last line without a newline was cut off and is left out: the resume brings it again. A line of more than
    ``max_line`` bytes is dropped as it comes, so memory stays bounded.
    """
    parts: list[bytes] = []  # the line under way; joined once, so a long line costs no quadratic copying
    size = 0
    for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            line = _joined(parts, size, piece, max_line)
            parts, size = [], 0
            if line:
                yield line
        size += len(rest)
        if rest and (size <= max_line or not parts):
            parts.append(rest if size <= max_line else rest[:256])


def _joined(parts: list[bytes], size: int, piece: bytes, max_line: int) -> bytes | LineTooLong:
    if size + len(piece) > max_line:
        return LineTooLong((parts[0] if parts else piece)[:256])
    return b"".join((*parts, piece)) if parts else piece
