"""Judges: the real programs that read what we write, and how to drive them.

A module drives one program: whether it is there, which version, what it says of a file. Targets name the functions
that judge their files.
"""

from __future__ import annotations

from clusterwright.deploy.judges.programs import Judged, Program, missing, run

__all__ = ["Judged", "Program", "missing", "run"]
