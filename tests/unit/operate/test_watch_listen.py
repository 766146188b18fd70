"""What listens: loopback by default, roles by token, nothing that is not asked for by name."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterwright.errors import ClusterwrightError, InputError, WorldError
from clusterwright.operate.watch import Action, Store
from clusterwright.operate.watch.listen import address_of, listen
from clusterwright.operate.watch.tokens import new_token, role_of, tokens


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Store]]:
    store = Store(tmp_path)
    store.intend([Action("drain:n1:x", "drain", "n1", "xid", state="done", params={"event": "n1"})])
    server = listen("127.0.0.1:0", store, lambda: {"version": 1})
    yield f"http://127.0.0.1:{server.server_address[1]}", store
    server.shutdown()
    server.server_close()
    store.close()


def ask(url: str, token: str = "", body: object = None) -> tuple[int, str]:
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(asked, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_without_tokens_the_machine_may_look_and_do_nothing(served: tuple[str, Store]) -> None:
    url, store = served
    assert ask(f"{url}/metrics")[0] == 200 and json.loads(ask(f"{url}/status")[1])["actions"][0]["target"] == "n1"
    assert ask(f"{url}/undo", body={"id": 1})[0] == 403 and ask(f"{url}/policy")[0] == 403
    assert len(store.actions()) == 1


def test_each_role_may_what_it_may_and_no_more(served: tuple[str, Store]) -> None:
    url, store = served
    held = {role: new_token(store.folder / "tokens", role, "ann") for role in ("viewer", "operator", "admin")}
    for role, wanted in (("viewer", (200, 403, 403)), ("operator", (200, 200, 403)), ("admin", (200, 200, 200))):
        got = (ask(f"{url}/status", held[role])[0],
               ask(f"{url}/drain", held[role], {"node": f"n-{role}"})[0],
               ask(f"{url}/policy", held[role])[0])  # fmt: skip
        assert got == wanted, role
    assert ask(f"{url}/status")[0] == ask(f"{url}/status", "wrong")[0] == 401
    assert [(a.target, a.by.split()[1]) for a in store.actions()[1:]] == [
        ("n-operator", "operator"),
        ("n-admin", "admin"),
    ]


def test_an_undo_goes_into_the_journal_once(served: tuple[str, Store]) -> None:
    url, store = served
    token = new_token(store.folder / "tokens", "operator", "ann")
    assert ask(f"{url}/undo", token, {"id": 1})[0] == 200
    assert ask(f"{url}/undo", token, {"id": 1})[0] == 200
    assert [a.kind for a in store.actions()] == ["drain", "return"]
    assert ask(f"{url}/undo", token, {"id": 77})[0] == 409
    assert ask(f"{url}/undo", token, {"id": "1; DROP TABLE actions"})[0] == 409


@pytest.mark.parametrize(
    "body", [b"[1]", b"{", b"\xff", b"[" * 20_000, {"node": "n1 State=DOWN"}, {"node": "../x"}, {}]
)
def test_a_malformed_request_changes_nothing(served: tuple[str, Store], body: object) -> None:
    url, store = served
    token = new_token(store.folder / "tokens", "admin", "ann")
    assert ask(f"{url}/drain", token, body)[0] in (400, 409)
    assert len(store.actions()) == 1


def test_metrics_are_what_prometheus_reads(served: tuple[str, Store]) -> None:
    text = ask(f"{served[0]}/metrics")[1]
    assert 'clusterwright_actions_total{kind="drain",state="done"} 1\n' in text
    assert "clusterwright_breaker_open 0\n" in text


def test_no_token_is_kept_and_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    token = new_token(path, "viewer", "ann")
    assert token not in path.read_text("utf-8") and path.stat().st_mode & 0o777 == 0o600
    assert role_of(tokens(path), f"Bearer {token}") == "viewer" and role_of(tokens(path), token) is None
    path.chmod(0o640)
    with pytest.raises(WorldError, match="others can read it"):
        tokens(path)


def test_beyond_loopback_only_with_tokens(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    for address in ("0.0.0.0:9095", "[::]:9095", "10.1.2.3:9095"):
        with pytest.raises(WorldError, match="WATCH-TOKEN"):
            address_of(address, path)
    assert address_of("127.0.0.1:9095", path) == ("127.0.0.1", 9095)
    new_token(path, "viewer", "ann")
    assert address_of("0.0.0.0:9095", path) == ("0.0.0.0", 9095)


@pytest.mark.parametrize("address", ["nowhere:9095", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", ""])
def test_what_is_no_address_is_said(tmp_path: Path, address: str) -> None:
    with pytest.raises((InputError, ClusterwrightError), match="WATCH-LISTEN"):
        address_of(address, tmp_path / "tokens")
