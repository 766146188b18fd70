"""``.gitlab-ci.yml``: lint, verify, plan, apply by hand, acceptance, and a look for drift on schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from clusterwright import __version__
from clusterwright.deploy.inventory import Inventory, Site

__all__ = ["STAGES", "pipeline"]

STAGES = ("lint", "verify", "plan", "apply", "acceptance", "drift")
Job = dict[str, Any]
_SCHEDULE = '$CI_PIPELINE_SOURCE == "schedule"'
_REQUEST = '$CI_PIPELINE_SOURCE == "merge_request_event"'
_MAIN = "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"
_SECRETS = {
    "slurm": ("LDAP_BIND_PASSWORD", "MUNGE_KEY", "JWT_KEY", "SLURMDBD_PASSWORD"),
    "kubernetes": ("LDAP_BIND_PASSWORD", "ETCD_KEY"),
}
_BUNDLE = "mkdir -p bundle && git archive HEAD | tar -x -C bundle"
"""The bundle without the repository's own folder, which its manifest does not list."""


def pipeline(inventory: Inventory, targets: Sequence[str]) -> dict[str, Any]:
    """The pipeline of a bundle that holds these targets."""
    registry = inventory.settings.registry
    made: dict[str, Any] = {
        "stages": list(STAGES),
        "workflow": {"rules": [{"if": condition} for condition in (_SCHEDULE, _REQUEST, _MAIN)]},
        "default": {
            "image": f"{registry}/platform/clusterwright:{__version__}",
            "tags": ["cluster"],
            "interruptible": True,
            "timeout": "1 hour",
            "retry": {"max": 1, "when": ["runner_system_failure", "stuck_or_timeout_failure"]},
        },
        "variables": {
            "ANSIBLE_FORCE_COLOR": "1",
            "GIT_DEPTH": "20",
            "VAULT_ADDR": f"https://vault.{inventory.settings.domain}:{inventory.ports['vault']}",
        },
        ".secrets": _secrets(inventory),
    }
    made |= dict(_lint(registry, targets))
    made["verify"] = {
        "stage": "verify",
        "needs": [],
        "script": [_BUNDLE, "clusterwright verify bundle --output json | tee verify.json"],
        "artifacts": {"paths": ["verify.json"], "when": "always", "expire_in": "30 days"},
    }
    for site in inventory.sites:
        made |= dict(_site(inventory, site, targets))
    return made


def _secrets(inventory: Inventory) -> Job:
    """Secrets come from Vault by the job's own identity; neither GitLab nor the repository holds one."""
    store = {"engine": {"name": "kv-v2", "path": "kv"}, "path": f"clusters/{inventory.name}"}
    return {
        "id_tokens": {"VAULT_ID_TOKEN": {"aud": f"https://vault.{inventory.settings.domain}"}},
        "secrets": {
            f"CLUSTER_{name}": {"vault": {**store, "field": name.lower()}, "file": False, "token": "$VAULT_ID_TOKEN"}
            for name in _SECRETS.get(inventory.scheduler, ("LDAP_BIND_PASSWORD",))
        },
    }


def _changed(*folders: str) -> list[Job]:
    """Always on schedule and on the main branch, in a merge request when one of the folders changed."""
    paths = [f"{folder}/**/*" for folder in folders]
    return [{"if": _SCHEDULE, "when": "never"}, {"if": _REQUEST, "changes": paths}, {"if": _MAIN, "changes": paths}]


def _lint(registry: str, targets: Sequence[str]) -> Iterator[tuple[str, Job]]:
    if "ansible" in targets:
        yield (
            "lint ansible",
            {
                "stage": "lint",
                "image": f"{registry}/platform/ansible:2.19",
                "needs": [],
                "rules": _changed("ansible"),
                "script": ["cd ansible", "ansible-playbook --syntax-check site.yml", "ansible-lint --offline site.yml"],
            },
        )
    if "terraform" in targets:
        yield (
            "lint terraform",
            {
                "stage": "lint",
                "image": f"{registry}/platform/terraform:1.10",
                "needs": [],
                "rules": _changed("terraform"),
                "script": [
                    'for site in terraform/*/; do terraform -chdir="$site" init -backend=false -input=false; done',
                    'for site in terraform/*/; do terraform -chdir="$site" validate; done',
                ],
            },
        )
    if "monitoring" in targets:
        yield (
            "lint rules",
            {
                "stage": "lint",
                "image": f"{registry}/platform/prometheus:2.53",
                "needs": [],
                "rules": _changed("monitoring"),
                "script": ["find monitoring -path '*/rules/*.yml' -print0 | xargs -0 promtool check rules"],
            },
        )


