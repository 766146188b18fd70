"""What the watcher tells and takes over HTTP: loopback by default, roles by token, every change in the journal.

=====================  ========  ====================================================================================
``GET /metrics``       viewer    for Prometheus
``GET /status``        viewer    actions, conditions, breaker, leader
``POST /undo``         operator  ``{"id": 12}``
``POST /drain``        operator  ``{"node": "n1", "reason": "..."}``; ``/return`` and ``/retire`` as well
``POST /resume``       operator  closes the breaker
``GET /policy``        admin     the policy that holds
=====================  ========  ====================================================================================

On loopback and without any token, everybody on the machine is a viewer and nobody more.
"""

from __future__ import annotations

import http.server
import ipaddress
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clusterwright.errors import ClusterwrightError, InputError, WorldError
from clusterwright.operate.codes import FINDINGS
from clusterwright.operate.watch.hand import asked, resume, taken_back
from clusterwright.operate.watch.leader import leading
from clusterwright.operate.watch.store import Store
from clusterwright.operate.watch.tokens import may, role_of, tokens

__all__ = ["address_of", "listen"]

_MOST_BYTES = 65_536
_SECONDS = 10.0
_STATES = ("intended", "done", "abandoned", "undone", "overruled")


def address_of(text: str, path: Path) -> tuple[str, int]:
    """Host and port of ``127.0.0.1:9095``.

    Raises:
        InputError: it is none.
        WorldError: it is not loopback, and there are no tokens.
    """
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
        if not loopback:
            raise InputError(
                FINDINGS["WATCH-LISTEN"].at("--listen", f"'{text[:60]}' is no address", "--listen 127.0.0.1:9095")
            ) from None
    if not port.isdigit() or not 0 <= int(port) <= 65_535:
        raise InputError(
            FINDINGS["WATCH-LISTEN"].at("--listen", f"'{port[:20]}' is no port", "--listen 127.0.0.1:9095")
        )
    if not tokens(path) and not loopback:
        said = f"{host} can be reached from elsewhere, and there are no tokens"
        raise WorldError(FINDINGS["WATCH-TOKEN"].at(str(path), said, "operate token viewer"))
    return host, int(port)


def listen(text: str, store: Store, policy: Callable[[], Any]) -> http.server.ThreadingHTTPServer:
    """Listen in the background until the program ends.

    Raises:
        InputError, WorldError: it cannot listen there.
    """
    path = store.folder / "tokens"
    host, port = address_of(text, path)
    try:
        server = http.server.ThreadingHTTPServer((host, port), _handler(store, path, policy))
    except OSError as error:
        raise WorldError(FINDINGS["WATCH-LISTEN"].at(text, str(error.strerror), "choose another port")) from None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True, name="listen").start()
    return server


def _handler(store: Store, path: Path, policy: Callable[[], Any]) -> type[http.server.BaseHTTPRequestHandler]:
    gets: dict[str, tuple[str, Callable[[Store], tuple[str, str]]]] = {
        "/metrics": ("viewer", lambda own: ("text/plain; version=0.0.4", _metrics(own))),
        "/status": ("viewer", lambda own: ("application/json", _status(own))),
        "/policy": ("admin", lambda own: ("application/json", json.dumps(policy(), default=str))),
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = _SECONDS

        def _role(self) -> str | None:
            held = tokens(path)
            return role_of(held, self.headers.get("Authorization", "")) if held else "viewer"

        def _answer(self, code: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def _refused(self, needed: str) -> bool:
            role = self._role()
            if may(role, needed):
                return False
            self._answer(403 if role else 401, "text/plain", f"{needed} only: Authorization: Bearer TOKEN\n")
            return True

        def _guarded(self, needed: str, make: Callable[[Store], tuple[str, str]]) -> None:
            try:
                if self._refused(needed):
                    return
                own = Store(store.folder)
                try:
                    kind, text = make(own)
                finally:
                    own.close()
                self._answer(200, kind, text)
            except InputError as error:
                self._answer(409, "text/plain", f"{error.findings[0].message}\n")
            except ClusterwrightError as error:
                self._answer(503, "text/plain", f"{error.findings[0].message}\n")

        def do_GET(self) -> None:
            needed, make = gets.get(self.path.partition("?")[0], ("", None))
            if make is None:
                self._answer(404, "text/plain", "no such page\n")
            else:
                self._guarded(needed, make)

        def do_POST(self) -> None:
            said = self._body()
            word = self.path.removeprefix("/")
            if word not in ("undo", "drain", "return", "retire", "resume"):
                self._answer(404, "text/plain", "no such page\n")
            elif said is None:
                self._answer(400, "text/plain", "say it as a JSON object\n")
            else:
                self._guarded("operator", lambda own: ("application/json", _do(own, word, said, self._who())))

        def _who(self) -> str:
            return f"http {self._role()} {self.client_address[0]}"

        def _body(self) -> dict[str, Any] | None:
            size = self.headers.get("Content-Length", "")
            if not size.isdigit() or not 0 < int(size) <= _MOST_BYTES:
                return {} if size in ("", "0") else None
            try:
                held = json.loads(self.rfile.read(int(size)))
            except (ValueError, RecursionError):
                return None
            return held if isinstance(held, dict) else None

        def log_message(self, *_: object) -> None:
            """Nothing for every scrape."""

    return Handler


def _do(store: Store, word: str, said: dict[str, Any], who: str) -> str:
    """Written down; the watcher does it in its next round."""
    if word == "resume":
        return json.dumps({"was": resume(store, who)})
    if word == "undo":
        number = said.get("id")
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError(FINDINGS["WATCH-ACTION"].at("id", f"{str(number)[:40]!r} is no number of an action"))
        action = taken_back(store, number, who)
    else:
        node = said.get("node")
        if not isinstance(node, str) or not 0 < len(node) < 64 or not node.replace("-", "").replace(".", "").isalnum():
            raise InputError(FINDINGS["WATCH-ACTION"].at("node", f"{str(node)[:40]!r} is no node"))
        action = asked(word, node, who, str(said.get("reason", ""))[:100])
    made = store.intend([action])
    return json.dumps({"id": made[0].id if made else 0, "state": "intended"})


def _status(store: Store) -> str:
    return json.dumps({
        "schema": "clusterwright/operate/1",
        "leader": leading(store),
        "breaker": store.meta("breaker"),
        "actions": [one.to_dict() for one in store.actions()[-100:]],
        "conditions": [{**one.to_dict(), "fate": one.fate} for one in store.conditions()],
    })  # fmt: skip


def _metrics(store: Store) -> str:
    """In Prometheus' text form; labels are our own words only."""
    rows = store.rows("SELECT kind, state, COUNT(*) FROM actions GROUP BY kind, state")
    lines = ["# TYPE clusterwright_actions_total counter"]
    lines += [f'clusterwright_actions_total{{kind="{kind}",state="{state}"}} {count}' for kind, state, count in rows
              if state in _STATES and kind.replace("-", "").isalpha()]  # fmt: skip
    renewed = float(leading(store).get("renewed_s", 0.0))
    lines += [
        "# TYPE clusterwright_breaker_open gauge",
        f"clusterwright_breaker_open {int(bool(store.meta('breaker')))}",
        "# TYPE clusterwright_conditions gauge",
        f"clusterwright_conditions {len(store.conditions())}",
        "# TYPE clusterwright_watcher_seen_seconds gauge",
        f"clusterwright_watcher_seen_seconds {max(time.time() - renewed, 0.0):.3f}",
    ]
    return "\n".join(lines) + "\n"
