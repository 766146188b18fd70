"""What Ansible itself says of the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clusterwright.deploy.bundle import Check, Folder
from clusterwright.deploy.judges import ansible
from clusterwright.deploy.judges.programs import Judged, Program, run
from clusterwright.deploy.targets.ansible.naming import ROOT

__all__ = ["JUDGES", "PROGRAMS"]

_BASH = Program("bash", "apt install bash")
PROGRAMS = (*ansible.PROGRAMS, _BASH)


def _playbooks(folder: Folder) -> list[str]:
    top = [path for path in folder.glob(f"{ROOT}/*.yml") if path.count("/") == 1]
    return [path.removeprefix(f"{ROOT}/") for path in (*top, *folder.glob(f"{ROOT}/playbooks/*.yml"))]


def _last_line(said: Judged) -> str:
    lines = [line for line in said.text.splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line or "rror" in line]
    return " ".join((errors or lines or [f"exit code {said.code}"])[:2])[:240]


def syntax(folder: Folder) -> Iterator[Check]:
    """``ansible-playbook --syntax-check`` of every playbook; where they fail together, each by itself."""
    if ansible.PLAYBOOK.path is None or not (folder.root / ROOT).is_dir():
        return
    version = ansible.PLAYBOOK.version
    names = _playbooks(folder)
    with ansible.copied(folder.root / ROOT) as copy:
        here = Path(copy) / "ansible"
        together = ansible.syntax(here, names)
        for name in names:
            said = together if together.code == 0 else ansible.syntax(here, [name])
            what = "syntax check" if said.code == 0 else _last_line(said)
            yield Check(f"{ROOT}/{name}", "ansible-playbook", version, "tool", said.code == 0, what)
        if together.code == 0:
            yield Check(f"{ROOT}/ansible.cfg", "ansible-playbook", version, "tool", True, "settings were read")


def inventory(folder: Folder) -> Iterator[Check]:
    """``ansible-inventory --list``: the hosts that it counts are those of the bundle."""
    if ansible.INVENTORY.path is None or not (folder.root / ROOT).is_dir():
        return
    version = ansible.INVENTORY.version
    with ansible.copied(folder.root / ROOT) as copy:
        held, said = ansible.inventory(Path(copy) / "ansible")
    files = [path for path in folder.glob(f"{ROOT}/inventory/*.yml") if path.count("/") == 2]
    if held is None:
        wrong = _last_line(Judged(1, said))
        yield from (Check(path, "ansible-inventory", version, "tool", False, wrong) for path in files)
        return
    listed = {name for group in held.values() if isinstance(group, dict) for name in group.get("hosts", [])}
    expected = set(folder.inventory.get("hosts", {}))
    same = listed == expected
    odd = min(listed ^ expected, default="")
    what = (
        f"{len(listed):,} hosts" if same else f"{len(listed):,} hosts, the bundle has {len(expected):,}: {odd} differs"
    )
    yield from (Check(path, "ansible-inventory", version, "tool", same, what) for path in files)
    for path in folder.glob(f"{ROOT}/inventory/group_vars/*.yml"):
        yield Check(path, "ansible-inventory", version, "tool", True, "variables were read")


def lint(folder: Folder) -> Iterator[Check]:
    """``ansible-lint --offline`` with the profile that the folder asks for."""
    if ansible.LINT.path is None or not (folder.root / ROOT).is_dir():
        return
    version = ansible.LINT.version
    with ansible.copied(folder.root / ROOT) as copy:
        wrong, refused = ansible.lint(Path(copy) / "ansible", _playbooks(folder))
    judged = [*(f"{ROOT}/{name}" for name in _playbooks(folder)), *folder.glob(f"{ROOT}/roles/*/*.yml")]
    if refused:
        yield Check(f"{ROOT}/site.yml", "ansible-lint", version, "tool", False, _last_line(Judged(1, refused)))
        return
    for path in judged:
        said = [what for place, what in wrong if f"{ROOT}/{place}" == path]
        yield from (Check(path, "ansible-lint", version, "tool", False, what) for what in said[:5])
        if not said:
            yield Check(path, "ansible-lint", version, "tool", True, "no violation")
    known = set(judged)
    for place, what in wrong:
        if f"{ROOT}/{place}" not in known:
            yield Check(f"{ROOT}/{place}", "ansible-lint", version, "tool", False, what)


def scripts(folder: Folder) -> Iterator[Check]:
    """``bash -n`` of every script."""
    if _BASH.path is None:
        return
    for path in folder.glob(f"{ROOT}/roles/*/files/*.sh"):
        said = run([_BASH.path, "-n", path], folder.root, seconds=20)
        what = "syntax" if said.code == 0 else _last_line(said)
        yield Check(path, "bash", _BASH.version, "tool", said.code == 0, what)


JUDGES = (syntax, inventory, lint, scripts)
