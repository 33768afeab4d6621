"""English and Simplified Chinese: nothing is left untranslated, and kubectl's words stay as they are."""

import re

import polib
import pytest
from django.test import Client
from django.utils import translation

from jobs.domain.said import Said, finding
from jobs.ingest.messages import State
from jobs.models import Job
from jobs.web.views.watchers import _state
from jobs.words import cause_words, said_words
from tests.support import catalogue
from tests.support.recorded import replay

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w+\}|</?code>")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SAME = {"Pod UID", ", ", " (%s)", "%(story)s %(others)s %(times)s."}  # but for punctuation


@pytest.fixture(scope="module")
def chinese() -> polib.POFile:
    return polib.pofile(str(catalogue.PO))


def test_no_string_is_untranslated(chinese: polib.POFile) -> None:
    known = {entry.msgid: entry for entry in chinese if entry.translated() and not entry.obsolete}
    missing = [f"{m.where}: {m.text}" for m in catalogue.wanted().values() if m.text not in known]
    assert not missing, "run `make messages` and translate them"
    plural = [m.text for m in catalogue.wanted().values() if m.plural and known[m.text].msgid_plural != m.plural]
    assert not plural


def test_nothing_is_left_of_strings_that_are_gone(chinese: polib.POFile) -> None:
    assert {entry.msgid for entry in chinese} == set(catalogue.wanted())


def test_a_translation_has_the_same_values(chinese: polib.POFile) -> None:
    for entry in chinese:
        text = entry.msgstr or entry.msgstr_plural[0]
        assert sorted(PLACEHOLDER.findall(text)) == sorted(PLACEHOLDER.findall(entry.msgid)), entry.msgid
        assert CHINESE.search(text) or "Pod" in text or entry.msgid in SAME, entry.msgid


def test_the_compiled_catalogue_is_that_of_the_text(chinese: polib.POFile) -> None:
    compiled = polib.mofile(str(catalogue.MO))
    pairs = {(e.msgid, e.msgstr, e.msgstr_plural.get(0)) for e in compiled}
    assert pairs == {(e.msgid, e.msgstr, e.msgstr_plural.get(0)) for e in chinese}, "run `make messages`"


@pytest.mark.django_db
def test_the_pages_speak_chinese_and_the_choice_is_remembered(client: Client, seed: Job) -> None:
    page = f"/jobs/{seed.uid}/?tab=restarts"
    assert 'lang="en"' in client.get(page).content.decode()
    answer = client.post("/i18n/setlang/", {"language": "zh-hans", "next": page})
    assert answer.status_code == 302 and answer["Location"] == page
    assert int(answer.cookies["django_language"]["max-age"]) > 30 * 86400
    text = client.get(page).content.decode()
    assert '<html lang="zh-hans"' in text
    for words in (
        "Worker 0 已被重建 5 次，每次都因退出码 138。",
        "真实重启",
        "kubectl 显示",
        "最先失败的是 worker 0：退出码 138",
    ):
        assert words in text, words
    for words in ("Running", "backoffLimit", "PodGroup", "SIGUSR1", "minMember"):
        assert words in text + client.get(f"/jobs/{seed.uid}/?tab=podgroup").content.decode()


@pytest.mark.django_db
def test_every_cause_that_was_recorded_is_translated(db: None) -> None:
    from jobs.models import Restart

    replay("node-lost", "oom-killed", "evict-exitcode", "mixed-codes", "preempted", "volcano-job", "bad-command")
    causes = set(Restart.objects.values_list("cause", flat=True))
    assert len(causes) > 6
    with translation.override("zh-hans"):
        for cause in causes:
            assert CHINESE.search(cause_words(cause)), cause
    with translation.override("en"):
        assert {cause_words(cause) for cause in causes} == causes, "English is what the domain says"


def test_a_cause_of_no_known_form_stays_as_it_is() -> None:
    with translation.override("zh-hans"):
        assert cause_words("<b>something new</b>") == "<b>something new</b>"
        assert cause_words("node %(node)s lost\u202e lost").startswith("节点")
        assert cause_words(None) == ""


def test_values_from_the_cluster_are_kept_ours_are_translated() -> None:
    with translation.override("zh-hans"):
        gang = finding("gang-restarted", None, [], count=2, causes="worker 1, exit 137 (retryable) ×2")
        assert said_words(gang) == "整组重启了 2 次；最初原因：worker 1, 退出码 137（可重试） ×2。"
        pending = finding("pending", None, [], replica="w 0", time="2 min", message="no reason given", count=1)
        assert "未给出原因" in said_words(pending)
        assert said_words(Said("x", "%(message)s", params={"message": "0/4 nodes"})) == "0/4 nodes"


@pytest.mark.parametrize("state", [*State, "replayed"])
def test_every_state_of_a_stream_has_words(state: str) -> None:
    with translation.override("zh-hans"):
        assert CHINESE.search(_state(state)), state


def test_punctuation_between_chinese_is_chinese(chinese: polib.POFile) -> None:
    for entry in chinese:
        text = entry.msgstr or entry.msgstr_plural[0]
        assert not re.search(r"[\u4e00-\u9fff][,:;?!]", text), text
