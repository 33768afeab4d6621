"""Parameters that several experiments share, with limits that protect a cluster."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from jobs.domain.kinds import POLICIES
from jobs.experiments.experiment import Parameter, ParameterKind, Text, Values

WORKERS = Parameter("workers", Text("Workers", "Worker 副本数"), ParameterKind.INTEGER, 3, 1, 20)
BACKOFF_LIMIT = Parameter(
    "backoff_limit",
    Text("backoffLimit", "backoffLimit"),
    ParameterKind.INTEGER,
    3,
    0,
    20,
    help=Text(
        "How many restarts in place, over all pods, fail the job.", "所有 Pod 的原地重启次数之和达到它时，作业失败。"
    ),
)
CODE = Parameter(
    "code",
    Text("Exit code", "退出码"),
    ParameterKind.EXIT_CODE,
    138,
    0,
    255,
    help=Text(
        "0 is success; from 128 on the operator restarts under ExitCode.",
        "0 表示成功；在 ExitCode 策略下，operator 会重启退出码不小于 128 的副本。",
    ),
)
FAILS_AFTER = Parameter(
    "fails_after", Text("Fails after (seconds)", "运行多少秒后失败"), ParameterKind.SECONDS, 10, 1, 300
)
RUNS_FOR = Parameter(
    "runs_for", Text("The others run for (seconds)", "其余副本运行多少秒"), ParameterKind.SECONDS, 600, 5, 7200
)
DURATION = Text("Runs for (seconds)", "运行多少秒")
POLICY = Parameter("policy", Text("Restart policy", "重启策略"), ParameterKind.CHOICE, "ExitCode", choices=POLICIES)

RESTARTS = Parameter(
    "restarts",
    Text("Restarts to wait for", "等待多少次重启"),
    ParameterKind.INTEGER,
    3,
    1,
    10,
)
ACTS_AFTER = Parameter("acts_after", Text("Act after (seconds)", "多少秒后执行操作"), ParameterKind.SECONDS, 4, 1, 20)
HEEDS_SIGTERM = Parameter(
    "heeds_sigterm",
    Text("Ends at SIGTERM", "收到 SIGTERM 即结束"),
    ParameterKind.FLAG,
    False,
    help=Text(
        "Off: a deleted pod runs on for its grace period of 5 s, and the operator sees it being deleted. On: it may be "
        "over before the operator looks, which leaves the outcome to chance.",
        "关闭：被删除的 Pod 会在 5 秒宽限期内继续运行，operator 能看到它正在被删除。"
        "打开：operator 查看之前它可能已经结束，结果就取决于先后。",
    ),
)
PAUSE = Parameter("pause", Text("Pause (seconds)", "暂停多少秒"), ParameterKind.SECONDS, 10, 1, 300)
FEWER = Parameter("fewer", Text("Scaled down to", "缩容到"), ParameterKind.INTEGER, 1, 1, 19)
WAITS = Parameter("waits", Text("Watch for (seconds)", "观察多少秒"), ParameterKind.SECONDS, 20, 5, 300)
COMPLETES_AFTER = Parameter(
    "completes_after", Text("Completes after (seconds)", "多少秒后完成"), ParameterKind.SECONDS, 8, 1, 15
)

IMAGE = Parameter(
    "image",
    Text("Image", "镜像"),
    ParameterKind.TEXT,
    "busybox",
    help=Text(
        "Any image with a POSIX shell. On a cluster without access to the registry, name a mirror.",
        "任何带有 POSIX shell 的镜像。集群若无法访问镜像仓库，请填写镜像站中的地址。",
    ),
)
CPU = Parameter(
    "cpu",
    Text("CPU per replica (thousandths of a core)", "每个副本的 CPU（千分之一核）"),
    ParameterKind.INTEGER,
    20,
    1,
    2000,
)
MEMORY = Parameter(
    "memory", Text("Memory per replica (MiB)", "每个副本的内存（MiB）"), ParameterKind.INTEGER, 50, 8, 2048
)
QUEUE = Parameter(
    "queue",
    Text("Queue", "队列"),
    ParameterKind.TEXT,
    "",
    help=Text("The scheduler's queue; empty: the cluster's default.", "调度器的队列；留空则使用集群的默认队列。"),
)
SCHEDULER = Parameter(
    "scheduler",
    Text("Scheduler", "调度器"),
    ParameterKind.TEXT,
    "",
    help=Text(
        "schedulerName of the pods; empty: what the training operator chooses.",
        "Pod 的 schedulerName；留空则由训练 operator 选择。",
    ),
)
RESTRICTED = Parameter(
    "restricted",
    Text(
        "Run without root (for namespaces that enforce restricted pod security)",
        "不以 root 运行（用于强制执行 restricted Pod 安全标准的命名空间）",
    ),
    ParameterKind.FLAG,
    False,
    help=Text(
        "The pods run as user 65534, without capabilities, with the runtime's seccomp profile, and may not gain "
        "privileges.",
        "Pod 以用户 65534 运行，不能提升权限，没有任何 capability，并使用运行时默认的 seccomp 配置。",
    ),
)
PODS = (IMAGE, CPU, MEMORY, QUEUE, SCHEDULER, RESTRICTED)  # every experiment has these


def changed(parameter: Parameter, **changes: Any) -> Parameter:
    """The parameter with another default, limit or label."""
    return replace(parameter, **changes)


def outlasting(seconds: Callable[[Values], float]) -> Callable[[Values], Mapping[str, Text]]:
    """Values are inconsistent where the healthy replicas end before the experiment does."""

    def inconsistent(values: Values) -> Mapping[str, Text]:
        least = round(seconds(values))
        return {} if values["runs_for"] >= least else {"runs_for": TOO_SHORT.filled({"least": least})}

    return inconsistent


TOO_SHORT = Text(
    "With the other values this must be at least {least}, or these replicas end before the experiment does.",
    "按其他参数的取值，此项至少应为 {least}，否则这些副本会先于实验结束。",
)
