"""Faults planted in what Ansible reads; every one is caught by our own reading, without a tool."""

from __future__ import annotations

import pytest

from tests.unit.deploy.conftest import planted

VARS = "ansible/inventory/group_vars"
ALL, SITE, GPU, GROUP = (f"{VARS}/{name}.yml" for name in ("all", "site_main", "gpu_nodes", "s1_compute"))
HOSTS, CFG = "ansible/inventory/main.yml", "ansible/ansible.cfg"
BASE = "ansible/roles/baseline/tasks/main.yml"
HANDLERS = "ansible/roles/slurm/handlers/main.yml"
NFT = "ansible/roles/hardening/templates/nftables.conf.j2"
CHECK = "ansible/roles/health/files/node-check.sh"
TIMER = "ansible/roles/health/files/node-check.timer"
ROLLING = "ansible/playbooks/rolling.yml"

FAULTS = [
    # inventory
    (HOSTS, "s1-compute-[0001:0128]", "s1-compute-[0001:0127]", "1 compute nodes are missing"),
    (HOSTS, "s1-compute-[0001:0006]", "s1-compute-[0001:0007]", "not in exactly one rack"),
    (HOSTS, "s1-compute-[0001:0128]", "s1-compute-[0128:0001]", "empty or uneven range"),
    (HOSTS, "        s1_spare: null", "        s1_spares: null", "which has no hosts"),
    (HOSTS, "          hosts:\n            s1-login", "          host:\n            s1-login", "only hosts, children"),
    (HOSTS, "s1-spare-[0001:0005]", "s1-compute-[0001:0005]", "not in exactly one"),
    (HOSTS, "all:\n", "all: [\n", "parsing"),
    # variables
    (GROUP, "first_number: 256", "first_number: 257", "in the inventory 10.0.1.0"),
    (GROUP, "first_number: 256", "first_number: 32", "have the same address"),
    (GROUP, "gpus: 8", "gpus: 4", "in the inventory 8"),
    (GROUP, "gpus: 8", "gpus: eight", "not a whole number"),
    (GROUP, "nic_gbps:", "nic_gbs:", "is read nowhere"),
    (SITE, "base: 167772160", "base: 167772161", "is not the start of"),
    (SITE, "block: 10.0.4.0/22", "block: 10.0.0.0/22", "overlap"),
    (SITE, "vlan: 100", "vlan: 5000", "vlan 5000"),
    (SITE, "mtu: 9000", "mtu: 90000", "mtu 90000"),
    (SITE, "networks[''management'']", "network[''management'']", "network is set nowhere"),
    (SITE, "- s1-observability-0002\nprom", "- s1-observability-0009\nprom", "there is no host s1-observability-0009"),
    (ALL, "slurmctld: 6817", "slurmctld: 68170", "no port"),
    (ALL, "slurmctld: 6817", "slurmctld: 6818", "in the inventory 6817"),
    (ALL, "'{{ lookup(''ansible.builtin.env'', ''CLUSTER_MUNGE_KEY'') }}'", "c2VjcmV0", "must be looked up"),
    (ALL, "open_files:", "open_file:", "open_files is set nowhere"),
    (GPU, "doca-ofed=3.2.1*", "doca-ofed=3.2.0*", "is of no release in versions"),
    (GPU, "automatic_updates: false", "automatic_updates: never", "not true or false"),
    (GPU, "transparent_hugepages: madvise", "transparent_hugepages: sometimes", "not always, madvise or never"),
    (GPU, "  vm.max_map_count: 1048576", "  max_map_count: 1048576", "no kernel parameter"),
    # ansible.cfg
    (CFG, "forks = ", "fork = ", "is no setting of Ansible"),
    (CFG, "forks = 20", "forks = many", "no whole number"),
    (CFG, "pipelining = True", "pipelining = sometimes", "not True or False"),
    (CFG, "[ssh_connection]", "[ssh]", "there is no section [ssh]"),
    (CFG, "inventory = inventory", "inventory = hosts", "inventory must be inventory"),
    # playbooks
    ("ansible/site.yml", "hosts: gpu_nodes", "hosts: gpu_node", "no group gpu_node"),
    ("ansible/site.yml", "role: baseline", "role: base_line", "there is no role base_line"),
    ("ansible/site.yml", "slurm.yml", "slurmm.yml", "which is not there"),
    (ROLLING, "max_fail_percentage: 0", "max_fail_percent: 0", "no such keyword"),
    (ROLLING, "  - 6\n", "  - six\n", "serial is six"),
    (ROLLING, "max_fail_percentage: 0", "max_fail_percentage: 101", "max_fail_percentage is 101"),
    # tasks
    (BASE, "ansible.builtin.hostname", "hostname", "by its full name"),
    (BASE, "src: sysctl.conf.j2", "src: sysctl.j2", "there is no file templates/sysctl.j2"),
    (BASE, "notify: Restart chrony", "notify: Restart chronyd", "is no handler"),
    (BASE, 'mode: "0644"', "mode: 0644", "mode must be quoted"),
    (BASE, "    dest: /etc/hosts\n", "    destination: /etc/hosts\n", "has no option destination"),
    (BASE, "    state: present", "    states: present", "has no option states"),
    (BASE, "{{ base_packages }}", "{{ base_package }}", "base_package is set nowhere"),
    (BASE, "  changed_when: true", "  changed: true", "by its full name"),
    (BASE, "state: link", "state: links", "not one of"),
    (
        "ansible/roles/slurm/tasks/db.yml",
        "  no_log: true\n  changed_when: false",
        "  changed_when: false",
        "without no_log",
    ),
    # handlers
    (HANDLERS, "name: Restart munge", "name: Restart mung", "is no handler"),
    (HANDLERS, "state: restarted", "state: restart", "not one of"),
    (HANDLERS, "cmd: scontrol", "command: scontrol", "has no option command"),
    (HANDLERS, "slurm_controller_hosts", "slurm_control_hosts", "slurm_control_hosts is set nowhere"),
    (HANDLERS, "- name: Restart slurmdbd", "- name: Restart munge", "two tasks are named"),
    # templates
    (NFT, "{% endfor %}", "{% endfo %}", "template"),
    (NFT, "ports['ssh']", "port['ssh']", "port is set nowhere"),
    (NFT, "| join(', ')", "| joined(', ')", "joined"),
    (NFT, "compute_services", "compute_service", "compute_service is set nowhere"),
    (NFT, "{{ networks[network]['block'] }}", "{{ networks[network]['block' }}", "template"),
    # scripts
    (CHECK, "#!/usr/bin/env bash", "#!/bin/sh", "does not start with"),
    (CHECK, "$EXPECT_NICS", "$EXPECTED_NICS", "$EXPECTED_NICS is set nowhere"),
    (CHECK, "set -uo pipefail\n", "", "does not stop at unset variables"),
    (CHECK, '\ndone\n[ "$nics"', '\n[ "$nics"', "blocks are opened"),
    ("ansible/roles/health/templates/node-check.conf.j2", "EXPECT_GPUS=", "EXPECT_GPU=", "$EXPECT_GPUS is set nowhere"),
    # units
    (TIMER, "[Timer]", "[Time]", "there is no section [Time]"),
    (TIMER, "OnBootSec=3min", "OnBootSec=3 mins", "no time"),
    (TIMER, "OnUnitActiveSec", "OnUnitActive", "has no key OnUnitActive"),
    (TIMER, "WantedBy=timers.target", "WantedBy=", "is empty"),
    (TIMER.replace(".timer", ".service"), "Type=oneshot", "Type=once", "Type is once"),
]


