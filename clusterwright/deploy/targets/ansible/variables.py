"""``group_vars``: everything in which one cluster differs from another, so that roles are the same for all."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.deploy.bundle import File
from clusterwright.deploy.inventory import Group, Inventory, Site
from clusterwright.deploy.ports import LISTENERS
from clusterwright.deploy.targets.ansible.mounts import LOCAL, client
from clusterwright.deploy.targets.ansible.naming import ROOT, RUN, group_name
from clusterwright.deploy.targets.ansible.packages import (
    base,
    exporter,
    fabric_kind,
    gpu,
    nvlink_domain,
    repositories,
    scheduler,
)
from clusterwright.deploy.targets.ansible.versions import SYSTEMS, releases
from clusterwright.deploy.text import as_yaml

__all__ = ["ADDRESS", "variables"]

Values = dict[str, Any]
Section = tuple[str, Values]
_MIB = 1 << 20
_OPEN_FILES = 1_048_576
_NVME_SHARE = 0.9
"""Of the drives' capacity: sizes are sold in powers of ten, and some of it is spare."""
_MEMORY_SHARE = 0.95
"""Of the memory: the kernel and the firmware keep some."""
_NUMBER = "{% set n = networks['management']['base'] | int + host_number | int %}"
ADDRESS = _NUMBER + "{{ n // 16777216 }}.{{ n // 65536 % 256 }}.{{ n // 256 % 256 }}.{{ n % 256 }}"
"""The management address: start of the site's block plus the host's number."""


def variables(inventory: Inventory) -> Iterator[File]:
    """Files of ``group_vars``: all, sites, roles, server groups."""
    yield _file("all", "Variables of all hosts", _all(inventory))
    for site in inventory.sites:
        yield _file(group_name("site", site.name), f"Variables of site {site.name}", _site(inventory, site))
    if any(group.gpus for group in inventory.groups):
        yield _file("gpu_nodes", "Variables of accelerator nodes", _gpu_nodes(inventory))
    for role in ("login", "scheduler"):
        if any(group.role == role for group in inventory.groups):
            yield _file(role, f"Variables of {role} hosts", _role(inventory, role))
    for group in inventory.groups:
        yield _file(group_name("", group.name), f"Variables of {group.name}: {group.title}", _group(group))


def _file(name: str, title: str, sections: list[Section]) -> File:
    parts = [f"# {title}; rendered by clusterwright, do not edit.\n"]
    for why, values in sections:
        said = "".join(f"# {line}\n" for line in why.splitlines())
        parts.append(f"{said}{as_yaml(values)}")
    return File(f"{ROOT}/inventory/group_vars/{name}.yml", "\n".join(parts), after=RUN)


def _secret(name: str) -> str:
    return f"{{{{ lookup('ansible.builtin.env', 'CLUSTER_{name}') }}}}"


def _all(inventory: Inventory) -> list[Section]:
    settings, system = inventory.settings, SYSTEMS[inventory.settings.os]
    gpus = next((group for group in inventory.groups if group.gpus), None)
    found = releases(inventory)
    kubernetes = inventory.scheduler == "kubernetes"
    return [
        (
            "The cluster",
            {
                "cluster_name": inventory.name,
                "cluster_domain": settings.domain,
                "scheduler": inventory.scheduler,
                "registry": settings.registry,
                "contact": settings.contact,
                "os_distribution": system.distribution,
                "os_version": system.version,
                "bundle_dir": "{{ inventory_dir | dirname | dirname }}",
            },
        ),
        ("Who logs in, and who may become root", {"ansible_user": "deploy", "admin_group": "cluster-admins"}),
        (
            "Secrets are never kept here: pipeline or operator take them from the secrets store into the environment",
            {
                "secret_ldap_bind": _secret("LDAP_BIND_PASSWORD"),
                **(
                    {"secret_etcd_key": _secret("ETCD_KEY")}
                    if kubernetes
                    else {
                        "secret_munge_key": _secret("MUNGE_KEY"),
                        "secret_jwt_key": _secret("JWT_KEY"),
                        "secret_slurmdbd_password": _secret("SLURMDBD_PASSWORD"),
                    }
                ),
                "ca_bundle_source": _secret("CA_BUNDLE"),
            },
        ),
        ("Releases", {"versions": found}),
        ("Package sources; an isolated site puts its mirror here", {"repositories": repositories(inventory, gpus)}),
        ("Names that the operating system decides", base(system)),
        ("Ports, the same in every file of the bundle", {"ports": dict(inventory.ports)}),
        ("Users: groups of tenants come from the directory", _users(inventory)),
        ("Kernel parameters of every host", {"sysctl_all": _sysctl_all(inventory), "open_files": _OPEN_FILES}),
        ("Hosts without accelerators; gpu_nodes.yml has the others", _defaults()),
        ("Where the files of other targets lie in the bundle", _folders(inventory)),
        ("Rails", _rails(inventory)),
    ]


