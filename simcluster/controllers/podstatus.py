"""What a kubelet writes into a pod's status: container statuses, conditions, phase. Pure functions."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from simcluster.controllers.podspec import token_mount
from simcluster.controllers.quantity import as_list, pod_total, requests

Obj = dict[str, Any]

# Images that the recorded node knows under another name than the manifests'.
_KNOWN_IMAGE = (
    "docker.io/library/alpine:3.10",
    "sha256:2740bde91427a4aee21dde94407d7e7262266498a674b686e69cb0e3154ba234",
)
_KNOWN_NAMES = ("alpine:3.10", "busybox:1.37.0-glibc", "busybox:latest", "busybox")
UNKNOWN_REASON = "ContainerStatusUnknown"
UNKNOWN_MESSAGE = "The container could not be located when the pod was terminated"


@dataclass
class ContainerState:
    """A container as its kubelet sees it. `state` is waiting, running or terminated, as the API has it."""

    spec: Obj
    state: Obj
    last_state: Obj = field(default_factory=dict)
    restart_count: int = 0
    container_id: str = ""

    @property
    def name(self) -> str:
        name: str = self.spec["name"]
        return name

    @property
    def is_running(self) -> bool:
        return "running" in self.state

    @property
    def exit_code(self) -> int | None:
        terminated = self.state.get("terminated")
        return None if terminated is None else terminated["exitCode"]


def container_status(container: ContainerState, init: bool = False) -> Obj:
    """One entry of containerStatuses (or of initContainerStatuses, where completed means ready)."""
    image = str(container.spec.get("image", ""))
    name, image_id = _image(image) if container.container_id else (image, "")
    shown: Obj = {
        "name": container.name,
        "state": container.state,
        "lastState": container.last_state,
        "ready": container.exit_code == 0 if init else container.is_running,
        "restartCount": container.restart_count,
        "image": name,
        "imageID": image_id,
    }
    if container.container_id:
        shown["containerID"] = f"containerd://{container.container_id}"
    shown["started"] = container.is_running
    if container.container_id:
        wanted = as_list(requests(container.spec))
        if wanted:
            shown["allocatedResources"] = wanted
        shown["resources"] = container.spec.get("resources") or {}
    shown["volumeMounts"] = token_mount(container.spec)
    return shown


def _image(image: str) -> tuple[str, str]:
    if image in _KNOWN_NAMES:
        return _KNOWN_IMAGE
    name = image if "/" in image else f"docker.io/library/{image}"
    return name, f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


@dataclass
class PodState:
    """All that decides a pod's status."""

    init: list[ContainerState]
    main: list[ContainerState]
    sandbox_ready: bool = False
    phase: str = "Pending"
    started_at: str = ""
    host_ip: str = ""
    pod_ip: str = ""
    show_resources: bool = True
    restart_policy: str = "Always"
    reason: str = ""
    message: str = ""
    own_conditions: list[Obj] = field(default_factory=list)

    def will_restart(self, container: ContainerState) -> bool:
        """Whether the kubelet starts a container that has ended again."""
        if self.restart_policy == "Never" or container.exit_code is None:
            return False
        return self.restart_policy == "Always" or container.exit_code != 0

    @property
    def initialized(self) -> bool:
        return all(each.exit_code == 0 for each in self.init)

    @property
    def failed_init(self) -> ContainerState | None:
        if self.restart_policy != "Never":
            return None
        return next((each for each in self.init if each.exit_code), None)

    @property
    def final_phase(self) -> str | None:
        """Failed or Succeeded, once no container runs and none is to be started again."""
        if self.failed_init:
            return "Failed"
        if any(each.exit_code is None or self.will_restart(each) for each in self.main):
            return None
        return "Failed" if any(each.exit_code for each in self.main) else "Succeeded"


def pod_status(pod: Obj, state: PodState, now: str, ended: bool = False) -> Obj:
    """The whole status. `ended`: the pod is being deleted and its containers are over for good, whatever the policy."""
    old, generation = pod.get("status") or {}, pod["metadata"].get("generation", 1)
    status: Obj = {"observedGeneration": generation, "phase": state.phase}
    status["conditions"] = _conditions(old, state, generation, now, ended)
    for key, value in (("message", state.message), ("reason", state.reason)):
        if value:
            status[key] = value
    status |= {"hostIP": state.host_ip, "hostIPs": [{"ip": state.host_ip}]}
    if state.pod_ip:
        status |= {"podIP": state.pod_ip, "podIPs": [{"ip": state.pod_ip}]}
    status["startTime"] = state.started_at
    if state.init:
        status["initContainerStatuses"] = [container_status(each, init=True) for each in state.init]
    if state.main:
        by_name = sorted(state.main, key=lambda container: container.name)
        status["containerStatuses"] = [container_status(each) for each in by_name]
    status["qosClass"] = old.get("qosClass", "BestEffort")
    wanted, limits = pod_total(pod["spec"]), pod_total(pod["spec"], "limits")
    if wanted:
        status["allocatedResources"] = as_list(wanted)
        status["resources"] = {}
        if state.show_resources:
            status["resources"] = {"limits": as_list(limits), "requests": as_list(wanted)}
            status["resources"] = {key: value for key, value in status["resources"].items() if value}
    return status


def _conditions(old: Obj, state: PodState, generation: int, now: str, ended: bool) -> list[Obj]:
    before = {each["type"]: each for each in old.get("conditions") or []}
    ready = _readiness(state, ended)
    wanted = {
        "PodReadyToStartContainers": (state.sandbox_ready, "", ""),
        "Initialized": _initialization(state, ready),
        "Ready": ready,
        "ContainersReady": ready,
        "PodScheduled": (True, "", ""),
    }
    known = [_condition(kind, value, before.get(kind), generation, now) for kind, value in wanted.items()]
    before |= {each["type"]: each for each in state.own_conditions if each["type"] not in before}
    return [*(each for kind, each in before.items() if kind not in wanted), *known]


def _readiness(state: PodState, ended: bool) -> tuple[bool, str, str]:
    if state.main and all(each.is_running for each in state.main):
        return True, "", ""
    phase = state.phase if ended and state.phase in ("Failed", "Succeeded") else state.final_phase
    lost = any((each.state.get("terminated") or {}).get("reason") == UNKNOWN_REASON for each in state.main)
    if phase is not None and not lost:
        return False, "PodFailed" if phase == "Failed" else "PodCompleted", ""
    unready = " ".join(each.name for each in state.main if not each.is_running)
    return False, "ContainersNotReady", f"containers with unready status: [{unready}]"


def _initialization(state: PodState, ready: tuple[bool, str, str]) -> tuple[bool, str, str]:
    if not state.initialized:
        incomplete = " ".join(each.name for each in state.init if each.exit_code != 0)
        return False, "ContainersNotInitialized", f"containers with incomplete status: [{incomplete}]"
    return True, "PodCompleted" if ready[1] == "PodCompleted" else "", ""


def _condition(kind: str, told: tuple[bool, str, str], before: Obj | None, generation: int, now: str) -> Obj:
    is_true, reason, message = told
    status = "True" if is_true else "False"
    since = before["lastTransitionTime"] if before and before["status"] == status else now
    made = {
        "type": kind,
        "observedGeneration": generation,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": since,
    }
    return made | {key: value for key, value in (("reason", reason), ("message", message)) if value}
