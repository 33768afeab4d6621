"""The shapes of training jobs, Volcano Jobs, PodGroups and queues.

Where a CRD leaves a documented limit to the operator (restart policies, numbers that cannot be negative) the limit
stands here, so that a wrong manifest is refused and not run.
"""

from simcluster.schemas.pod import POD_TEMPLATE
from simcluster.schemas.schema import (
    ANY,
    BOOLEAN,
    INT32,
    NAME_PATTERN,
    QUANTITIES,
    STRING,
    TIME,
    Schema,
    listing,
    mapping,
    number,
    one_of,
    record,
    text_of,
)

_CLEAN_POD_POLICIES = ("", "All", "None", "Running")
_REPLICA = record(
    "One kind of replica: how many, what they run, and when they are started anew.",
    replicas=number(0, text="How many replicas there are."),
    restartPolicy=one_of(
        "Always", "ExitCode", "Never", "OnFailure", text="ExitCode starts a replica anew for codes of 128 and above."
    ),
    template=POD_TEMPLATE,
)
_REPLICAS = mapping(_REPLICA, "The replicas by type, such as Worker.")
_SCHEDULING_POLICY = record(
    "What gang scheduling asks for.",
    minAvailable=number(0),
    minResources=QUANTITIES,
    priorityClass=STRING,
    queue=STRING,
    scheduleTimeoutSeconds=number(0),
)
_RUN_POLICY = record(
    "How long a job may run, how often it is tried, what is left of it.",
    activeDeadlineSeconds=Schema("integer", format="int64", minimum=1, text="Seconds until the job is stopped."),
    backoffLimit=number(0, text="Restarts in place, summed over all pods, before the job fails."),
    cleanPodPolicy=one_of(*_CLEAN_POD_POLICIES, text="Which pods are deleted when the job ends."),
    managedBy=STRING,
    schedulingPolicy=_SCHEDULING_POLICY,
    suspend=Schema("boolean", default=False, text="Whether the job is held: its pods are deleted."),
    ttlSecondsAfterFinished=number(0, text="Seconds until a finished job is deleted."),
)
_CONDITION = record(
    required="status type",
    lastTransitionTime=TIME,
    lastUpdateTime=TIME,
    message=STRING,
    reason=STRING,
    status=STRING,
    type=STRING,
)
_REPLICA_STATUS = record(
    active=INT32,
    failed=INT32,
    labelSelector=record(matchExpressions=listing(ANY), matchLabels=mapping()),
    selector=STRING,
    succeeded=INT32,
)
_JOB_STATUS = record(
    "What the operator last wrote.",
    completionTime=TIME,
    conditions=listing(_CONDITION),
    lastReconcileTime=TIME,
    replicaStatuses=mapping(_REPLICA_STATUS),
    startTime=TIME,
)


def _job(framework: str, field: str, **more: Schema) -> Schema:
    properties = {"runPolicy": _RUN_POLICY, field: _REPLICAS, **more}
    spec = Schema("object", properties, required=(field,), text=f"What a {framework} job is to do.")
    return record(f"A distributed {framework} training job.", spec=spec, status=_JOB_STATUS)


_ELASTIC_POLICY = record(
    "How far a PyTorch job may shrink and grow.",
    maxReplicas=INT32,
    maxRestarts=INT32,
    metrics=listing(ANY),
    minReplicas=INT32,
    nProcPerNode=INT32,
    rdzvBackend=STRING,
    rdzvConf=listing(record(key=STRING, value=STRING)),
    rdzvHost=STRING,
    rdzvId=STRING,
    rdzvPort=INT32,
    standalone=BOOLEAN,
)
TFJOB = _job(
    "TensorFlow",
    "tfReplicaSpecs",
    enableDynamicWorker=BOOLEAN,
    successPolicy=one_of("", "AllWorkers", text="Empty: worker 0 decides. AllWorkers: all must succeed."),
)
PYTORCHJOB = _job("PyTorch", "pytorchReplicaSpecs", elasticPolicy=_ELASTIC_POLICY, nprocPerNode=STRING)
MPIJOB = _job(
    "MPI",
    "mpiReplicaSpecs",
    cleanPodPolicy=one_of(*_CLEAN_POD_POLICIES),
    mainContainer=STRING,
    slotsPerWorker=INT32,
)
XGBOOSTJOB = _job("XGBoost", "xgbReplicaSpecs")
PADDLEJOB = _job(
    "PaddlePaddle",
    "paddleReplicaSpecs",
    elasticPolicy=record(maxReplicas=INT32, maxRestarts=INT32, metrics=listing(ANY), minReplicas=INT32),
)
JAXJOB = _job("JAX", "jaxReplicaSpecs")

