"""Jobs that no recording holds, for pictures: a life of 20 days, many exit codes, a gap, names that are too long."""

import gzip
import json
from pathlib import Path

from django.core.management import call_command

from tests.properties.recorded import Cluster, lines_of
from tests.support.large import write_large
from tests.support.truth import RECORDINGS

DAY = 86400.0
BEGIN = 1_794_200_000.0
CODES = (138, 137, 139, 134, 1, 2, 3, 17, 42, 126, 127, 130, 143, 255)
LONG = "recommendation-transformer-xxl-finetune-with-a-name-up-to-63-char"[:63]
LONG_NAMESPACE = "machine-learning-platform-team-recommendations-production-eu-1"


def write(folder: Path) -> None:
    """Write them into the database that the settings name."""
    write_large(4, 24, uid="long-life", name="long-life", begin=BEGIN, life=20 * DAY / 25)
    end = BEGIN + 20 * DAY  # of all of them: they are in one cluster, which was watched until then
    write_large(6, 14, uid="many-codes", name="many-codes", begin=end - 15 * 900, life=900, codes=CODES)
    write_large(1000, 24, uid="deep", name="deep", begin=end - 25 * 600, life=600)
    gap()
    long_names(folder)


def gap() -> None:
    """The seed experiment, of which nobody watched the middle."""
    lines = lines_of("seed-exitcode-138")
    third = len(lines) // 3
    watched = Cluster("with-a-gap", lines)
    watched.begin()
    watched.watch(lines[:third])
    watched.pass_by(lines[third : 2 * third])
    for key in watched.keys:
        watched.expire(key)
    watched.watch(lines[2 * third :])


def long_names(folder: Path) -> None:
    text = gzip.decompress((RECORDINGS / "pt-exitcode-worker" / "watch.jsonl.gz").read_bytes())
    for short, long in (("pytest", LONG), ("pt-exitcode-worker", LONG_NAMESPACE)):
        text = text.replace(short.encode(), json.dumps(long)[1:-1].encode())
    file = folder / "watch.jsonl"
    file.write_bytes(text)
    call_command("replay", str(file), cluster="a-cluster-in-a-far-away-region-with-a-long-name", verbosity=0)
