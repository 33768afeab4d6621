"""Who may try how often, as scripts in virtual time."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.http import HttpRequest

from jobs.accounts import throttle
from jobs.accounts.models import SignInAttempts
from jobs.accounts.signin import UNKNOWN, address_of
from jobs.accounts.throttle import MOST_BY_ADDRESS, MOST_BY_NAME, WINDOW, TooManyAttempts, count_attempt, forgive
from tests.accounts.conftest import Clock

pytestmark = pytest.mark.django_db

HOME, OFFICE = "192.0.2.1", "192.0.2.2"
OK = 0  # no wait


def attempt(name: str, address: str = HOME) -> int:
    """The seconds to wait; 0 where the password would have been looked at."""
    try:
        count_attempt(name, address, "somebody")
    except TooManyAttempts as error:
        return error.wait
    return OK


Script = list[tuple[float, str, str, int]]  # time, name, address, seconds to wait

SCRIPTS: dict[str, Script] = {
    "the sixth attempt waits until the window of the first is over": [
        *((10.0 * n, "ann", HOME, OK) for n in range(5)),
        (50, "ann", HOME, 850),
        (60, "ann", HOME, 840),
        (899.5, "ann", HOME, 1),
        *((900.0, "ann", HOME, OK) for _ in range(5)),
        (901, "ann", HOME, 899),
    ],
    "a stranger keeps nobody out who signs in from elsewhere": [
        *((0, "ann", OFFICE, OK) for _ in range(5)),
        *((1, "ann", OFFICE, 899) for _ in range(50)),
        (2, "ann", HOME, OK),
    ],
    "attempts are counted in another order than they are dated": [
        *((100 - n / 1000, "ann", HOME, OK) for n in range(5)),
        (99, "ann", HOME, 901),
        (45, "ann", HOME, 955),
        (100, "ann", HOME, 900),
    ],
    "a clock that was ahead locks nobody out once it is put right": [
        *((30_000_000, "ann", HOME, OK) for _ in range(5)),
        *((0, "ann", HOME, OK) for _ in range(5)),
        (1, "ann", HOME, 899),
        (900, "ann", HOME, OK),
    ],
    "another name has attempts of its own": [
        *((0, "ann", HOME, OK) for _ in range(5)),
        (1, "ann", HOME, 899),
        (1, "bob", HOME, OK),
        (1, "Ann", HOME, OK),
    ],
    "one password on many names ends at the address": [
        *((n, f"name-{n}", HOME, OK) for n in range(30)),
        *((30, f"other-{n}", HOME, 870) for n in range(40)),
        (31, "ann", OFFICE, OK),
        *((900, f"other-{n}", HOME, OK) for n in range(30)),
    ],
    "impatience with one name does not use up the address": [
        *((0, "ann", HOME, OK) for _ in range(5)),
        *((1, "ann", HOME, 899) for _ in range(100)),
        *((2, f"name-{n}", HOME, OK) for n in range(25)),
        (3, "one more", HOME, 897),
    ],
    "a name and an address are no other name and address": [
        *((0, "2", "192.0.2.1", OK) for _ in range(5)),
        (1, "2", "192.0.2.1", 899),
        (1, "", "192.0.2.12", OK),
        (1, ".12", "192.0.2", OK),
    ],
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script(clock: Clock, script: str) -> None:
    for n, (at, name, address, wait) in enumerate(SCRIPTS[script]):
        clock.at = at
        assert attempt(name, address) == wait, f"line {n}: {name} from {address} at {at}"


def test_the_right_password_forgives(clock: Clock) -> None:
    for _ in range(3):
        for _ in range(4):
            assert attempt("ann") == OK
        assert attempt("ann") == OK
        forgive("ann", HOME)
    assert SignInAttempts.objects.count() == 1, "the address"


def test_signing_in_uses_nothing_up(clock: Clock) -> None:
    for n in range(3 * MOST_BY_ADDRESS):
        assert attempt(f"name-{n}") == OK
        forgive(f"name-{n}", HOME)
    assert SignInAttempts.objects.get().count == 0


def test_an_account_of_ones_own_buys_no_attempts_on_others(clock: Clock) -> None:
    tried = 0
    for n in range(3 * MOST_BY_ADDRESS):
        tried += attempt(f"name-{n}") == OK
        if attempt("eve") == OK:
            forgive("eve", HOME)
    assert tried == MOST_BY_ADDRESS


def test_a_forgiven_address_is_never_in_credit(clock: Clock) -> None:
    attempt("ann")
    for _ in range(5):
        forgive("ann", HOME)
    assert SignInAttempts.objects.get().count == 0


def test_what_is_kept_is_bounded_and_forgotten(clock: Clock) -> None:
    for n in range(500):
        attempt(f"name-{n}")
    assert SignInAttempts.objects.count() == MOST_BY_ADDRESS + 1
    clock.at = WINDOW
    for n in range(3):
        attempt(f"later-{n}", OFFICE)
    assert SignInAttempts.objects.count() == 4


def test_what_is_kept_can_be_read_by_nobody(clock: Clock) -> None:
    """A password that was typed where the name belongs would stand in every backup."""
    attempt("geheim")
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM jobs_signinattempts")
        rows = str(cursor.fetchall())
    assert "geheim" not in rows
    assert HOME not in rows


@pytest.mark.parametrize("name", ["", "x" * 1_000_000, "a\0b", "用户", "\U0001f600", "'; DROP TABLE jobs_job; --"])
def test_any_name_can_be_counted(clock: Clock, name: str) -> None:
    assert [attempt(name) for _ in range(6)] == [OK] * 5 + [900]


@pytest.mark.django_db(transaction=True)
def test_attempts_at_once_are_all_counted() -> None:
    def one(n: int) -> bool:
        try:
            return attempt("ann") == OK
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(40))) == MOST_BY_NAME
    assert SignInAttempts.objects.filter(count=MOST_BY_NAME).exists(), "refused ones were taken off the address"


@pytest.mark.django_db(transaction=True)
def test_windows_that_end_at_once_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(25):
        SignInAttempts.objects.create(key=f"old-{n}", count=9, until=1.0)

    def one(n: int) -> int:
        try:
            return attempt(f"name-{n % 4}", HOME)
        finally:
            connection.close()

    monkeypatch.setattr(throttle, "WINDOW", 0.0)  # each window is over as soon as it has begun
    monkeypatch.setattr(throttle, "now", lambda: 100.0)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(200))) == {OK}
    assert not SignInAttempts.objects.filter(key__startswith="old").exists()


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", UNKNOWN),
        ("unix:", UNKNOWN),
        ("192.0.2.7, 192.0.2.8", UNKNOWN),
        ("<script>", UNKNOWN),
        ("1" * 10_000, UNKNOWN),
    ],
)
def test_whom_an_attempt_is_counted_for(told: str, counted: str) -> None:
    request = HttpRequest()
    request.META["REMOTE_ADDR"] = told
    assert address_of(request) == counted


def test_a_request_without_an_address_is_counted_as_well() -> None:
    assert address_of(HttpRequest()) == address_of(None) == UNKNOWN
