"""All jobs of the database in this process's memory, as sets of bits that are kept up to date by ``seq``."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

from django.db.models import Max

from jobs.models import Cluster, Job, Sequence
from jobs.store.pages.bits import Bits, Slices
from jobs.store.pages.jobfilter import FIELDS, NUMBERS, decoded_search, last_end, state_word, values_of_code
from jobs.store.pages.texts import Texts

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


class IndexedJobs:
    """Job ids are small and dense, so they are the members of all sets."""

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
        self.of_job: list[tuple[Posting, ...]] = []  # by job, so that a change can be undone
        self.names = Texts()
        self.clusters: dict[int, str] = {}

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
        self.of_job, names = [()] * size, [""] * size
        ids = []
        for row in rows:
            number = row.id
            if number >= size:  # written meanwhile: the next question reads it
                continue
            ids.append(number)
            mine = self._postings_of(row)
            self.of_job[number] = mine
            names[number] = row.name.lower()
            for posting in mine:
                posting.loaded.append(number)
            for name, value in self._numbers_of(row):
                columns[name][number] = value
        self.jobs = Bits(ids)
        for posting in chain.from_iterable(of_field.values() for of_field in self.postings.values()):
            posting.take_loaded()
        self.numbers = {name: Slices(values) for name, values in columns.items()}
        self.names = Texts(names)

    def _change(self, row: Row) -> None:
        number = row.id
        if number >= len(self.of_job):
            self.of_job.extend([()] * (number + 1 - len(self.of_job)))
        before, mine = self.of_job[number], self._postings_of(row)
        if before != mine:
            for posting in set(before).difference(mine):
                posting.remove(number)
            for posting in set(mine).difference(before):
                posting.add(number)
            self.of_job[number] = mine
        self.jobs.add(number)
        self.names.put(number, row.name.lower())
        for name, value in self._numbers_of(row):
            self.numbers[name].put(number, value)

    def _postings_of(self, row: Row) -> tuple[Posting, ...]:
        """What ``found_by`` says of a job, as postings."""
        if row.cluster_id not in self.clusters:
            self.clusters = dict(Cluster.objects.values_list("id", "name"))
        state = state_word(row.state, row.present, row.restarting_since)
        own = (
            self._posting("state", state),
            self._posting("kind", row.kind),
            self._posting("namespace", row.namespace),
            self._posting("cluster", self.clusters.get(row.cluster_id, "")),
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
        yield "created", micro(row.created_at)
        yield "recent", micro(row.last_restart_at)
        yield "ended", micro(last_end(row.last_restart_at, row.fail_at))


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


def micro(at: float | None) -> int | None:
    """Epoch seconds as whole microseconds."""
    return None if at is None else max(0, int(at * MICRO))
