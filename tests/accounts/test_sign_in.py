"""The sign-in's page: what it says, what it looks at, what it leaves in the log."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import aauthenticate
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.accounts.models import SignInAttempts
from jobs.accounts.throttle import TooManyAttempts
from jobs.web.accounts import FORWARDED
from tests.accounts.conftest import RIGHT, WRONG, Clock
from tests.support.database import refusing

pytestmark = pytest.mark.django_db

PAGE = "/sign-in/"
STRANGER = "198.51.100.9"
Lines = Callable[[], list[str]]


def sign_in(name: str = "ann", password: str = WRONG, client: Client | None = None, **more: Any) -> Any:
    return (client or Client()).post(PAGE, {"username": name, "password": password}, **more)


def text_of(answer: Any) -> str:
    return answer.content.decode()


def test_the_sixth_wrong_password_has_to_wait(ann: User, clock: Clock) -> None:
    for _ in range(5):
        assert "do not belong together" in text_of(sign_in())
        clock.at += 10
    refused = sign_in()
    assert refused.status_code == 429
    assert refused["Retry-After"] == "850"
    assert "tried too often to sign in. Wait 14 m 10 s, then sign in again." in text_of(refused)
    assert sign_in(password=RIGHT).status_code == 429
    assert sign_in(password=RIGHT, REMOTE_ADDR=STRANGER).status_code == 302, "its owner, elsewhere"
    clock.at = 900
    assert sign_in(password=RIGHT).status_code == 302


def test_success_resets(ann: User, clock: Clock) -> None:
    for _ in range(3):
        for _ in range(4):
            assert sign_in().status_code == 200
        assert sign_in(password=RIGHT).status_code == 302


def test_no_header_buys_attempts(ann: User, clock: Clock) -> None:
    """Whom a proxy speaks for is decided by the server, before Django."""
    for n in range(6):
        other = dict.fromkeys(FORWARDED, f"203.0.113.{n}")
        answer = sign_in(**other, HTTP_USER_AGENT=f"browser {n}")
    assert answer.status_code == 429


@pytest.mark.parametrize(("language", "words"), [("en", "Too many attempts"), ("zh-CN", "尝试次数过多")])
@pytest.mark.parametrize("theme", ["dark", "light", "system"])
def test_the_refusal_is_a_page_of_the_site(ann: User, clock: Clock, language: str, words: str, theme: str) -> None:
    client = Client(headers={"accept-language": language})
    client.cookies["theme"] = theme
    for _ in range(6):
        page = sign_in(client=client)
    text = text_of(page)
    assert (page.status_code, f'data-theme="{theme}"' in text, words in text) == (429, True, True)
    assert "15 m 00 s" in text
    assert f'<html lang="{"en" if language == "en" else "zh-hans"}"' in text
    assert "unsafe" not in page["Content-Security-Policy"]
    assert not re.search(r"<style|style=|<script(?![^>]*(src=|application/json))", text)


# --- what is looked at


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were hashed, which is what an attempt costs."""
    found: list[str] = []
    encode = PBKDF2PasswordHasher.encode

    def counted(self: PBKDF2PasswordHasher, password: str, *args: Any) -> str:
        found.append(password)
        return encode(self, password, *args)

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", counted)
    return found


def test_a_name_costs_the_same_whether_it_is_known_or_not(clock: Clock, hashed: list[str]) -> None:
    User.objects.create_user("ann", password=RIGHT)
    User.objects.create_user("gone", password=RIGHT, is_active=False)
    User.objects.create_user("demo", password=None)
    queries = []
    for name in ("ann", "nobody", "gone", "demo"):
        hashed.clear()
        with CaptureQueriesContext(connection) as seen:
            answer = sign_in(name)
        queries.append([query["sql"].split()[0] for query in seen.captured_queries])
        assert len(hashed) == 1, name
        assert "do not belong together" in text_of(answer), name
    assert all(one == queries[0] for one in queries)


def test_whoever_has_to_wait_costs_no_hash(clock: Clock, hashed: list[str]) -> None:
    for name in ("nobody", "ann"):
        for _ in range(5):
            sign_in(name)
        hashed.clear()
        for _ in range(20):
            assert sign_in(name).status_code == 429
        assert hashed == []


def test_whatever_asks_for_a_password_is_throttled(ann: User, clock: Clock) -> None:
    """Django's admin, should it come, and code that signs in by itself."""
    request = HttpRequest()
    request.META["REMOTE_ADDR"] = STRANGER
    for _ in range(3):
        assert not AdminAuthenticationForm(request, {"username": "ann", "password": WRONG}).is_valid()
    for _ in range(2):
        assert async_to_sync(aauthenticate)(request, username="ann", password=WRONG) is None
    with pytest.raises(TooManyAttempts):
        AdminAuthenticationForm(request, {"username": "ann", "password": RIGHT}).is_valid()
    with pytest.raises(TooManyAttempts):
        async_to_sync(aauthenticate)(request, username="ann", password=RIGHT)
    assert sign_in(REMOTE_ADDR=STRANGER).status_code == 429


