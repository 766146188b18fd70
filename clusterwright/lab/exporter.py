"""The exporters of all nodes in one process: ``python -m clusterwright.lab.exporter ROOT``.

Serves ``/JOB/NODE`` in the names of dcgm-exporter, node_exporter and the others, on loopback, for whoever has the token
of the lab; takes Alertmanager's calls under ``/alerts/RECEIVER`` and keeps them in ``alerts.jsonl``.
"""

from __future__ import annotations

import contextlib
import hmac
import http.server
import json
import os
import re
import sys
import threading
import time
from pathlib import Path

from clusterwright.lab.faults import broken
from clusterwright.lab.hardware import Hardware
from clusterwright.lab.place import Lab
from clusterwright.lab.processes import call, marked

__all__ = ["serve"]

_ALLOCATED = re.compile(r"^NodeName=(\S+) .*? AllocTRES=\S*?gres/gpu=(\d+)")
_MOST_BYTES = 1 << 20


class _Watch(threading.Thread):
    """Looks at Slurm, at processes and at the faults, and turns the counters on."""

    def __init__(self, lab: Lab, hardware: Hardware, every_s: float) -> None:
        super().__init__(daemon=True)
        self.lab, self.hardware, self.every_s = lab, hardware, every_s

    def run(self) -> None:
        while self.lab.root.is_dir():
            begun = time.monotonic()
            with contextlib.suppress(OSError, ValueError):
                self.look()
            time.sleep(max(self.every_s - (time.monotonic() - begun), 0.2))
        os._exit(0)

    def look(self) -> None:
        code, said = call(self.lab, ["scontrol", "--oneliner", "show", "node"], 10)
        lines = said.splitlines() if code == 0 else []
        held = {found.group(1): int(found.group(2)) for line in lines if (found := _ALLOCATED.match(line))}
        at_work = {one.node for one in marked(self.lab.root) if one.task}
        faults = broken(self.lab)
        room = os.statvfs(self.lab.shared)
        self.hardware.shared = (room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize)
        for name, node in self.hardware.nodes.items():
            node.faults = [one for one in faults if one.node == name]
            node.running = name in at_work
            if code == 0:
                node.allocated = held.get(name, 0)
        self.hardware.advance(time.time())


def _handler(lab: Lab, hardware: Hardware, token: str) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def _known(self) -> bool:
            said = self.headers.get("Authorization", "")
            good = hmac.compare_digest(said.encode(), f"Bearer {token}".encode())
            if not good:
                self._answer(401, b"say the token of the lab\n")
            return good

        def _answer(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            if not self._known():
                return
            _, _, path = self.path.partition("/")
            job, _, node = path.partition("/")
            if job == "cost-exporter":
                text = "".join(
                    one.read_text("utf-8") for one in lab.bundle.glob("monitoring/*/cost-exporter/cost.prom")
                )
            else:
                text = hardware.page(job, node)
            self._answer(200 if text else 503, text.encode())

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            if not self._known() or not 0 < size <= _MOST_BYTES:
                return
            body = json.loads(self.rfile.read(size))
            with (lab.root / "alerts.jsonl").open("a", encoding="utf-8") as stream:
                for alert in body.get("alerts", []):
                    row = {"at_s": time.time(), "receiver": self.path.rpartition("/")[2], **alert}
                    stream.write(json.dumps(row) + "\n")
            self._answer(200, b"")

        def log_message(self, *_: object) -> None:
            """Nothing for every scrape."""

    return Handler


def serve(root: Path) -> None:
    """Serve until the lab is gone."""
    lab = Lab(root)
    wanted = json.loads((root / "exporter.json").read_text("utf-8"))
    token = (root / "token").read_text("utf-8").strip()
    hardware = Hardware(wanted["gpus"], wanted["gpu_power_w"], wanted["nics"])
    _Watch(lab, hardware, wanted["every_s"]).start()
    http.server.ThreadingHTTPServer(("127.0.0.1", wanted["port"]), _handler(lab, hardware, token)).serve_forever()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
