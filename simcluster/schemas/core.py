"""The shapes of the other built-in kinds, as far as clients write them here."""

from simcluster.schemas.pod import POD_SPEC, POD_STATUS
from simcluster.schemas.schema import (
    ANY,
    BOOLEAN,
    INT32,
    INT64,
    PORT,
    QUANTITIES,
    STRING,
    TIME,
    Schema,
    a_set,
    listing,
    mapping,
    record,
)

_OWNER = record(
    required="apiVersion kind name uid",
    atomic=True,
    apiVersion=STRING,
    blockOwnerDeletion=BOOLEAN,
    controller=BOOLEAN,
    kind=STRING,
    name=STRING,
    uid=STRING,
)
METADATA = record(
    "The object's name, labels and owners, and what the server notes about it.",
    annotations=mapping(),
    creationTimestamp=TIME,
    deletionGracePeriodSeconds=INT64,
    deletionTimestamp=TIME,
    finalizers=a_set(),
    generateName=STRING,
    generation=INT64,
    labels=mapping(),
    managedFields=listing(ANY),
    name=STRING,
    namespace=STRING,
    ownerReferences=listing(_OWNER, "uid"),
    resourceVersion=STRING,
    selfLink=STRING,
    uid=STRING,
)
POD = record("Containers that run together on a node.", spec=POD_SPEC, status=POD_STATUS)
_TAINT = record(required="effect key", effect=STRING, key=STRING, timeAdded=TIME, value=STRING)
NODE = record(
    "A machine that pods run on.",
    spec=record(
        configSource=ANY,
        externalID=STRING,
        podCIDR=STRING,
        podCIDRs=a_set(),
        providerID=STRING,
        taints=listing(_TAINT),
        unschedulable=BOOLEAN,
    ),
    status=record(
        addresses=listing(record(address=STRING, type=STRING), "type"),
        allocatable=QUANTITIES,
        capacity=QUANTITIES,
        conditions=listing(ANY, "type"),
        config=ANY,
        daemonEndpoints=ANY,
        declaredFeatures=listing(ANY),
        features=ANY,
        images=listing(ANY),
        nodeInfo=ANY,
        phase=STRING,
        runtimeHandlers=listing(ANY),
        volumesAttached=listing(ANY),
        volumesInUse=listing(ANY),
    ),
)
NAMESPACE = record(
    "A scope for names.",
    spec=record(finalizers=listing(STRING)),
    status=record(conditions=listing(ANY, "type"), phase=STRING),
)
_SERVICE_PORT = record(
    required="port",
    appProtocol=STRING,
    name=STRING,
    nodePort=INT32,
    port=INT32,
    protocol=Schema("string", default="TCP"),
    targetPort=PORT,
)
SERVICE = record(
    "A name and ports under which pods are found.",
    spec=record(
        allocateLoadBalancerNodePorts=BOOLEAN,
        clusterIP=STRING,
        clusterIPs=listing(STRING),
        externalIPs=listing(STRING),
        externalName=STRING,
        externalTrafficPolicy=STRING,
        healthCheckNodePort=INT32,
        internalTrafficPolicy=STRING,
        ipFamilies=listing(STRING),
        ipFamilyPolicy=STRING,
        loadBalancerClass=STRING,
        loadBalancerIP=STRING,
        loadBalancerSourceRanges=listing(STRING),
        ports=listing(_SERVICE_PORT, "port protocol", protocol="TCP"),
        publishNotReadyAddresses=BOOLEAN,
        selector=mapping(atomic=True),
        sessionAffinity=STRING,
        sessionAffinityConfig=ANY,
        trafficDistribution=STRING,
        type=STRING,
    ),
    status=ANY,
)
_REFERENCE = record(
    atomic=True,
    apiVersion=STRING,
    fieldPath=STRING,
    kind=STRING,
    name=STRING,
    namespace=STRING,
    resourceVersion=STRING,
    uid=STRING,
)
EVENT = record(
    "Something that happened to an object.",
    action=STRING,
    count=INT32,
    eventTime=TIME,
    firstTimestamp=TIME,
    involvedObject=_REFERENCE,
    lastTimestamp=TIME,
    message=STRING,
    reason=STRING,
    related=_REFERENCE,
    reportingComponent=STRING,
    reportingInstance=STRING,
    series=record(count=INT32, lastObservedTime=TIME),
    source=record(component=STRING, host=STRING),
    type=STRING,
)
CONFIGMAP = record("Settings as text.", binaryData=mapping(), data=mapping(), immutable=BOOLEAN)
SERVICEACCOUNT = record(
    "A name that pods and their programs act under.",
    automountServiceAccountToken=BOOLEAN,
    imagePullSecrets=listing(record(atomic=True, name=STRING)),
    secrets=listing(ANY, "name"),
)
RESOURCEQUOTA = record(
    "How much a namespace may hold.",
    spec=record(hard=QUANTITIES, scopeSelector=ANY, scopes=listing(STRING)),
    status=record(hard=QUANTITIES, used=QUANTITIES),
)
_SELECTOR = record(
    atomic=True,
    matchExpressions=listing(record(required="key operator", key=STRING, operator=STRING, values=listing(STRING))),
    matchLabels=mapping(),
)
PODDISRUPTIONBUDGET = record(
    "How many of some pods may be evicted at a time.",
    spec=record(
        maxUnavailable=PORT,
        minAvailable=PORT,
        selector=_SELECTOR,
        unhealthyPodEvictionPolicy=STRING,
    ),
    status=record(
        conditions=listing(
            record(
                lastTransitionTime=TIME,
                message=STRING,
                observedGeneration=INT64,
                reason=STRING,
                status=STRING,
                type=STRING,
            ),
            "type",
        ),
        currentHealthy=INT32,
        desiredHealthy=INT32,
        disruptedPods=mapping(TIME),
        disruptionsAllowed=INT32,
        expectedPods=INT32,
        observedGeneration=INT64,
    ),
)
PRIORITYCLASS = record(
    "A name for a priority.",
    description=STRING,
    globalDefault=BOOLEAN,
    preemptionPolicy=STRING,
    value=INT32,
)
_RULE = record(
    required="verbs",
    apiGroups=listing(STRING),
    nonResourceURLs=listing(STRING),
    resourceNames=listing(STRING),
    resources=listing(STRING),
    verbs=listing(STRING),
)
ROLE = record("What may be done, to be granted by a binding.", aggregationRule=ANY, rules=listing(_RULE))
_SUBJECT = record(required="kind name", atomic=True, apiGroup=STRING, kind=STRING, name=STRING, namespace=STRING)
BINDING = record(
    "Grants a role to users, groups and service accounts.",
    required="roleRef",
    roleRef=record(required="kind name", atomic=True, apiGroup=STRING, kind=STRING, name=STRING),
    subjects=listing(_SUBJECT),
)
