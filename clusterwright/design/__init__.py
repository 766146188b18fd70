"""Spec -> cluster: weigh the options, work out the winner, say what binds, audit the claims.

:func:`design` makes a whole cluster. :func:`estimate` works out one run on one kind of machine; :func:`what_if`,
:func:`attribute` and :func:`launch` start from what it returns.
"""

from clusterwright.design.attribution import Attribution, Cause, attribute, measured_step_s
from clusterwright.design.codes import FINDINGS
from clusterwright.design.document import design_document, dump_document
from clusterwright.design.estimate import Estimated, estimate
from clusterwright.design.estimate_document import estimate_document
from clusterwright.design.launch import FRAMEWORKS, Launch, known_arguments, launch
from clusterwright.design.launches import flags_of
from clusterwright.design.solve import design
from clusterwright.design.whatif import WhatIf, what_if

__all__ = [
    "FINDINGS",
    "FRAMEWORKS",
    "Attribution",
    "Cause",
    "Estimated",
    "Launch",
    "WhatIf",
    "attribute",
    "design",
    "design_document",
    "dump_document",
    "estimate",
    "estimate_document",
    "flags_of",
    "known_arguments",
    "launch",
    "measured_step_s",
    "what_if",
]
