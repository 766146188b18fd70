"""Policies of IAM, KMS and S3: grammar, actions, and that nothing is granted on everything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.deploy.bundle import Folder
from clusterwright.deploy.targets.terraform.reader import Block

__all__ = ["filled", "policy"]

_STATEMENT = {"Sid", "Effect", "Action", "Resource", "Principal", "Condition", "NotAction", "NotResource"}
_ACTIONS = {
    "s3": "ListBucket GetBucketLocation GetObject PutObject AbortMultipartUpload ListMultipartUploadParts *",
    "kms": "Decrypt Encrypt GenerateDataKey DescribeKey ReEncryptFrom ReEncryptTo *",
    "logs": "CreateLogStream PutLogEvents DescribeLogStreams",
    "sts": "AssumeRole",
}
"""Actions that our policies name (Service Authorization Reference)."""
_CONDITIONS = {"Bool", "ArnLike", "NumericLessThan", "StringEquals", "StringLike", "IpAddress"}
_SAMPLES = {
    "bucket": "arn:aws:s3:::bucket",
    "key": "arn:aws:kms:us-east-1:123456789012:key/1",
    "account": "123456789012",
}
_SAMPLES |= {"partition": "aws", "region": "us-east-1", "group": "arn:aws:logs:us-east-1:123456789012:log-group:g"}


def filled(text: str) -> str:
    """The policy with sample values in place of Terraform's."""
    return re.sub(r"\$\{(\w+)\}", lambda found: _SAMPLES.get(found[1], found[0]), text)


def policy(folder: Folder, root: str, path: str, held: Mapping[str, Block]) -> Iterator[str]:
    """One policy of the folder ``policies``."""
    text, name = folder.read(path), path.removeprefix(f"{root}/")
    yield from _asked(text, name, held)
    try:
        data = json.loads(text)
    except ValueError as error:
        yield f"is no JSON: {error}"
        return
    if not isinstance(data, dict) or data.get("Version") != "2012-10-17" or not isinstance(data.get("Statement"), list):
        yield "needs Version 2012-10-17 and a list of statements"
        return
    for statement in data["Statement"]:
        if isinstance(statement, dict):
            yield from _statement(statement, name)
        else:
            yield "a statement is no mapping"


def _asked(text: str, name: str, held: Mapping[str, Block]) -> Iterator[str]:
    """The values that the template takes are those that the call gives."""
    calls = [
        expression
        for root in held.values()
        for block in root.blocks
        for expression in block.arguments.values()
        if f"/{name}" in expression
    ]
    if not calls:
        yield "is used nowhere"
    needed = set(re.findall(r"\$\{(\w+)\}", text))
    for call in calls:
        given = set(re.findall(r"(\w+)\s*=(?!=)", call.split(name, 1)[1]))
        if needed != given:
            takes, gets = (", ".join(sorted(names)) or "nothing" for names in (needed, given))
            yield f"takes {takes}, but is given {gets}"


def _many(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _statement(statement: Mapping[str, Any], name: str) -> Iterator[str]:
    at = str(statement.get("Sid", "statement"))
    if extra := set(statement) - _STATEMENT:
        yield f"{at}: there is no {', '.join(sorted(extra))}"
    if statement.get("Effect") not in ("Allow", "Deny"):
        yield f"{at}: Effect is {statement.get('Effect')!r}"
    for action in _many(statement.get("Action", "")):
        service, _, what = action.partition(":")
        if what not in _ACTIONS.get(service, "").split():
            yield f"{at}: there is no action {action!r}"
    for operator in statement.get("Condition", {}):
        if operator not in _CONDITIONS:
            yield f"{at}: there is no condition {operator}"
    wide = any(one.endswith(":*") for one in _many(statement.get("Action", "")))
    if "assume" in name:
        if "Principal" not in statement or "Resource" in statement:
            yield f"{at}: a trust policy has a Principal and no Resource"
    elif "Resource" not in statement:
        yield f"{at}: has no Resource"
    elif statement.get("Effect") == "Allow" and "key" not in name:
        if wide or "*" in _many(statement["Resource"]):
            yield f"{at}: allows everything"
        if "Principal" in statement and statement["Principal"] == "*":
            yield f"{at}: allows everybody"
