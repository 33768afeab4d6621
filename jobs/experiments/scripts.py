"""The shell scripts that the experiments' containers run, for busybox ``sh`` as for any other POSIX shell.

Each sleeps in the background and waits for it: a shell runs its traps during ``wait``, but not while a program runs in
the foreground. So a pod that is deleted ends at once, with the code of the signal, instead of after its grace period.
"""

from collections.abc import Mapping

ENDS_AT_SIGNALS = 'trap "exit 143" TERM; trap "exit 130" INT; '


def shell(script: str) -> list[str]:
    """A container's command: the script, ended by SIGTERM with 143 and by SIGINT with 130."""
    return ["sh", "-c", ENDS_AT_SIGNALS + script]


def deaf(script: str) -> list[str]:
    """A container's command that SIGTERM does not end: the first process of a container ignores signals that it has no
    trap for, so a deleted pod runs on until its grace period is over and it is killed."""
    return ["sh", "-c", script]


def sleeping(seconds: int) -> str:
    return f"sleep {seconds} & wait $!"


def failing(seconds: int, code: int) -> str:
    """Exit with ``code`` after so many seconds; with 0 it is a success."""
    return f"{sleeping(seconds)}; exit {code}"


def by_pod(scripts: Mapping[str, str], others: str) -> str:
    """One script for each replica named ``worker-0`` and the like, another for the rest.

    The container's environment has the pod's name in ``POD_NAME`` (:func:`jobs.experiments.manifests.replica`).
    """
    branches = "".join(f"*-{replica}) {script};; " for replica, script in scripts.items())
    return f"case $POD_NAME in {branches}*) {others};; esac"


def filling_memory(seconds: int) -> list[str]:
    """Allocate without end after so many seconds: ``tail`` keeps what it has read, and a line of zeros never ends.

    It is the shell's last command and runs as its child, so it is the child that is killed, and the shell answers 137.
    """
    return ["sh", "-c", f"sleep {seconds}; tail /dev/zero"]
