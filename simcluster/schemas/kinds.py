"""The shape of every kind, apiVersion, kind and metadata included."""

from collections.abc import Mapping

from simcluster import resources as known
from simcluster.resources import Resource
from simcluster.schemas import core, jobs
from simcluster.schemas.schema import STRING, Schema


def _whole(schema: Schema) -> Schema:
    head = {"apiVersion": STRING, "kind": STRING, "metadata": core.METADATA}
    return Schema(**{**vars(schema), "properties": {**head, **schema.properties}})


SCHEMAS: Mapping[Resource, Schema] = {
    resource: _whole(schema)
    for resource, schema in {
        known.PODS: core.POD,
        known.NODES: core.NODE,
        known.NAMESPACES: core.NAMESPACE,
        known.SERVICES: core.SERVICE,
        known.EVENTS: core.EVENT,
        known.CONFIGMAPS: core.CONFIGMAP,
        known.SERVICEACCOUNTS: core.SERVICEACCOUNT,
        known.RESOURCEQUOTAS: core.RESOURCEQUOTA,
        known.ROLES: core.ROLE,
        known.CLUSTERROLES: core.ROLE,
        known.ROLEBINDINGS: core.BINDING,
        known.CLUSTERROLEBINDINGS: core.BINDING,
        known.PRIORITYCLASSES: core.PRIORITYCLASS,
        known.PODDISRUPTIONBUDGETS: core.PODDISRUPTIONBUDGET,
        known.TFJOBS: jobs.TFJOB,
        known.PYTORCHJOBS: jobs.PYTORCHJOB,
        known.MPIJOBS: jobs.MPIJOB,
        known.XGBOOSTJOBS: jobs.XGBOOSTJOB,
        known.PADDLEJOBS: jobs.PADDLEJOB,
        known.JAXJOBS: jobs.JAXJOB,
        known.VOLCANO_JOBS: jobs.VOLCANO_JOB,
        known.VOLCANO_PODGROUPS: jobs.VOLCANO_PODGROUP,
        known.VOLCANO_QUEUES: jobs.VOLCANO_QUEUE,
        known.SCHEDULER_PODGROUPS: jobs.SCHEDULER_PODGROUP,
    }.items()
}


def schema_of(resource: Resource) -> Schema:
    return SCHEMAS[resource]
