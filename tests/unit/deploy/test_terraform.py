"""Terraform: counts, instance types, sizes and prices as the design says; AWS as moto plays it takes the rest."""

from __future__ import annotations

import importlib.util
import json
import math

import pytest

from clusterwright.deploy import TARGETS, Folder, expand, verify
from clusterwright.deploy.targets.terraform.reader import HclError, literal, outside_strings, parse
from clusterwright.errors import InputError


@pytest.fixture(scope="module")
def bundle(rented, render_of):
    return render_of(rented, "terraform")


@pytest.fixture(scope="module")
def data(bundle):
    return json.loads(bundle.files["terraform/main/terraform.tfvars.json"].text)


def test_nodes_are_p5_instances_with_thirty_two_efa_interfaces(data):
    compute = data["groups"]["s1-compute"]
    # Amazon EC2 User Guide: p5.48xlarge has 8 H100 and 32 network cards with EFA.
    assert (compute["instance_type"], compute["count"], compute["gpus"]) == ("p5.48xlarge", 128, 8)
    assert (compute["efa_interfaces"], compute["first_efa_card"]) == (32, 0)
    assert data["networks"]["hosts"] == "10.0.0.0/22"
    assert data["networks"]["vpc"] == "10.0.0.0/16"


def test_the_file_system_holds_and_reads_what_the_design_needs(data, rented):
    lustre = data["lustre"]
    assert lustre["capacity_gib"] % 2400 == 0
    assert lustre["capacity_gib"] * 2**30 >= rented.value("storage.parallel.wanted_bytes")
    mb_s = lustre["capacity_gib"] / 1024 * lustre["throughput_mb_s_per_tib"]
    assert mb_s >= rented.value("storage.parallel.wanted_read_bytes_s") / 1e6


def test_the_budget_is_the_design_s_rent_of_a_month(data, rented):
    year = rented.value("cost.lines.gpu_rent_usd_per_year") + rented.value("cost.lines.cloud_storage_usd_per_year")
    assert data["budget"]["monthly_usd"] == math.ceil(year / 12)


def test_sixty_four_more_gpus_change_data_only(render_of, catalog, bundle):
    from tests.unit.deploy.conftest import RENTED, _designed

    larger = render_of(_designed(catalog, "llm-70b", "compute.gpus=1088", *RENTED), "terraform")
    changed = {path for path in bundle.files if bundle.files[path].text != larger.files[path].text}
    assert changed == {"terraform/main/terraform.tfvars.json", "inventory.json"}


def test_an_accelerator_that_aws_does_not_rent_is_refused_by_name(rack_scale, render_of):
    with pytest.raises(InputError, match="AWS rents no instance with 4 x gb200-nvl72"):
        render_of(rack_scale, "terraform")


def test_a_design_that_is_not_of_aws_s_instances_is_refused_with_what_to_write(worked, render_of):
    with pytest.raises(InputError, match="stands on hgx-h100 and infiniband-ndr, AWS has EFA") as refused:
        render_of(worked, "terraform")
    assert "compute.server: aws-p5.48xlarge" in refused.value.findings[0].hint


def test_it_is_written_when_the_design_rents_at_aws_and_the_cabling_is_not(worked, rented, catalog):
    wanted = {name: [TARGETS[name].wanted(expand(c, catalog)) for c in (worked, rented)] for name in TARGETS}
    assert (wanted["terraform"], wanted["fabric"]) == ([False, True], [True, False])


def test_the_instance_is_the_server_of_the_design(catalog, render_of):
    from tests.unit.deploy.conftest import RENTED, _designed

    # H200 are in p5e (32 cards of 100 Gb/s) and in p5en (16 of 200 Gb/s)
    sets = ("compute.accelerators=[h200-sxm-141gb]", *RENTED, "compute.server=aws-p5e.48xlarge")
    made = render_of(_designed(catalog, "llm-70b", *sets), "terraform")
    compute = json.loads(made.files["terraform/main/terraform.tfvars.json"].text)["groups"]["s1-compute"]
    assert (compute["instance_type"], compute["efa_interfaces"]) == ("p5e.48xlarge", 32)


def test_secrets_accounts_and_images_are_named_nowhere(bundle):
    given = set(json.loads(bundle.files["terraform/main/terraform.tfvars.json"].text))
    assert not given & {"account_id", "ami_id", "capacity_reservation_id", "admin_blocks"}


def test_the_reader_finds_blocks_labels_and_arguments_over_lines():
    root = parse('a "b" "c" {\n  x = [\n    1, # one\n    2,\n  ]\n  d {\n    y = "${var.z}/}"\n  }\n}\n')
    block = root.blocks[0]
    assert (block.kind, block.labels, block.arguments["x"]) == ("a", ("b", "c"), "[ 1 , 2 , ]")
    assert block.blocks[0].arguments["y"] == '"${var.z}/}"'
    assert "var.z" in outside_strings('"${var.z}/}"')
    assert literal('"${var.z}"') is None
    for wrong in ("a {\n", "a {\n x = \n}\n", 'a {\n x = "b\n}\n', "a {\n x = (1\n}\n", "}\n"):
        with pytest.raises(HclError):
            parse(wrong)


def test_nothing_is_wrong_and_every_file_is_read(bundle, tmp_path):
    bundle.write(tmp_path / "b")
    checks = verify(tmp_path / "b", live=False)
    assert [check for check in checks if not check.ok] == []
    assert not [check.file for check in checks if check.level == "none"]


@pytest.mark.skipif(importlib.util.find_spec("moto") is None, reason="needs moto: pip install 'moto[s3,iam]' boto3")
def test_s3_and_iam_as_moto_plays_them_take_the_life_cycle_and_every_policy(bundle, tmp_path):
    from clusterwright.deploy.targets.terraform.judges import played

    bundle.write(tmp_path / "b")
    checks = list(played(Folder.open(tmp_path / "b")))
    assert len(checks) == 7
    assert [check for check in checks if not check.ok] == []


@pytest.mark.skipif(importlib.util.find_spec("pygohcl") is None, reason="needs pygohcl: pip install pygohcl")
def test_hashicorps_parser_takes_every_file(bundle, tmp_path):
    from clusterwright.deploy.targets.terraform.judges import parsed

    bundle.write(tmp_path / "b")
    checks = list(parsed(Folder.open(tmp_path / "b")))
    assert len(checks) == 10
    assert all(check.ok for check in checks)
