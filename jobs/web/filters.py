"""What a list is narrowed to, read from the address, and written back into addresses.

``q`` holds everything in the filter language (``jobs.web.query``). Each field may also be a parameter of its own
(``?exit=137&namespace=team-a``), which is easier to write in a script.
"""

from collections.abc import Iterator
from dataclasses import replace

from django.http import QueryDict
from django.utils.translation import gettext as _

from jobs.store.pages.jobfilter import FIELDS, NUMBERS, JobFilter
from jobs.store.pages.jobs import SORTS, Order, Place
from jobs.web.errors import BadFilterError, BadRequestError
from jobs.web.query import Parsed, parse, write

MAX_IDS = 100
PARAMETERS = (*FIELDS, *NUMBERS)  # not `since`: to an event stream it is what the page knows


def parsed(query: QueryDict) -> Parsed:
    """The filter of an address with what in it could not be understood. Unknown parameters are another page's."""
    return parse(query_text(query))


def query_text(query: QueryDict) -> str:
    """The filter of an address as one text of the filter language."""
    text = query.get("q", "").strip()
    words = list(_parameter_words(query))
    return " ".join([text, *words]) if text else " ".join(words)


def _parameter_words(query: QueryDict) -> Iterator[str]:
    for name in PARAMETERS:
        for value in query.getlist(name):
            if value:
                escaped = value.replace("\\", "\\\\").replace('"', '\\"')
                yield f'{name}:"{escaped}"' if not value.isalnum() else f"{name}:{value}"


def job_filter(query: QueryDict) -> JobFilter:
    """The filter of an address. Raises BadFilterError for a word that cannot be understood."""
    found = parsed(query)
    if found.problems:
        raise BadFilterError(" ".join(f"{problem.word}: {problem.hint}" for problem in found.problems))
    return found.chosen


def order_from(query: QueryDict) -> Order:
    """``sort=restarts``: the largest first; ``sort=-restarts``: the smallest. Raises BadRequestError."""
    sort = query.get("sort") or SORTS[0]
    column = sort.removeprefix("-")
    if column not in SORTS:
        raise BadRequestError(
            _("`sort` is one of %(choices)s, or one of them behind a minus.") % {"choices": ", ".join(SORTS)}
        )
    return Order(column, sort.startswith("-"))


def order_text(order: Order) -> str:
    return f"-{order.column}" if order.smallest_first else order.column


def place_from(query: QueryDict) -> Place | None:
    """Where the page begins. Raises BadRequestError for what no page gave out."""
    text = query.get("after")
    if not text:
        return None
    value, tilde, row = text.partition("~")
    digits = all(part.isascii() and part.isdigit() and len(part) < 19 for part in ([value, row] if value else [row]))
    if not tilde or not digits:
        raise BadRequestError(_("`after` is not what a page of this list gave out. Start again at its first page."))
    return Place(int(value) if value else None, int(row))


def place_text(place: Place) -> str:
    return f"{'' if place.value is None else place.value}~{place.id}"


def ids_from(query: QueryDict) -> list[int]:
    """Ids of rows that a page shows. Raises BadRequestError."""
    texts = [text for text in query.get("ids", "").split(",") if text]
    if len(texts) > MAX_IDS or not all(text.isascii() and text.isdigit() and len(text) < 19 for text in texts):
        raise BadRequestError(_("`ids` are at most %(n)d numbers with commas between them.") % {"n": MAX_IDS})
    return [int(text) for text in texts]


def address(chosen: JobFilter, order: Order | None = None, **more: str) -> str:
    """``?q=state:Running+tftest&sort=…``, or ``?`` for everything in the default order."""
    query = QueryDict(mutable=True)
    text = write(chosen)
    if text:
        query["q"] = text
    if order is not None and order != Order(SORTS[0]):
        query["sort"] = order_text(order)
    for name, value in more.items():
        if value:
            query[name] = value
    return "?" + query.urlencode(safe=":/,")


def toggled(chosen: JobFilter, name: str, value: str) -> JobFilter:
    """The filter with one value of a field added, or taken away where it is chosen; of times there is one."""
    if name == "since":
        return replace(chosen, since="" if chosen.since == value else value)
    have = chosen.values(name)
    values = tuple(v for v in have if v != value) if value in have else (*have, value)
    return JobFilter.of({**dict(chosen.fields), name: values}, chosen.numbers, chosen.since, chosen.until, chosen.text)
