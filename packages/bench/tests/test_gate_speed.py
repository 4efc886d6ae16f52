"""Speed beside quality: what generate records, what the store keeps of it, and the ratio that the gate prints."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_bench.analysis.gate.speed import picture_seconds, speed
from salon_console import main
from salon_judges.formats.generations import read_generations
from salon_store import ResultStore
from salon_taxonomy.errors import InputError


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exit_code in (0, 1, 3), result.output
    return result


def times(seconds: np.ndarray, name: str) -> pl.DataFrame:
    prompts = [f"p{number}" for number in range(len(seconds))]
    return pl.DataFrame({"prompt_id": prompts, "picture": [f"{name}{prompt}" for prompt in prompts], "seconds": seconds})


def test_seconds_go_from_generate_through_the_store_to_the_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("prompts.txt").write_text(
        "".join(f"a {size} {colour} star\n" for size in ("small", "large") for colour in ("red", "blue"))
    )
    Path("star.toml").write_text('name = "stars"\n[[question]]\nid = "q"\nask = "Is there a star?"\nanswer = "yes/no"\n')
    runs = []
    for build, seconds, slips in (("base", 3.0, 0), ("new", 1.5, 1)):
        salon("bench", "generate", "prompts.txt", "--generator", f"draw:{slips}", "--output", build, "--build", build)
        lines = [json.loads(line) for line in (tmp_path / build / "generations.jsonl").read_text().splitlines()]
        assert all(line["seconds"] > 0 and json.loads(line["settings"]) == {"build": build} for line in lines)
        text = "".join(json.dumps(line | {"seconds": seconds, "memory_mb": 7.5}) + "\n" for line in lines)
        (tmp_path / build / "generations.jsonl").write_text(text)
        words = ("--model", "app", "--generations", build, "--prompts", "prompts.txt", "--judge", "pixels:", "--format", "json")
        runs.append(json.loads(salon("bench", "run", "./star.toml", *words).stdout)[0]["run_id"])
    found = salon("results", "gate", *runs, "--margin", "0.5", "--format", "json")
    [row] = json.loads(found.stdout)["speed"]
    assert (row["faster"], row["low"], row["high"], row["prompts"]) == (2.0, 2.0, 2.0, 4)
    assert (row["base_seconds"], row["new_seconds"]) == (3.0, 1.5)
    store = ResultStore.open("results")
    assert store.sql("SELECT DISTINCT faster FROM gates").rows() == [(2.0,)]
    kept = store.sql("SELECT seconds, memory_mb, settings FROM generations ORDER BY seconds").rows()
    assert kept[0] == (1.5, 7.5, '{"build": "new"}') and len(kept) == 8
    assert picture_seconds("new", pl.DataFrame(), "results")["seconds"].to_list() == [1.5] * 4


def test_the_ends_hold_the_true_ratio_and_few_or_missing_times_say_nothing():
    held = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        level = random.lognormal(0.0, 0.2, 40)
        row = speed(
            times(2 * level * random.lognormal(0, 0.1, 40), "a"), times(level * random.lognormal(0, 0.1, 40), "b"), 0.05
        ).row(0, named=True)
        held += row["low"] <= 2.0 <= row["high"]
    assert held >= 80, held
    ones = np.ones(10)
    assert speed(times(ones, "a"), times(ones, "a"), 0.05).height == 0  # the same files
    assert speed(times(ones, "a"), times(ones[:3], "b"), 0.05).height == 0
    assert speed(times(ones, "a"), times(0 * ones, "b"), 0.05).height == 0


@pytest.mark.parametrize("wrong", ["fast", -1, "nan", math.inf, True, [1]])
def test_wrong_seconds_in_a_table_are_refused_with_row_and_column(tmp_path: Path, wrong: object):
    lines = [{"prompt_id": "a", "path": "a.png", "seconds": 1}, {"prompt_id": "b", "path": "b.png", "seconds": wrong}]
    (tmp_path / "generations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match=r"column 'seconds'"):
        read_generations(tmp_path, "m", ["a", "b"])
    (tmp_path / "generations.jsonl").write_text(json.dumps(lines[0]) + "\n" + json.dumps(lines[1] | {"seconds": ""}) + "\n")
    files = read_generations(tmp_path, "m", ["a", "b"])
    assert [files.of(name, "m")[0].seconds for name in "ab"] == [1.0, None]
