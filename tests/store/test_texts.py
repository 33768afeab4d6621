"""A word in one of many texts."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.store.pages import texts
from jobs.store.pages.bits import members
from jobs.store.pages.texts import Texts

TEXT = st.text("ab\n", max_size=6)


@given(
    st.lists(TEXT, max_size=20),
    st.lists(st.tuples(st.integers(0, 25), TEXT), max_size=20),
    st.text("ab\n\x00", max_size=3),
)
def test_a_word_is_found_where_it_is(start: list[str], changes: list[tuple[int, str]], word: str) -> None:
    separate, texts.SEPARATE = texts.SEPARATE, 5
    try:
        found, expected = Texts(start), dict(enumerate(start))
        for number, text in changes:
            found.having(word)
            found.put(number, text)
            expected[number] = text
        hits = [number for number, text in expected.items() if word and word in text]
        assert members(found.having(word)) == sorted(hits)
        assert members(found.having(word)) == sorted(hits)
    finally:
        texts.SEPARATE = separate
