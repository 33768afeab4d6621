"""All jobs of the database in this process's memory, as sets of bits: what the list filters, counts and sorts by.

Every question first reads the rows that were written since the last one (``seq``), so an answer is never older than the
database. The first question of a process reads all jobs, which takes seconds where there are hundreds of thousands.
The database itself answers such questions in its own time: a facet is a count over everything that the other fields let
through, and no index of a table makes that cheap.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import nlargest, nsmallest
from itertools import chain
from typing import NamedTuple

from jobs.models import Job
from jobs.store.pages.bits import Slices, bits_of, first, last, members
from jobs.store.pages.indexed import IndexedJobs, Posting, micro
from jobs.store.pages.jobfilter import FIELDS, JobFilter, answers, moment

COUNTED_ONE_BY_ONE = 20_000  # chosen jobs up to which facets look at each job
CANDIDATES = 200  # values of a field that are counted beyond that: the most frequent ones of all jobs
TIMES = ("1h", "24h", "7d", "30d")  # what the time facet offers


class Order(NamedTuple):
    """An order of the list: by one column of numbers. Jobs without a value come last."""

    column: str
    smallest_first: bool = False


class Place(NamedTuple):
    """Where a page begins: behind this job. ``value`` None: among the jobs without one."""

    value: int | None
    id: int


class FacetValue(NamedTuple):
    """One value of a field, and how many jobs have it."""

    value: str
    jobs: int


class JobIndex(IndexedJobs):
    """Filters, sorts and counts the jobs; see the module."""

    def select(self, chosen: JobFilter, now: float, *, without: str = "") -> int:
        """The jobs that match, as bits; ``without`` leaves one field out, as that field's own facet counts."""
        found = self.jobs.whole
        for name, values in chosen.fields:
            if name != without:
                found &= self._having(name, values)
        for comparison in chosen.numbers:
            smaller, equal, larger = self.numbers[comparison.name].compared(found, comparison.value)
            parts = {"<": smaller, "<=": smaller | equal, "=": equal, ">=": larger | equal, ">": larger}
            found = parts[comparison.operator]
        if without != "since":
            found = self._in_time(found, chosen, now)
        for word in chosen.text:
            found &= self._with_word(word)
        return found

    def _having(self, name: str, values: tuple[str, ...]) -> int:
        found = 0
        of_field = self.postings[name]
        for value in values:
            if name in ("cause", "label"):
                for posting in of_field.values():
                    if answers(name, (value,), (posting.value,)):
                        found |= posting.whole
            elif value in of_field:
                found |= of_field[value].whole
        return found

    def _in_time(self, found: int, chosen: JobFilter, now: float) -> int:
        if chosen.since:
            _, equal, larger = self.numbers["ended"].compared(found, micro(moment(chosen.since, now)) or 0)
            found = equal | larger
        if chosen.until:
            smaller, equal, _ = self.numbers["ended"].compared(found, micro(moment(chosen.until, now)) or 0)
            found = smaller | equal
        return found

    def _with_word(self, word: str) -> int:
        found = self.names.having(word)
        for namespace, posting in self.postings["namespace"].items():
            if word in namespace.lower():
                found |= posting.whole
        uids = Job.objects.filter(cluster_id__in=list(self.clusters), uid=word).values_list("id", flat=True)
        return found | bits_of(uids)

    def page(self, found: int, order: Order, after: Place | None, size: int) -> list[int]:
        """The first ``size`` ids of an order behind a place."""
        column, upwards = self.numbers[order.column], order.smallest_first
        ids: list[int] = []
        if after is None or after.value is not None:
            ids = self._valued(column, found if after is None else _behind(column, found, order, after), order, size)
        if len(ids) < size:
            valueless = found & ~column.known.whole
            if after is not None and after.value is None:
                valueless &= _above(after.id) if upwards else _below(after.id)
            ids += (first if upwards else last)(valueless, size - len(ids))
        return ids

    @staticmethod
    def _valued(column: Slices, found: int, order: Order, size: int) -> list[int]:
        top = column.top(found, size, smallest=order.smallest_first)
        sign = 1 if order.smallest_first else -1
        sure = sorted(members(top.sure), key=lambda n: (sign * (column.value(n) or 0), sign * n))
        return sure + (first if order.smallest_first else last)(top.tied, top.missing)

    def place(self, number: int, order: Order) -> Place:
        """The cursor behind a job."""
        return Place(self.numbers[order.column].value(number), number)

    def facets(self, chosen: JobFilter, now: float, size: int) -> dict[str, list[FacetValue]]:
        """For each field its most frequent values among the jobs that the other fields let through; by ``size``."""
        everything = self.select(chosen, now)
        shared = self._counts(everything, [name for name in FIELDS if not chosen.values(name)], size)
        for name, _ in chosen.fields:
            shared |= self._counts(self.select(chosen, now, without=name), [name], size)
        timed = self.select(chosen, now, without="since") if chosen.since or chosen.until else everything
        shared["since"] = [FacetValue(span, self._since(timed, moment(span, now))) for span in TIMES]
        return shared

    def beginning(self, name: str, text: str, size: int) -> list[FacetValue]:
        """Values of a field that begin with ``text``, whatever the case."""
        having = [p for p in self.postings[name].values() if p.value.lower().startswith(text.lower())]
        return _most(having, lambda posting: posting.count, size)

    def _since(self, found: int, at: float) -> int:
        _, equal, larger = self.numbers["ended"].compared(found, micro(at) or 0)
        return (equal | larger).bit_count()

    def _counts(self, found: int, names: list[str], size: int) -> dict[str, list[FacetValue]]:
        count = found.bit_count()
        if count == self.jobs.count:
            return {name: _most(self.postings[name].values(), lambda p: p.count, size) for name in names}
        if count <= COUNTED_ONE_BY_ONE:
            counted = Counter(chain.from_iterable([self.of_job[number] for number in members(found)]))
            by_name: dict[str, list[Posting]] = {name: [] for name in names}
            for posting in counted:
                if posting.field in by_name:
                    by_name[posting.field].append(posting)
            return {name: _most(having, counted.__getitem__, size) for name, having in by_name.items()}
        data = found.to_bytes((found.bit_length() + 7) // 8, "little")
        result = {}
        for name in names:
            candidates = nlargest(CANDIDATES, self.postings[name].values(), key=lambda p: p.count)
            common = {posting: posting.common(found, data) for posting in candidates}
            result[name] = _most(common, common.__getitem__, size)
        return result


def _most(postings: Iterable[Posting], count: Callable[[Posting], int], size: int) -> list[FacetValue]:
    known = [FacetValue(posting.value, count(posting)) for posting in postings]
    return nsmallest(size, [value for value in known if value.jobs], key=lambda v: (-v.jobs, v.value))


def _behind(column: Slices, found: int, order: Order, after: Place) -> int:
    """The members that an order has behind a place with a value."""
    smaller, equal, larger = column.compared(found, after.value or 0)
    if order.smallest_first:
        return larger | (equal & _above(after.id))
    return smaller | (equal & _below(after.id))


def _below(number: int) -> int:
    return (1 << max(number, 0)) - 1


def _above(number: int) -> int:
    return -1 << (max(number, -1) + 1)


_index = JobIndex()
_lock = threading.RLock()
_looking = threading.local()


@contextmanager
def current() -> Iterator[JobIndex]:
    """The index as the database is now, for one thread at a time; within one, it stays as it is."""
    with _lock:
        inside = getattr(_looking, "inside", False)
        if not inside:
            _index.refresh()
        _looking.inside = True
        try:
            yield _index
        finally:
            _looking.inside = inside


def forget() -> None:
    """Read everything anew at the next question: for tests, whose databases come and go with the same numbers."""
    with _lock:
        _index.reset()
