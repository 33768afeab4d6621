"""Finds busybox, whose shell runs the experiments' scripts. `python -m tests.support.busybox` installs it."""

import shutil
import sys

from tests.support import debian

MISSING = "no busybox on this machine: install the package busybox (Debian: apt-get install busybox)"


def find() -> str | None:
    """The path of busybox, None if there is none."""
    return shutil.which("busybox")


if __name__ == "__main__":
    if find() is None:
        debian.install("busybox")
    if find() is None:
        sys.stderr.write(f"The experiments' scripts cannot be tried: {MISSING}.\n")
