"""Label coverage: counts, shares and the change that would bring each label to its printed share."""

import json
import random

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from salon_bench.suites.magic_bench_377 import coverage, read_prompts
from salon_bench.suites.magic_bench_377.label_coverage import change
from salon_console import main
from salon_judges.formats.magic_bench_377_labels import scenarios, target_shares, taxonomy


def a_benchmark(path):
    """377 prompts with the printed shares: every label with the rounded number of prompts, at most 4 to a prompt."""
    wanted = {label: round(share * 377 / 100) for label, share in target_shares().items()}
    wanted["film"] -= sum(wanted[label] for label in scenarios()) - 377
    work = [label for label in scenarios() for _ in range(wanted[label])]
    labels = [[] for _ in range(377)]
    for label, count in wanted.items():
        if label not in scenarios():
            for each in sorted(random.Random(label).sample(labels, 377), key=len)[:count]:
                each.append(label)
    rows = [{"prompt": f"p {n}", "labels": given or ["Entity"], "scenario": work[n]} for n, given in enumerate(labels)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return coverage(read_prompts(path))


def test_a_file_with_the_printed_shares_has_nothing_to_change(tmp_path):
    found = a_benchmark(tmp_path / "p.jsonl")
    assert found.off == 0
    assert found.prompts == 377
    assert found.p_value > 0.99
    assert "0 of 18 labels are off" in found.notes[1]
    assert "capability Style" not in found.unused
    assert "test point Texture" in found.unused
    assert "The benchmark has" not in found.notes[0]
    shares = {row["label"]: row["share"] for row in found.table.filter(found.table["target"].is_not_null()).to_dicts()}
    assert {label: round(share) for label, share in shares.items()} == {
        next(each.name for each in taxonomy().walk(label)): share for label, share in target_shares().items()
    }


def test_two_test_points_of_one_capability_count_once_for_a_prompt(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"prompt": "p", "labels": ["Texture", "Size", "Text"], "scenario": "Film"}) + "\n")
    rows = {(row["kind"], row["label"]): row for row in coverage(read_prompts(path)).table.to_dicts()}
    assert rows["capability", "Attribute"]["prompts"] == 1
    assert rows["capability", "Entity"]["prompts"] == 1
    assert rows["capability", "Entity"]["target"] is None
    assert rows["test point", "Size"]["prompts"] == 1
    assert rows["test point", "State"]["prompts"] == 0


def test_the_statistic_of_the_scenarios_is_pearsons(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps({"prompt": "p", "labels": ["Style"], "scenario": "Film"}) + "\n" for _ in range(100)))
    found = coverage(read_prompts(path))
    assert found.chi_square == pytest.approx(80**2 / 20 + 21 + 12 + 25 + 22)
    assert found.p_value < 1e-80


@given(st.integers(0, 500), st.integers(1, 99), st.integers(1, 500))
def test_after_the_change_no_change_is_left(count, target, prompts):
    assert change(count + change(count, target, prompts), target, prompts) == 0


@given(st.integers(1, 99))
def test_a_change_of_nothing_means_that_the_share_rounds_to_the_target(target):
    good = [count for count in range(378) if change(count, target, 377) == 0]
    assert good == [count for count in range(378) if abs(100 * count / 377 - target) <= 0.5]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_command_covers_the_prompts_of_one_language(tmp_path, language):
    path = tmp_path / "p.jsonl"
    rows = [{"prompt": "a cat", "labels": ["Style"], "scenario": "Film"}] * 3
    rows += [{"prompt": "\u4e00\u53ea\u732b", "labels": ["Entity"], "scenario": "Film"}] * 2
    path.write_text("".join(json.dumps({**row, "prompt_id": f"p{n}"}) + "\n" for n, row in enumerate(rows)))
    shown = CliRunner().invoke(
        main, ["bench", "magic-bench-377", "coverage", str(path), "--language", language, "--format", "json"]
    )
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["languages"] == {language: {"en": 3, "zh": 2}[language]}