_NAME = Schema("string", pattern=NAME_PATTERN, max_length=253)
_QUEUE = Schema("string", pattern=NAME_PATTERN, max_length=253, default="default", text="The queue it waits in.")
_EVENT = one_of(
    "*",
    "PodPending",
    "PodRunning",
    "PodFailed",
    "PodEvicted",
    "Unknown",
    "TaskCompleted",
    "OutOfSync",
    "CommandIssued",
    "JobUpdated",
    "TaskFailed",
)
_POLICY = record(
    "What is done when something happens, such as RestartJob on PodFailed.",
    action=STRING,
    event=_EVENT,
    events=listing(_EVENT),
    exitCode=INT32,
    timeout=STRING,
)
_TOPOLOGY = record(highestTierAllowed=number(0), highestTierName=STRING, mode=one_of("hard", "soft", default="hard"))
_TASK = record(
    "Pods that share a template.",
    dependsOn=record(iteration=STRING, name=listing(STRING)),
    maxRetry=number(0),
    minAvailable=number(0),
    name=Schema("string", pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63),
    partitionPolicy=ANY,
    policies=listing(_POLICY),
    replicas=number(0),
    template=POD_TEMPLATE,
    topologyPolicy=STRING,
)
_STATE = record(lastTransitionTime=TIME, message=STRING, phase=STRING, reason=STRING)
VOLCANO_JOB = record(
    "A batch job of Volcano: tasks whose pods are started together.",
    spec=record(
        maxRetry=number(0, default=3, text="How often the job is restarted."),
        minAvailable=number(0, text="How many pods must fit before any starts."),
        minSuccess=number(1),
        networkTopology=_TOPOLOGY,
        plugins=mapping(listing(STRING)),
        policies=listing(_POLICY),
        priorityClassName=_NAME,
        queue=_QUEUE,
        runningEstimate=STRING,
        schedulerName=Schema("string", max_length=63),
        tasks=listing(_TASK),
        ttlSecondsAfterFinished=number(0),
        volumes=listing(ANY),
    ),
    status=record(
        conditions=listing(record(lastTransitionTime=TIME, status=STRING)),
        controlledResources=mapping(),
        failed=INT32,
        minAvailable=INT32,
        pending=INT32,
        retryCount=INT32,
        running=INT32,
        runningDuration=STRING,
        state=_STATE,
        succeeded=INT32,
        taskStatusCount=mapping(record(phase=mapping(INT32))),
        terminating=INT32,
        unknown=INT32,
        version=INT32,
    ),
)
VOLCANO_PODGROUP = record(
    "Pods that Volcano schedules together or not at all.",
    spec=record(
        minMember=number(text="How many pods must fit before any starts."),
        minResources=QUANTITIES,
        minTaskMember=mapping(INT32),
        networkTopology=_TOPOLOGY,
        preemptable=BOOLEAN,
        priorityClassName=STRING,
        queue=Schema("string", default="default", text="The queue it waits in."),
        subGroupPolicy=listing(ANY),
    ),
    status=record(
        conditions=listing(
            record(
                lastTransitionTime=TIME,
                message=STRING,
                reason=STRING,
                status=STRING,
                transitionID=STRING,
                type=STRING,
            )
        ),
        failed=INT32,
        phase=STRING,
        running=INT32,
        succeeded=INT32,
    ),
)
VOLCANO_QUEUE = record(
    "A share of the cluster that PodGroups wait for.",
    spec=record(
        affinity=ANY,
        capability=QUANTITIES,
        deserved=QUANTITIES,
        dequeueStrategy=STRING,
        extendClusters=listing(ANY),
        guarantee=record(resource=QUANTITIES),
        parent=STRING,
        priority=INT32,
        reclaimable=BOOLEAN,
        type=STRING,
        weight=number(1, 65535),
    ),
    status=ANY,
)
SCHEDULER_PODGROUP = record(
    "Pods that scheduler-plugins schedules together.",
    spec=record(
        minMember=number(1, text="How many pods must fit before any starts."),
        minResources=QUANTITIES,
        scheduleTimeoutSeconds=number(1, text="Seconds a waiting pod is kept."),
    ),
    status=record(
        failed=INT32,
        occupiedBy=text_of("The owner of the pods."),
        phase=STRING,
        running=INT32,
        scheduleStartTime=TIME,
        succeeded=INT32,
    ),
)
