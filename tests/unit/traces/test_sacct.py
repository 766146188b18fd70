"""Reading sacct: recorded output of Slurm 22.05.8 (five nodes), and lines as later releases print them."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import InputError
from clusterwright.traces import FIELDS, STATES, JobTable, read_sacct, sacct_file, words

DATA = Path(__file__).parent / "data"
HEADER = "|".join(FIELDS)
TRES = "billing=8,cpu=16,gres/gpu:h100=8,gres/gpu=8,mem=1817360M,node=1"


def line(**given: str) -> str:
    held = {
        "JobIDRaw": "7", "JobID": "7", "User": "alice", "Account": "research", "QOS": "normal", "Partition": "train",
        "State": "COMPLETED", "Submit": "1796120000", "Eligible": "1796120000", "Start": "1796120010",
        "End": "1796120110", "NNodes": "1", "ReqTRES": TRES, "AllocTRES": TRES, "TimelimitRaw": "60",
        "ExitCode": "0:0", "ConsumedEnergyRaw": "0", "Reason": "None", "NodeList": "n[01-02]", "JobName": "train",
    } | given  # fmt: skip
    return "|".join(held[name] for name in FIELDS)


def row(table: JobTable, job: int, attempt: int = 0) -> int:
    return int(np.flatnonzero(table.job_id == job)[attempt])


@pytest.fixture(scope="module")
def recorded() -> JobTable:
    return sacct_file(DATA / "sacct-22.05-steps.txt").jobs


def test_a_recorded_history_has_the_jobs_that_were_submitted(recorded: JobTable) -> None:
    i = row(recorded, 2)
    assert recorded.name.tolist()[i] == "pipe|name|x"
    assert (recorded.submit_us[i], recorded.start_us[i], recorded.end_us[i]) == (
        1796120767_000000,
        1796120790_000000,
        1796120795_000000,
    )
    assert (recorded.gpus[i], recorded.nodes[i], recorded.cpus[i]) == (8, 1, 128)
    assert recorded.memory_bytes[i] == 1817360 * 2**20
    assert recorded.limit_us[i] == 600_000000
    assert recorded.account.tolist()[i] == "research"
    assert recorded.node_list.tolist()[i] == "s1-compute-0001"


def test_a_job_that_lost_its_node_is_two_attempts(recorded: JobTable) -> None:
    first, second = row(recorded, 15), row(recorded, 15, 1)
    assert [STATES[recorded.state[i]] for i in (first, second)] == ["NODE_FAIL", "COMPLETED"]
    assert recorded.restarts[[first, second]].tolist() == [0, 1]
    assert recorded.wait_us()[second] == 3_000000  # eligible 30 s after the requeue, started 3 s later


def test_tasks_of_an_array_and_parts_of_a_heterogeneous_job_keep_their_numbers(recorded: JobTable) -> None:
    task = row(recorded, 13)
    assert (recorded.array_job[task], recorded.array_task[task]) == (4, 2)
    waiting = row(recorded, 17)  # 17_[6-9%2] had not been split off
    assert (recorded.array_job[waiting], recorded.array_task[waiting], recorded.tasks[waiting]) == (17, -1, 4)
    assert recorded.start_us[waiting] == -1
    assert recorded.het_job[row(recorded, 8)] == 7  # 7+1


def test_a_job_that_ran_against_its_limit_or_was_refused_keeps_its_state(recorded: JobTable) -> None:
    assert STATES[recorded.state[row(recorded, 10)]] == "TIMEOUT"
    assert STATES[recorded.state[row(recorded, 16)]] == "CANCELLED"  # 'CANCELLED by 0', start None
    failed = row(recorded, 3)
    assert (recorded.exit_code[failed], recorded.exit_signal[failed]) == (3, 0)


def test_the_rest_of_a_name_with_a_line_break_is_set_aside_and_said() -> None:
    found = sacct_file(DATA / "sacct-22.05-steps.txt")
    assert [str(one.place).rsplit(":", 1)[1] for one in found.findings if one.code == "TRACE-LINE"] == ["7"]
    assert found.set_aside == 1
    assert found.lines == len(found.jobs) + found.steps + found.set_aside


def test_local_times_and_another_separator_give_the_same_jobs(recorded: JobTable) -> None:
    found = sacct_file(DATA / "sacct-22.05-local-time.txt")
    assert "TRACE-LOCAL-TIME" in {one.code for one in found.findings}
    assert found.jobs.job_id.tolist() == recorded.job_id.tolist()
    assert found.jobs.submit_us.tolist() == recorded.submit_us.tolist()
    assert found.jobs.start_us.tolist() == recorded.start_us.tolist()


def test_a_job_name_cannot_make_up_another_job_when_the_separator_is_secret() -> None:
    hostile = "x\n" + line(JobIDRaw="99", User="root", JobName="forged")
    asked = words("@secret@")
    assert "--delimiter=@secret@" in asked
    text = "\n".join(one.replace("|", "@secret@") for one in (HEADER, line(JobName="NAME"))).replace("NAME", hostile)
    found = read_sacct(text.split("\n"))
    assert found.jobs.job_id.tolist() == [7]
    assert found.set_aside == 1


@pytest.mark.parametrize("name", ["a|b|c", "", "|", "x" * 5000, "\x1b[31mred", "$(id) `id`", "\u2028\x0b\x85", "a\rb"])
def test_free_text_in_the_last_column_shifts_nothing(name: str) -> None:
    table = read_sacct([HEADER, line(JobName=name)]).jobs
    assert table.name.tolist() == [name.removesuffix("\r")]
    assert table.gpus.tolist() == [8]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("JobIDRaw", "seven"), ("JobIDRaw", "1_0"), ("State", "HAPPY"), ("Start", "soon"), ("AllocTRES", "gres/gpu=x"),
        ("NNodes", "1e3"), ("ExitCode", "x:0"), ("JobID", "7_[0-..."), ("AllocTRES", "mem=12Q"),
    ],
)  # fmt: skip
def test_a_field_that_cannot_be_sets_its_line_aside_by_number(field: str, text: str) -> None:
    found = read_sacct([HEADER, line(JobIDRaw="1", JobID="1"), line(**{field: text})])
    assert len(found.jobs) == 1
    assert found.set_aside == 1
    assert next(one for one in found.findings if one.code == "TRACE-LINE").place == "sacct:3"


def test_later_releases_say_planned_and_it_gives_the_moment_a_job_could_start() -> None:
    header = HEADER.replace("Eligible", "Planned")
    table = read_sacct([header, line(Eligible="1-00:00:05")]).jobs
    assert table.eligible_us.tolist() == [(1796120010 - 86405) * 1_000000]


def test_gpus_are_counted_by_type_where_there_is_no_total_and_asked_for_while_it_waits() -> None:
    typed = "cpu=1,gres/gpu:a100=2,gres/gpu:h100=4,mem=1G"
    waiting = {"State": "PENDING", "Start": "Unknown", "End": "Unknown", "AllocTRES": "", "ReqTRES": typed}
    table = read_sacct([HEADER, line(**waiting)]).jobs
    assert table.gpus.tolist() == [6]
    assert table.memory_bytes.tolist() == [2**30]


def test_energy_of_steps_counts_where_the_job_has_none_and_marks_of_slurm_are_no_energy() -> None:
    step = line(JobIDRaw="7.batch", ConsumedEnergyRaw="900", JobName="batch")
    extern = line(JobIDRaw="7.extern", ConsumedEnergyRaw="1000", JobName="extern")
    found = read_sacct([HEADER, line(ConsumedEnergyRaw=""), step, extern])
    assert found.jobs.energy_j.tolist() == [1000]  # steps overlap on the same nodes
    none = read_sacct([HEADER, line(ConsumedEnergyRaw="18446744073709551614")])
    assert np.isnan(none.jobs.energy_j).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"End": "1796110000"}, "end before they started"),
        ({"Start": "-5"}, "cannot be"),
        ({"Submit": "12"}, "times that cannot be"),
        ({"Start": "Unknown"}, "have an end and no start"),
    ],
)
def test_jobs_that_cannot_be_true_are_set_aside_with_a_count(wrong: dict[str, str], said: str) -> None:
    found = read_sacct([HEADER, line(JobIDRaw="1", JobID="1"), line(**wrong)])
    assert found.jobs.job_id.tolist() == [1]
    assert found.set_aside == 1
    assert any(said in one.message for one in found.findings)


def test_a_clock_that_went_backwards_is_said_and_no_wait_is_negative() -> None:
    found = read_sacct([HEADER, line(Start="1796119990")])
    assert found.jobs.wait_us().tolist() == [0]
    assert [one.code for one in found.findings] == ["TRACE-CLOCK"]


def test_every_missing_column_is_said_at_once() -> None:
    with pytest.raises(InputError) as caught:
        read_sacct(["JobIDRaw|State|NodeList"])
    assert [one.message for one in caught.value.findings] == [
        f"column {name} is missing" for name in ("Submit", "Start", "End", "AllocTRES")
    ]


@pytest.mark.parametrize("text", ["", "hello", "\x00\x01", "job|name"])
def test_what_is_no_history_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_sacct([text])
    assert caught.value.findings[0].code == "TRACE-NOT-READABLE"


@given(st.lists(st.text(alphabet="|0123456789\x1bab\n_[]-+.:=,/", max_size=80), max_size=6))
def test_no_text_below_a_header_raises_and_every_line_is_accounted_for(junk: list[str]) -> None:
    lines = [part for text in junk for part in text.split("\n")]
    found = read_sacct([HEADER, line(), *lines])
    empty = sum(not one for one in lines)
    assert len(found.jobs) + found.set_aside + found.steps + empty == len(lines) + 1


def test_lines_in_any_order_of_columns_read_the_same() -> None:
    order = list(FIELDS[:-1])
    random.Random(1).shuffle(order)
    held = dict(zip(FIELDS, line().split("|"), strict=True))
    mixed = read_sacct(["|".join([*order, "JobName"]), "|".join([*(held[name] for name in order), "a|b"])]).jobs
    assert mixed.gpus.tolist() == [8]
    assert mixed.name.tolist() == ["a|b"]
