"""Files are sent part by part, by threads that read while they are sent."""

import asyncio

import pytest
from django.test import AsyncClient

from tests.support.recorded import replay


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("name", "beginning"), [("jobs.csv", "cluster,"), ("jobs.json", "[")])
def test_a_file_of_what_is_filtered(name: str, beginning: str) -> None:
    replay("seed-exitcode-138", "gang-waits")

    async def fetch() -> tuple[str, str]:
        response = await AsyncClient().get(f"/api/{name}?exit=138")
        parts = [part async for part in response.streaming_content]  # type: ignore[attr-defined]
        return response["Content-Disposition"], b"".join(parts).decode()

    disposition, text = asyncio.run(fetch())
    assert f'filename="{name}"' in disposition
    assert text.startswith(beginning)
    assert "tftest" in text
    assert "gang-waits" not in text
