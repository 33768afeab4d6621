"""Each direct dependency has its sentence in the documentation, and the locks hold what pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def names(requirements: list[str]) -> list[str]:
    return [re.split(r"[\[<>=~! ;]", requirement, maxsplit=1)[0] for requirement in requirements]


RUNTIME = names(PROJECT["project"]["dependencies"])
DEVELOPMENT = names(PROJECT["dependency-groups"]["dev"])


def locked(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, re.MULTILINE))


@pytest.mark.parametrize(("heading", "expected"), [("At run time", RUNTIME), ("For development", DEVELOPMENT)])
def test_each_dependency_has_its_sentence(heading: str, expected: list[str]) -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    assert re.findall(r"^- \*\*(.+?)\*\*: .+\.$", section, re.MULTILINE) == expected


def test_the_locks_hold_what_is_asked_for() -> None:
    everything, runtime = locked("requirements.lock"), locked("requirements-runtime.lock")
    assert {name.lower() for name in RUNTIME} <= set(runtime)
    assert {name.lower() for name in RUNTIME + DEVELOPMENT} <= set(everything)
    assert runtime.items() <= everything.items()
    assert not {name.lower() for name in DEVELOPMENT} & set(runtime) - {"pyyaml"}


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-runtime.lock"])
def test_every_package_is_pinned_by_hash_and_by_no_address(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert text.count("==") >= len(locked(name))
    for entry in re.split(r"\n(?=[a-z0-9])", text.strip()):
        assert "--hash=sha256:" in entry, entry.splitlines()[0]