def test_whoever_signed_in_before_stays_signed_in(ann: User, clock: Clock) -> None:
    """Sessions name the backend that knows passwords, as they did before there was a throttle."""
    client = Client()
    client.force_login(ann)
    assert client.session["_auth_user_backend"] == "django.contrib.auth.backends.ModelBackend"
    for _ in range(6):
        sign_in()
    assert sign_in(client=client)["Location"] == "/experiments/"
    assert "Signed in as ann." in text_of(client.get("/experiments/"))


# --- the log


def test_each_attempt_is_a_line_without_a_password(ann: User, clock: Clock, log: Lines) -> None:
    sign_in(password=RIGHT, REMOTE_ADDR=STRANGER)
    for _ in range(6):
        sign_in(REMOTE_ADDR=STRANGER)
    lines = log()
    failed = f"WARNING 'ann' from {STRANGER} has not signed in: name and password do not belong together"
    waits = f"ERROR 'ann' from {STRANGER} has tried too often to sign in, and has to wait for 900 s: {PAGE}"
    assert lines == [f"INFO 'ann' from {STRANGER} has signed in", *[failed] * 5, waits]
    assert RIGHT not in str(lines)
    assert WRONG not in str(lines)


def test_a_password_in_the_wrong_field_is_not_logged(ann: User, clock: Clock, log: Lines) -> None:
    for _ in range(6):
        sign_in(RIGHT, "x")
    assert len(log()) == 6
    assert all("an unknown name from 127.0.0.1 has" in line for line in log())
    assert RIGHT not in str(log())


# --- bad input


LONG = "x" * 2_000_000
GIVE_BOTH, WRONG_PAIR = "Give both: user name and password.", "do not belong together"
NOT_ASKED = {
    "no fields": ({}, GIVE_BOTH),
    "no password": ({"username": "ann"}, GIVE_BOTH),
    "an empty password": ({"username": "ann", "password": ""}, GIVE_BOTH),
    "no name": ({"password": RIGHT}, GIVE_BOTH),
    "a blank name": ({"username": "  ", "password": RIGHT}, WRONG_PAIR),
    "null in the name": ({"username": "a\0nn", "password": RIGHT}, WRONG_PAIR),
    "null in the password": ({"username": "ann", "password": "a\0b"}, WRONG_PAIR),
}


@pytest.mark.parametrize("case", NOT_ASKED)
def test_what_cannot_be_right_is_told_and_not_counted(ann: User, clock: Clock, log: Lines, case: str) -> None:
    given, sentence = NOT_ASKED[case]
    for _ in range(10):
        page = Client().post(PAGE, given)
        assert page.status_code == 200
        assert re.findall(r'role="alert"[^>]*>([^<]*)<', text_of(page))[0].count(sentence) == 1
    assert not SignInAttempts.objects.exists()
    assert log() == []


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ann", LONG),
        (LONG, "x"),
        ("x" * 151, "x"),
        ("<script>alert(1)</script>", "x"),
        ("用户", "密码"),
        ("\udcff".encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "x"),
        ("a\r\n2026-11-29 ERROR forged", "x"),
        ("' OR 1=1 --", "x"),
    ],
)
def test_odd_names_and_passwords_are_wrong_and_no_more(
    ann: User, clock: Clock, log: Lines, name: str, password: str
) -> None:
    for _ in range(5):
        page = text_of(sign_in(name, password))
        assert "do not belong together" in page
        assert "<script>alert" not in page
        assert len(page) < 20_000, "what was sent is not sent back whole"
    assert sign_in(name, password).status_code == 429
    assert len(log()) == 6
    assert not any("forged" in line or "Traceback" in line for line in log())


def test_a_name_of_ten_megabytes_is_too_long(ann: User, clock: Clock, log: Lines) -> None:
    answer = sign_in("x" * 10_000_000)
    assert answer.status_code == 413
    assert "longer than what this site takes" in text_of(answer)
    assert not SignInAttempts.objects.exists()
    (line,) = log()
    assert "Traceback" not in line
    assert len(line) < 300


@pytest.mark.django_db(transaction=True)
def test_a_database_that_refuses_is_told(ann: User, clock: Clock, log: Lines) -> None:
    with refusing("jobs_signinattempts"):
        answer = sign_in(password=RIGHT)
    assert answer.status_code == 503
    assert "The database of this site does not answer. Try again in a minute" in text_of(answer)
    assert [line.split(":")[0] for line in log()] == ["ERROR nobody can sign in", "ERROR Service Unavailable"]
    assert "Traceback" not in str(log())
    assert sign_in(password=RIGHT).status_code == 302
