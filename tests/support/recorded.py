"""Recordings in the test's database, by the product's own replay."""

import gzip
from collections.abc import Callable
from pathlib import Path

from django.core.management import call_command

from tests.support.truth import RECORDINGS


def replay(*names: str, cluster: str = "replay") -> None:
    call_command("replay", *(str(RECORDINGS / name) for name in names), cluster=cluster, verbosity=0)


def replay_changed(folder: Path, name: str, change: Callable[[bytes], bytes], cluster: str = "replay") -> None:
    """Replay a recording whose text was changed."""
    text = gzip.decompress((RECORDINGS / name / "watch.jsonl.gz").read_bytes())
    file = folder / "watch.jsonl"
    file.write_bytes(change(text))
    call_command("replay", str(file), cluster=cluster, verbosity=0)
