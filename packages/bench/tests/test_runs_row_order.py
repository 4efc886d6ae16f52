"""The rows of a run are read in an order that has nothing to do with when its replies came."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_bench.runs.view import RunView
from salon_store import ResultStore
from salon_taxonomy.records import Score

ROWS = [
    Score(
        run_id="r",
        suite="s",
        task=task,
        subject_model="m",
        prompt_id=f"p{number}",
        generation_id=f"g{number}",
        dimension="d",
        value=float(number),
        judge="j",
        judge_version="1",
    )
    for number in range(4)
    for task in ("one", "two")
]


@pytest.mark.slow
@settings(max_examples=20)  # each makes a store
@given(order=st.permutations(ROWS), cut=st.integers(0, len(ROWS)))
def test_whatever_came_first_a_reader_gets_the_same_table(tmp_path_factory, order, cut):
    folder = tmp_path_factory.mktemp("store") / "results"
    store = ResultStore.open(folder)
    for some in (order[:cut], order[cut:]):
        if some:
            store.append("scores", some, run_id="r")
    assert RunView(folder, "r").rows("scores").select("prompt_id", "task").rows() == [(row.prompt_id, row.task) for row in ROWS]
