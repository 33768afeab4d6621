"""Finds Chromium. `python -m tests.support.chromium` installs it where it is missing: as root, with apt-get."""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium on this machine: install the package chromium (Debian: apt-get install chromium)"


def find() -> str | None:
    """The path of the browser, None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def install() -> None:
    """Debian's package, without questions. What goes wrong is told by the tests that then find no browser."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        run = subprocess.run(
            ["apt-get", "-qq", *arguments], env=quiet, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if run.returncode:
            sys.stderr.write(f"apt-get {arguments[0]} failed: {run.stderr.decode(errors='replace').strip()[-500:]}\n")


if __name__ == "__main__":
    if find() is None:
        install()
    if find() is None:
        sys.stderr.write(f"Browser tests cannot run: {MISSING}.\n")