def _users(inventory: Inventory) -> Values:
    base_dn = ",".join(f"dc={part}" for part in inventory.settings.domain.split("."))
    return {
        "ldap_base": base_dn,
        "ldap_bind_dn": f"cn=sssd,ou=services,{base_dn}",
        "tenant_groups": [tenant.name for tenant in inventory.tenants],
        "user_networks": [inventory.settings.network],
    }


def _sysctl_all(inventory: Inventory) -> Values:
    # Every host of a site may be a neighbour: thresholds of the ARP table hold twice as many before it is cleaned.
    most = max((len(list(inventory.at(site))) for site in inventory.sites), default=0)
    held = max(1024, 1 << (2 * most).bit_length())
    made: Values = {
        "fs.protected_fifos": 2,
        "fs.protected_regular": 2,
        "fs.suid_dumpable": 0,
        "kernel.dmesg_restrict": 1,
        "kernel.kptr_restrict": 2,
        "kernel.panic": 60,
        "net.core.somaxconn": 4096,
        "net.ipv4.conf.all.accept_redirects": 0,
        "net.ipv4.conf.all.accept_source_route": 0,
        "net.ipv4.conf.all.log_martians": 1,
        "net.ipv4.conf.all.rp_filter": 2,
        "net.ipv4.conf.all.send_redirects": 0,
        "net.ipv4.neigh.default.gc_thresh1": held,
        "net.ipv4.neigh.default.gc_thresh2": 2 * held,
        "net.ipv4.neigh.default.gc_thresh3": 4 * held,
        "net.ipv4.tcp_syncookies": 1,
        "net.ipv6.conf.all.accept_redirects": 0,
        "vm.swappiness": 1,
    }
    if inventory.scheduler == "kubernetes":
        made |= {"net.ipv4.ip_forward": 1, "net.bridge.bridge-nf-call-iptables": 1, "vm.overcommit_memory": 1}
    return made


def _defaults() -> Values:
    return {
        "gpus": 0,
        "gpu_vendor": "",
        "nics": 0,
        "nic_gbps": 0,
        "login_open": False,
        "automatic_updates": True,
        "held_packages": [],
        "open_networks": ["storage"],
        "client_networks": ["management"],
        "compute_services": [],
        "ssh_sources": ["{{ networks['management']['block'] }}"],
        "kernel_modules": ["br_netfilter", "overlay"],
        "sysctl_group": {},
        "local_mount": LOCAL,
        "textfile_dir": "/var/lib/prometheus/node-exporter",
    }


def _folders(inventory: Inventory) -> Values:
    made: Values = {
        "monitoring_folder": "monitoring/{{ site_name }}",
        **(
            {"dcgm_fields": "{{ monitoring_folder }}/dcgm-exporter/counters.csv", "dcgm_interval_ms": 15000}
            if exporter(inventory)
            else {}
        ),
    }
    if inventory.scheduler == "kubernetes":
        made["kubernetes_folder"] = "kubernetes/{{ site_name }}"
    elif inventory.scheduler == "slurm":
        script = inventory.settings.slurm >= "25.11"
        made |= {
            "slurm_folder": "slurm/{{ site_name }}",
            "slurmdbd_password_name": f"slurmdbd_password.{'sh' if script else 'conf'}",
            "slurmdbd_password_mode": "0700" if script else "0600",
            "slurmdbd_password_text": "#!/bin/sh\necho '{{ secret_slurmdbd_password }}'\n"
            if script
            else "StoragePass={{ secret_slurmdbd_password }}\n",
            "mariadb_packages": ["mariadb-server"],
            "mariadb_conf": SYSTEMS[inventory.settings.os].of(
                "/etc/mysql/mariadb.conf.d/90-slurm.cnf", "/etc/my.cnf.d/90-slurm.cnf"
            ),
        }
    return made


