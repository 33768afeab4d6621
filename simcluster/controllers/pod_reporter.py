"""What a pod worker says to the world: the pod's status and the kubelet's Events about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simcluster.clock import rfc3339
from simcluster.controllers.podstatus import ContainerState, PodState, pod_status
from simcluster.errors import ApiError
from simcluster.resources import PODS

if TYPE_CHECKING:
    from simcluster.controllers.kubelet import Kubelet

Obj = dict[str, Any]


class PodReporter:
    def __init__(self, kubelet: Kubelet, pod: Obj, state: PodState) -> None:
        self._kubelet = kubelet
        self._state = state
        self.uid: str = pod["metadata"]["uid"]
        self.namespace: str = pod["metadata"].get("namespace", "")
        self.name: str = pod["metadata"]["name"]

    @property
    def now(self) -> str:
        return rfc3339(self._kubelet.clock.now())

    @property
    def full_name(self) -> str:
        """The pod as the kubelet's texts name it."""
        return f"{self.name}_{self.namespace}({self.uid})"

    def pod(self) -> Obj | None:
        """The pod as it stands; None if it is gone or another of its name."""
        pod = self._kubelet.store.find(PODS, self.namespace, self.name)
        return pod if pod is not None and pod["metadata"]["uid"] == self.uid else None

    def write(self, ended: bool = False) -> bool:
        """Writes the status; False if the pod is gone. `ended`: its containers are over, whatever the policy."""
        pod = self.pod()
        if pod is None:
            return False
        status = pod_status(pod, self._state, self.now, ended)
        self._kubelet.store.update(PODS, {**pod, "status": status}, "status")
        return True

    def add_condition(self, kind: str, reason: str, message: str) -> None:
        """Adds a condition of the kubelet's own to the status, in front, at the next write."""
        made = {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": self.now}
        self._state.own_conditions = [{**made, "reason": reason, "message": message}]

    def remove(self) -> bool:
        """Deletes the pod for good; False if it is gone already, or another's."""
        try:
            self._kubelet.store.delete(PODS, self.namespace, self.name, grace_seconds=0, uid=self.uid)
        except ApiError:
            return False
        return True

    def tell(self, kind: str, reason: str, message: str, shown: ContainerState | None = None) -> None:
        """An Event about the pod, or about one container of it."""
        pod = self.pod()
        if pod is None:
            return
        path = ""
        if shown is not None:
            part = "initContainers" if shown in self._state.init else "containers"
            path = f"spec.{part}{{{shown.name}}}"
        self._kubelet.recorder.event(pod, kind, reason, message, path)

    def tell_back_off(self, shown: ContainerState) -> None:
        text = f"Back-off restarting failed container {shown.name} in pod {self.full_name}"
        self.tell("Warning", "BackOff", text, shown)

    def warn_of_dns(self) -> None:
        """The recorded kubelet has no cluster DNS and says so at every look at a pod."""
        if not self._kubelet.cluster_dns:
            text = (
                f'pod: "{self.full_name}". kubelet does not have ClusterDNS IP configured and cannot create Pod using '
                '"ClusterFirst" policy. Falling back to "Default" policy.'
            )
            self.tell("Warning", "MissingClusterDNS", text)
