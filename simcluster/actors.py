"""Who writes: the user a request is made as, and the name under which its fields are managed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """`user` is whom an audit log names, `manager` whom managedFields name, `agent` what a client calls itself."""

    user: str
    manager: str = ""
    agent: str = ""


SYSTEM = Actor("system:apiserver")
GARBAGE_COLLECTOR = Actor("system:serviceaccount:kube-system:generic-garbage-collector", "kube-controller-manager")


def controller(name: str, manager: str = "") -> Actor:
    """A controller that writes under its own name, such as training-operator."""
    return Actor(name, manager or name)


def kubelet(node: str) -> Actor:
    return Actor(f"system:node:{node}", "kubelet")


def of_controller_manager(controller_name: str) -> Actor:
    """One of the controllers that run inside the kube-controller-manager."""
    return Actor(f"system:serviceaccount:kube-system:{controller_name}", "kube-controller-manager")


PERSON = Actor("kubernetes-admin", "kubectl-client-side-apply", "kubectl")