def _rails(inventory: Inventory) -> Values:
    # DSCP 26 in priority 3 is the marking that NVIDIA's and most vendors' RoCE profiles expect.
    kind = fabric_kind(inventory)
    if kind == "efa":
        release = releases(inventory)["efa_installer"]
        url = f"https://efa-installer.amazonaws.com/aws-efa-installer-{release}.tar.gz"
        return {"efa_installer_url": url, **({"rdma_kind": kind} if inventory.scheduler == "slurm" else {})}
    return {"rdma_kind": kind, "roce_dscp": 26, "roce_priority": 3}


def _site(inventory: Inventory, site: Site) -> list[Section]:
    networks = {
        network.name: {
            "block": network.block,
            "base": int(ipaddress.IPv4Network(network.block).network_address),
            "gateway": network.gateway,
            "vlan": network.vlan,
            "mtu": network.mtu,
        }
        for network in site.networks.values()
    }
    serving = {name: list(many) for name, many in site.services.items()}
    return [
        (
            "The site",
            {"site_name": site.name, "site_domain": site.domain, "site_region": site.region},
        ),
        (
            "Networks; base is the start of the block as a number, which the formula of addresses adds to",
            {"networks": networks},
        ),
        (
            "Address of a host: its place in the range is its place in the block of its site, so no list is kept.\n"
            "Management and storage interfaces get these addresses by DHCP, rails by rail-setup.",
            {
                "host_number": "{{ first_number | int + (inventory_hostname | regex_search('[0-9]+$') | int) - 1 }}",
                "ansible_host": ADDRESS,
            },
        ),
        ("Which host serves what", _serving(inventory, site, serving)),
        ("Ports that each of them opens", {"host_services": _listening(serving)}),
        ("File systems", client(inventory, site, SYSTEMS[inventory.settings.os])),
    ]


def _serving(inventory: Inventory, site: Site, serving: Mapping[str, list[str]]) -> Values:
    addresses = {host.name: inventory.address(host) for host in inventory.at(site) if not host.gpus}
    time = serving.get("DNS, DHCP, NTP", [])
    ldap = serving.get("identity provider (LDAP, OIDC)", [])
    made: Values = {
        "service_hosts": sorted({name for many in serving.values() for name in many}),
        "dns_servers": [addresses[name] for name in time],
        "ntp_servers": [addresses[name] for name in time],
        "time_hosts": time,
        "time_upstream": ["0.pool.ntp.org", "1.pool.ntp.org"],
        "ldap_servers": [f"{name}.{site.domain}" for name in ldap],
        "log_hosts": serving.get("Loki or OpenSearch", []),
        "prometheus_hosts": serving.get("Prometheus", []),
        "alertmanager_hosts": serving.get("Alertmanager", []),
    }
    if inventory.scheduler == "kubernetes":
        control = serving.get("control plane (API server, etcd)", [])
        made |= {
            "kubernetes_control_hosts": control,
            "scheduler_host": control[0] if control else "",
        }
    elif inventory.scheduler == "slurm":
        control = serving.get("slurmctld", [])
        made |= {
            "slurm_controller_hosts": control,
            "slurm_db_hosts": serving.get("slurmdbd and MariaDB", []),
            "slurm_rest_hosts": serving.get("slurmrestd", []),
            "scheduler_host": control[0] if control else "",
        }
    return made


def _listening(serving: Mapping[str, list[str]]) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for component, many in serving.items():
        for name in many:
            made.setdefault(name, []).extend(LISTENERS.get(component, ()))
    return {name: sorted(set(ports)) for name, ports in sorted(made.items()) if ports}


