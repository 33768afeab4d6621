"""Debian's packages that tests need and pip cannot bring: installed as root, with apt-get, without questions."""

import os
import shutil
import subprocess
import sys


def install(package: str) -> None:
    """Install a package where that is possible. What goes wrong is told by the tests that then find nothing."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", package]):
        run = subprocess.run(
            ["apt-get", "-qq", *arguments], env=quiet, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if run.returncode:
            sys.stderr.write(f"apt-get {arguments[0]} failed: {run.stderr.decode(errors='replace').strip()[-500:]}\n")
