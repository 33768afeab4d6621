"""The translations' catalogue: what must be in it, and how it is compiled. No tool of gettext is needed.

``python -m tests.support.catalogue`` (``make messages``) adds new strings to ``django.po``, drops those that are gone,
and compiles ``django.mo``.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polib
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES"
PO, MO = FOLDER / "django.po", FOLDER / "django.mo"
CALLS = {"_": 1, "gettext": 1, "gettext_lazy": 1, "gettext_noop": 1, "N_": 1, "ngettext": 2, "ngettext_lazy": 2}
# Django writes what a template translates as such calls, between text that is no Python.
STRING = r"u?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
TEMPLATE_CALL = re.compile(rf"\b(n?gettext|_)\(({STRING})(?:,\s*({STRING}))?")


FULL_WIDTH = {",": "，", ":": "：", ";": "；", "?": "？", "!": "！"}


class Message(NamedTuple):
    text: str
    plural: str | None
    where: str


def messages() -> Iterator[Message]:
    """Every string that is shown: of Python, of templates, and of the domain, which does not know gettext."""
    for path in sorted((ROOT / "jobs").rglob("*.py")):
        yield from _of_python(path)
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield from _of_template(path)
    yield from _of_the_domain()


def _of_python(path: Path) -> Iterator[Message]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        if name not in CALLS or not isinstance(node, ast.Call):
            continue
        texts = [a.value for a in node.args[: CALLS[name]] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if texts:
            yield Message(texts[0], texts[1] if len(texts) > 1 else None, str(path.relative_to(ROOT)))


def _of_template(path: Path) -> Iterator[Message]:
    text = templatize(path.read_text(encoding="utf-8"), origin=str(path))
    for name, one, many in TEMPLATE_CALL.findall(text):
        plural = ast.literal_eval(many.removeprefix("u")) if many and name == "ngettext" else None
        yield Message(ast.literal_eval(one.removeprefix("u")), plural, str(path.relative_to(ROOT)))


def _of_the_domain() -> Iterator[Message]:
    from jobs.words import CAUSES, PIECES, SENTENCES

    for text in (*CAUSES, *PIECES, *SENTENCES):
        yield Message(text, None, "jobs/domain")


def wanted() -> dict[str, Message]:
    found: dict[str, Message] = {}
    for message in messages():
        known = found.get(message.text)
        if known is None or (message.plural and not known.plural):
            found[message.text] = message
    return found


def compiled(catalogue: polib.POFile) -> bytes:
    return catalogue.to_binary()


def punctuated(text: str) -> str:
    """With full-width marks after Chinese, as it is written."""
    return re.sub(r"(?<=[\u4e00-\u9fff])([,:;?!]) ?", lambda mark: FULL_WIDTH[mark[1]], text)


def update() -> None:
    """Bring the catalogue up to date and compile it."""
    old = polib.pofile(str(PO)) if PO.exists() else polib.POFile(wrapwidth=110)
    new = polib.POFile(wrapwidth=110)
    new.metadata = {
        "Project-Id-Version": "Restartscope",
        "Language": "zh_Hans",
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": "nplurals=1; plural=0;",
    }
    for text, message in sorted(wanted().items(), key=lambda item: (item[1].where, item[0])):
        known = old.find(text)
        entry = polib.POEntry(msgid=text, occurrences=[(message.where, "")])
        if "%(" in text or re.search(r"%[sd]", text):
            entry.flags.append("python-format")
        if message.plural:
            entry.msgid_plural = message.plural
            entry.msgstr_plural = {0: punctuated(known.msgstr_plural.get(0, "") or known.msgstr) if known else ""}
        else:
            entry.msgstr = punctuated(known.msgstr or known.msgstr_plural.get(0, "")) if known else ""
        new.append(entry)
    FOLDER.mkdir(parents=True, exist_ok=True)
    new.save(str(PO))
    MO.write_bytes(compiled(new))


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    django.setup()
    update()
    missing = [entry.msgid for entry in polib.pofile(str(PO)).untranslated_entries()]
    print("\n".join([f"{len(missing)} strings are not translated", *missing]))
