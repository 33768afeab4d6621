"""The kubernetes client's configuration and authentication, from a kubeconfig or from inside a cluster.

The client is imported on first use, because it costs 20 MB and a third of a second beyond urllib3 and there is no
lighter documented way to its authentication.
"""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.ingest.sockets import POOLS

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

KUBECONFIG = "kubeconfig"
IN_CLUSTER = "in-cluster"
KEEPALIVE = (30, 10, 3)  # seconds idle, seconds between probes, probes: a dead peer is noticed within a minute
POOL_SIZE = 64  # connections kept: one per stream
USER_AGENT = "restartscope"

_importing = threading.Lock()  # two threads that import the client at once deadlock in it, and it stays half imported


class ConnectionSettingError(Exception):
    """The source of a connection cannot be used; the text says what to do."""


def client_for(source: str) -> "ApiClient":
    """A client for the cluster that ``source`` names, as in ``connect``. Raises ``ConnectionSettingError``."""
    with _importing:
        import kubernetes.client  # noqa: PLC0415
        import kubernetes.config  # noqa: PLC0415

    configuration = kubernetes.client.Configuration()
    _load(source, configuration)
    configuration.retries = False  # one failure policy: the list/watch loop's
    configuration.connection_pool_maxsize = POOL_SIZE
    configuration.socket_options = _keepalive()
    client = kubernetes.client.ApiClient(configuration)
    client.user_agent = USER_AGENT
    client.rest_client.pool_manager.pool_classes_by_scheme = POOLS
    return client


def _load(source: str, configuration: Any) -> None:
    from kubernetes.config import (  # noqa: PLC0415
        ConfigException,
        load_incluster_config,
        load_kube_config,
    )

    if source == IN_CLUSTER:
        try:
            load_incluster_config(client_configuration=configuration)
        except (ConfigException, OSError) as error:
            hint = "Run in a pod with a service account, or name a kubeconfig."
            raise ConnectionSettingError(f"cannot connect from inside a cluster: {error} {hint}") from error
        return
    file, _, context = ("", "", "") if source == KUBECONFIG else source.partition("#")
    name = f"kubeconfig {file}" if file else "the default kubeconfig (KUBECONFIG, else ~/.kube/config)"
    if file and not Path(file).expanduser().is_file():
        raise ConnectionSettingError(f"cannot read {name}: there is no such file. Name one that exists.")
    try:
        load_kube_config(
            config_file=str(Path(file).expanduser()) if file else None,
            context=context or None,
            client_configuration=configuration,
        )
    except Exception as error:  # the loader raises whatever the file's content leads to
        raise ConnectionSettingError(f"cannot use {name}: {_reason(error, context)}") from error


def _reason(error: Exception, context: str) -> str:
    """Only texts that quote no value of the file: it holds credentials."""
    from kubernetes.config import ConfigException  # noqa: PLC0415

    if isinstance(error, PermissionError):
        return "it may not be read. Give this process read access."
    if isinstance(error, ConfigException):
        text = str(error)
        if context and context in text:
            return f"it has no context {context}. `kubectl config get-contexts` lists them."
        if "No configuration found" in text:
            return "there is none. Create one, or name another source."
        if len(text) < 200 and "Expected" in text:
            return f"{text}. Check it with `kubectl config view`."
    return f"{type(error).__name__}. Check it with `kubectl config view`."


def _keepalive() -> list[tuple[int, int, int]]:
    from kubernetes.utils.keepalive import tcp_keepalive_socket_options  # noqa: PLC0415

    idle, interval, count = KEEPALIVE
    options: list[tuple[int, int, int]] = tcp_keepalive_socket_options(idle=idle, interval=interval, count=count)
    return options
