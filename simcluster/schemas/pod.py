"""The shape of a pod: what a training job's template may say, and what the kubelet reports."""

from simcluster.schemas.schema import (
    ANY,
    BOOLEAN,
    INT32,
    INT64,
    PORT,
    QUANTITIES,
    QUANTITY,
    STRING,
    TIME,
    Schema,
    listing,
    mapping,
    record,
    text_of,
)

_STRINGS = listing(STRING)
LABEL_SELECTOR = record(
    atomic=True,
    matchLabels=mapping(),
    matchExpressions=listing(record(required="key operator", key=STRING, operator=STRING, values=_STRINGS)),
)
LOCAL_REFERENCE = record(atomic=True, name=STRING)
_KEY_REFERENCE = record(required="key", atomic=True, key=STRING, name=STRING, optional=BOOLEAN)
FIELD_REFERENCE = record(required="fieldPath", atomic=True, apiVersion=STRING, fieldPath=STRING)
_RESOURCE_REFERENCE = record(required="resource", atomic=True, containerName=STRING, divisor=QUANTITY, resource=STRING)

_HTTP_GET = record(
    required="port",
    host=STRING,
    httpHeaders=listing(record(required="name value", name=STRING, value=STRING)),
    path=STRING,
    port=PORT,
    scheme=STRING,
)
_EXEC = record(command=_STRINGS)
_TCP = record(required="port", host=STRING, port=PORT)
_HANDLER = record(exec=_EXEC, httpGet=_HTTP_GET, sleep=record(required="seconds", seconds=INT64), tcpSocket=_TCP)
_PROBE = record(
    exec=_EXEC,
    failureThreshold=INT32,
    grpc=record(required="port", port=INT32, service=STRING),
    httpGet=_HTTP_GET,
    initialDelaySeconds=INT32,
    periodSeconds=INT32,
    successThreshold=INT32,
    tcpSocket=_TCP,
    terminationGracePeriodSeconds=INT64,
    timeoutSeconds=INT32,
)
_PROFILE = record(required="type", localhostProfile=STRING, type=STRING)
_SE_LINUX = record(level=STRING, role=STRING, type=STRING, user=STRING)
_WINDOWS = record(gmsaCredentialSpec=STRING, gmsaCredentialSpecName=STRING, hostProcess=BOOLEAN, runAsUserName=STRING)
_CONTAINER_SECURITY = record(
    allowPrivilegeEscalation=BOOLEAN,
    appArmorProfile=_PROFILE,
    capabilities=record(add=_STRINGS, drop=_STRINGS),
    privileged=BOOLEAN,
    procMount=STRING,
    readOnlyRootFilesystem=BOOLEAN,
    runAsGroup=INT64,
    runAsNonRoot=BOOLEAN,
    runAsUser=INT64,
    seLinuxOptions=_SE_LINUX,
    seccompProfile=_PROFILE,
    windowsOptions=_WINDOWS,
)
_POD_SECURITY = record(
    appArmorProfile=_PROFILE,
    fsGroup=INT64,
    fsGroupChangePolicy=STRING,
    runAsGroup=INT64,
    runAsNonRoot=BOOLEAN,
    runAsUser=INT64,
    seLinuxChangePolicy=STRING,
    seLinuxOptions=_SE_LINUX,
    seccompProfile=_PROFILE,
    supplementalGroups=listing(INT64),
    supplementalGroupsPolicy=STRING,
    sysctls=listing(record(required="name value", name=STRING, value=STRING)),
    windowsOptions=_WINDOWS,
)
RESOURCES = record(
    "What a container may use and what is kept free for it.",
    claims=listing(record(required="name", name=STRING, request=STRING), "name"),
    limits=QUANTITIES,
    requests=QUANTITIES,
)
_ENV = record(
    required="name",
    name=STRING,
    value=STRING,
    valueFrom=record(
        configMapKeyRef=_KEY_REFERENCE,
        fieldRef=FIELD_REFERENCE,
        fileKeyRef=ANY,
        resourceFieldRef=_RESOURCE_REFERENCE,
        secretKeyRef=_KEY_REFERENCE,
    ),
)
_SOURCE = record(name=STRING, optional=BOOLEAN)
CONTAINER = record(
    "One program of the pod, run from an image.",
    required="name",
    args=_STRINGS,
    command=text_of("What is run instead of the image's entry point.", _STRINGS),
    env=listing(_ENV, "name"),
    envFrom=listing(record(configMapRef=_SOURCE, prefix=STRING, secretRef=_SOURCE)),
    image=text_of("The image's name."),
    imagePullPolicy=STRING,
    lifecycle=record(postStart=_HANDLER, preStop=_HANDLER, stopSignal=STRING),
    livenessProbe=_PROBE,
    name=text_of("The container's name, unique in the pod."),
    ports=listing(
        record(
            required="containerPort",
            containerPort=INT32,
            hostIP=STRING,
            hostPort=INT32,
            name=STRING,
            protocol=Schema("string", default="TCP"),
        ),
        "containerPort protocol",
        protocol="TCP",
    ),
    readinessProbe=_PROBE,
    resizePolicy=listing(record(required="resourceName restartPolicy", resourceName=STRING, restartPolicy=STRING)),
    resources=RESOURCES,
    restartPolicy=STRING,
    restartPolicyRules=listing(ANY),
    securityContext=_CONTAINER_SECURITY,
    startupProbe=_PROBE,
    stdin=BOOLEAN,
    stdinOnce=BOOLEAN,
    terminationMessagePath=STRING,
    terminationMessagePolicy=STRING,
    tty=BOOLEAN,
    volumeDevices=listing(record(required="devicePath name", devicePath=STRING, name=STRING), "devicePath"),
    volumeMounts=listing(
        record(
            required="mountPath name",
            mountPath=STRING,
            mountPropagation=STRING,
            name=STRING,
            readOnly=BOOLEAN,
            recursiveReadOnly=STRING,
            subPath=STRING,
            subPathExpr=STRING,
        ),
        "mountPath",
    ),
    workingDir=STRING,
)
_FILES = listing(record(required="key path", key=STRING, mode=INT32, path=STRING))
_DOWNWARD_FILES = listing(
    record(required="path", fieldRef=FIELD_REFERENCE, mode=INT32, path=STRING, resourceFieldRef=_RESOURCE_REFERENCE)
)
_PROJECTION = record(
    clusterTrustBundle=ANY,
    configMap=record(items=_FILES, name=STRING, optional=BOOLEAN),
    downwardAPI=record(items=_DOWNWARD_FILES),
    podCertificate=ANY,
    secret=record(items=_FILES, name=STRING, optional=BOOLEAN),
    serviceAccountToken=record(required="path", audience=STRING, expirationSeconds=INT64, path=STRING),
)
_PLUGIN_VOLUMES = [
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "image",
    "iscsi",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
]
_VOLUME_SOURCES = {
    "configMap": record(defaultMode=INT32, items=_FILES, name=STRING, optional=BOOLEAN),
    "downwardAPI": record(defaultMode=INT32, items=_DOWNWARD_FILES),
    "emptyDir": record(medium=STRING, sizeLimit=QUANTITY),
    "hostPath": record(required="path", path=STRING, type=STRING),
    "nfs": record(required="path server", path=STRING, readOnly=BOOLEAN, server=STRING),
    "persistentVolumeClaim": record(required="claimName", claimName=STRING, readOnly=BOOLEAN),
    "projected": record(defaultMode=INT32, sources=listing(_PROJECTION)),
    "secret": record(defaultMode=INT32, items=_FILES, optional=BOOLEAN, secretName=STRING),
    **dict.fromkeys(_PLUGIN_VOLUMES, ANY),
}
VOLUME = Schema("object", {"name": STRING, **_VOLUME_SOURCES}, required=("name",))
_NODE_TERM = record(
    atomic=True,
    matchExpressions=listing(record(required="key operator", key=STRING, operator=STRING, values=_STRINGS)),
    matchFields=listing(record(required="key operator", key=STRING, operator=STRING, values=_STRINGS)),
)
_POD_TERM = record(
    required="topologyKey",
    labelSelector=LABEL_SELECTOR,
    matchLabelKeys=_STRINGS,
    mismatchLabelKeys=_STRINGS,
    namespaceSelector=LABEL_SELECTOR,
    namespaces=_STRINGS,
    topologyKey=STRING,
)
_POD_AFFINITY = record(
    preferredDuringSchedulingIgnoredDuringExecution=listing(
        record(required="podAffinityTerm weight", podAffinityTerm=_POD_TERM, weight=INT32)
    ),
    requiredDuringSchedulingIgnoredDuringExecution=listing(_POD_TERM),
)
_AFFINITY = record(
    nodeAffinity=record(
        preferredDuringSchedulingIgnoredDuringExecution=listing(
            record(required="preference weight", preference=_NODE_TERM, weight=INT32)
        ),
        requiredDuringSchedulingIgnoredDuringExecution=record(
            required="nodeSelectorTerms", atomic=True, nodeSelectorTerms=listing(_NODE_TERM)
        ),
    ),
    podAffinity=_POD_AFFINITY,
    podAntiAffinity=_POD_AFFINITY,
)
POD_SPEC = record(
    "What runs in the pod, and where it may run.",
    required="containers",
    activeDeadlineSeconds=INT64,
    affinity=_AFFINITY,
    automountServiceAccountToken=BOOLEAN,
    containers=listing(CONTAINER, "name", text="The programs that run side by side."),
    dnsConfig=record(nameservers=_STRINGS, options=listing(record(name=STRING, value=STRING)), searches=_STRINGS),
    dnsPolicy=STRING,
    enableServiceLinks=BOOLEAN,
    ephemeralContainers=listing(ANY, "name"),
    hostAliases=listing(record(required="ip", hostnames=_STRINGS, ip=STRING), "ip"),
    hostIPC=BOOLEAN,
    hostNetwork=BOOLEAN,
    hostPID=BOOLEAN,
    hostUsers=BOOLEAN,
    hostname=STRING,
    hostnameOverride=STRING,
    imagePullSecrets=listing(LOCAL_REFERENCE, "name"),
    initContainers=listing(CONTAINER, "name", text="Programs that run one after the other before all others."),
    nodeName=STRING,
    nodeSelector=mapping(atomic=True),
    os=record(required="name", name=STRING),
    overhead=QUANTITIES,
    preemptionPolicy=STRING,
    priority=INT32,
    priorityClassName=STRING,
    readinessGates=listing(record(required="conditionType", conditionType=STRING)),
    resourceClaims=listing(
        record(required="name", name=STRING, resourceClaimName=STRING, resourceClaimTemplateName=STRING), "name"
    ),
    resources=RESOURCES,
    restartPolicy=STRING,
    runtimeClassName=STRING,
    schedulerName=STRING,
    schedulingGates=listing(record(required="name", name=STRING), "name"),
    securityContext=_POD_SECURITY,
    serviceAccount=STRING,
    serviceAccountName=STRING,
    setHostnameAsFQDN=BOOLEAN,
    shareProcessNamespace=BOOLEAN,
    subdomain=STRING,
    terminationGracePeriodSeconds=INT64,
    tolerations=listing(record(effect=STRING, key=STRING, operator=STRING, tolerationSeconds=INT64, value=STRING)),
    topologySpreadConstraints=listing(
        record(
            required="maxSkew topologyKey whenUnsatisfiable",
            labelSelector=LABEL_SELECTOR,
            matchLabelKeys=_STRINGS,
            maxSkew=INT32,
            minDomains=INT32,
            nodeAffinityPolicy=STRING,
            nodeTaintsPolicy=STRING,
            topologyKey=STRING,
            whenUnsatisfiable=STRING,
        ),
        "topologyKey whenUnsatisfiable",
    ),
    volumes=listing(VOLUME, "name"),
    workloadRef=ANY,
)
POD_TEMPLATE = record(
    "The pod that is created for each replica.",
    metadata=record(annotations=mapping(), finalizers=_STRINGS, labels=mapping(), name=STRING, namespace=STRING),
    spec=POD_SPEC,
)
_CONTAINER_STATE = record(
    running=record(startedAt=TIME),
    terminated=record(
        required="exitCode",
        containerID=STRING,
        exitCode=INT32,
        finishedAt=TIME,
        message=STRING,
        reason=STRING,
        signal=INT32,
        startedAt=TIME,
    ),
    waiting=record(message=STRING, reason=STRING),
)
_CONTAINER_STATUS = record(
    allocatedResources=QUANTITIES,
    allocatedResourcesStatus=ANY,
    containerID=STRING,
    image=STRING,
    imageID=STRING,
    lastState=_CONTAINER_STATE,
    name=STRING,
    ready=BOOLEAN,
    resources=RESOURCES,
    restartCount=INT32,
    started=BOOLEAN,
    state=_CONTAINER_STATE,
    stopSignal=STRING,
    user=ANY,
    volumeMounts=listing(ANY),
)
_POD_CONDITION = record(
    required="status type",
    lastProbeTime=TIME,
    lastTransitionTime=TIME,
    message=STRING,
    observedGeneration=INT64,
    reason=STRING,
    status=STRING,
    type=STRING,
)
POD_STATUS = record(
    "What is known of the pod.",
    allocatedResources=QUANTITIES,
    conditions=listing(_POD_CONDITION, "type"),
    containerStatuses=listing(_CONTAINER_STATUS),
    ephemeralContainerStatuses=listing(_CONTAINER_STATUS),
    extendedResourceClaimStatus=ANY,
    hostIP=STRING,
    hostIPs=listing(record(ip=STRING)),
    initContainerStatuses=listing(_CONTAINER_STATUS),
    message=STRING,
    nominatedNodeName=STRING,
    observedGeneration=INT64,
    phase=STRING,
    podIP=STRING,
    podIPs=listing(record(ip=STRING), "ip"),
    qosClass=STRING,
    reason=STRING,
    resize=STRING,
    resourceClaimStatuses=listing(ANY, "name"),
    resources=RESOURCES,
    startTime=TIME,
)
