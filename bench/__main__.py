"""``python -m bench``: run the benches one after the other, or the named ones; ``make bench`` runs all."""

import subprocess
import sys
from pathlib import Path

BENCHES = {
    "ingest": "watch events stored per second, against the official client's decoding",
    "jobpage": "a large job's timeline in Chromium: API, paint, frames, from an event to a pixel, memory",
    "jobsize": "what an event costs as one job grows to 100,000 incarnations, and how long its state takes to load",
    "list": "filtered pages and facets over 500,000 jobs, on SQLite and PostgreSQL",
    "memory": "a watcher's memory with 30,000 pods",
    "simcluster": "30,000 pods, 1,000 writes a second and 50 watchers on the simulated cluster",
    "others": "what kubectl, Events and polling would say of the seed experiment",
}


def main() -> int:
    names = sys.argv[1:] or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"No bench named {', '.join(unknown)}. There are:")
        for name, what in BENCHES.items():
            print(f"  {name:<10} {what}")
        return 2
    for name in names:
        print(f"== {name}: {BENCHES[name]}", flush=True)
        subprocess.run([sys.executable, "-m", f"bench.{name}"], cwd=Path(__file__).resolve().parent.parent, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
