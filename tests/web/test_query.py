"""The filter language: what a query says, what it says of a wrong word, and how it is written back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.store.pages.jobfilter import FIELDS, Comparison, JobFilter
from jobs.web.query import MAX_TEXT, complete, parse, tokens, write


def test_the_example_of_the_manual() -> None:
    found = parse("exit:137 ns:team-a restarts:>5 kind:TFJob cause:evicted since:2h")
    assert found.problems == ()
    assert found.chosen == JobFilter.of(
        {"exit": ["137"], "namespace": ["team-a"], "kind": ["TFJob"], "cause": ["evicted"]},
        [Comparison("restarts", ">", 5)],
        since="2h",
    )


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("state:failed", "state", "Failed"),
        ("STATE:Running", "state", "Running"),
        ("kind:pytorchjob", "kind", "PyTorchJob"),
        ("policy:exitcode", "policy", "ExitCode"),
        ("signal:9", "signal", "SIGKILL"),
        ("signal:usr1", "signal", "SIGUSR1"),
        ("code:0137", "exit", "137"),
        ("exit:-1", "exit", "-1"),
        ("label:app=x", "label", "app=x"),
        ('reason:"a b"', "reason", "a b"),
        (r'node:"a\"b"', "node", 'a"b'),
        ('image:"not closed', "image", "not closed"),
        (r'node:"a\\"', "node", "a\\"),
        ("image:registry:5000/x", "image", "registry:5000/x"),
        ("class:user-defined", "class", "user-defined"),
    ],
)
def test_a_field(text: str, field: str, value: str) -> None:
    assert parse(text).chosen == JobFilter.of({field: [value]})
    assert parse(text).problems == ()


@pytest.mark.parametrize(
    ("text", "comparisons"),
    [
        ("restarts:5", [("restarts", "=", 5)]),
        ("hidden:>=2", [("hidden", ">=", 2)]),
        ("kubectl:<1", [("kubectl", "<", 1)]),
        ("replicas:5..10", [("replicas", ">=", 5), ("replicas", "<=", 10)]),
    ],
)
def test_numbers(text: str, comparisons: list[tuple[str, str, int]]) -> None:
    assert parse(text).chosen == JobFilter.of({}, [Comparison(*one) for one in comparisons])


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("exit:abc", "exit code"),
        ("exit:99999999999", "exit code"),
        ("exit:", "exit:"),
        ("ns:", "ns:"),
        ("restarts:many", "5..10"),
        ("since:yesterday", "2h"),
        ("until:0000-99-99", "2h"),
        ("state:Rnning", "Running"),
        ("kind:Job2", "TFJob"),
        ("signal:WHAT", "SIGKILL"),
        ("signal:²", "SIGKILL"),
        ("cause:evil", "evicted"),
        ("stat:Running", "state:"),
        ("http://x", '"http://x"'),
    ],
)
def test_a_wrong_word_is_told_where_it_stands_and_the_others_apply(word: str, hint: str) -> None:
    text = f"exit:137 {word} tftest"
    found = parse(text)
    (problem,) = found.problems
    assert (problem.word, text[problem.start : problem.end]) == (word, word)
    assert hint in problem.hint
    assert found.chosen == JobFilter.of({"exit": ["137"]}, text=["tftest"])


def test_a_query_has_its_bounds() -> None:
    assert parse("x" * 301).problems
    assert parse("ns:a\x00b").problems
    assert parse("a " * MAX_TEXT).problems
    assert len(parse("ns:a " * 61).problems) == 1


VALUES = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1, max_size=20).filter(
    lambda text: text.strip() and text.isprintable()
)
FREE = [name for name in FIELDS if name in ("namespace", "node", "image", "label", "owner", "queue", "reason")]


@given(st.dictionaries(st.sampled_from(FREE), st.lists(VALUES, min_size=1, max_size=3)), st.lists(VALUES, max_size=3))
def test_what_is_written_is_read_again(fields: dict[str, list[str]], words: list[str]) -> None:
    chosen = JobFilter.of(fields, [Comparison("restarts", ">", 3)], "2h", "2026-11-29T12:00:00Z", words)
    found = parse(write(chosen))
    assert found.problems == ()
    assert found.chosen == chosen


@given(st.text(max_size=60))
def test_any_text_is_a_query(text: str) -> None:
    found = parse(text)
    assert all(text[p.start : p.end] == p.word for p in found.problems)
    assert all(0 <= token.start < token.end <= len(text) for token in tokens(text))
    complete(text, len(text), lambda name, start: [])


def test_words_are_completed() -> None:
    def known(name: str, start: str) -> list[tuple[str, int]]:
        return [("team a", 3)] if (name, start) == ("namespace", "te") else []

    found = complete("exit:137 ns:te", 14, known)
    assert (found.start, found.end) == (9, 14)
    assert [(s.insert, s.jobs) for s in found.suggestions] == [('ns:"team a"', 3)]
    assert [s.insert for s in complete("st", 2, known).suggestions] == ["state:"]
    assert "since:2h" in [s.insert for s in complete("since:", 6, known).suggestions]
    everything = [s.insert for s in complete("exit:137 ", 9, known).suggestions]
    assert "ns:" in everything
    assert "restarts:" in everything