@pytest.fixture(scope="module")
def bundle(worked, render_of):
    return render_of(worked, "ansible")


@pytest.mark.parametrize(("path", "old", "new", "said"), FAULTS, ids=lambda value: str(value)[-48:])
def test_a_planted_fault_is_caught_without_any_tool(bundle, tmp_path, path, old, new, said):
    failed = planted(bundle, path, lambda text: text.replace(old, new, 1), tmp_path / "b", live=False)
    assert any(said in check.message for check in failed), [check.message for check in failed]


def test_every_kind_of_file_has_at_least_five_faults():
    kinds = {
        "inventory": [HOSTS],
        "variables": [ALL, SITE, GPU, GROUP],
        "settings": [CFG],
        "playbooks": ["ansible/site.yml", ROLLING],
        "tasks": [BASE],
        "handlers": [HANDLERS],
        "templates": [NFT],
        "scripts": [CHECK, CHECK.replace("files/node-check.sh", "templates/node-check.conf.j2")],
        "units": [TIMER, TIMER.replace(".timer", ".service")],
    }
    counted = {kind: sum(path in paths for path, *_ in FAULTS) for kind, paths in kinds.items()}
    assert min(counted.values()) >= 5, counted


def test_a_kubeadm_file_that_the_bundle_lacks_is_named(company, render_of, tmp_path):
    path = "ansible/roles/kubernetes/tasks/control_plane.yml"
    bundle = render_of(company, "ansible", "kubernetes")
    failed = planted(bundle, path, lambda t: t.replace("[cluster.yaml", "[clusters.yaml"), tmp_path, live=False)
    assert any("kubeadm/clusters.yaml, which is not in the bundle" in one.message for one in failed)


def test_accounts_are_made_before_the_controller_starts_and_limited_after(worked, render_of):
    text = render_of(worked, "ansible").files["ansible/roles/slurm/tasks/main.yml"].text
    order = ["slurm_names.rc not in [0, 3]", "name: slurmctld", "scontrol ping", "Set quotas"]
    assert [text.index(one) for one in order] == sorted(text.index(one) for one in order)
