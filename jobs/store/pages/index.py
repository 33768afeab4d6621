"""All jobs of the database in this process's memory, as sets of bits: what the list filters, counts and sorts by.

Every question first reads the rows that were written since the last one (``seq``), so an answer is never older than the
database. The first question of a process reads all jobs, which takes seconds where there are hundreds of thousands.
The database itself answers such questions in its own time: a facet is a count over everything that the other fields let
through, and no index of a table makes that cheap.
"""

import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import nlargest, nsmallest
from itertools import chain
from typing import NamedTuple

from django.db.models import Max

from jobs.models import Cluster, Job, Sequence
from jobs.store.pages.bits import Bits, Slices, bits_of, first, last, members
from jobs.store.pages.jobfilter import (
    FIELDS,
    NUMBERS,
    JobFilter,
    answers,
    decoded_search,
    last_end,
    moment,
    state_word,
    values_of_code,
)
from jobs.store.pages.texts import Texts

COUNTED_ONE_BY_ONE = 20_000  # chosen jobs up to which facets look at each job
CANDIDATES = 200  # values of a field that are counted beyond that: the most frequent ones of all jobs
TIMES = ("1h", "24h", "7d", "30d")  # what the time facet offers
REMEMBERED = 20_000  # different texts of the column `search` whose postings are kept at hand
MICRO = 1_000_000


class Row(NamedTuple):
    """The columns of a job that are read."""

    id: int
    state: str
    present: bool
    restarting_since: float | None
    kind: str
    namespace: str
    cluster_id: int
    search: str
    name: str
    true_restarts: int
    kubectl_restarts: int
    hidden_restarts: int
    replicas: int
    created_at: float | None
    last_restart_at: float | None
    fail_at: float | None


class Order(NamedTuple):
    """An order of the list: by one column of numbers. Jobs without a value come last."""

    column: str
    smallest_first: bool = False


class Place(NamedTuple):
    """Where a page begins: behind this job. ``value`` None: among the jobs without one."""

    value: int | None
    id: int


class FacetValue(NamedTuple):
    value: str
    jobs: int


class Posting(Bits):
    """The jobs that one value of a field belongs to."""

    __slots__ = ("field", "loaded", "value")

    def __init__(self, field: str, value: str) -> None:
        super().__init__()
        self.field = field
        self.value = value
        self.loaded: list[int] = []  # its jobs, while all are read at once

    def take_loaded(self) -> None:
        loaded, self.loaded = self.loaded, []
        super().__init__(loaded)


