"""How long the parts of a cluster take: seconds, drawn from the ranges seen on a real, mostly idle one."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """A delay in seconds: never below `low` or above `high`, most often near `usual`."""

    low: float
    usual: float
    high: float

    def draw(self, rng: random.Random) -> float:
        return rng.triangular(self.low, self.high, self.usual)


# Watch line to the controller's reaction, and one request to the API server.
NOTICE = Range(0.004, 0.005, 0.012)
REQUEST = Range(0.008, 0.009, 0.02)
# The same for an operator that is busy with many other jobs.
BUSY_QUEUE = Range(0.0, 0.1, 0.9)
BUSY_REQUEST = Range(0.03, 0.06, 0.3)
EVENT_WRITE = Range(0.003, 0.005, 0.012)

# Scheduler: length of a cycle beyond its period, and binding a pod after the decision.
CYCLE_OVERHEAD = Range(0.001, 0.004, 0.04)
BIND = Range(0.004, 0.012, 0.035)

POD_GROUP_PAUSE = Range(0.1, 0.3, 0.85)

# Kubelet, starting a pod.
FIRST_STATUS = Range(0.010, 0.035, 0.2)
SANDBOX_READY = Range(1.45, 1.7, 2.2)
INIT_SANDBOX_READY = Range(0.45, 0.7, 2.1)
INIT_STARTED = Range(0.17, 0.3, 1.5)
INIT_TO_MAIN = Range(0.05, 0.3, 1.5)
IMAGE_TO_CREATED = Range(0.02, 0.07, 0.12)
STARTED = Range(0.72, 0.88, 1.3)
STARTED_SIDECARS = Range(0.34, 0.36, 0.6)
PROCESS_START = Range(0.01, 0.03, 0.08)
START_FAILURE_NOTICED = Range(0.15, 0.5, 0.68)
PULL_FAILED = Range(0.26, 0.35, 0.45)
NODE_WORK_SECONDS = 0.12  # what a sandbox or a container's start keeps the node busy for: many take their turn

# Kubelet, a container that has ended.
EXIT_NOTICED = Range(0.15, 0.5, 0.95)
FINAL_PHASE = Range(0.95, 1.11, 1.4)
RESOURCES_CLEARED = Range(0.85, 0.93, 1.09)
RESTARTED = Range(0.27, 0.8, 0.98)
BACK_OFF_LATE = Range(0.1, 1.5, 3.0)
RESTARTED_AFTER_BACK_OFF = Range(0.15, 0.75, 0.97)

# Kubelet, a pod that is being deleted.
TERMINATION_NOTICED = Range(0.013, 0.05, 0.7)
TERM_HANDLED = Range(0.08, 0.2, 0.4)
KILLED = Range(0.08, 0.15, 0.45)
POD_REMOVED = Range(0.01, 0.3, 0.98)
LOST_CONTAINER = Range(0.33, 0.6, 1.2)

# Nodes: from the last sign of life to Unknown, the two taints, and a kubelet's first looks after its return.
NODE_MONITOR_GRACE = Range(40.0, 44.0, 50.0)
TAINT_NO_SCHEDULE = Range(0.01, 0.017, 0.03)
NODE_PODS_MARKED = Range(0.004, 0.006, 0.02)
TAINT_NO_EXECUTE = Range(0.05, 0.06, 0.1)
TAINT_EVICTION = Range(0.005, 0.01, 0.03)
NODE_READY = Range(0.15, 0.22, 0.4)
NODE_SYNC = Range(0.5, 0.6, 0.9)
POD_GC_PERIOD = 20.0
POD_GC_QUARANTINE = 40.0

CONTROLLER_RETRY_BASE = 0.005  # doubled at each failure in a row
CONTROLLER_RETRY_MAX = 1000.0
