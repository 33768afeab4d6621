"""What the tests of the experiments' pages share: addresses, accounts, what a form sends."""

import uuid
from typing import Any

from django.contrib.auth.models import Permission, User

from simcluster.resources import by_plural
from tests.watch.live import LiveCluster

LIST = "/experiments/"
SEED = "/experiments/seed/"
CUSTOM = "/experiments/custom/"


def account(name: str = "ann", *, allowed: bool = True, password: str | None = None) -> User:
    """Without a password by default: hashing one takes half a second."""
    user = User.objects.create_user(name, password=password)
    if allowed:
        user.user_permissions.add(Permission.objects.get(codename="launch_experiment"))
    return user


def jobs_of(cluster: LiveCluster, kind: str = "tfjobs") -> list[dict[str, Any]]:
    resource = by_plural("kubeflow.org", kind)
    assert resource is not None
    return cluster.call(cluster.store.list, resource)


def text_of(answer: Any) -> str:
    return answer.content.decode()


def form(**changes: str) -> dict[str, str]:
    return {
        "do": "launch",
        "sent": "1",
        "clean_up": "on",
        "namespace": "default",
        "name": "mine",
        "token": str(uuid.uuid4()),
    } | changes
