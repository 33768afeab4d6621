"""Who sees the buttons that launch, and who may use them."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.experiments.pages import CUSTOM, LIST, SEED, account, form, jobs_of, text_of
from tests.watch.live import LiveCluster

pytestmark = pytest.mark.django_db(transaction=True)


BUTTONS = ('action="/experiments/seed/launch/"', 'value="launch"', 'value="try"')


def test_a_site_that_only_reads_shows_the_catalogue_and_no_buttons(
    cluster: LiveCluster, person: Client, settings: Any
) -> None:
    settings.RESTARTSCOPE_READ_ONLY = True
    for path in (LIST, SEED, CUSTOM):
        page = text_of(person.get(path))
        assert "RESTARTSCOPE_READ_ONLY=off" in page
        assert not any(button in page for button in BUTTONS)
    assert "Restarts that kubectl does not show" in text_of(person.get(LIST))
    for path, data in ((f"{SEED}launch/", {}), (SEED, form()), (CUSTOM, form())):
        assert person.post(path, data).status_code == 403
    assert jobs_of(cluster) == []


def test_without_an_account_one_is_sent_to_the_sign_in(cluster: LiveCluster) -> None:
    client = Client()
    page = text_of(client.get(LIST))
    assert "Sign in to launch experiments." in page
    assert not any(button in page for button in BUTTONS)
    answer = client.post(f"{SEED}launch/", {})
    assert answer["Location"].startswith("/sign-in/?next=/experiments/")
    assert jobs_of(cluster) == []


def test_an_account_without_the_permission_may_not(cluster: LiveCluster) -> None:
    client = Client()
    client.force_login(account("bob", allowed=False))
    assert "Ask an administrator" in text_of(client.get(LIST))
    assert client.post(f"{SEED}launch/", {}).status_code == 403
    assert jobs_of(cluster) == []


@pytest.mark.parametrize("path", [f"{SEED}launch/", SEED, f"{SEED}manifest/", CUSTOM, "/sign-in/", "/sign-out/"])
def test_every_post_needs_the_token_against_forgery(cluster: LiveCluster, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(account())
    answer = client.post(path, form())
    assert answer.status_code == 403
    assert "Reload its page and send it again" in text_of(answer)
    assert "/experiments/" in text_of(answer)  # it leads on
    assert jobs_of(cluster) == []


def test_signing_in_and_out(cluster: LiveCluster) -> None:
    account(password="a long password")
    client = Client()
    page = client.post("/sign-in/", {"username": "ann", "password": "wrong"})
    assert "do not belong together" in text_of(page)
    answer = client.post("/sign-in/", {"username": "ann", "password": "a long password", "next": SEED})
    assert answer["Location"] == SEED
    cookie = answer.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert "Signed in as ann." in text_of(client.get(LIST))
    assert client.post("/sign-in/", {"next": "https://example.org/"})["Location"] == LIST
    assert client.post("/sign-out/")["Location"] == LIST
    assert "Sign in to launch" in text_of(client.get(LIST))


LOCAL = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:8000"}


@pytest.mark.parametrize(
    "request_of",
    [
        LOCAL | {"REMOTE_ADDR": "192.0.2.7"},
        LOCAL | {"REMOTE_ADDR": ""},
        LOCAL | {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        LOCAL | {"HTTP_FORWARDED": "for=127.0.0.1"},
        LOCAL | {"HTTP_HOST": "demo.example.org"},
        LOCAL | {"HTTP_HOST": "demo.example.org:8000"},
    ],
)
def test_the_demos_visitor_comes_from_this_machine_alone(
    cluster: LiveCluster, settings: Any, request_of: dict[str, str]
) -> None:
    settings.RESTARTSCOPE_DEMO_SIGN_IN = True
    settings.ALLOWED_HOSTS = ["*"]
    page = text_of(Client().get(LIST, **request_of))
    assert "Sign in to launch experiments." in page
    for host in ("127.0.0.1:8000", "localhost", "[::1]:8000"):
        page = text_of(Client().get(LIST, **(LOCAL | {"HTTP_HOST": host})))
        assert "Signed in as demo." in page
        assert 'action="/experiments/seed/launch/"' in page
    assert User.objects.get(username="demo").has_usable_password() is False


def test_without_the_setting_nobody_is_signed_in(cluster: LiveCluster) -> None:
    assert "Sign in to launch experiments." in text_of(Client().get(LIST, **LOCAL))
