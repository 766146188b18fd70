"""The grammar of a job: every error at once, with its place; nothing hostile gets through."""

from __future__ import annotations

import pytest

from clusterwright.errors import InputError
from clusterwright.spec import Gpus, read_job

WHOLE = """\
version: 1
name: tune
train: {model: llama-3-8b, tokens: 1e9}
gpus: {min: 16, max: 32}
time_limit: 12 h
tenant: research
checkpoint: {interval: 30 min, path: /shared/me/run, write: 40 s}
retries: 5
environment: {NCCL_DEBUG: WARN, N: 1}
"""


def wrong(text: str, *sets: str) -> list[tuple[int, str]]:
    with pytest.raises(InputError) as caught:
        read_job(text, overrides=sets)
    return [(getattr(one.place, "line", 0), one.code) for one in caught.value.findings]


def test_a_job_is_read_into_si_units():
    job = read_job(WHOLE)
    assert job.gpus == Gpus(16, 32)
    assert (job.time_limit_s, job.checkpoint.interval_s, job.checkpoint.write_s) == (43200.0, 1800.0, 40.0)
    assert job.environment == {"NCCL_DEBUG": "WARN", "N": "1"}
    assert job.place("checkpoint.path").line == 7


def test_a_plain_number_of_gpus_may_not_shrink():
    assert read_job(WHOLE, overrides=["gpus=32"]).gpus == Gpus(32, 32)


def test_every_error_of_a_job_is_said_at_once_with_its_line():
    text = (
        "version: 1\nname: 'a;b'\ntran: {model: llama-3-8b}\ncommand: [x, [1]]\ngpus: {min: 4, mox: 2}\ntime_limit: 5\n"
    )
    assert wrong(text) == [
        (2, "SPEC-NAME"),
        (3, "SPEC-UNKNOWN-KEY"),
        (4, "SPEC-TYPE"),
        (5, "SPEC-UNKNOWN-KEY"),
        (6, "SPEC-UNIT"),
    ]


def test_a_misspelt_key_is_answered_with_the_right_one():
    with pytest.raises(InputError) as caught:
        read_job(WHOLE.replace("retries", "retires"))
    assert caught.value.findings[0].hint == "did you mean 'retries'?"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("gpus={min: 32, max: 16}", "SPEC-CONTRADICTION"),
        ("gpus=0", "SPEC-RANGE"),
        ("train.gpus=8", "SPEC-CONTRADICTION"),
        ("checkpoint.path=run", "SPEC-RANGE"),
        ("time_limit=10 s", "SPEC-RANGE"),
        ("retries=-1", "SPEC-RANGE"),
        ("train=auto", "SPEC-MISSING-KEY"),
    ],
)
def test_what_cannot_be_meant_is_refused(change, code):
    assert [found for _, found in wrong(WHOLE, change)] == [code]


def test_a_command_without_a_time_limit_is_refused_as_the_laws_know_none():
    assert wrong("version: 1\nname: x\ncommand: [a]\ngpus: 8\n")[0][1] == "SPEC-MISSING-KEY"


@pytest.mark.parametrize("name", ["a b", "$(reboot)", "x|y", "-rf", "a\\nb", "é", "../up"])
def test_hostile_names_are_refused(name):
    assert wrong(f'version: 1\nname: "{name}"\ncommand: [a]\ngpus: 8\ntime_limit: 1 h\n')[0][1] == "SPEC-NAME"


@pytest.mark.parametrize("word", ["a\\nb", "\\u001b[2J", "\\u0000"])
def test_control_characters_in_a_command_are_refused(word):
    text = f'version: 1\nname: x\ncommand: [run, "{word}"]\ngpus: 8\ntime_limit: 1 h\n'
    assert next(code for _, code in wrong(text)) in ("SPEC-TYPE", "SPEC-SYNTAX", "SPEC-BINARY")


@pytest.mark.parametrize("variable", ["A-B", "1A", "A B", "A=B", "PATH;x"])
def test_hostile_names_of_variables_are_refused(variable):
    text = f'version: 1\nname: x\ncommand: [run]\ngpus: 8\ntime_limit: 1 h\nenvironment: {{"{variable}": y}}\n'
    assert wrong(text)[0][1] == "SPEC-NAME"
