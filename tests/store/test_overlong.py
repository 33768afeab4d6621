"""Words from a cluster that are longer than a column: they are cut, and what comes with them is stored."""

from pathlib import Path

import pytest

from jobs import models
from tests.support.recorded import replay_changed

pytestmark = pytest.mark.django_db

LONG = b"E" * 250


@pytest.mark.parametrize(
    "word",
    [
        pytest.param(b'"reason":"Error"', id="reason"),
        pytest.param(b'"phase":"Inqueue"', id="podgroup-phase"),
        pytest.param(b'"nodeName":"las1"', id="node"),
    ],
)
def test_overlong_words_are_cut(word: bytes, tmp_path: Path) -> None:
    """PostgreSQL refuses what does not fit, and with it the whole batch."""
    name, _, value = word.partition(b":")

    def lengthen(text: bytes) -> bytes:
        assert text.count(word) > 1
        return text.replace(word, name + b':"' + value.strip(b'"') + LONG + b'"')

    replay_changed(tmp_path, "seed-exitcode-138", lengthen)
    job = models.Job.objects.get()
    assert job.true_restarts == 6
    assert models.Restart.objects.filter(counts=True).count() == 6
