"""The name of a run, what it depends on, and panels as a function of rows."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from number_suite import NumberSuite

from salon_bench.analysis.panel import agreement, combined_labels, combined_scores, judge_together
from salon_bench.runs.plan import LoadedPlan, RunPlan, SubjectModel, drawn, planned
from salon_bench.runs.view import refuse_another_run
from salon_judges.clients import RoutedJudge
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import ReplayJudge


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(6):
        (folder / f"p0000{number}.png").write_bytes(b"x" * number)
    return folder


def made(pictures: Path, **options: object) -> LoadedPlan:
    suite = options.pop("suite", NumberSuite(6))
    judge = options.pop("judge", ReplayJudge([]))
    return planned(suite, [SubjectModel("ours", pictures)], judge, **options)  # type: ignore[arg-type]


def test_the_same_command_means_the_same_run(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(pictures).plan
    monkeypatch.chdir(pictures.parent)
    assert made(Path("pictures")).plan.run_id == first.run_id
    assert first.run_id.startswith("numbers-ours-replay-")


def test_a_picture_that_was_exchanged_since_it_was_generated_is_said(pictures: Path) -> None:
    names = [path.name for path in sorted(pictures.iterdir())]
    lines = [{"prompt_id": Path(name).stem, "path": name, "sha256": file_sha256(pictures / name)} for name in names]
    (pictures / "generations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert made(pictures).plan.left_out == ()
    (pictures / names[3]).write_bytes(b"y" * 3)
    [words] = made(pictures).plan.left_out
    assert words == f"1 file changed since the table was written, such as {names[3]}."


def test_routes_that_do_not_fit_the_steps_of_the_suite_are_refused_before_anybody_is_asked(pictures: Path) -> None:
    class Stepwise(NumberSuite):
        steps = ("first", "second")

    suite = Stepwise(6)
    one = ReplayJudge([])
    with pytest.raises(InputError, match=r"no step 'frist' \(allowed: first, second\)"):
        made(pictures, suite=suite, judge=RoutedJudge({"frist": one, "*": one}))
    with pytest.raises(InputError, match="--judge second=SPEC"):
        made(pictures, suite=suite, judge=RoutedJudge({"first": one}))
    assert made(pictures, suite=suite, judge=RoutedJudge({"first": one, "*": one})).plan.run_id


@pytest.mark.parametrize("change", ["suite", "judge", "limit", "re_asks", "picture", "extractor"])
def test_whatever_could_change_a_row_makes_another_run(pictures: Path, change: str) -> None:
    first = made(pictures).plan
    if change == "picture":
        (pictures / "p00003.png").write_bytes(b"another one")
    options = {
        "suite": {"suite": NumberSuite(6, version="2")},
        "judge": {"judge": ReplayJudge([], version="2")},
        "limit": {"limit": 3},
        "re_asks": {"re_asks": 2},
        "extractor": {"extractor": ReplayJudge([])},
        "picture": {},
    }[change]
    now = made(pictures, **options).plan
    assert now.run_id != first.run_id
    with pytest.raises(InputError, match="something changed"):
        refuse_another_run(first.run_id, first, now)
    refuse_another_run(first.run_id, first, first)


def test_a_plan_outlives_its_process(pictures: Path) -> None:
    plan = made(pictures, limit=2, seed=3, judge_settings={"kind": "vllm", "model": "m"}).plan
    assert RunPlan.from_settings(plan.run_id, plan.settings()) == plan


@pytest.mark.parametrize("text", [None, "", "[]", "{", '{"suite": "s"}', '{"subjects": 3, "prompts": null}'])
def test_settings_of_something_else_are_refused(text: str | None) -> None:
    with pytest.raises(InputError, match="not made by"):
        RunPlan.from_settings("r", text)


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_any_names_make_a_run_id_that_is_short_and_plain(subject: str, judge: str) -> None:
    run_id = RunPlan("magicbench", "1", (SubjectModel(subject, Path()),), judge, {}, "v", "v").run_id
    assert len(run_id) <= 100
    assert set(run_id) <= set("abcdefghijklmnopqrstuvwxyz0123456789._+-")


def test_a_limit_draws_prompts_by_the_seed_and_keeps_their_order() -> None:
    prompts = NumberSuite(100).prompts(None)
    first, again, other = (drawn(prompts, 10, seed) for seed in (1, 1, 2))
    ids = [item.prompt.prompt_id for item in first]
    assert ids == sorted(ids)
    assert first == again != other
    assert drawn(prompts, 1000, 1) is prompts


@pytest.mark.parametrize("count", [1, 2, 4, 6])
@pytest.mark.parametrize("limit", [None, 6])
def test_every_prompt_is_in_one_shard_and_each_shard_is_a_run_of_its_own(pictures: Path, count: int, limit: int | None) -> None:
    whole = made(pictures, limit=limit)
    shards = [made(pictures, limit=limit, shard=(place, count)) for place in range(1, count + 1)]
    ids = sorted(item.prompt.prompt_id for shard in shards for item in shard.prompts)
    assert ids == sorted(item.prompt.prompt_id for item in whole.prompts)
    assert len({shard.plan.run_id for shard in [whole, *shards]}) == count + 1
    for place, shard in enumerate(shards, start=1):
        assert f"-{place}of{count}-" in shard.plan.run_id
        assert RunPlan.from_settings(shard.plan.run_id, shard.plan.settings()) == shard.plan
        assert not shard.generations.left_out


@pytest.mark.parametrize("shard", [(0, 3), (4, 3), (1, 0), (7, 7)])
def test_a_shard_that_does_not_exist_or_has_no_prompt_is_refused(pictures: Path, shard: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="1/N to N/N"):
        made(pictures, shard=shard)


@pytest.mark.parametrize("names", [[], ["a", "a"]])
def test_subjects_must_differ(pictures: Path, names: list[str]) -> None:
    with pytest.raises(InputError, match="different names"):
        planned(NumberSuite(6), [SubjectModel(name, pictures) for name in names], ReplayJudge([]))


def scores(*values: float | None) -> pl.DataFrame:
    item = {"suite": "s", "task": "t", "subject_model": "m", "generation_id": None, "dimension": "d"}
    rows = [{**item, "prompt_id": f"p{place}", "value": value} for place, value in enumerate(values)]
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64, "generation_id": pl.String})


def test_a_panels_score_is_the_mean_of_those_who_scored() -> None:
    together = combined_scores({"a": scores(1, 0, None), "b": scores(0, None, None), "c": scores(1, 1, None)})
    assert together["value"].to_list() == [pytest.approx(2 / 3), 0.5, None]
    assert together["unscored_reason"].to_list() == [None, None, "abstained"]


def labels(**present: bool) -> pl.DataFrame:
    return pl.DataFrame(
        [{"generation_id": "g", "taxonomy": "t", "label": name, "present": value} for name, value in present.items()]
    )


def test_a_panels_labels_go_by_majority_and_ties_have_no_row() -> None:
    together, tied = combined_labels({"a": labels(hand=True, eye=True), "b": labels(hand=True, eye=False)})
    assert dict(together.select("label", "present").iter_rows()) == {"hand": True}
    assert tied == 1
    three, _ = combined_labels({"a": labels(hand=True), "b": labels(eye=False), "c": labels(hand=True)})
    assert dict(three.select("label", "present").iter_rows()) == {"hand": True, "eye": False}


def test_agreement_counts_pairs_of_verdicts_that_both_had() -> None:
    found = agreement({"a": scores(1, 0, None), "b": scores(1, 1, 1), "c": scores(1, 1, 0)})
    assert [(row["pairs"], row["same"]) for row in found] == [(7, 4)]
    assert "4 of 7" in found[0]["sentence"]


def test_a_panel_needs_two_judges(tmp_path: Path) -> None:
    one = RunPlan("s", "1", (SubjectModel("a", Path()),), "j", {}, "v", "v")
    for plans in ([], [one], [one, replace(one, seed=1)]):
        with pytest.raises(InputError, match="two or more"):
            judge_together(plans, tmp_path)


def test_asking_begins_before_the_libraries_of_tables_are_loaded() -> None:
    code = (
        "import sys, salon_judges.clients, salon_bench.runs.session, salon_bench.runs.plan, salon_bench.cli.run;"
        "print({'polars', 'duckdb', 'numpy', 'rich.console'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
