"""Sets of numbers as long integers, against Python's own sets and sums."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.store.pages.bits import FEW, Bits, Slices, bits_of, first, last, members

NUMBERS = st.integers(0, 3000)


@given(st.sets(NUMBERS))
def test_members_come_back(numbers: set[int]) -> None:
    bits = bits_of(numbers)
    assert members(bits) == sorted(numbers)
    assert first(bits, 3) == sorted(numbers)[:3]
    assert last(bits, 3) == sorted(numbers, reverse=True)[:3]


@given(st.sets(NUMBERS, max_size=400), st.lists(st.tuples(st.booleans(), NUMBERS), max_size=400), st.sets(NUMBERS))
def test_a_set_that_changes(start: set[int], changes: list[tuple[bool, int]], other: set[int]) -> None:
    bits, expected = Bits(start), set(start)
    for add, number in changes:
        (bits.add if add else bits.remove)(number)
        (expected.add if add else expected.discard)(number)
    assert bits.count == len(expected)
    assert members(bits.whole) == sorted(expected)
    chosen = bits_of(other)
    data = chosen.to_bytes((chosen.bit_length() + 7) // 8, "little")
    assert bits.common(chosen, data) == len(expected & other)
    assert all(number in bits for number in expected)


def test_a_set_grows_out_of_being_few() -> None:
    bits = Bits()
    for number in range(0, 3 * FEW, 3):
        bits.add(number)
        bits.add(number)
    bits.add(1_000_000)
    assert bits.count == FEW + 1
    assert members(bits.whole) == [*range(0, 3 * FEW, 3), 1_000_000]


VALUES = st.one_of(st.none(), st.integers(0, 40), st.integers(0, 2**52))


@given(
    st.lists(VALUES, max_size=60),
    st.lists(st.tuples(st.integers(0, 70), VALUES), max_size=30),
    st.sets(st.integers(0, 80)),
    st.integers(-1, 2**53),
    st.integers(1, 20),
)
def test_a_column(
    start: list[int | None], changes: list[tuple[int, int | None]], among: set[int], value: int, size: int
) -> None:
    column, expected = Slices(list(start)), dict(enumerate(start))
    for member, new in changes:
        column.put(member, new)
        expected[member] = new
    known = {n: v for n, v in expected.items() if v is not None and n in among}
    chosen = bits_of(among)
    assert column.total(chosen) == sum(known.values())
    for limit in (value, *list(known.values())[:3]):
        smaller, equal, larger = column.compared(chosen, limit)
        assert members(smaller) == sorted(n for n, v in known.items() if v < limit)
        assert members(equal) == sorted(n for n, v in known.items() if v == limit)
        assert members(larger) == sorted(n for n, v in known.items() if v > limit)
    for smallest in (False, True):
        top = column.top(chosen, size, smallest=smallest)
        sure, tied = members(top.sure), members(top.tied)
        ordered = sorted(known.values(), reverse=not smallest)[:size]
        taken = [*(known[n] for n in sure), *(known[n] for n in tied[: top.missing])]
        assert sorted(taken, reverse=not smallest) == ordered
        assert len({known[n] for n in tied}) <= 1
