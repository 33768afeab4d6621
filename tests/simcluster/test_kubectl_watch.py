"""`kubectl get … -owide -w` during the seed experiment prints what it printed on a real cluster.

Rows that differ in AGE only count as one; pod addresses and the seconds since a restart are not compared. Each object's
own rows are: how the rows of several objects lie among each other is chance.
"""

import itertools
import re
from pathlib import Path

import pytest

from simcluster.manifests import seed_experiment
from tests.simcluster.kubectl import Cluster, until

RECORDED = Path(__file__).parent.parent / "data" / "recordings" / "seed-exitcode-138" / "kubectl"
NAMESPACE = "seed-exitcode-138"
SPEED = 10
Rows = list[tuple[str, ...]]


def rows_of(text: str, age: int) -> dict[str, Rows]:
    """Per object its rows without the column AGE (counted from the left, or from the right if negative)."""
    rows: dict[str, Rows] = {}
    for line in text.splitlines():
        name, *cells = re.split(r" {2,}", line.strip())
        if name == "NAME":
            continue
        del cells[age - 1 if age > 0 else age]
        shown = [re.sub(r" \(.* ago\)", "", cell) for cell in cells]
        shown = ["IP" if re.fullmatch(r"10(\.\d+){3}", cell) else cell for cell in shown]
        rows.setdefault(name, []).append(tuple(shown))
    return {name: [row for row, _ in itertools.groupby(found)] for name, found in rows.items()}


def lives(rows: Rows) -> list[Rows]:
    """A pod's rows, one list for each pod that bore the name: each begins unscheduled."""
    found: list[Rows] = []
    for row in rows:
        if row[1] == "Pending" and row[4] == "<none>":
            found.append([])
        found[-1].append(row)
    return found


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What three kubectls printed while the experiment ran for 75 simulated seconds and its job was deleted."""
    cluster = Cluster(tmp_path_factory.mktemp("watch"), "--speed", str(SPEED), "--namespace", NAMESPACE)
    here = ("-n", NAMESPACE)
    kinds = ("tfjob", "pods", "podgroups.scheduling.volcano.sh")
    watchers = {kind: cluster.start_kubectl("get", kind, "-owide", "-w", *here) for kind in kinds}
    until(lambda: len(cluster.control("state")["watches"]) == len(kinds))
    cluster.kubectl("apply", "-f", "-", manifest=seed_experiment())
    created = cluster.kubectl("get", "tfjob", "tftest", *here, "-o=jsonpath={.metadata.creationTimestamp}")
    end = f"{created[:17]}{int(created[17:19]):02}"
    until(lambda: seconds(cluster.control("state")["now"]) - seconds(end) >= 75, 60)
    cluster.kubectl("delete", "tfjob", "tftest", *here)
    until(lambda: "tftest" not in cluster.kubectl("get", "pods", *here))
    cluster.control("watches/end", mode="close")
    outputs = {kind: watcher.communicate(timeout=60)[0] for kind, watcher in watchers.items()}
    cluster.stop()
    return outputs


def seconds(timestamp: str) -> float:
    from simcluster.clock import parse_rfc3339

    return parse_rfc3339(timestamp if "." in timestamp or timestamp.endswith("Z") else f"{timestamp}Z")


def test_headers(printed: dict[str, str]) -> None:
    for kind, file in (("tfjob", "tfjob"), ("pods", "pods"), ("podgroups.scheduling.volcano.sh", "podgroup")):
        recorded = (RECORDED / f"get-{file}-w.txt").read_text().splitlines()[0]
        assert printed[kind].splitlines()[0].split() == recorded.split()


def test_the_job(printed: dict[str, str]) -> None:
    ours = rows_of(printed["tfjob"], -1)["tftest"]
    theirs = rows_of((RECORDED / "get-tfjob-w.txt").read_text(), -1)["tftest"]
    length = min(len(ours), len(theirs))
    assert length >= 9
    assert ours[:length] == theirs[:length]  # "", Created, Running, Restarting, Running, ...
    assert all(row in (("Running",), ("Restarting",)) for row in ours[length:])


def test_the_podgroup(printed: dict[str, str]) -> None:
    ours = rows_of(printed["podgroups.scheduling.volcano.sh"], -2)["tftest"]
    theirs = rows_of((RECORDED / "get-podgroup-w.txt").read_text(), -2)["tftest"]
    assert ours[:3] == theirs[:3]  # nothing yet, Inqueue, Running
    # The scheduler looks once a second: it may see three of four running first.
    assert next(row for row in ours[3:] if row[2] not in ("2", "3")) == theirs[3]
    assert {row[0] for row in ours[4:]} <= {"Pending", "Running", "Unknown"}
    assert {row[1] for row in ours[4:]} == {"4"}
    assert ("Pending", "4", "3", "default") in ours


@pytest.mark.parametrize("name", ["tftest-worker-1", "tftest-worker-2"])
def test_the_workers_that_end_well(printed: dict[str, str], name: str) -> None:
    assert rows_of(printed["pods"], 4)[name] == rows_of((RECORDED / "get-pods-w.txt").read_text(), 4)[name]


def test_the_worker_that_is_restarted_shows_0_restarts(printed: dict[str, str]) -> None:
    ours = lives(rows_of(printed["pods"], 4)["tftest-worker-0"])
    theirs = lives(rows_of((RECORDED / "get-pods-w.txt").read_text(), 4)["tftest-worker-0"])
    assert len(ours) >= 5
    assert all(life == theirs[0] for life in theirs[:-1])
    assert all(life == theirs[0] for life in ours[:-1])  # the last one is cut off by the job's end
    assert {row[2] for life in ours for row in life} == {"0"}


def test_the_parameter_server_is_restarted_in_place(printed: dict[str, str]) -> None:
    ours = rows_of(printed["pods"], 4)["tftest-ps-0"]
    theirs = rows_of((RECORDED / "get-pods-w.txt").read_text(), 4)["tftest-ps-0"]
    until_second_end = theirs.index(("0/1", "Completed", "1", "IP", "las1", "<none>", "<none>")) + 1
    assert ours[:until_second_end] == theirs[:until_second_end]
