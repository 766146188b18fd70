"""WHAT IS ASKED: the spec, read with the place of every value.

:func:`load_spec` reads a file, :func:`read_spec` a text; both raise one :class:`~clusterwright.errors.InputError`
with everything that is wrong. A :class:`Spec` holds SI floats; ``spec.place(path)`` and ``spec.given(path)`` tell
where a value stands and whether somebody wrote it. :func:`schema` is the JSON Schema of the written form,
:func:`reference` the page that documents it.
"""

from clusterwright.spec.claims import Claim
from clusterwright.spec.codes import FINDINGS
from clusterwright.spec.compute import Compute
from clusterwright.spec.cost import Finance
from clusterwright.spec.deploy import KUBERNETES_VERSIONS, OPERATING_SYSTEMS, SLURM_VERSIONS, Deploy
from clusterwright.spec.document import Spec, path_of
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.facility import Limits, Site
from clusterwright.spec.forms import did_you_mean
from clusterwright.spec.job import Checkpoint, Gpus, Job, load_job, read_job
from clusterwright.spec.load import load_spec, read_spec
from clusterwright.spec.migrate import VERSION
from clusterwright.spec.overrides import written_anew
from clusterwright.spec.reference import reference
from clusterwright.spec.reliability import Reliability
from clusterwright.spec.scheduling import Scheduler
from clusterwright.spec.schema import schema
from clusterwright.spec.storage import Storage
from clusterwright.spec.tenants import PRIORITIES, Tenant
from clusterwright.spec.training import PRECISIONS, Plan, Train, Workload

__all__ = [
    "FINDINGS",
    "KUBERNETES_VERSIONS",
    "OPERATING_SYSTEMS",
    "PRECISIONS",
    "PRIORITIES",
    "SLURM_VERSIONS",
    "VERSION",
    "Checkpoint",
    "Claim",
    "Compute",
    "Deploy",
    "Fabric",
    "Finance",
    "Gpus",
    "Job",
    "Limits",
    "Plan",
    "Reliability",
    "Scheduler",
    "Site",
    "Spec",
    "Storage",
    "Tenant",
    "Train",
    "Workload",
    "did_you_mean",
    "load_job",
    "load_spec",
    "path_of",
    "read_job",
    "read_spec",
    "reference",
    "schema",
    "written_anew",
]
