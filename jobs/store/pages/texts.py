"""The names of all jobs in one text, so that a word in any of them is found in milliseconds."""

from bisect import bisect_right
from collections.abc import Sequence

from jobs.store.pages.bits import bits_of

END = "\x00"  # between two jobs: no name has it
SEPARATE = 2000  # texts that came later and are looked at one by one, before all become one text again
REMEMBERED = 100  # words whose answer is kept


class Texts:
    """A text for each number; texts hardly ever change, so what was found stays known."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        """``texts``: by number, lower case."""
        self._texts = list(texts)
        self._later: dict[int, str] = {}
        self._known: dict[str, int] = {}
        self._join()

    def _join(self) -> None:
        self._whole = END.join(self._texts)
        self._starts = []
        position = 0
        for text in self._texts:
            self._starts.append(position)
            position += len(text) + 1
        self._later.clear()

    def put(self, number: int, text: str) -> None:
        if number < len(self._texts) and self._texts[number] == text:
            return
        self._texts.extend([""] * (number + 1 - len(self._texts)))
        self._texts[number] = text
        self._later[number] = text
        self._known.clear()
        if len(self._later) > SEPARATE:
            self._join()

    def having(self, word: str) -> int:
        """The numbers whose text has the word, as bits."""
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            known = self._known[word] = bits_of(self._find(word))
        return known

    def _find(self, word: str) -> list[int]:
        if END in word or not word:
            return []
        found = [number for number, text in self._later.items() if word in text]
        position = self._whole.find(word)
        while position >= 0:
            number = bisect_right(self._starts, position) - 1
            if number not in self._later:
                found.append(number)
            if number + 1 == len(self._starts):
                break
            position = self._whole.find(word, self._starts[number + 1])
        return found
