"""Faults planted in what Terraform reads; every one is caught by our own reading, without a tool."""

from __future__ import annotations

import pytest

from tests.unit.deploy.conftest import planted

ROOT = "terraform/main"
NET, COMPUTE, STORE = (f"{ROOT}/{name}.tf" for name in ("network", "compute", "storage"))
DATA, POLICY, VARS = f"{ROOT}/terraform.tfvars.json", f"{ROOT}/policies/host.json.tftpl", f"{ROOT}/variables.tf"

FAULTS = [
    # HCL
    (NET, 'resource "aws_vpc" "this"', 'resource "aws_vpcs" "this"', "there is no resource aws_vpcs"),
    (NET, "enable_dns_support ", "enable_dns_supports ", "has no argument enable_dns_supports"),
    (NET, "aws_subnet.public.id", "aws_subnet.publik.id", "aws_subnet.publik is declared nowhere"),
    (NET, "aws_vpc.this.id", "aws_vpc.this.identity", "has no attribute identity"),
    (NET, "var.networks.hosts", "var.network.hosts", "var.network is declared nowhere"),
    (NET, 'traffic_type             = "REJECT"', 'traffic_type             = "DENY"', "not one of"),
    (NET, "enable_dns_support   = true", 'enable_dns_support   = "yes"', "not true or false"),
    (NET, "\n}\n", "\n", "does not end"),
    (NET, "    vpc_id = aws_vpc.this.id\n  }\n", "  }\n", "needs vpc_id"),
    (COMPUTE, "http_tokens ", "http_token ", "has no argument http_token"),
    (COMPUTE, '"efa-only"', '"efa_only"', "not one of"),
    (COMPUTE, 'strategy = "cluster"', 'strategy = "clustered"', "not one of"),
    (COMPUTE, "  for_each = local.hosts\n\n  launch", "\n  launch", "each is used without for_each"),
    (COMPUTE, "local.interfaces", "local.interface", "local.interface is declared nowhere"),
    (COMPUTE, "  metadata_options {", "  metadata_option {", "has no block metadata_option"),
    (COMPUTE, "ttl      = 300", 'ttl      = "5m"', "no number"),
    (COMPUTE, 'dynamic "network_interfaces"', 'dynamic "interfaces"', "has no block interfaces"),
    (STORE, "policies/bucket.json.tftpl", "policies/buckets.json.tftpl", "there is no file"),
    (STORE, '"PERSISTENT_2"', '"PERSISTENT_3"', "not one of"),
    (STORE, 'events = ["NEW", "CHANGED"]', 'events = ["NEW", "RENAMED"]', "not one of"),
    (f"{ROOT}/versions.tf", '"~> 6.25"', '">= 6"', "is not pinned"),
    (VARS, "  type        = list(string)\n}", "}", "has no type"),
    (VARS, 'variable "lustre"', 'variable "luster"', "var.lustre is declared nowhere"),
    # data
    (DATA, '"count": 128', '"count": 127', "1 compute nodes are missing"),
    (DATA, '"first": 256', '"first": 255', "in the inventory 10.0.1.0"),
    (DATA, '"instance_type": "p5.48xlarge"', '"instance_type": "p5.48xlarg"', "is no instance type"),
    (DATA, '"efa_interfaces": 32', '"efa_interfaces": 16', "has 8 GPUs and 32 EFA"),
    (DATA, '"role": "compute"', '"rolle": "compute"', "is missing or unknown"),
    (DATA, '"throughput_mb_s_per_tib": ', '"throughput_mb_s_per_tib": 1', "is not sold"),
    (DATA, '"storage": "10.0.12.0/22"', '"storage": "10.2.12.0/22"', "is outside the VPC"),
    (DATA, '"STANDARD_IA"', '"STANDARD-IA"', "there is no storage class"),
    (DATA, '"days": 30', '"days": 20', "takes objects from day 30"),
    (DATA, '"lustre"', '"luster"', "is no variable"),
    (DATA, '"monthly_usd": ', '"monthly_usd": -', "US dollars a month"),
    # policies
    (POLICY, '"Effect": "Allow"', '"Effect": "Permit"', "Effect is 'Permit'"),
    (POLICY, "s3:ListBucket", "s3:ListBuket", "there is no action"),
    (POLICY, '"Resource": "${key}"', '"Resource": "*"', "allows everything"),
    (POLICY, "${key}", "${keys}", "but is given"),
    (POLICY, "2012-10-17", "2012-10-18", "needs Version"),
    (POLICY, '"Statement": [', '"Statement": [,', "is no JSON"),
]


@pytest.fixture(scope="module")
def bundle(rented, render_of):
    return render_of(rented, "terraform")


@pytest.mark.parametrize(("path", "old", "new", "said"), FAULTS, ids=lambda value: str(value)[-48:])
def test_a_planted_fault_is_caught_without_any_tool(bundle, tmp_path, path, old, new, said):
    failed = planted(bundle, path, lambda text: text.replace(old, new, 1), tmp_path / "b", live=False)
    assert any(said in check.message for check in failed), [check.message for check in failed]
