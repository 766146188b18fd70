"""The table of jobs: selection, joining, attempts, and its own CSV file."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import InputError
from clusterwright.traces import COLUMNS, STATES, JobTable, Words, csv_lines, hosts, read_csv


def equal(one: JobTable, other: JobTable) -> bool:
    return list(csv_lines(one)) == list(csv_lines(other))


def test_what_is_not_given_is_unknown_and_not_zero() -> None:
    table = JobTable.of([1])
    assert (table.start_us[0], table.memory_bytes[0], table.lost_us[0]) == (-1, -1, -1)
    assert np.isnan(table.energy_j[0])
    assert np.isnan(table.utilisation[0])
    assert table.name.tolist() == [""]


def test_a_column_of_another_length_or_name_is_refused() -> None:
    with pytest.raises(ValueError, match="gpus has 1 rows, job_id has 2"):
        JobTable.of([1, 2], gpus=[8])
    with pytest.raises(ValueError, match="no such column: gpu"):
        JobTable.of([1], gpu=[8])


def test_joined_tables_keep_each_row_and_its_words() -> None:
    one = JobTable.of([1, 2], account=["a", "b"], gpus=[1, 2])
    two = JobTable.of([3], account=["b"], gpus=[3])
    both = JobTable.join([one, two])
    assert both.account.tolist() == ["a", "b", "b"]
    assert both.gpus.tolist() == [1, 2, 3]
    assert equal(both.take(np.array([2])), two)
    assert equal(JobTable.join([]), JobTable.empty())


def test_attempts_are_counted_in_the_order_in_which_they_began() -> None:
    table = JobTable.of([7, 5, 7, 7], submit_us=[30, 0, 10, 20], start_us=[-1, 1, 11, 21], state=[0, 3, 7, 7])
    rows = table.attempts()
    assert rows.job_id.tolist() == [5, 7, 7, 7]
    assert rows.start_us.tolist() == [1, 11, 21, -1]
    assert rows.restarts.tolist() == [0, 0, 1, 2]


def test_groups_come_in_the_order_of_their_words_whatever_the_order_of_rows() -> None:
    codes, names = Words.of(["z", "a", "z"]).sorted()
    assert names == ("a", "z")
    assert codes.tolist() == [1, 0, 1]


TEXT = st.text(max_size=12)


@given(st.lists(st.tuples(st.integers(0, 2**62), TEXT, TEXT, st.floats(0, 1e6), st.sampled_from(STATES)), max_size=8))
def test_a_table_written_as_csv_reads_back_the_same_whatever_the_names_are(rows: list[tuple]) -> None:
    rows = [(job, *(t.encode("utf-8", "replace").decode() for t in texts), gpus, s) for job, *texts, gpus, s in rows]
    table = JobTable.of(
        [row[0] for row in rows],
        name=[row[1] for row in rows],
        account=[row[2] for row in rows],
        gpus=[row[3] for row in rows],
        state=[row[4] for row in rows],
        start_us=[10**15] * len(rows),
        end_us=[2 * 10**15] * len(rows),
        submit_us=[10**15] * len(rows),
    )
    text = "".join(csv_lines(table))
    found = read_csv(io.StringIO(text, newline=""))
    assert equal(found.jobs, table)
    assert not found.set_aside


def test_a_csv_line_that_does_not_fit_is_set_aside_by_number() -> None:
    found = read_csv(["job_id,gpus,state\n", "1,8,COMPLETED\n", "2,many,COMPLETED\n", "3,8\n", "4,8,FINE\n"])
    assert found.jobs.job_id.tolist() == [1]
    assert [str(one.place) for one in found.findings] == ["csv:3", "csv:4", "csv:5"]
    assert found.set_aside == 3


def test_a_csv_with_a_strange_column_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        read_csv(["job_id,gpu,cpu\n"])
    assert len(caught.value.findings) == 2


def test_every_column_of_the_schema_is_a_field_of_the_table_with_unit_and_meaning() -> None:
    assert [one.name for one in COLUMNS] == list(JobTable.__dataclass_fields__)
    assert all(one.unit and len(one.meaning) > 3 for one in COLUMNS)


def test_host_lists_expand_as_scontrol_does() -> None:
    assert hosts("s1-n[0009-0011,20],login") == ["s1-n0009", "s1-n0010", "s1-n0011", "s1-n20", "login"]
