"""Submit a job: plan it by the laws, write its batch script, hand it over, follow it."""

from __future__ import annotations

from clusterwright.operate.submit.planning import Planned, plan_job
from clusterwright.operate.submit.sending import ENDED, Seen, follow, script_of, send, states

__all__ = ["ENDED", "Planned", "Seen", "follow", "plan_job", "script_of", "send", "states"]
