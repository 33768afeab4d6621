"""One replica fails, the others follow within seconds: a wave of restarts, of which conditions show little."""

from jobs.experiments import checks_jobs, checks_pods, checks_restarts, fields, manifests
from jobs.experiments.checklist import START, checklist, step
from jobs.experiments.experiment import Experiment, Object, Parameter, ParameterKind, Place, Step, Text, Values
from jobs.experiments.scripts import shell, sleeping

FIRST_CODE, OTHERS_CODE = 139, 134  # a segmentation fault, and the aborts of those that lose their peer
SPREAD = 7  # seconds over which the others follow
LATER = 4  # seconds after the first
FIRST = Parameter("first", Text("The worker that fails first", "最先失败的 worker"), ParameterKind.INTEGER, 0, 0, 4)


def objects(values: Values, place: Place) -> list[Object]:
    after = values["fails_after"]
    script = (
        f"index=${{POD_NAME##*-}}; if [ $index = {values['first']} ]; then {sleeping(after)}; exit {FIRST_CODE}; fi; "
        f"sleep $(({after + LATER} + index % {SPREAD})) & wait $!; exit {OTHERS_CODE}"
    )
    worker = manifests.replica("PyTorchJob", shell(script), values["workers"], "ExitCode", values)
    return [manifests.training_job("PyTorchJob", place, {"Worker": worker}, values)]


def steps(values: Values) -> tuple[Step, ...]:
    after, workers = values["fails_after"], values["workers"]
    by = START + after + LATER + SPREAD + 2 * workers
    return checklist(
        values,
        step("pods", ("{workers} pods are created.", "创建 {workers} 个 Pod。"), checks_jobs.pods_created(workers), by),
        step(
            "first",
            (f"Worker {{first}} exits {FIRST_CODE}.", f"worker {{first}} 以退出码 {FIRST_CODE} 退出。"),
            checks_pods.exits(f"worker-{values['first']}", FIRST_CODE, after),
            by,
        ),
        step(
            "wave",
            ("All {workers} replicas restart in one wave.", "全部 {workers} 个副本在同一波中重启。"),
            checks_restarts.wave(workers),
            by + 60,
        ),
        step(
            "kubectl",
            ("kubectl's RESTARTS says 0 for all of them.", "kubectl 的 RESTARTS 对所有副本都显示 0。"),
            checks_restarts.kubectl_shows_nothing(workers),
            by + 60,
        ),
    )


EXPERIMENT = Experiment(
    name="restart-wave",
    title=Text("A wave of restarts", "重启浪潮"),
    shows=Text(
        "One failure takes all replicas with it: many restarts, few of them seen in the job's conditions.",
        "一次失败牵连所有副本：重启很多，而在作业状况中看到的很少。",
    ),
    happens=Text(
        "Worker {first} of {workers} exits 139 after {fails_after} s; within seconds the others, which have lost their "
        "peer, exit 134. All pods "
        "are created again.",
        "{workers} 个 worker 中的 worker {first} 运行 {fails_after} 秒后以 139 退出；几秒之内，失去同伴的其余 worker "
        "以 "
        "134 退出。所有 Pod 都被重新创建。",
    ),
    explanation=Text(
        "Workers of one training talk to each other all the time. When one dies, the others run into errors on their "
        "connections and abort, too. Each is a restart of its own, but they have one cause: the failure that came "
        "first.\n\n"
        "The condition Restarting may be set and taken away several times, or stand during the whole wave; one span "
        "can hide sixty restarts. A pod that is created anew keeps no files, so these scripts cannot know that they "
        "have failed before: the wave comes again and again until the job is deleted. Under OnFailure an emptyDir "
        "would stay, and a script could fail once only.",
        "同一训练的各个 worker 之间不断通信。一个死掉，其他的就会在连接上遇到错误，随之中止。"
        "每一次都是单独的重启，但起因只有一个：最先发生的那次失败。\n\n"
        "Restarting 状况可能被多次写入又撤销，也可能在整个过程中一直存在；一段 Restarting 可以掩盖六十次重启。"
        "重新创建的 Pod 不会保留任何文件，所以这些脚本无从知道自己曾经失败：在作业被删除之前，浪潮会一再到来。"
        "若是 OnFailure，emptyDir 会保留下来，脚本就可以只失败一次。",
    ),
    kinds=("PyTorchJob",),
    parameters=(
        FIRST,
        fields.changed(fields.WORKERS, default=30, minimum=5, maximum=100),
        fields.changed(fields.FAILS_AFTER, default=40, minimum=20),
        *(
            fields.changed(each, default=5)
            if each is fields.CPU
            else fields.changed(each, default=20)
            if each is fields.MEMORY
            else each
            for each in fields.PODS
        ),
    ),
    objects=objects,
    steps=steps,
    seconds=lambda values: 30 + values["fails_after"] + values["workers"],
    recordings=("wave-60",),
)