def _gpu_nodes(inventory: Inventory) -> list[Section]:
    group = next(group for group in inventory.groups if group.gpus)
    kind, slurm = fabric_kind(inventory), inventory.scheduler == "slurm"
    rails = [f"rail-{k + 1}" for k in range(group.nics)] if kind in ("infiniband", "roce") else []
    modules = ["overlay", *([] if slurm else ["br_netfilter"])]
    return [
        ("Packages; driver, fabric manager and RDMA stack are held at one release", gpu(inventory, group)),
        (
            "No automatic updates: a new kernel or driver under a running job kills it; nodes of a job must be equal.\n"
            "Updates come by playbooks/rolling.yml, rack by rack.",
            {"automatic_updates": False},
        ),
        (
            "No pool of static huge pages: CUDA and NCCL pin their own buffers, a pool is lost to the page\n"
            "cache of data loaders. Transparent ones on request (madvise): always would stall ranks in compaction.",
            {"huge_pages": 0, "transparent_hugepages": "madvise"},
        ),
        (
            "iommu=pt: devices reach each other and memory without a detour through the IOMMU's tables",
            {
                "kernel_command_line": [
                    "iommu=pt",
                    "transparent_hugepage=madvise",
                    "numa_balancing=disable",
                    "hugepages=0",
                    "pci=realloc",
                ],
                "kernel_modules": modules,
                "sysctl_group": _sysctl_gpu(inventory),
            },
        ),
        (
            "Whose packets come in: ranks on the rails, storage, and pods where there are some",
            {
                "open_networks": [*rails, "storage", *([] if slurm else ["pods"])],
                "compute_services": ["slurmd"] if slurm else ["kubelet"],
            },
        ),
        (
            "Local NVMe: RAID 0 holds copies only; for pods it is a volume group",
            {"nvme_array": "/dev/md/local", "nvme_layout": "xfs" if slurm else "lvm"},
        ),
        ("Maintenance and acceptance", _care(inventory, group)),
        *(
            [("Scheduler", {f"{inventory.scheduler}_packages": scheduler(inventory, "compute")})]
            if inventory.scheduler in ("slurm", "kubernetes")
            else []
        ),
    ]


def _sysctl_gpu(inventory: Inventory) -> Values:
    made: Values = {
        "kernel.numa_balancing": 0,
        # UCX and NCCL copy between processes of one user with process_vm_readv.
        "kernel.yama.ptrace_scope": 0,
        "net.core.netdev_max_backlog": 250000,
        "net.core.rmem_max": 268435456,
        "net.core.wmem_max": 268435456,
        "net.ipv4.tcp_rmem": "4096 87380 134217728",
        "net.ipv4.tcp_wmem": "4096 65536 134217728",
        "user.max_user_namespaces": 65536,
        "vm.max_map_count": 1048576,
        "vm.min_free_kbytes": 4194304,
        "vm.zone_reclaim_mode": 0,
    }
    if inventory.settings.os == "ubuntu-24.04":
        made["kernel.apparmor_restrict_unprivileged_userns"] = 0
    return made


def _care(inventory: Inventory, group: Group) -> Values:
    checkpoint = max((load.figures.get("checkpoint_interval_s", 0.0) for load in inventory.workloads), default=0.0)
    diagnosis = {
        "NVIDIA": "dcgmi diag --run 3",
        "AMD": "rvs -c /opt/rocm/share/rocm-validation-suite/conf/gst_single.conf",
    }
    return {
        # A job is given twice its checkpoint interval, at least an hour, to end by itself.
        "drain_retries": max(60, round(2 * checkpoint / 60)),
        "reboot_timeout_s": round(inventory.value("reliability.node_restart_s")),
        "maintenance_reason": "rolling update",
        "scheduler_services": ["slurmd"] if inventory.scheduler == "slurm" else ["kubelet", "containerd"],
        "vendor_diagnosis": diagnosis.get(group.gpu_vendor, "true"),
        "burn_in_s": 14400,
        "burn_in_patterns": ["node.sh"],
    }


def _role(inventory: Inventory, role: str) -> list[Section]:
    made: Values = {}
    if role == "login":
        made |= {
            "login_open": True,
            "ssh_sources": ["{{ networks['management']['block'] }}", "{{ user_networks | join(', ') }}"],
        }
    if inventory.scheduler in ("slurm", "kubernetes"):
        made[f"{inventory.scheduler}_packages"] = scheduler(inventory, role)
    if inventory.scheduler == "kubernetes" and role == "scheduler":
        made |= {"container_packages": ["containerd"], "open_networks": ["storage", "pods"]}
    if not made:
        made["login_open"] = False
    return [("What they run", made)]


def _group(group: Group) -> list[Section]:
    made: Values = {"first_number": group.first}
    if group.gpus:
        made |= {
            "gpus": group.gpus,
            "gpu_vendor": group.gpu_vendor,
            "gpu_type": group.gpu_type,
            **({"nvlink_domain": nvlink_domain(group)} if group.gpu_vendor == "NVIDIA" else {}),
            "nics": group.nics,
            "nic_gbps": round(group.nic_bytes_s * 8 / 1e9),
            "least_memory_mib": int(group.memory_bytes * _MEMORY_SHARE / _MIB),
            "nvme_least_bytes": int(group.nvme_bytes * _NVME_SHARE),
        }
    return [("Number of the first host in the networks of the site, and what a host holds", made)]
