"""Finds Chromium. `python -m tests.support.chromium` installs it where it is missing."""

import shutil
import sys

from tests.support import debian

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium on this machine: install the package chromium (Debian: apt-get install chromium)"


def find() -> str | None:
    """The path of the browser, None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


if __name__ == "__main__":
    if find() is None:
        debian.install("chromium")
    if find() is None:
        sys.stderr.write(f"Browser tests cannot run: {MISSING}.\n")
