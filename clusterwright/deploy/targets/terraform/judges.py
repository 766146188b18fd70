"""Terraform or OpenTofu where one is installed, HashiCorp's parser, and AWS as moto plays it."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shutil import copytree
from typing import Any

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges.programs import Program, run
from clusterwright.deploy.targets.terraform.check import sites
from clusterwright.deploy.targets.terraform.policies import filled

__all__ = ["JUDGES", "PROGRAMS", "lifecycle"]

TERRAFORM = Program("terraform", "https://developer.hashicorp.com/terraform/install")
TOFU = Program("tofu", "https://opentofu.org/docs/intro/install")
PROGRAMS = (TERRAFORM, TOFU)
_NO_PROVIDER = "Failed to query available provider packages"


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def validate(folder: Folder) -> Iterator[Check]:
    """``terraform validate`` with the provider from the network or a mirror; nothing where there is no provider."""
    program = next((one for one in PROGRAMS if one.path), None)
    if program is None or program.path is None:
        return
    for root in sites(folder):
        with tempfile.TemporaryDirectory(prefix="clusterwright-") as place:
            here = Path(place) / "module"
            copytree(folder.root / root, here)
            start = run([program.path, "init", "-backend=false", "-input=false", "-no-color"], here)
            if start.code != 0 and _NO_PROVIDER in start.text:
                continue
            said = run([program.path, "validate", "-json"], here) if start.code == 0 else start
        yield from _validated(folder, root, program, said.code, said.text)


def _validated(folder: Folder, root: str, program: Program, code: int, text: str) -> Iterator[Check]:
    try:
        told = json.loads(text)["diagnostics"]
    except (ValueError, KeyError, TypeError):
        told = [] if code == 0 else [{"summary": " ".join(text.split())[:200]}]
    wrong: dict[str, list[str]] = {}
    for one in told:
        name = one.get("range", {}).get("filename", "versions.tf")
        wrong.setdefault(f"{root}/{name}", []).append(f"{one.get('summary')}: {one.get('detail', '')}"[:200])
    for path in folder.glob(f"{root}/*.tf"):
        said = wrong.get(path, [])
        yield Check(path, program.name, program.version, "tool", not said, "; ".join(said) or "valid")


def parsed(folder: Folder) -> Iterator[Check]:
    """HashiCorp's parser of HCL."""
    release = _installed("pygohcl")
    if not release:
        return
    parser: Any = importlib.import_module("pygohcl")
    for path in folder.glob("terraform/*.tf"):
        try:
            parser.loads(folder.read(path))
            yield Check(path, "pygohcl", release, "tool", True, "syntax")
        except Exception as error:  # the binding raises classes of its own
            yield Check(path, "pygohcl", release, "tool", False, " ".join(str(error).split())[:200])


def played(folder: Folder) -> Iterator[Check]:
    """Life cycles and policies put into AWS as moto plays it, after the API's own model."""
    release = _installed("moto")
    if not release or not _installed("boto3"):
        return
    moto, boto3 = importlib.import_module("moto"), importlib.import_module("boto3")
    keys = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_DEFAULT_REGION": "us-east-1"}
    before = {name: os.environ.get(name) for name in keys}
    os.environ.update(keys)
    try:
        with moto.mock_aws():
            yield from _played(folder, boto3, release)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _played(folder: Folder, boto3: Any, release: str) -> Iterator[Check]:
    store, roles = boto3.client("s3"), boto3.client("iam")
    store.create_bucket(Bucket="bucket")
    trust = '{"Version": "2012-10-17", "Statement": []}'
    for root in sites(folder):
        path = f"{root}/terraform.tfvars.json"
        said = _tried(
            lambda at=path: store.put_bucket_lifecycle_configuration(
                Bucket="bucket", LifecycleConfiguration=lifecycle(json.loads(folder.read(at)))
            )
        )
        yield Check(path, "moto", release, "tool", not said, said or "S3 takes the life cycle")
        for path in folder.glob(f"{root}/policies/*"):
            text, name = filled(folder.read(path)), path.rsplit("/", 1)[1].split(".")[0]
            if name.startswith("assume"):
                said = _tried(lambda t=text, n=name: roles.create_role(RoleName=n, AssumeRolePolicyDocument=t))
            elif name in ("bucket",):
                said = _tried(lambda t=text: store.put_bucket_policy(Bucket="bucket", Policy=t))
            elif name == "key":
                said = _tried(lambda t=text: boto3.client("kms").create_key(Policy=t))
            else:
                said = _tried(lambda n=name: roles.create_role(RoleName=n, AssumeRolePolicyDocument=trust)) or _tried(
                    lambda t=text, n=name: roles.put_role_policy(RoleName=n, PolicyName=n, PolicyDocument=t)
                )
            yield Check(path, "moto", release, "tool", not said, said or "AWS takes the policy")


def _tried(call: Any) -> str:
    try:
        call()
    except Exception as error:  # botocore makes its classes at run time
        return " ".join(str(error).split())[:200] or type(error).__name__
    return ""


def lifecycle(data: Mapping[str, Any]) -> dict[str, Any]:
    """The rules as the API of S3 takes them."""
    rules = []
    for rule in data["lifecycle_rules"]:
        made: dict[str, Any] = {
            "ID": rule["id"],
            "Status": "Enabled",
            "Filter": {"Prefix": rule["prefix"]},
            "NoncurrentVersionExpiration": {"NoncurrentDays": rule["noncurrent_days"]},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": rule["abort_upload_days"]},
        }
        if rule["transitions"]:
            made["Transitions"] = [
                {"Days": step["days"], "StorageClass": step["storage_class"]} for step in rule["transitions"]
            ]
        if rule["expire_days"]:
            made["Expiration"] = {"Days": rule["expire_days"]}
        rules.append(made)
    return {"Rules": rules}


JUDGES = (validate, parsed, played)
