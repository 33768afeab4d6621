"""Sets of small numbers, and columns of numbers, as long integers: what is true of 500,000 jobs at once.

Bit ``n`` of an integer stands for member ``n``. An AND of two such integers, or counting one's bits, takes microseconds
for half a million members, so filters, sums and orders need not look at each member.
"""

import re
from array import array
from collections.abc import Iterable
from typing import NamedTuple

NONE = -1  # in a column of numbers
FEW = 256  # members up to which a set is kept as one: most values belong to few jobs
SPARE = 1024  # bytes by which a full bit map grows
DENSE = 64  # one member in so many numbers
ONE = ord("1")
_NOT_ZERO = re.compile(rb"[^\x00]", re.DOTALL)
_BITS_OF = tuple(tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256))


def members(bits: int) -> list[int]:
    """The numbers whose bits are set, ascending."""
    data = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
    found: list[int] = []
    for match in _NOT_ZERO.finditer(data):
        start = match.start()
        first = start * 8
        found.extend([first + bit for bit in _BITS_OF[data[start]]])
    return found


def bits_of(numbers: Iterable[int]) -> int:
    """One integer with these bits set."""
    known = list(numbers)
    size = max(known, default=-1) + 1
    if len(known) * DENSE > size:  # written as a binary figure, which is read back at once
        figures = bytearray(b"0") * size
        for number in known:
            figures[number] = ONE
        return int(figures[::-1], 2) if size else 0
    data = bytearray((size + 7) >> 3)
    for number in known:
        data[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(data, "little")


class Bits:
    """A set of numbers that changes: a small set of them, or a map of bits with the integer made from it."""

    __slots__ = ("_few", "_map", "_whole", "count")

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        known = list(numbers)
        few = len(known) <= FEW
        self._few: set[int] | None = set(known) if few else None
        self._whole: int | None = None if few else bits_of(known)
        self._map = bytearray()
        if self._whole is not None:
            self._map.extend(self._whole.to_bytes((self._whole.bit_length() + 7) // 8, "little"))
        self.count = len(self._few) if self._few is not None else (self._whole or 0).bit_count()

    def __contains__(self, number: int) -> bool:
        if self._few is not None:
            return number in self._few
        byte = number >> 3
        return byte < len(self._map) and bool(self._map[byte] >> (number & 7) & 1)

    def add(self, number: int) -> None:
        if number in self:
            return
        self.count += 1
        if self._few is not None:
            self._few.add(number)
            if self.count > FEW:
                self._map = bytearray(bits_of(self._few).to_bytes((max(self._few) >> 3) + SPARE, "little"))
                self._few = self._whole = None
            return
        byte = number >> 3
        if byte >= len(self._map):
            self._map.extend(bytes(byte + SPARE - len(self._map)))
        self._map[byte] |= 1 << (number & 7)
        self._whole = None

    def remove(self, number: int) -> None:
        if number not in self:
            return
        self.count -= 1
        if self._few is not None:
            self._few.discard(number)
        else:
            self._map[number >> 3] &= ~(1 << (number & 7))
            self._whole = None

    def flip(self, number: int) -> None:
        """Add what is missing, remove what is there."""
        if self._few is not None or number >> 3 >= len(self._map):
            if number in self:
                self.remove(number)
            else:
                self.add(number)
            return
        bit = 1 << (number & 7)
        self._map[number >> 3] ^= bit
        self.count += 1 if self._map[number >> 3] & bit else -1
        self._whole = None

    @property
    def whole(self) -> int:
        """The set as one integer."""
        if self._few is not None:
            return bits_of(self._few)
        if self._whole is None:
            self._whole = int.from_bytes(self._map, "little")
        return self._whole

    def common(self, chosen: int, data: bytes) -> int:
        """How many members are also in ``chosen``; ``data`` is the same, as little-endian bytes."""
        if self._few is None:
            return (self.whole & chosen).bit_count()
        return sum(1 for n in self._few if n >> 3 < len(data) and data[n >> 3] >> (n & 7) & 1)


class Top(NamedTuple):
    """The first members of an order: the ``sure`` ones, and ``missing`` more of those ``tied`` for the last places."""

    sure: int
    tied: int
    missing: int


class Slices:
    """A number (>= 0, or None) for each member, kept as one bit map per binary digit."""

    def __init__(self, values: Iterable[int | None] = ()) -> None:
        """``values``: by member."""
        self._values = array("q", [NONE if value is None else value for value in values])
        self.known = Bits(n for n, value in enumerate(self._values) if value != NONE)
        self._digits: list[Bits] = []
        if self.known.count:
            self._load()

    def value(self, member: int) -> int | None:
        """None for a member without a value, and for one that is not there."""
        found = self._values[member] if member < len(self._values) else NONE
        return None if found == NONE else found

    def _load(self) -> None:
        """All digits at once: every value is written in binary, one behind the other, and every n-th figure read."""
        width = max(self._values).bit_length() or 1
        form = f"0{width}b"
        text = "".join([format(max(value, 0), form) for value in self._values])
        for digit in range(width):
            column = int(text[width - 1 - digit :: width][::-1], 2)
            self._digits.append(_loaded(column))

    def put(self, member: int, value: int | None) -> None:
        """Set a member's value."""
        if member >= len(self._values):
            self._values.extend([NONE] * (member + 1 - len(self._values)))
        old = self.value(member)
        if old == value:
            return
        self._values[member] = NONE if value is None else value
        if value is None:
            self.known.remove(member)
        elif old is None:
            self.known.add(member)
        new, changed = value or 0, (old or 0) ^ (value or 0)
        while len(self._digits) < new.bit_length():
            self._digits.append(Bits())
        while changed:
            lowest = changed & -changed
            self._digits[lowest.bit_length() - 1].flip(member)
            changed ^= lowest

    def total(self, chosen: int) -> int:
        """The sum over the chosen members."""
        return sum((bits.whole & chosen).bit_count() << digit for digit, bits in enumerate(self._digits))

    def compared(self, chosen: int, value: int) -> tuple[int, int, int]:
        """The chosen members with a (smaller, equal, larger) value."""
        chosen &= self.known.whole
        if value < 0:
            return 0, 0, chosen
        if value.bit_length() > len(self._digits):
            return chosen, 0, 0
        larger, equal = 0, chosen
        for digit in range(len(self._digits) - 1, -1, -1):
            ones = equal & self._digits[digit].whole
            if value >> digit & 1:
                equal = ones
            else:
                larger |= ones
                equal ^= ones
        return chosen ^ larger ^ equal, equal, larger

    def top(self, chosen: int, size: int, *, smallest: bool = False) -> Top:
        """The ``size`` chosen members with the largest (or smallest) values."""
        sure, tied = 0, chosen & self.known.whole
        missing = size
        for digit in range(len(self._digits) - 1, -1, -1):
            better = tied & self._digits[digit].whole
            if smallest:
                better ^= tied
            count = better.bit_count()
            if count >= missing:
                tied = better
            else:
                sure |= better
                tied ^= better
                missing -= count
        return Top(sure, tied, missing)


def _loaded(column: int) -> Bits:
    bits = Bits()
    bits._few, bits._whole, bits.count = None, column, column.bit_count()
    bits._map = bytearray(column.to_bytes((column.bit_length() + 7) // 8, "little"))
    return bits


def last(bits: int, size: int) -> list[int]:
    """The ``size`` largest members, largest first."""
    found: list[int] = []
    while bits and len(found) < size:
        number = bits.bit_length() - 1
        found.append(number)
        bits ^= 1 << number
    return found


def first(bits: int, size: int) -> list[int]:
    """The ``size`` smallest members, smallest first."""
    found: list[int] = []
    while bits and len(found) < size:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found
