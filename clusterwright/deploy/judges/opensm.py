"""OpenSM on a simulated fabric: the subnet manager itself says whether the cabling is the fat tree that it should be.

Its exit code proves nothing: it falls back to another routing silently. So its log must say that the fat-tree tables
are configured on all switches and that the subnet is up, and no line of a fall-back may be there.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Judged, Program, run

__all__ = ["PROGRAMS", "judge_fabric", "route"]

OPENSM = Program("opensm", "apt install opensm ibsim-utils libumad2sim0", ("--version",))
IBSIM = Program("ibsim", "apt install opensm ibsim-utils libumad2sim0", ())
PROGRAMS = (OPENSM, IBSIM)
_LIBRARIES = (
    "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so",
    "/usr/lib/aarch64-linux-gnu/umad2sim/libumad2sim.so",
    "/usr/lib/umad2sim/libumad2sim.so",
    "/usr/lib64/umad2sim/libumad2sim.so",
)
_MOST_HOSTS = 9_000
"""Ports of hosts above which routing takes minutes; larger fabrics are read by us only."""
_UP, _CONFIGURED = "SUBNET UP", "ftree tables configured on all switches"
_BAD = re.compile(r"(ERR AB\w+.*|.*fall.?back.*|.*not been identified as FatTree.*|.*hasn't been identified.*)", re.I)


def judge_fabric(folder: Folder) -> Iterator[Check]:
    """Route the InfiniBand fabric of every site with the fat-tree engine."""
    library = next((path for path in _LIBRARIES if Path(path).is_file()), None)
    if OPENSM.path is None or IBSIM.path is None or library is None:
        return
    for path in folder.glob("fabric/*/infiniband.net"):
        text = folder.read(path)
        hosts = text.count("\nHca\t") + text.startswith("Hca\t")
        if text.count("Switch\t") < 2:
            yield Check(path, "opensm", OPENSM.version, "none", True, "one switch: there is nothing to route")
            continue
        if hosts > _MOST_HOSTS:
            said = f"{hosts:,} host ports are too many to route here; read by us only"
            yield Check(path, "opensm", OPENSM.version, "none", True, said)
            continue
        ok, said = route(text, hosts, library)
        yield Check(path, "opensm", OPENSM.version, "tool", ok, said)


def route(text: str, hosts: int, library: str, seconds: float = 120.0) -> tuple[bool, str]:
    """Whether OpenSM routes the fabric as a fat tree.

    Args:
        text: file of ibsim.
        hosts: ports of hosts in it.
        library: that stands between OpenSM and the simulator.
        seconds: after which it is given up.

    Returns:
        Verdict, and what was found.
    """
    with tempfile.TemporaryDirectory(prefix="clusterwright-") as name:
        place = Path(name)
        net = place / "fabric.net"
        net.write_text(text)
        first = text.split('"', 2)[1] if '"' in text else ""
        nodes, switches = 2 * hosts + 64, text.count("Switch\t") + 16
        ports = sum(int(found) for found in re.findall(r"^(?:Switch|Hca)\t(\d+)", text, re.M)) + 4096
        ibsim, opensm = str(IBSIM.path), str(OPENSM.path)
        socket = {"IBSIM_SOCKNAME": place.name}
        simulator = subprocess.Popen(
            [ibsim, "-s", "-n", "-N", str(nodes), "-S", str(switches), "-P", str(ports), str(net)],
            cwd=place,
            env={**os.environ, **socket},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            log = place / "osm.log"
            words = [opensm, "-o", "-e", "-R", "ftree", "-f", str(log), "-D", "0x3", "--maxsmps", "32"]
            extra = {"LD_PRELOAD": library, "SIM_HOST": first, "OSM_TMP_DIR": name, "OSM_CACHE_DIR": name, **socket}
            done = run(words, place, seconds, extra)
            said = log.read_text(errors="replace") if log.is_file() else ""
        finally:
            os.killpg(simulator.pid, signal.SIGKILL)
            simulator.wait()
    return _verdict(done, said)


def _verdict(done: Judged, log: str) -> tuple[bool, str]:
    if done.code == 124:
        return False, done.text
    bad = _BAD.search(log)
    if bad is not None:
        return False, " ".join(bad.group(0).split())[:200]
    if _CONFIGURED not in log or _UP not in log + done.text:
        return False, "the fat-tree tables were not configured on all switches"
    return True, "routed as a fat tree, subnet up"
