"""Signals that a command answers in its own way while it runs."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def handling(handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals) -> Iterator[None]:
    """Within the block ``handler`` answers these signals; afterwards whoever did before. For the main thread only."""
    former = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in former.items():
            signal.signal(number, signal.SIG_DFL if before is None else before)
