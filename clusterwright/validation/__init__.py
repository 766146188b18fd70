"""LAWS AGAINST PUBLISHED TRUTH: published reference designs and measurements, run through the laws that design uses."""

from clusterwright.validation.codes import FINDINGS
from clusterwright.validation.fabric import FabricReport, validate_fabric
from clusterwright.validation.training import TrainingReport, validate_training
from clusterwright.validation.training_calibrate import (
    PUBLISHED,
    SiteReport,
    calibrate_published,
    calibrate_site,
)

__all__ = [
    "FINDINGS",
    "PUBLISHED",
    "FabricReport",
    "SiteReport",
    "TrainingReport",
    "calibrate_published",
    "calibrate_site",
    "validate_fabric",
    "validate_training",
]
