"""LAWS AGAINST PUBLISHED TRUTH: published reference designs and measurements, run through the laws that design uses."""

from clusterwright.validation.codes import FINDINGS
from clusterwright.validation.fabric import FabricReport, validate_fabric

__all__ = ["FINDINGS", "FabricReport", "validate_fabric"]
