"""Contrast of the palette: WCAG AA in light and dark."""

import re
from pathlib import Path

import pytest

CSS = (Path(__file__).resolve().parents[2] / "static" / "css" / "colours.css").read_text(encoding="utf-8")
TEXT, LARGE = 4.5, 3.0  # least contrast of text, and of large text and shapes
PAIRS = [
    ("ink", "page", TEXT),
    ("ink", "surface", TEXT),
    ("muted", "page", TEXT),
    ("muted", "surface", TEXT),
    ("accent", "page", TEXT),
    ("accent", "surface", TEXT),
    ("good", "surface", TEXT),
    ("restarting-text", "page", TEXT),
    ("restarting-text", "surface", TEXT),
    ("restarting-ink", "restarting", TEXT),
    ("failed-ink", "failed", TEXT),
    ("failed-text", "failed-soft", TEXT),
    ("failed-text", "surface", TEXT),
    ("ink", "warn-soft", TEXT),
    ("ink", "group", TEXT),
    ("ink", "completed", TEXT),
    ("ink", "terminating", TEXT),
    ("ink", "running-lane", TEXT),
    ("pending", "surface", LARGE),
    ("failed", "surface", LARGE),
    ("now", "surface", LARGE),
    ("hatch", "surface", LARGE),
]


def palette(selector: str) -> dict[str, str]:
    block = CSS[CSS.index(selector) :]
    return dict(re.findall(r"--c-([\w-]+): (#[0-9a-f]{6})", block[: block.index("}")]))


THEMES = {"light": palette(":root {"), "dark": palette(':root[data-theme="dark"] {')}


def luminance(colour: str) -> float:
    channels = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("text", "ground", "least"), PAIRS)
def test_contrast(theme: str, text: str, ground: str, least: float) -> None:
    colours = THEMES[theme]
    assert contrast(colours[text], colours[ground]) >= least


def test_dark_by_choice_and_dark_by_the_system_are_the_same() -> None:
    assert palette(':root:not([data-theme="light"]) {') == THEMES["dark"]


def test_every_colour_of_the_canvas_is_in_both_themes() -> None:
    script = (Path(__file__).resolve().parents[2] / "static" / "js" / "timeline" / "palette.js").read_text()
    names = re.findall(r'"([\w-]+)"', script[script.index("NAMES = [") : script.index("];")])
    for selector in (":root {", ':root[data-theme="dark"] {'):
        block = CSS[CSS.index(selector) :]
        block = block[: block.index("}")]
        for name in names:
            assert f"--c-{name}:" in block
