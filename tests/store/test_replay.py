"""``manage.py replay`` and ``report``: recordings in, the audit log's numbers out, on the configured database."""

import gzip
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from jobs import models
from tests.support.truth import RECORDINGS, differences, scenarios, truth

pytestmark = pytest.mark.django_db


def replay(*names: str, **options: Any) -> str:
    """Replay scenarios; answers what was said on stderr."""
    errors = StringIO()
    call_command("replay", *(str(RECORDINGS / name) for name in names), stderr=errors, **options)
    return errors.getvalue()


def report(**filters: Any) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("report", output="json", stdout=out, **filters)
    return json.loads(out.getvalue())["jobs"]


def lines_of(name: str) -> list[bytes]:
    return gzip.decompress((RECORDINGS / name / "watch.jsonl.gz").read_bytes()).splitlines(keepends=True)


@pytest.mark.parametrize("scenario", scenarios())
def test_a_recording_gives_what_its_audit_log_says(scenario: str) -> None:
    replay(scenario)
    jobs = report()
    assert differences(jobs, truth(scenario)) == []
    assert not any(job["at_least"] or job["unobserved"] for job in jobs)


def test_the_seed_experiment_in_figures() -> None:
    """Worker 0 was recreated five times, the PS restarted once in place; two Restarting spans lasted under 50 ms."""
    replay("seed-exitcode-138")
    (job,) = report()
    counts = {(r["type"], r["index"]): r["true_restarts"] for r in job["replicas"]}
    assert counts == {("worker", 0): 5, ("worker", 1): 0, ("worker", 2): 0, ("ps", 0): 1}
    assert (job["true_restarts"], job["kubectl_restarts"], job["hidden_restarts"]) == (6, 1, 5)
    assert len(job["restarting_condition"]) == 5
    short = [s for s in models.Span.objects.filter(lane="restarting") if s.end is not None and s.end - s.start < 0.05]
    assert len(short) == 2


def test_all_recordings_at_once_are_a_busy_cluster() -> None:
    replay(*scenarios())
    jobs = report()
    assert [line for scenario in scenarios() for line in differences(jobs, truth(scenario))] == []


def test_reading_a_recording_again_changes_nothing() -> None:
    replay("seed-exitcode-138")
    before, observations = report(), models.Observation.objects.count()
    said = replay("seed-exitcode-138")
    assert report() == before
    assert models.Observation.objects.count() == observations
    assert "0 changes stored" in said


@pytest.mark.parametrize("cut", [1, 20, 97, 100, 150, 199, 260])
def test_a_later_full_replay_goes_on_from_the_cut(cut: int) -> None:
    replay("seed-exitcode-138")
    whole = report()
    replay("seed-exitcode-138", cluster="cut", until=cut)
    replay("seed-exitcode-138", cluster="cut")
    resumed = report(cluster="cut")
    for job in resumed:
        job["cluster"] = "replay"
    assert resumed == whole


@pytest.mark.parametrize("scenario", ["seed-exitcode-138", "wave-60", "suspend-resume", "tf-onfailure-one-worker"])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_late_start_never_says_more_than_the_truth(scenario: str, share: float) -> None:
    replay(scenario, cluster="late", start_late=int(len(lines_of(scenario)) * share))
    jobs = {job["uid"]: job for job in report(cluster="late")}
    for expected in truth(scenario)["jobs"]:
        job = jobs.get(expected["uid"])
        if job is None:
            continue
        counts = {(r["type"], r["index"]): r for r in job["replicas"]}
        for replica in expected["replicas"]:
            seen = counts.get((replica["type"], replica["index"]))
            if seen is not None:
                assert seen["true_restarts"] <= replica["true_restarts"]
                assert seen["at_least"] or seen["true_restarts"] == replica["true_restarts"]


def test_a_late_start_needs_a_new_cluster_name(capsys: pytest.CaptureFixture[str]) -> None:
    replay("seed-exitcode-138")
    with pytest.raises(SystemExit) as exit_:
        call_command("replay", str(RECORDINGS / "seed-exitcode-138"), start_late=5)
    assert exit_.value.code == 2
    assert "cluster name not used before" in capsys.readouterr().err


def test_bad_lines_are_counted_and_passed_over(tmp_path: Path) -> None:
    """Cut lines, no JSON, an object without metadata, a resource nobody knows: named, and the rest is right."""
    good = lines_of("seed-exitcode-138")
    bad = [
        b"{\n",
        good[5][: len(good[5]) // 2] + b"\n",
        b'{"received_at": 1, "resource": "pods", "type": "ADDED", "object": {}}\n',
        b'{"received_at": 1, "resource": "pods", "type": "ADDED", "object": {"metadata": {"uid": 7}}}\n',
        b'{"received_at": 1, "resource": "gadgets.example.org", "type": "ADDED", "object": {}}\n',
        b"\n",
    ]
    mixed = [line for pair in zip(good, bad * len(good), strict=False) for line in pair]
    (tmp_path / "watch.jsonl").write_bytes(b"".join(mixed))
    errors = StringIO()
    call_command("replay", str(tmp_path), stderr=errors)
    assert differences(report(), truth("seed-exitcode-138")) == []
    for words in ("not JSON", "no metadata", "wrong type: metadata.uid", "gadgets.example.org"):
        assert words in errors.getvalue()


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"kind": "tfjob"}, {"again"}),
        ({"namespace": "wave-60"}, {"wave"}),
        ({"exit_code": "134"}, {"wave"}),
        ({"state": "succeeded"}, {"wave"}),
        ({"name": "nobody"}, set()),
        ({"cluster": "replay"}, {"again", "wave"}),
        ({"since": "2026-11-30T00:00:00Z"}, set()),
        ({"until": "2026-11-29T00:00:00Z"}, set()),
    ],
)
def test_the_report_can_be_narrowed(filters: dict[str, str], names: set[str]) -> None:
    replay("name-reuse", "wave-60")
    assert {job["name"] for job in report(**filters)} == names


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"exit_code": "many"}, "--exit-code many"),
        ({"exit_code": "300"}, "between 0 and 255"),
        ({"state": "Sleeping"}, "--state Sleeping"),
        ({"since": "yesterday"}, "--since yesterday"),
    ],
)
def test_a_bad_filter_is_named(filters: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        call_command("report", **filters)
    assert exit_.value.code == 2
    assert words in capsys.readouterr().err


def test_a_path_without_a_recording_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        call_command("replay", str(tmp_path))
    assert exit_.value.code == 2
    assert "no such recording" in capsys.readouterr().err


def test_nothing_to_report_is_no_error() -> None:
    assert report() == []
    out = StringIO()
    call_command("report", output="table", stdout=out)
    assert "No jobs" in out.getvalue()


def test_the_table_says_the_same_as_the_json() -> None:
    replay("seed-exitcode-138")
    out = StringIO()
    call_command("report", output="table", stdout=out)
    row = out.getvalue().splitlines()[1].split("   ")
    words = [word.strip() for word in row if word.strip()]
    assert words == ["seed-exitcode-138", "TFJob", "tftest", "Restarting (gone)", "6", "1", "5", "138 x5"]
