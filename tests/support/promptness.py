"""Bounds in seconds that hold on a machine of one's own, for tests that may share it."""

import time

WORK = 0.05  # seconds of computing: long enough to be interrupted where others wait for the processor


def fair(seconds: float) -> float:
    """``seconds``, stretched as computing is now: by how much longer than its own time a piece of work takes."""
    began, computed = time.monotonic(), time.thread_time()
    while time.thread_time() - computed < WORK:
        pass
    return seconds * max(1.0, (time.monotonic() - began) / WORK)