def _site(inventory: Inventory, site: Site, targets: Sequence[str]) -> Iterator[tuple[str, Job]]:
    """Plan, apply, acceptance and drift of a site; one apply at a time, by hand, by those who may."""
    name, group = site.name, f"site_{site.name.replace('-', '_')}"
    environment = {"name": name, "deployment_tier": "production"}
    ansible = "ansible" in targets
    image = f"{inventory.settings.registry}/platform/ansible:2.19"
    plan, run = _plan_script(name, group, targets), _apply_script(name, group, targets)
    yield (
        f"plan {name}",
        {
            "stage": "plan",
            "extends": ".secrets",
            "image": image,
            "needs": ["verify"],
            "rules": [{"if": _SCHEDULE, "when": "never"}, {"if": _REQUEST}, {"if": _MAIN}],
            "environment": {"name": name, "action": "prepare"},
            "script": plan,
            "artifacts": {"paths": ["plan"], "expire_in": "7 days", "access": "maintainer"},
        },
    )
    yield (
        f"apply {name}",
        {
            "stage": "apply",
            "extends": ".secrets",
            "image": image,
            "needs": [{"job": f"plan {name}", "artifacts": True}],
            # The environment is protected: its approvers press the button; two pipelines never apply at once.
            "rules": [{"if": _SCHEDULE, "when": "never"}, {"if": _MAIN, "when": "manual"}],
            "environment": environment,
            "resource_group": name,
            "interruptible": False,
            "timeout": "8 hours",
            "script": run,
        },
    )
    if ansible:
        yield (
            f"accept {name}",
            {
                "stage": "acceptance",
                "extends": ".secrets",
                "image": image,
                "needs": [f"apply {name}"],
                "rules": [{"if": _SCHEDULE, "when": "never"}, {"if": _MAIN}],
                "environment": {"name": name, "action": "verify"},
                "resource_group": name,
                "interruptible": False,
                "timeout": "8 hours",
                "script": [
                    "cd ansible",
                    f"ansible '{group}:&gpu_nodes' -m ansible.builtin.command -a /usr/local/sbin/node-check",
                    f"ansible-playbook playbooks/acceptance.yml --limit '{group}:&spare'",
                ],
            },
        )
        yield (
            f"drift {name}",
            {
                "stage": "drift",
                "extends": ".secrets",
                "image": image,
                "needs": ["verify"],
                "rules": [{"if": _SCHEDULE}],
                "environment": {"name": name, "action": "access"},
                "script": [
                    "cd ansible",
                    f"ansible-playbook site.yml --check --diff --limit {group} | tee ../drift.txt",
                    "! grep -Eq 'changed=[1-9]' ../drift.txt",
                ],
                "artifacts": {"paths": ["drift.txt"], "when": "always", "expire_in": "30 days", "access": "maintainer"},
            },
        )


def _plan_script(name: str, group: str, targets: Sequence[str]) -> list[str]:
    made = [
        "mkdir -p plan",
        _BUNDLE,
        f'clusterwright plan bundle --against "$DEPLOYED/{name}" --out plan/{name}.json --diff | tee plan/{name}.txt',
    ]
    if "terraform" in targets:
        made += [
            f'terraform -chdir=terraform/{name} init -input=false -backend-config="$STATE_CONFIG"',
            f'terraform -chdir=terraform/{name} plan -input=false -out="$CI_PROJECT_DIR/plan/terraform-{name}.plan"',
        ]
    if "ansible" in targets:
        made.append(
            f"(cd ansible && ansible-playbook site.yml --check --diff --limit {group}) | tee plan/ansible-{name}.txt"
        )
    return made


def _apply_script(name: str, group: str, targets: Sequence[str]) -> list[str]:
    made = [_BUNDLE]
    if "terraform" in targets:
        made += [
            f'terraform -chdir=terraform/{name} init -input=false -backend-config="$STATE_CONFIG"',
            f'terraform -chdir=terraform/{name} apply -input=false "$CI_PROJECT_DIR/plan/terraform-{name}.plan"',
        ]
    if "ansible" in targets:
        made.append(f"(cd ansible && ansible-playbook site.yml --limit {group})")
    if "kubernetes" in targets:
        made += [
            'argocd app sync root --grpc-web --revision "$CI_COMMIT_SHA"',
            "argocd app wait root --grpc-web --health --sync --timeout 3600",
        ]
    # The record of what is deployed is written last: what fails before is still to be done in the next plan.
    made.append(f"clusterwright apply plan/{name}.json --yes")
    return made
