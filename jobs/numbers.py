"""How counts are written. The browser writes them the same way (static/js/format.js)."""

from django.utils.formats import number_format

GROUPED = 1000  # from here on a count has separators: 9,999 and 10,000 in one column look alike


def number(count: int) -> str:
    """A count as the current language writes it: ``999``, ``1,000``, ``1,234,567``.

    For what is counted only. Codes, versions, ports and indexes are names: they stay as they are.
    """
    return str(count) if -GROUPED < count < GROUPED else number_format(count, force_grouping=True)
