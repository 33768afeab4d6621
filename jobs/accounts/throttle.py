"""How often somebody may try to sign in.

An attempt is counted before the password is looked at, so that attempts sent at once cannot all pass. It counts for the
name as tried from one address, which keeps nobody out who signs in from elsewhere, and for the address, which stops
whoever tries one password on many names. All web processes count in the database.
"""

import math
import time

from django.core.exceptions import SuspiciousOperation
from django.db import connection
from django.db.models import F
from django.utils.crypto import salted_hmac

from jobs.accounts.models import SignInAttempts

WINDOW = 900.0  # seconds; from the first attempt
MOST_BY_NAME = 5  # attempts in a window, for one name from one address
MOST_BY_ADDRESS = 30  # many people may share an address
CLOCKS_DIFFER = 60.0  # seconds
FORGOTTEN_AT_ONCE = 20  # more than one attempt can add

# A window that ends well after one that begins now was begun by a clock that was ahead: it is begun anew. A little
# later is no sign of that: attempts are counted in another order than they are dated, by processes whose clocks differ.
# One statement, so that neither database can lose a count between reading and writing.
COUNT = """
INSERT INTO jobs_signinattempts AS kept (key, count, until) VALUES (%s, 1, %s)
ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN kept.until <= %s OR kept.until > %s THEN 1 ELSE kept.count + 1 END,
    until = CASE WHEN kept.until <= %s OR kept.until > %s THEN excluded.until ELSE kept.until END
RETURNING count, until
"""

now = time.time


class TooManyAttempts(SuspiciousOperation):
    """This attempt was not looked at. ``wait``: whole seconds until the next one will be."""

    def __init__(self, who: str, wait: int) -> None:
        super().__init__(f"{who} has tried too often to sign in, and has to wait for {wait} s")
        self.wait = wait


def count_attempt(name: str, address: str, who: str) -> None:
    """Count one attempt. ``who``: for the log. Raises ``TooManyAttempts``, ``django.db.Error``."""
    moment = now()
    _forget_what_is_over(moment)
    _count(_key(address), MOST_BY_ADDRESS, moment, who)
    try:
        _count(_key(address, name), MOST_BY_NAME, moment, who)
    except TooManyAttempts:
        # One impatient person must not use up what everybody at this address shares.
        _uncount(_key(address))
        raise


def forgive(name: str, address: str) -> None:
    """After the right password: nothing is left of the name's attempts, and this one is taken off the address."""
    SignInAttempts.objects.filter(key=_key(address, name)).delete()
    _uncount(_key(address))


def _count(key: str, most: int, moment: float, who: str) -> None:
    with connection.cursor() as cursor:
        latest = moment + WINDOW + CLOCKS_DIFFER
        cursor.execute(COUNT, [key, moment + WINDOW, moment, latest, moment, latest])
        count, until = cursor.fetchone()
    if count > most:
        raise TooManyAttempts(who, math.ceil(until - moment))


def _uncount(key: str) -> None:
    SignInAttempts.objects.filter(key=key, count__gt=0).update(count=F("count") - 1)


def _forget_what_is_over(moment: float) -> None:
    """One row a statement: two processes that delete the same rows in another order would wait for each other."""
    over = SignInAttempts.objects.filter(until__lte=moment)
    for key in over.values_list("key", flat=True)[:FORGOTTEN_AT_ONCE]:
        over.filter(key=key).delete()


def _key(address: str, *name: str) -> str:
    """Unreadable, because people type passwords where the name belongs."""
    return salted_hmac("sign-in attempts", "\0".join((address, *name)), algorithm="sha256").hexdigest()
