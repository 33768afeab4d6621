"""What the watchers say of their streams, in the reader's language. Their own English words serve as the key."""

import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from jobs.words import patterns, recognised

# As jobs.ingest words them.
SENTENCES = (
    N_("The cluster no longer has what %(stream)s had last seen; it is listed again."),
    N_("The cluster has too much to do to %(what)s; it is asked again later."),
    N_("The cluster does not accept our credentials: renew this connection's token or certificate."),
    N_("The cluster forbids to %(what)s: grant list and watch on %(plural)s by a Role in namespace %(namespace)s."),
    N_("The cluster forbids to %(what)s: grant list and watch on %(plural)s by a ClusterRole."),
    N_("%(resource)s is not installed in this cluster: %(where)s has no %(plural)s."),
    N_("The cluster refuses to %(what)s with status %(status)s."),
    N_("The cluster failed to %(what)s with status %(status)s; it is tried again."),
    N_("The cluster failed to %(what)s; it is tried again."),
    N_("%(host)s has a certificate that is not trusted: check the CA and the host name in the kubeconfig."),
    N_("%(host)s speaks no TLS that we understand: check the address and the client certificate."),
    N_("%(host)s cannot be reached through the proxy: check the proxy settings."),
    N_("%(host)s has a name that cannot be resolved: check the address and DNS."),
    N_("%(host)s refuses connections: check that the API server runs and the address is right."),
    N_("%(host)s does not answer: check the network and the firewalls between."),
    N_("%(host)s cannot be reached (%(error)s): check the address and the network."),
    N_(
        "cannot refresh the credentials for %(host)s (%(error)s): "
        "run the credential plugin of the kubeconfig by hand to see why."
    ),
    N_("%(host)s sends more than %(size)s MB in one answer; it was given up."),
    N_("%(host)s went silent; the connection was given up."),
    N_("The connection to %(host)s was cut; it is opened again."),
    N_("The cluster ends the watch of %(stream)s at once; it is opened again."),
    N_("The watch of %(stream)s went on past the time it was asked for; it is opened anew."),
    N_("Reading %(stream)s failed by a fault of this program; see the log. It is tried again."),
    # why an interval was not observed
    N_("listed again"),
    N_("nothing comes from this version"),
    N_("only errors come from this version"),
    N_("the cluster's versions went back"),
    # why an object was passed over
    N_("line too long"),
    N_("unknown event type"),
    N_("unknown resource"),
    N_("no metadata"),
    N_("no received_at"),
    N_("wrong type: %(path)s"),
    N_("too deep"),
    N_("not JSON"),
    N_("no uid"),
    N_("uid too long"),
    N_("no name"),
    N_("no resourceVersion"),
    N_("unreadable resourceVersion"),
    N_("Event of another kind of object"),
    N_("pod of an owner with too long a UID"),
    N_("PodGroup of an owner with too long a UID"),
    N_("pod of another kind of owner"),
    N_("PodGroup of another kind of owner"),
    N_("vanished before it was known"),
)
_SENTENCES = patterns(SENTENCES)
_QUOTED = re.compile(r'(?P<ours>.*?)(?: It says (?P<said>".*")\.)?', re.DOTALL)


def stream_words(text: str) -> str:
    """A sentence or reason of a watcher, translated; what the cluster said stays, and so does what is not known."""
    quoted = _QUOTED.fullmatch(text)
    ours, said = (quoted["ours"], quoted["said"]) if quoted else (text, None)
    found = recognised(ours, _SENTENCES)
    if found is None:
        return text
    template, values = found
    return _(template) % values + (_(" It says %(said)s.") % {"said": said} if said else "")
