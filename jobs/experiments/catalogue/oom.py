"""A program that fills its memory limit: killed by the kernel, retried for ever under ExitCode."""

from jobs.experiments import checks_pods, common_steps, fields, manifests
from jobs.experiments.checklist import checklist, end_by, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import filling_memory

FAILING = "master-0"
KILLED = 137


def objects(values: Values, place: Place) -> list[Object]:
    master = manifests.replica("PyTorchJob", filling_memory(values["fails_after"]), 1, "ExitCode", values)
    return [manifests.training_job("PyTorchJob", place, {"Master": master}, values, backoffLimit=1)]


def steps(values: Values) -> tuple[Step, ...]:
    after, times = values["fails_after"], values["restarts"]
    return checklist(
        values,
        step(
            "killed",
            ("The master is killed with 137.", "master 被杀死，退出码为 137。"),
            checks_pods.exits(FAILING, KILLED, after),
            end_by(after),
        ),
        step(
            "oom",
            (
                "The reason is OOMKilled: only the reason tells it from another SIGKILL.",
                "原因是 OOMKilled：只有凭这个原因，才能把它与其他 SIGKILL 区分开。",
            ),
            checks_pods.ends_by(FAILING, ("oom",)),
            end_by(after),
        ),
        step(
            "recreated",
            (
                "The pod is created again {restarts} times, and each time it is killed.",
                "Pod 被重新创建 {restarts} 次，每次都被杀死。",
            ),
            checks_pods.recreated(FAILING, times=times),
            end_by(after, times),
        ),
        common_steps.kubectl_shows_none(FAILING, times, after),
    )


EXPERIMENT = Experiment(
    name="oom",
    title=Text("Out of memory", "内存不足（OOM）"),
    shows=Text(
        "A process that outgrows its memory limit is killed with 137, which ExitCode retries for ever.",
        "超出内存限制的进程会以 137 被杀死，而 ExitCode 会无休止地重试它。",
    ),
    happens=Text(
        "{fails_after} s after its start the master reads a line without end and fills its limit of {memory} MiB. "
        "The kernel kills it; the operator creates its pod anew.",
        "master 启动 {fails_after} 秒后开始读取没有结尾的一行，填满 {memory} MiB 的限制。内核将它杀死，operator "
        "重新创建它的 Pod。",
    ),
    explanation=Text(
        "137 is 128 + 9, SIGKILL, and in the retryable range: but a program that needs more memory than it may have "
        "needs it at the next try as well. Such a loop ends only when somebody raises the limit.\n\n"
        "The code alone does not say OOM: `kill -9` gives the same. The kubelet writes reason OOMKilled when the "
        "kernel's counter has risen. When a child process is killed and its parent goes on or ends otherwise, the "
        "container may end with 1 or even 0 and still say OOMKilled.",
        "137 即 128 + 9，也就是 SIGKILL，属于可重试的范围；但需要更多内存的程序，下一次同样需要。"
        "这样的循环只有在有人提高限制之后才会结束。\n\n"
        "单凭退出码无法断定是 OOM：`kill -9` 的结果相同。内核的计数器增加时，kubelet 才会写下原因 OOMKilled。"
        "如果被杀死的是子进程，"
        "而父进程继续运行或以其他方式结束，容器可能以 1 甚至 0 退出，原因仍是 OOMKilled。",
    ),
    kinds=("PyTorchJob",),
    parameters=(
        fields.changed(fields.FAILS_AFTER, default=3, maximum=60),
        fields.RESTARTS,
        *(fields.changed(each, default=16, maximum=256) if each is fields.MEMORY else each for each in fields.PODS),
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: 12 + values["restarts"] * (values["fails_after"] + 9),
    recordings=("oom-killed",),
)
