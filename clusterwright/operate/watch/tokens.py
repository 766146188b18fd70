"""Tokens and roles for what listens: a file that only its owner can read, which holds hashes and no token."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from pathlib import Path

from clusterwright.errors import InputError, WorldError
from clusterwright.operate.codes import FINDINGS

__all__ = ["ROLES", "may", "new_token", "role_of", "tokens"]

ROLES = ("viewer", "operator", "admin")
"""Each may do what those before it may."""


def may(role: str | None, needed: str) -> bool:
    """Whether a role is enough."""
    return role in ROLES and ROLES.index(role) >= ROLES.index(needed)


def _hash(token: str) -> str:
    """Tokens are 256 random bits: one round of SHA-256 cannot be turned back, and needs no salt."""
    return hashlib.sha256(token.encode()).hexdigest()


def tokens(path: Path) -> dict[str, str]:
    """Hash -> role; empty when there is no file.

    Raises:
        WorldError: others can read the file.
        InputError: it is no file of tokens.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise WorldError(FINDINGS["WATCH-TOKEN"].at(str(path), f"cannot be read: {error}")) from None
    if mode & 0o077:
        raise WorldError(FINDINGS["WATCH-TOKEN"].at(str(path), "others can read it", f"chmod 600 {path}"))
    try:
        held = {str(one["sha256"]): str(one["role"]) for one in map(json.loads, text.splitlines())}
    except (ValueError, KeyError, TypeError):
        held = {"": ""}
    if any(role not in ROLES or len(key) != 64 for key, role in held.items()):
        raise InputError(FINDINGS["WATCH-TOKEN"].at(str(path), "is no file of tokens", "operate token ROLE makes one"))
    return held


def new_token(path: Path, role: str, by: str) -> str:
    """Make a token; only its hash is kept, so this is the only time that it is seen.

    Raises:
        WorldError: the file cannot be written, or others can read it.
    """
    tokens(path)
    token = secrets.token_urlsafe(32)
    line = json.dumps({"sha256": _hash(token), "role": role, "by": by, "made_s": round(time.time())})
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "a", encoding="utf-8") as stream:
            stream.write(line + "\n")
    except OSError as error:
        raise WorldError(FINDINGS["WATCH-TOKEN"].at(str(path), f"cannot be written: {error.strerror}")) from None
    return token


def role_of(held: dict[str, str], said: str) -> str | None:
    """The role of ``Bearer TOKEN``; None for none. Each hash is compared in constant time."""
    if not said.startswith("Bearer "):
        return None
    given, found = _hash(said.removeprefix("Bearer ").strip()), None
    for key, role in held.items():
        if hmac.compare_digest(key, given):
            found = role
    return found
