"""A TFJob in which nothing fails, and what its PS does when the job is already over (restart facts, section 10)."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts, fields, manifests
from jobs.experiments.checklist import SETTLE, START, checklist, step
from jobs.experiments.experiment import Experiment, Object, Place, Step, Text, Values
from jobs.experiments.scripts import shell, sleeping

PS_LATER = 5  # seconds by which the PS outlives the workers


def objects(values: Values, place: Place) -> list[Object]:
    replicas = {
        "PS": manifests.replica("TFJob", shell(sleeping(values["runs_for"] + PS_LATER)), 1, "Always", values),
        "Worker": manifests.replica(
            "TFJob", shell(sleeping(values["runs_for"])), values["workers"], "OnFailure", values
        ),
    }
    return [manifests.training_job("TFJob", place, replicas, values, backoffLimit=3, cleanPodPolicy="None")]


def steps(values: Values) -> tuple[Step, ...]:
    pods, end = values["workers"] + 1, START + values["runs_for"] + SETTLE
    return checklist(
        {**values, "pods": pods},
        step("pods", ("{pods} pods are created.", "创建 {pods} 个 Pod。"), checks_jobs.pods_created(pods), START),
        step("running", ("The job says Running.", "作业状态变为 Running。"), checks_jobs.job_runs(), START),
        step(
            "succeeded",
            (
                "The job is Succeeded: worker 0 completed, after about {runs_for} s.",
                "作业 Succeeded：worker 0 运行约 {runs_for} 秒后完成。",
            ),
            checks_jobs.job_ends("Succeeded", "main-completed"),
            end,
        ),
        step(
            "no-restart",
            ("No worker has restarted.", "没有任何 worker 重启。"),
            checks_restarts.restarts_at_end(0, replica_type="worker"),
            end,
        ),
        step(
            "ps",
            (
                "The PS ends as well, and the kubelet restarts it in place although the job is over.",
                "PS 也结束了；尽管作业已经结束，kubelet 仍将它原地重启。",
            ),
            checks_pods.restarted_in_place("ps-0", after_end=True),
            end + PS_LATER + SETTLE,
        ),
    )


EXPERIMENT = Experiment(
    name="tf-normal",
    title=Text("A TFJob that succeeds", "成功完成的 TFJob"),
    shows=Text(
        "What a healthy run looks like, and that policy Always outlives the job.",
        "一次正常的运行是什么样子；以及 Always 策略在作业结束后依然有效。",
    ),
    happens=Text(
        "The workers run for {runs_for} s and exit 0. The job is Succeeded; a PS that ends afterwards is started "
        "again.",
        "各 worker 运行 {runs_for} 秒后以 0 退出，作业变为 Succeeded；此后结束的 PS 会被再次启动。",
    ),
    explanation=Text(
        "A TFJob without a chief is Succeeded when worker 0 has completed, whatever the others do. The operator leaves "
        "the pods alone under cleanPodPolicy None.\n\n"
        "The PS has policy Always. For the kubelet that means: whenever the container ends, with 0 as well, start it "
        "again in the same pod. It knows nothing of the job. So a finished job can still gain restarts; they are "
        "counted, and they are no failure.",
        "没有 chief 的 TFJob，在 worker 0 完成时即为 Succeeded，与其他副本无关。cleanPodPolicy 为 None 时，operator "
        "不会动这些 Pod。\n\n"
        "PS 的策略是 Always。对 kubelet 来说，这意味着：容器一旦结束，即使退出码为 0，也要在同一个 Pod 中再次启动它；"
        "kubelet 并不知道作业的存在。所以已经结束的作业仍可能增加重启次数；它们会被计数，但并不是故障。",
    ),
    kinds=("TFJob",),
    parameters=(
        fields.WORKERS,
        fields.changed(fields.RUNS_FOR, label=fields.DURATION, default=15),
        *fields.PODS,
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: values["runs_for"] + PS_LATER + 15,
    recordings=("tf-normal",),
)
