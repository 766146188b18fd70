"""Ansible: addresses, groups, versions and roles as the design says, read back and judged by Ansible itself."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from clusterwright.deploy import Folder, verify
from clusterwright.deploy.judges import ansible as judge
from clusterwright.deploy.targets.ansible.facts import facts
from clusterwright.deploy.targets.ansible.reading import Hosts, expanded

VARS = "ansible/inventory/group_vars"


@pytest.fixture(scope="module")
def written(worked, render_of, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ansible") / "b"
    render_of(worked, "ansible").write(folder)
    return folder


def _vars(folder: Path, name: str):
    return yaml.safe_load((folder / VARS / f"{name}.yml").read_text())


def test_every_host_has_the_address_of_its_number(written):
    said = {fact.key: fact.value for fact in facts(Folder.open(written)) if fact.kind == "node.address"}
    # By hand: the block is 10.0.0.0/22; compute nodes start at 256, a quarter of 1,024; spares at 16, login at 32.
    assert said["s1-compute-0001"] == "10.0.1.0"
    assert said["s1-compute-0128"] == "10.0.1.127"
    assert said["s1-spare-0005"] == "10.0.0.20"
    assert said["s1-login-0002"] == "10.0.0.33"
    assert len(said) == 147
    assert len(set(said.values())) == 147


def test_hosts_are_ranges_not_lists(written):
    text = (written / "ansible/inventory/main.yml").read_text()
    assert "s1-compute-[0001:0128]: null" in text
    assert "s1-compute-0002" not in text


def test_a_range_is_read_as_ansible_reads_it():
    assert expanded("n-[08:11]") == ["n-08", "n-09", "n-10", "n-11"]
    with pytest.raises(ValueError, match="neither a host nor a range"):
        expanded("n-[a:b]")
    held = Hosts({"all": {"children": {"a": {"hosts": {"n-[1:2]": None}}, "b": {"children": {"a": None}}}}})
    assert held.groups["b"] == ["n-1", "n-2"]
    assert held.wrong == []


def test_our_own_reading_finds_nothing_wrong_on_either_scheduler(written, company, render_of, tmp_path):
    render_of(company, "ansible").write(tmp_path / "b")
    for folder in (written, tmp_path / "b"):
        checks = verify(folder, live=False)
        assert [check for check in checks if not check.ok] == []
        assert not [check.file for check in checks if check.level == "none"]


def test_the_driver_the_fabric_manager_and_the_libraries_have_one_release(written):
    packages = _vars(written, "gpu_nodes")["gpu_packages"]
    release = _vars(written, "all")["versions"]["nvidia_driver"]
    for name in ("nvidia-open-580", "nvidia-fabricmanager-580", "libnvidia-nscq-580"):
        assert f"{name}={release}*" in packages


def test_a_rack_of_nvl72_runs_imex_and_no_fabric_manager_on_arm(rack_scale, render_of):
    files = render_of(rack_scale, "ansible").files
    held = yaml.safe_load(files[f"{VARS}/gpu_nodes.yml"].text)
    assert any(name.startswith("nvidia-imex-580") for name in held["gpu_packages"])
    assert not any("fabricmanager" in name for name in held["gpu_packages"])
    assert yaml.safe_load(files[f"{VARS}/s1_compute.yml"].text)["nvlink_domain"] == "rack"
    assert "/sbsa/" in yaml.safe_load(files[f"{VARS}/all.yml"].text)["repositories"]["cuda"]["url"]


def test_kubernetes_gets_its_release_and_leaves_the_exporter_to_the_operator(company, render_of):
    files = render_of(company, "ansible", kubernetes="1.35").files
    assert yaml.safe_load(files[f"{VARS}/gpu_nodes.yml"].text)["kubernetes_packages"] == [
        "kubelet=1.35*",
        "kubeadm=1.35*",
        "kubectl=1.35*",
    ]
    assert "ansible/roles/kubernetes/tasks/main.yml" in files
    assert not [path for path in files if "/dcgm/" in path or "/slurm" in path]


def test_a_new_slurm_release_changes_variables_only(worked, render_of):
    old, new = render_of(worked, "ansible", slurm="24.11").files, render_of(worked, "ansible", slurm="25.11").files
    changed = {path for path in old if old[path].text != new[path].text}
    assert changed - {"inventory.json"} == {f"{VARS}/{name}.yml" for name in ("all", "gpu_nodes", "login", "scheduler")}


def test_no_secret_is_in_any_file_and_tasks_that_read_one_log_nothing(worked, render_of):
    for path, file in render_of(worked, "ansible").files.items():
        if path.startswith("ansible/inventory/group_vars/all"):
            lines = [line for line in file.text.splitlines() if line.startswith("secret_")]
            assert len(lines) == 4
            assert all("lookup(''ansible.builtin.env''" in line for line in lines)


def test_nodes_are_rebooted_by_the_rack_of_the_design(worked, render_of):
    play = yaml.safe_load(render_of(worked, "ansible").files["ansible/playbooks/rolling.yml"].text)[0]
    assert play["serial"] == [1, int(worked.value("compute.nodes_per_rack"))]
    assert play["max_fail_percentage"] == 0


def test_equal_designs_give_equal_bytes(worked, render_of):
    assert render_of(worked, "ansible").files == render_of(worked, "ansible").files


@pytest.mark.slow
@pytest.mark.skipif(judge.INVENTORY.path is None, reason=f"needs ansible-inventory: {judge.INVENTORY.install}")
def test_ansible_itself_counts_the_hosts_and_works_out_the_same_addresses(written):
    with judge.copied(written / "ansible") as place:
        here = Path(place) / "ansible"
        held, said = judge.inventory(here)
        assert held is not None, said
        assert len(held["gpu_nodes"]["children"]) == 2
        names = "['s1-compute-0001', 's1-compute-0128', 's1-spare-0005']"
        words = [
            "localhost",
            "-m",
            "debug",
            "-a",
            f"msg={{{{ {names} | map('extract', hostvars, 'ansible_host') | list }}}}",
        ]
        path = str(Path(judge.PLAYBOOK.path or "").with_name("ansible"))
        shown = subprocess.run(
            [path, *words], cwd=here, capture_output=True, text=True, timeout=120, check=False, env=_environment(here)
        )
    assert [word for word in ("10.0.1.0", "10.0.1.127", "10.0.0.20") if word not in shown.stdout] == []


def _environment(here: Path) -> dict[str, str]:
    place = str(Path(judge.PLAYBOOK.path or "").parent)
    return {
        "PATH": f"{place}:/usr/bin:/bin",
        "HOME": str(here),
        "LANG": "C.UTF-8",
        "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
    }


@pytest.mark.slow
@pytest.mark.skipif(judge.LINT.path is None, reason=f"needs ansible-lint: {judge.LINT.install}")
def test_ansible_accepts_every_playbook_and_lint_finds_nothing_in_the_production_profile(written):
    checks = [check for check in verify(written) if check.level == "tool"]
    assert [check for check in checks if not check.ok] == []
    assert {check.judge for check in checks} >= {"ansible-playbook", "ansible-inventory", "ansible-lint"}


def test_the_modules_are_those_of_ansible_core(written):
    table = json.loads(
        (Path(__file__).parents[3] / "clusterwright/deploy/targets/ansible/data/modules.json").read_text("utf-8")
    )
    # Published documentation of ansible.builtin.reboot and .template.
    assert "reboot_timeout" in table["ansible.builtin.reboot"]["options"]
    assert set(table["ansible.builtin.template"]["required"]) == {"src", "dest"}
