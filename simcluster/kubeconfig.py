"""A kubeconfig for kubectl and the Kubernetes client libraries."""

import base64
import json


def kubeconfig(server: str, token: str = "", namespace: str = "default", certificate: str = "") -> str:
    """The file's text (JSON, which is YAML) for an API server at a URL such as http://127.0.0.1:8001."""
    user = {"token": token} if token else {}
    cluster = {"server": server}
    if certificate:
        cluster["certificate-authority-data"] = base64.b64encode(certificate.encode()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "simcluster", "cluster": cluster}],
        "users": [{"name": "simcluster", "user": user}],
        "contexts": [
            {
                "name": "simcluster",
                "context": {"cluster": "simcluster", "user": "simcluster", "namespace": namespace},
            }
        ],
        "current-context": "simcluster",
    }
    return json.dumps(config, indent=2) + "\n"
