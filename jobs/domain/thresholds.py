"""Where a fact becomes a finding. Seconds unless said otherwise; each with its reason."""

WAVE_GAP = 60.0  # restarts of one wave follow each other within a minute: back-off spreads them by tens of seconds
WAVE_LONGEST = 600.0  # what goes on for longer is no wave any more
WAVE_REPLICAS = 3  # replicas in a wave at least: two may be chance
WAVE_ENOUGH = 10  # so many replicas are a wave however large the job is; below, half of the job must take part

TAKEN_ALONG = 120.0  # a controller answers a failure within seconds; a deletion so much later has another cause

RUNAWAY_RESTARTS = 8  # of one replica within RUNAWAY_WINDOW: the kubelet's back-off allows 7 (10, 20, ... 300 s apart)
RUNAWAY_WINDOW = 600.0

GANG_WAITING = 60.0  # a scheduling cycle takes a second; a minute means that there is no room
NO_PODS = 60.0  # the operator creates pods within seconds of the gang's admission
REFUSED = 5.0  # a creation that fails by chance is tried again within milliseconds
PENDING = 60.0  # a pod is scheduled and started within seconds where there is room and the image is at hand
TERMINATING = 60.0  # beyond the pod's own grace period: the kubelet is silent or a finalizer holds it
GRACE_DEFAULT = 30.0  # Kubernetes' own terminationGracePeriodSeconds
AFTER_END = 10.0  # the operator cleans up within seconds of a job's end

FLAP_SHORT = 60.0  # a phase that lasts longer is told on its own
FLAP_PHASES = 9  # phases in a row, each short, before they are one row: one restart shows up to five
FLAP_UNEXPLAINED = 4  # entries into a phase beyond one for each restart before flapping is a finding
