"""What the watcher believes of what Prometheus and checks say, malformed answers included."""

from __future__ import annotations

import http.server
import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterwright.operate.site import Site
from clusterwright.operate.watch import read_policy
from clusterwright.operate.watch.look import Checks, look
from tests.unit.operate.fake_slurm import FakeSlurm


class Pages(http.server.BaseHTTPRequestHandler):
    answers: dict[str, bytes] = {}  # noqa: RUF012

    def do_GET(self) -> None:
        what = (
            "alerts"
            if "/alerts" in self.path
            else "time"
            if "time" in self.path
            else "up"
            if "up%7B" in self.path
            else "xid"
        )
        body = self.answers.get(what, b'{"status":"success","data":{"resultType":"vector","result":[],"alerts":[]}}')
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def prometheus() -> Iterator[str]:
    Pages.answers = {"time": _vector([({}, time.time())])}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def _vector(rows: list[tuple[dict[str, str], float]], at_s: float | None = None) -> bytes:
    found = [{"metric": labels, "value": [at_s or time.time(), str(value)]} for labels, value in rows]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": found}}).encode()


def _alerts(*rows: dict[str, object]) -> bytes:
    return json.dumps({"status": "success", "data": {"alerts": list(rows)}}).encode()


def _look(url: str, folder: Path) -> object:
    site = Site(folder / "site.yaml", "x", folder / "state", prometheus=url)
    return look(site, FakeSlurm(), read_policy(), {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"null", b'{"status":"success"}', b'{"status":"success","data":{"result":[{"metric":{}}]}}',
     b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"n1"},"value":[1,"many"]}]}}',
     b'{"status":"success","data":{"resultType":"vector","result":[{"metric":7,"value":[1,"1"]}]}}',
     b'{"status":"success","data":{"resultType":"matrix","result":[[]]}}', b"\xff\xfe", b"[" * 5000],
)  # fmt: skip
@pytest.mark.parametrize("what", ["alerts", "up", "xid", "time"])
def test_malformed_metrics_make_the_source_blind_and_never_a_signal(
    prometheus: str, tmp_path: Path, what: str, body: bytes
) -> None:
    Pages.answers[what] = body
    world = _look(prometheus, tmp_path)
    assert list(world.signals) == []  # type: ignore[attr-defined]
    assert world.blind["prometheus"]  # type: ignore[attr-defined]


def test_labels_that_name_no_node_or_no_number_are_left_out(prometheus: str, tmp_path: Path) -> None:
    Pages.answers["xid"] = _vector([({"node": "n1", "xid": "79", "gpu": "0"}, 1), ({"node": "$(x)", "xid": "79"}, 1),
                                    ({"node": "n2", "xid": "79; rm"}, 1), ({"node": "n3", "xid": "79"}, float("nan")),
                                    ({"node": "n4", "xid": "79", "gpu": "\x1b[31m"}, 1)])  # fmt: skip
    found = sorted(_look(prometheus, tmp_path).signals)  # type: ignore[attr-defined]
    assert [(s.node, s.kind, s.detail) for s in found] == [
        ("n1", "xid", "xid 79 on GPU 0"),
        ("n4", "xid", "xid 79 on GPU ?[31m"),
    ]


def test_a_clock_of_prometheus_that_is_wrong_moves_no_alert(prometheus: str, tmp_path: Path) -> None:
    Pages.answers["time"] = _vector([({}, 0)], at_s=time.time() + 600)
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 600 - 30))
    Pages.answers["alerts"] = _alerts({"labels": {"alertname": "GpuMissing", "node": "n1"}, "state": "firing",
                                       "activeAt": since})  # fmt: skip
    world = _look(prometheus, tmp_path)
    assert world.skew_s == pytest.approx(600, abs=2)  # type: ignore[attr-defined]
    assert world.signals[0].began_s == pytest.approx(time.time() - 30, abs=3)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("program", "fit", "said"),
    [("print('fine')", True, ("fine",)), ("print('gpu: GPU 0 is gone'); exit(1)", False, ("gpu: GPU 0 is gone",)),
     ("exit(255)", False, ("node: does not answer",)),
     ("import time; time.sleep(9)", False, ("node: does not answer",)),
     ("print('\\x1b[31mred'); exit(1)", False, ("?[31mred",)), ("exit(3)", False, ("check: failed",))],
)  # fmt: skip
def test_what_a_check_says_by_its_exit_code_and_its_lines(program: str, fit: bool, said: tuple[str, ...]) -> None:
    checks = Checks([sys.executable, "-c", program], 1.5)
    until = time.monotonic() + 10
    found = None
    while found is None and time.monotonic() < until:
        found = checks.ask("n1", 0.0)
        time.sleep(0.02)
    checks.close()
    assert found is not None and (found.fit, found.said) == (fit, said)


def test_a_name_that_is_no_name_reaches_no_program() -> None:
    checks = Checks(["touch", "{node}"], 1.0)
    assert checks.ask("a;b", 0.0) is None and checks.ask("../x", 0.0) is None and checks.running == {}
    checks.close()
