"""Spec -> cluster: weigh the options, work out the winner, say what binds, audit the claims."""

from clusterwright.design.codes import FINDINGS
from clusterwright.design.document import design_document, dump_document
from clusterwright.design.solve import design

__all__ = ["FINDINGS", "design", "design_document", "dump_document"]
