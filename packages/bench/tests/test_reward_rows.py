"""Components of composed rewards in a real store: one row each, read back as they were, and no twice the same."""

from salon_rewards import compose
from salon_store import ResultStore

FINE = '<think>Fine.</think>\\boxed{{"Whether Normal": true}}'


def test_every_component_stands_in_the_store_once(tmp_path):
    store = ResultStore.open(tmp_path / "store")

    def sink(rows):
        store.append("rewards", rows, run_id="run", on_duplicate="skip")

    for _ in range(2):  # the second time as after a crash: the same steps again
        composed = compose({"format": 8.0, "l1": 4.0}, sink=sink, run_id="run")
        for step in range(2):
            composed([FINE, FINE], truth=['{"Whether Normal": true}', None], example_id=["a", "b"], global_step=step)
    frame = store.read("rewards").collect().sort("step", "prompt_id", "reward")
    assert frame.height == 12
    assert frame["value"].to_list()[:6] == [8.0 / 8, 1.0, 12.0, 1.0, None, None]
    assert frame["unscored_reason"].to_list()[3:6] == [None, "not_reported", "not_reported"]
