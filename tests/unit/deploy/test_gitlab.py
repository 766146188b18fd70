"""GitLab: the pipeline's jobs, and faults planted in it that our own reading catches."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml

from clusterwright.deploy import verify
from tests.unit.deploy.conftest import planted

PATH = "gitlab/.gitlab-ci.yml"
FAULTS = [
    ("stage: verify", "stage: verified", "there is no stage verified"),
    ("- plan\n- apply", "- plan\n- plan", "stages is no list of different names"),
    ("  extends: .secrets", "  extends: .secret", "extends .secret, which is not there"),
    ("    when: manual", "    when: on_success", "applies without being started by hand"),
    ("    when: manual", "    when: manually", "when is manually"),
    ("  resource_group: main\n", "", "two pipelines could apply at once"),
    ("job: plan main", "job: plan mian", "needs plan mian, which is not there"),
    ("  script:\n  - cd ansible", "  scripts:\n  - cd ansible", "no keyword scripts"),
    ("--syntax-check site.yml", "--syntax-check sites.yml", "there is no playbook ansible/sites.yml"),
    ("site_main", "site_mian", "there is no group site_mian"),
    ("ansible/**/*", "ansibel/**/*", "which the bundle does not hold"),
    ("  GIT_DEPTH: '20'", "  GIT_DEPTH: '20'\n  VAULT_TOKEN: hvs.abc", "holds a secret"),
    ("''changed=[1-9]''", "''changed=[1-9]", "No closing quotation"),
    ("stages:\n", "stages: [\n", "while parsing"),
    ("  - verify\n  rules", "  - accept main\n  rules", "which comes later"),
]  # fmt: skip


@pytest.fixture(scope="module")
def bundle(worked, render_of):
    return render_of(worked, "ansible", "gitlab")


@pytest.mark.parametrize(("old", "new", "said"), FAULTS, ids=lambda v: str(v)[-40:])
def test_a_planted_fault_is_caught_without_any_tool(bundle, tmp_path, old, new, said):
    failed = planted(bundle, PATH, lambda text: text.replace(old, new, 1), tmp_path / "b", live=False)
    assert any(said in check.message for check in failed), [check.message for check in failed]


def test_what_changes_the_cluster_waits_for_a_person(bundle):
    data = yaml.safe_load(bundle.files[PATH].text)
    job = data["apply main"]
    assert [rule["when"] for rule in job["rules"]] == ["never", "manual"]
    assert job["environment"]["name"] == job["resource_group"] == "main"
    assert job["needs"] == [{"job": "plan main", "artifacts": True}]


def test_secrets_come_from_vault_by_the_job_s_identity(bundle):
    data = yaml.safe_load(bundle.files[PATH].text)
    assert data[".secrets"]["id_tokens"]["VAULT_ID_TOKEN"]["aud"] == "https://vault.cluster.internal"
    assert set(data[".secrets"]["secrets"]) == {
        "CLUSTER_LDAP_BIND_PASSWORD",
        "CLUSTER_MUNGE_KEY",
        "CLUSTER_JWT_KEY",
        "CLUSTER_SLURMDBD_PASSWORD",
    }


def test_kubernetes_is_synced_by_argo_cd(company, render_of):
    data = yaml.safe_load(render_of(company, "gitlab").files[PATH].text)
    assert any("argocd app sync root" in line for line in data["apply virginia"]["script"])


def test_the_pipeline_fits_gitlabs_schema_and_a_foreign_key_does_not(bundle, tmp_path):
    pytest.importorskip("jsonschema", reason="needs jsonschema: pip install jsonschema")
    bundle.write(tmp_path / "good")
    schema = [check for check in verify(tmp_path / "good", live=False) if check.level == "schema"]
    assert [check.ok for check in schema if check.file == PATH] == [True]
    failed = planted(
        bundle, PATH, lambda t: t.replace("expire_in: 7 days", "expire_in: 7", 1), tmp_path / "b", live=False
    )
    assert any(check.level == "schema" for check in failed), json.dumps([check.message for check in failed])


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_refuses_a_script_that_our_reading_lets_through(bundle, tmp_path):
    failed = planted(
        bundle, PATH, lambda t: t.replace("- mkdir -p plan", "- if mkdir -p plan", 1), tmp_path / "b", live=True
    )
    assert any(check.judge == "bash" for check in failed)
