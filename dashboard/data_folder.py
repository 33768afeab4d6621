"""The data folder: for its owner alone, with the secret key of a site that sets none."""

import os
import secrets
import tempfile
from pathlib import Path

from dashboard.env import SettingError


def make_directory(path: Path) -> None:
    """Make the data folder, for its owner alone. Raises SettingError where that is not possible."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"RESTARTSCOPE_DATA_DIR {str(path)!r} cannot be made: {error.strerror}.") from None


def generated_secret_key(data_dir: Path) -> str:
    """The key in the data folder, made (mode 0600) by whichever process comes first. Raises SettingError."""
    path = data_dir / "secret-key"
    make_directory(data_dir)
    try:
        if not path.exists():
            with tempfile.NamedTemporaryFile("w", dir=data_dir, prefix=".secret-key-", encoding="ascii") as draft:
                draft.write(secrets.token_urlsafe(48))
                draft.flush()
                # A link appears with its content, and fails if another process was first.
                os.link(draft.name, path)
    except FileExistsError:
        pass
    except OSError as error:
        raise SettingError(f"RESTARTSCOPE_SECRET_KEY is not set and {str(path)!r} cannot be made: {error}.") from None
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise SettingError(f"RESTARTSCOPE_SECRET_KEY is not set and {str(path)!r} cannot be read: {error}.") from None
