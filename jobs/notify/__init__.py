"""A nudge after each append: one channel that carries sequence numbers, nothing else.

``publish`` is for writers (any thread), ``listen`` for the one reader of a web process. Neither knows what a number
means.
"""

from jobs.notify.listener import UnreachableError, listen
from jobs.notify.publisher import publish

__all__ = ["UnreachableError", "listen", "publish"]