class JobIndex:
    """See the module. Job ids are small and dense, so they are the members of all sets."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Know nothing."""
        self.seq = 0
        self.jobs = Bits()
        self.postings: dict[str, dict[str, Posting]] = {name: {} for name in FIELDS}
        self.numbers = {name: Slices() for name in (*NUMBERS, "recent", "created", "ended")}
        self._codes: dict[int, dict[Posting, None]] = {}
        self._of_search: dict[str, tuple[Posting, ...]] = {}
        self._of_job: list[tuple[Posting, ...]] = []  # by job, so that a change can be undone
        self._names = Texts()
        self._clusters: dict[int, str] = {}

    def refresh(self) -> None:
        """Read what was written since the last question."""
        seq = Sequence.objects.filter(id=1).values_list("value", flat=True).first() or 0
        if seq < self.seq:  # another database stands behind the same address now
            self.reset()
        if seq == self.seq:
            return
        rows = Job.objects.filter(seq__gt=self.seq) if self.seq else Job.objects.all()
        # In no order: to get the rows in one, a planner may walk the whole table for a few that changed.
        read = map(Row._make, rows.values_list(*Row._fields).iterator(chunk_size=5000))
        if self.jobs.count:
            for row in read:
                self._change(row)
        else:
            with _without_collections():
                self._load(read)
        self.seq = seq

    def _load(self, rows: Iterator[Row]) -> None:
        """All jobs at once: one job after the other would take several times as long."""
        size = (Job.objects.aggregate(last=Max("id"))["last"] or 0) + 1
        columns: dict[str, list[int | None]] = {name: [None] * size for name in self.numbers}
        self._of_job, names = [()] * size, [""] * size
        ids = []
        for row in rows:
            number = row.id
            if number >= size:  # written meanwhile: the next question reads it
                continue
            ids.append(number)
            mine = self._postings_of(row)
            self._of_job[number] = mine
            names[number] = row.name.lower()
            for posting in mine:
                posting.loaded.append(number)
            for name, value in self._numbers_of(row):
                columns[name][number] = value
        self.jobs = Bits(ids)
        for posting in chain.from_iterable(of_field.values() for of_field in self.postings.values()):
            posting.take_loaded()
        self.numbers = {name: Slices(values) for name, values in columns.items()}
        self._names = Texts(names)

    def _change(self, row: Row) -> None:
        number = row.id
        if number >= len(self._of_job):
            self._of_job.extend([()] * (number + 1 - len(self._of_job)))
        before, mine = self._of_job[number], self._postings_of(row)
        if before != mine:
            for posting in set(before).difference(mine):
                posting.remove(number)
            for posting in set(mine).difference(before):
                posting.add(number)
            self._of_job[number] = mine
        self.jobs.add(number)
        self._names.put(number, row.name.lower())
        for name, value in self._numbers_of(row):
            self.numbers[name].put(number, value)

    def _postings_of(self, row: Row) -> tuple[Posting, ...]:
        """What ``found_by`` says of a job, as postings."""
        if row.cluster_id not in self._clusters:
            self._clusters = dict(Cluster.objects.values_list("id", "name"))
        state = state_word(row.state, row.present, row.restarting_since)
        own = (
            self._posting("state", state),
            self._posting("kind", row.kind),
            self._posting("namespace", row.namespace),
            self._posting("cluster", self._clusters.get(row.cluster_id, "")),
        )
        searched = self._of_search.get(row.search)
        if searched is None:
            if len(self._of_search) >= REMEMBERED:
                self._of_search.clear()
            searched = self._of_search[row.search] = self._searched(row.search)
        return own + searched

    def _searched(self, text: str) -> tuple[Posting, ...]:
        """The values of the column ``search`` and what follows from codes, as ``found_by`` has them; written for speed,
        because nearly all of the loading is this."""
        found: dict[Posting, None] = {}
        for name, values in decoded_search(text).items():
            of_field = self.postings.get(name)
            if of_field is None:
                continue
            for value in values:
                if name == "exit" and isinstance(value, int):
                    found |= self._of_code(value)
                else:
                    found[of_field.get(str(value)) or self._posting(name, str(value))] = None
        return tuple(found)

    def _of_code(self, code: int) -> dict[Posting, None]:
        known = self._codes.get(code)
        if known is None:
            pairs = (("exit", str(code)), *values_of_code(code))
            known = self._codes[code] = dict.fromkeys(self._posting(*pair) for pair in pairs)
        return known

    def _posting(self, name: str, value: str) -> Posting:
        of_field = self.postings[name]
        posting = of_field.get(value)
        if posting is None:
            posting = of_field[value] = Posting(name, value)
        return posting

    def _numbers_of(self, row: Row) -> Iterator[tuple[str, int | None]]:
        yield "restarts", row.true_restarts
        yield "kubectl", row.kubectl_restarts
        yield "hidden", row.hidden_restarts
        yield "replicas", row.replicas
        yield "created", _micro(row.created_at)
        yield "recent", _micro(row.last_restart_at)
        yield "ended", _micro(last_end(row.last_restart_at, row.fail_at))

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
            _, equal, larger = self.numbers["ended"].compared(found, _micro(moment(chosen.since, now)) or 0)
            found = equal | larger
        if chosen.until:
            smaller, equal, _ = self.numbers["ended"].compared(found, _micro(moment(chosen.until, now)) or 0)
            found = smaller | equal
        return found

    def _with_word(self, word: str) -> int:
        found = self._names.having(word)
        for namespace, posting in self.postings["namespace"].items():
            if word in namespace.lower():
                found |= posting.whole
        uids = Job.objects.filter(cluster_id__in=list(self._clusters), uid=word).values_list("id", flat=True)
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
        _, equal, larger = self.numbers["ended"].compared(found, _micro(at) or 0)
        return (equal | larger).bit_count()

    def _counts(self, found: int, names: list[str], size: int) -> dict[str, list[FacetValue]]:
        count = found.bit_count()
        if count == self.jobs.count:
            return {name: _most(self.postings[name].values(), lambda p: p.count, size) for name in names}
        if count <= COUNTED_ONE_BY_ONE:
            counted = Counter(chain.from_iterable([self._of_job[number] for number in members(found)]))
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


@contextmanager
def _without_collections() -> Iterator[None]:
    """Millions of objects are made that stay: to look for garbage among them again and again takes a quarter of it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


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


def _micro(at: float | None) -> int | None:
    return None if at is None else max(0, int(at * MICRO))


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
