"""The ledger: every source reads, every row is a model, numbers lie in their ranges, and boards do not depend on order."""

import io
import json
import math
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from inspect import signature
from itertools import product
from pathlib import Path
from random import Random
from statistics import correlation, fmean, median
from types import FunctionType
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from for_each import for_each
from salon_console import main
from salon_published import check, derived_battles, ledger_consistency
from salon_published import ledger as ledger_module
from salon_published.check import check_tables
from salon_published.derived_battles import compared_pairs, derive_battles, with_ids
from salon_published.ledger import (
    EQUAL,
    PEOPLE,
    capabilities,
    chosen_scores,
    compared_scores,
    ledger_battles,
    ledger_board,
    ledger_scores,
    origin_of,
    rank_by_sources,
    sourced_tables,
    sources,
)
from salon_published.ledger_consistency import (
    agreement_of_judges,
    agreement_of_sources,
    lead_of_self_reports,
    repeated_numbers,
    separation_of_best,
)
from salon_published.ledger_page import ledger_page
from salon_published.manifest import GenerationTask, MeasuredBy, Paper, RowKind
from salon_published.registry import registry, resolve, resolve_row
from salon_published.source_check import RANGES, check_source
from salon_published.tables import LEDGER, cells_of, ledger, tables
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError

TASKS = [str(task) for task in GenerationTask]
SCHEMA = Path(__file__).parents[3] / "docs" / "ledger-source.schema.json"
VMBENCH = LEDGER / "vmbench.toml"


def called(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["papers", *map(str, words)])
    return result.exit_code, result.output


# --- the data


def test_the_five_papers_tables_are_as_they_were_printed() -> None:
    """A digest of all 3,649 printed cells and 8 empty ones, so that no number changes unseen."""
    cells_ = [[t.id, t.names, sorted(t.printed.items())] for t in tables()]
    assert digest("published", json.loads(json.dumps(cells_))) == "20fc7399e979594cee98c5e8"


def test_the_ledger_has_what_it_promises() -> None:
    scores = ledger_scores()
    generators = scores.filter(kind="generator")
    assert scores["source"].n_unique() == 80
    assert generators["model"].n_unique() >= 400
    distinct = scores.unique(["task", "benchmark", "track", "judge", "model", "value"])
    assert distinct.height >= 7_000
    assert set(scores["task"]) == set(TASKS)
    assert (
        scores.null_count()
        .select(pl.exclude("judge", "n", "maker", "released", "weights", "size", "quoted"))
        .sum_horizontal()
        .item()
        == 0
    )


def test_the_page_says_how_large_it_is() -> None:
    scores = ledger_scores()
    page = (Path(__file__).parents[3] / "docs/ledger.md").read_text(encoding="utf-8")
    generators = scores.filter(kind="generator")["model"].n_unique()
    assert f"{scores.height:,} numbers of {generators} generators in 80 sources and {scores['table'].n_unique()} tables" in page
    assert f"{len(registry().models)} models" in page
    own, rivals = (scores.filter(reported=kind).height for kind in ("self", "rival"))
    assert f"{own} ({100 * own / scores.height:.0f}%) are self-reported. {scores['quoted'].count()} of the {rivals:,}" in page
    pairs = repeated_numbers(scores)
    assert f"{100 * pairs['equal'].mean():.0f}% of {pairs.height:,} cases" in page  # type: ignore[str-bytes-safe]


def test_the_papers_tables_that_score_generators_are_part_of_it() -> None:
    assert not {table.id for table in tables()} & {table.id for table in ledger()}
    papers = {table.paper.paper for table in tables() if table.paper.origin is not None}
    assert papers == {"magicmirror", "r3", "prism", "mef"} == papers & set(ledger_scores()["source"])
    assert sum(len(table.names) * len(table.columns) for table in tables()) == 3_657


def test_every_row_is_one_known_model_of_its_table() -> None:
    for table in ledger():
        if table.spec.rows is RowKind.PAIR:
            assert all(None is not resolve(left) != resolve(right) is not None for left, right, _ in table.keys), table.id
            continue
        models = [resolve_row(dict(zip(table.spec.keys, keys, strict=True)), table.id) for keys in table.keys]
        assert None not in models, (table.id, table.names[models.index(None)])
        assert len(set(models)) == len(models), table.id


def test_files_are_named_by_their_source_and_tables_count_from_one() -> None:
    by_source: dict[str, list[str]] = {}
    for table in ledger():
        by_source.setdefault(table.paper.paper, []).append(table.id)
    assert sorted(by_source) == sorted(path.stem for path in LEDGER.iterdir())
    for source, ids in by_source.items():
        assert ids == [f"{source}:{number}" for number in range(1, len(ids) + 1)]


def test_numbers_lie_in_the_range_of_their_unit() -> None:
    cells = cells_of(ledger()).drop_nulls("value")
    for unit, (low, high) in RANGES.items():
        assert cells.filter(unit=unit)["value"].is_between(low, high).all(), unit
    assert set(cells["unit"]) - set(RANGES) == {"Elo", "score", "count"}


def test_digits_stand_as_they_are_printed() -> None:
    for table in ledger():
        for column in table.columns:
            assert all(text is None or re.fullmatch(r"-?\d+(\.\d+)?", text) for text in table.printed[column])


def test_a_makers_source_reports_about_a_model_of_its_own() -> None:
    scores = ledger_scores()
    makers = {table.paper.paper for table in sourced_tables() if origin_of(table.paper).measured_by is MeasuredBy.MAKER}
    assert set(scores.filter(reported="self")["source"]) == makers
    assert not set(scores.filter(pl.col("reported").is_in(["self", "rival"]))["source"]) - makers
    own = scores.filter(reported="self")
    owners = {
        model.id: model.maker or registry().get(model.base or "").maker
        for model in registry().models
        if model.id in own["model"]
    }
    assert {owners[model] for model in own["model"]} <= {origin_of(table.paper).maker for table in sourced_tables()}


@for_each(
    ("table", "name", "model"),
    [
        ("ovis-image:3", "Janus-Pro", "janus-pro-7b"),  # sizes have a column of their own
        ("hidream-o1-image:5", "BLIP3-o", "blip3-o-8b"),
        ("lance:1", "TUNA", "tuna-7b"),
        ("lance:4", "TUNA", "tuna-1.5b"),
        ("lance:4", "Show-o2", "show-o2-2b"),
        ("video-bench:1", "Cogvideox", "cogvideox-5b"),  # its folder of videos
        ("conceptmix:1", "DALL-E", "dall-e-3"),  # the page of the link
    ],
)
def test_a_short_name_is_the_variant_that_its_source_states(table: str, name: str, model: str) -> None:
    assert resolve(name, table) == model
    assert set(ledger_scores().filter(table=table, key=name)["model"]) == {model}


def test_a_makers_method_on_its_own_model_is_no_rivals_number() -> None:
    methods = ledger_scores().filter(kind="method")
    reported = {source: set(methods.filter(source=source)["reported"]) for source in ("bagel", "infinity", "pixart-alpha")}
    assert reported == {source: {"self"} for source in reported}
    assert set(methods.filter(source="unipic")["reported"]) == {"rival"}


def test_printed_means_are_recomputed_and_the_sources_misprints_are_these() -> None:
    known = {table.id: table for table in ledger()}
    report = check_tables(ledger(), known)
    assert len(report.results) > 500
    found = {(cell.table, cell.key) for cell in report.findings}
    assert len(report.findings) == 22
    assert ("vmbench:1", "Wan2.1") in found  # prints 78.4, and five parts whose mean is 65.7
    assert check("vmbench:1").findings[0].printed in {"63.4", "78.4"}


def test_models_that_are_generators_say_when_and_whose_or_nothing() -> None:
    for model in registry().models:
        assert model.released is None or "2020-12" < model.released <= "2026-11", model.id


# --- scores and boards


def test_scores_of_a_model_are_found_by_any_of_its_names() -> None:
    by_name, by_id = chosen_scores(models=["Nano Banana"]), chosen_scores(models=["gemini-2.5-flash-image"])
    assert by_name.equals(by_id) and by_id.height > 50


def test_scores_of_a_capability_are_those_that_its_board_compares_and_their_overall_numbers() -> None:
    chosen = chosen_scores(task="edit", capability="text")
    compared = compared_scores("edit", capability="text")
    columns = ["source", "table", "model", "benchmark", "value"]
    of_board = compared.select("source", "table", "model", pl.col("name").alias("benchmark"), "value")
    assert 0 < of_board.height <= chosen.height < chosen_scores(task="edit").height
    assert of_board.join(chosen.select(columns), on=columns, how="anti").height == 0
    done = CliRunner().invoke(main, ["papers", "scores", "--task", "edit", "--capability", "text", "--format", "json"])
    assert done.exit_code == 0 and len(json.loads(done.output)) == chosen.height


@for_each(
    ("options", "named"),
    [({"benchmark": "GenEvil"}, "GenEval"), ({"models": ["qwen imag"]}, "qwen-image"), ({"capability": "txt"}, "text")],
)
def test_unknown_names_are_refused_with_those_that_look_like_them(options: dict[str, object], named: str) -> None:
    with pytest.raises(InputError) as caught:
        chosen_scores(**options)  # type: ignore[arg-type]
    assert named in (caught.value.allowed or ())


@pytest.mark.parametrize("task", TASKS)
def test_no_pair_that_a_table_quotes_is_counted_twice(task: str) -> None:
    scores = compared_scores(task)
    battles = ledger_battles(scores)
    assert with_ids(battles)["battle_id"].n_unique() == battles.height <= derive_battles(scores).height


def test_a_copied_source_adds_no_battle() -> None:
    scores = compared_scores("edit")
    copy = scores.filter(source="gpt-image-edit").with_columns(
        benchmark=pl.lit("copy"),
        source=pl.lit("copy"),
        date=pl.col("date") + pl.duration(days=900),
        track=pl.format("copy {}", "track"),
    )
    assert derive_battles(pl.concat([scores, copy])).height > derive_battles(scores).height
    assert ledger_battles(pl.concat([scores, copy])).height == ledger_battles(scores).height


OF_COMPARED: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "compared_pairs": compared_pairs,
    "derive_battles": derive_battles,
    "ledger_battles": ledger_battles,
    "ledger_board": lambda scores: ledger_board(scores).table,
}
OF_LEDGER: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "repeated_numbers": repeated_numbers,
    "agreement_of_sources": agreement_of_sources,
    "agreement_of_judges": agreement_of_judges,
    "separation_of_best": separation_of_best,
    "lead_of_self_reports": lead_of_self_reports,
}
"""Every public function of a frame of scores: of ``compared_scores``, and of ``ledger_scores``."""


def same(one: pl.DataFrame, other: pl.DataFrame) -> None:
    keys = [name for name, kind in one.schema.items() if kind == pl.String]
    one, other = (frame.sort(keys, maintain_order=True) for frame in (one, other))
    assert_frame_equal(one, other, abs_tol=1e-6)


def test_every_public_function_of_scores_is_in_the_tables() -> None:
    functions = {
        name
        for module in (derived_battles, ledger_module, ledger_consistency)
        for name, each in vars(module).items()
        if not name.startswith("_") and getattr(each, "__module__", "") == module.__name__ and isinstance(each, FunctionType)
        if next(iter(signature(each).parameters), None) == "scores"
    }
    assert functions == {*OF_COMPARED, *OF_LEDGER}


@pytest.mark.parametrize("name", sorted(OF_COMPARED))
def test_neither_order_nor_further_columns_nor_rows_without_a_value_change_battles_and_boards(name: str) -> None:
    scores, function = compared_scores("text-to-video"), OF_COMPARED[name]
    result = function(scores)
    assert result.height > 0
    same(function(scores.sample(fraction=1.0, shuffle=True, seed=3)), result)
    same(function(scores.with_columns(note=pl.lit("x"))), result)
    empty = scores.head(5).with_columns(value=pl.lit(None, pl.Float64), model=pl.lit("nobody"))
    same(function(pl.concat([empty, scores])), result)


@pytest.mark.parametrize("name", sorted(OF_LEDGER))
def test_neither_order_nor_further_columns_nor_another_task_change_what_sources_say_of_one_task(name: str) -> None:
    whole, function = ledger_scores(), OF_LEDGER[name]
    result = function(whole)
    assert result["task"].n_unique() > 1
    same(function(whole.sample(fraction=1.0, shuffle=True, seed=3)), result)
    same(function(whole.with_columns(note=pl.lit("x"))), result)
    for task in result["task"].unique():
        same(function(whole.filter(task=task)), result.filter(task=task))


def test_a_copy_of_a_board_under_other_names_is_the_same_board() -> None:
    battles = ledger_battles(compared_scores("edit"))
    board = rank_by_sources(battles, "x").table
    names = {model: f"z-{model}" for model in board["model"]}
    renamed = battles.with_columns(pl.col("model_a", "model_b").replace(names))
    again = rank_by_sources(renamed, "y").table.with_columns(pl.col("model").replace({new: old for old, new in names.items()}))
    same(again, board)


@for_each("capability", list(capabilities()))
def test_every_pattern_of_a_capability_names_columns(capability: str) -> None:
    names = {f"{benchmark} {track}" for benchmark, track in ledger_scores().select("benchmark", "track").unique().iter_rows()}
    for pattern in capabilities()[capability]:
        assert any(fnmatchcase(name, pattern) for name in names), pattern
    boards = [task for task in TASKS if compared_scores(task, capability=capability)["model"].n_unique() > 5]
    assert boards, capability


def test_an_unknown_capability_is_refused() -> None:
    with pytest.raises(InputError, match="no such capability"):
        compared_scores("edit", capability="charm")
    with pytest.raises(InputError, match="no two generators"):
        ledger_board(compared_scores("edit").head(1))


def test_a_board_marks_the_models_that_the_prior_alone_joins_in_its_table_csv_and_json() -> None:
    words = ("board", "text-to-image", "--capability", "counting")
    board = json.loads(called(*words, "--format", "json")[1])
    by_prior = {row["model"] for row in board["models"] if row["joined_by"] == "prior"}
    scores = compared_scores("text-to-image", capability="counting")
    baseline = next(row["model"] for row in board["models"] if row["rating"] == 1000)
    beaten: dict[str, set[str]] = {}
    for one, two, winner in ledger_battles(scores).select("model_a", "model_b", "winner").iter_rows():
        for side, other, loses in ((one, two, "model_b"), (two, one, "model_a")):
            if winner != loses:
                beaten.setdefault(side, set()).add(other)
    beaten_by = {name: {other for other, names in beaten.items() if name in names} for row in beaten.values() for name in row}
    joined = _reached(beaten, baseline) & _reached(beaten_by, baseline)
    assert by_prior == {row["model"] for row in board["models"]} - joined and by_prior
    assert (
        f"{len(by_prior)} of {len(board['models'])} models are joined to {baseline} by the prior alone" in board["warnings"][0]
    )
    assert called(*words)[1].count(" prior alone ") == len(by_prior)
    _, text = called(*words, "--format", "csv")
    assert pl.read_csv(io.StringIO(text)).filter(joined_by="prior")["model"].sort().to_list() == sorted(by_prior)


def _reached(edges: dict[str, set[str]], start: str) -> set[str]:
    """The names to which a chain of edges leads from one of them."""
    seen, left = {start}, [start]
    while left:
        further = edges.get(left.pop(), set()) - seen
        seen |= further
        left += further
    return seen


def test_a_board_of_nothing_says_what_is_missing_and_of_what_one_can_be_made() -> None:
    code, text = called("board", "text-to-image", "--capability", "motion", "--measured")
    assert code == 2
    words = (
        "no two text-to-image generators have numbers in a column that measures motion and is of benchmarks' authors or voters"
    )
    assert words in " ".join(text.split()) and "can be made of: text, counting" in " ".join(text.split())


def test_boards_of_people_and_of_measured_numbers_leave_out_the_others() -> None:
    assert set(compared_scores("text-to-image", people=True)["judge"]) == PEOPLE
    assert set(compared_scores("text-to-image", measured=True)["reported"]) == {"benchmark", "votes"}
    assert (
        compared_scores("text-to-image", people=True)["model"].n_unique() < compared_scores("text-to-image")["model"].n_unique()
    )


def test_a_board_says_of_which_day_the_ledger_is() -> None:
    day = max(origin_of(table.paper).read for table in sourced_tables())
    assert ledger_board(compared_scores("image-to-video")).header.startswith(f"the ledger of {day}, image-to-video:")


def test_a_model_of_one_source_has_no_interval() -> None:
    board = ledger_board(compared_scores("edit"))
    counted = compared_scores("edit").group_by("model").agg(pl.col("source").n_unique())
    alone = set(counted.filter(source=1)["model"])
    assert board.table.filter(pl.col("model").is_in(alone))["ci_low"].null_count() == len(alone)
    assert board.table["ci_low"].count() > 30


# --- consistency


def test_numbers_that_two_sources_print_are_found_and_compared() -> None:
    scores = pl.DataFrame(
        {
            "task": "edit",
            "benchmark": "B",
            "track": "t",
            "judge": None,
            "model": ["x", "x", "y", "y", "z"],
            "source": ["one", "two", "one", "two", "two"],
            "date": ["2025-01-01", "2025-02-01"] * 2 + ["2025-02-01"],
            "value": [10.0, 10.0, 5.0, 6.0, 1.0],
            "reported": ["benchmark", "self", "benchmark", "rival", "rival"],
            "direction": "higher",
        },
        schema_overrides={"judge": pl.String},
    )
    pairs = repeated_numbers(scores)
    assert pairs.select("model", "source", "other_source", "difference", "equal").rows() == [
        ("x", "one", "two", 0.0, True),
        ("y", "one", "two", 0.1, False),
    ]
    assert agreement_of_sources(scores).row(0) == ("edit", "B", 2, 0.5, None, None, 0.1)
    assert lead_of_self_reports(scores).row(0)[:4] == ("edit", 1, 1, 0.0)
    worse = scores.with_columns(value=pl.when(pl.col("reported") == "self").then(8.0).otherwise("value"))
    assert lead_of_self_reports(worse)["lead"].item() == pytest.approx(-0.2)
    lower = worse.with_columns(direction=pl.lit("lower"))
    assert lead_of_self_reports(lower)["lead"].item() == pytest.approx(0.2)


def made_up(**columns: object) -> pl.DataFrame:
    """Scores of one track of one benchmark, the same everywhere but in some columns."""
    same = {"task": "edit", "benchmark": "B", "track": "overall", "overall": True, "judge": None, "kind": "generator"}
    same |= {"source": "one", "date": "2025-01-01", "reported": "benchmark", "direction": "higher"}
    return pl.DataFrame(same | columns, schema_overrides={"judge": pl.String})


def test_two_judges_are_compared_on_the_same_models_and_tracks() -> None:
    models = [f"m{number}" for number in range(6)]
    strict = made_up(model=models, value=[10.0, 20.0, 30.0, 40.0, 50.0, 100.0], judge="strict")
    kind = strict.with_columns(judge=pl.lit("kind"), value=pl.col("value") + pl.Series([9.0, 10.0, 11.0, 10.0, 11.0, -9.0]))
    row = agreement_of_judges(pl.concat([strict, kind, made_up(model=models, value=1.0)])).row(0, named=True)
    assert (row["judge"], row["other_judge"], row["pairs"], row["models"]) == ("kind", "strict", 6, 6)
    assert row["difference"] == pytest.approx(-0.07) and row["ci_low"] < -0.07 < row["ci_high"]
    assert row["spearman"] == 1.0 and row["spearman_low"] is None  # one track


@pytest.mark.parametrize("seed", range(12))
def test_what_sources_say_of_each_other_is_counted_as_by_hand(seed: int) -> None:
    """Each function against plain loops over made-up sources."""
    random = Random(seed)
    rows = [
        {
            **{"task": "edit", "benchmark": random.choice("BC"), "track": random.choice(["overall", "t"]), "overall": False},
            **{"kind": random.choice(["generator", "generator", "method"]), "model": random.choice("uvwxyz"), "source": source},
            **{
                "date": f"2025-0{source}-01",
                "judge": random.choice([None, "j", "k"]),
                "value": random.choice([2.0, 3.0, 4.5, 9.0]),
            },
            "reported": random.choice(["benchmark", "self", "rival"]),
        }
        for source in [random.choice("12345") for _ in range(60)]
    ]
    rows = [row | {"direction": "lower" if (row["benchmark"], row["track"]) == ("C", "t") else "higher"} for row in rows]
    scores = pl.DataFrame(rows, schema_overrides={"judge": pl.String})
    top = {key: max(row["value"] for row in rows if place(row) == key) for key in {place(row) for row in rows}}
    pairs = [
        (one, other, (other["value"] - one["value"]) / top[place(one)])
        for one, other in product(rows, rows)
        if place(one) == place(other) and one["model"] == other["model"] and one["source"] < other["source"]
        if None in (one["judge"], other["judge"]) or one["judge"] == other["judge"]
    ]
    found = repeated_numbers(scores).select("source", "other_source", "model", "benchmark", "track", "difference", "equal")
    by_hand = [(one["source"], other["source"], one["model"], *place(one), gap, abs(gap) <= EQUAL) for one, other, gap in pairs]
    assert sorted(found.rows()) == sorted(by_hand)
    for by, of in (("benchmark", lambda one, _: one["benchmark"]), ("kinds", lambda *both: " and ".join(sorted(kinds(both))))):
        for row in agreement_of_sources(scores, by=by).iter_rows(named=True):
            gaps = [abs(gap) for one, other, gap in pairs if of(one, other) == row[by]]
            apart = [gap for gap in gaps if gap > EQUAL]
            assert (row["pairs"], row["equal"]) == (len(gaps), pytest.approx(1 - len(apart) / len(gaps)))
            assert row["median"] == (pytest.approx(median(apart)) if apart else None)
    sign = {"higher": 1.0, "lower": -1.0}
    leads = [
        (
            gap * sign[one["direction"]] * (1.0 if other["reported"] == "self" else -1.0),
            {one["reported"]: one, other["reported"]: other},
        )
        for one, other, gap in pairs
        if kinds((one, other)).count("self") == 1
    ]
    row = lead_of_self_reports(scores).row(0, named=True)
    assert (row["pairs"], row["sources"]) == (len(leads), len({both["self"]["source"] for _, both in leads}))
    assert row["lead"] == pytest.approx(fmean(lead for lead, _ in leads))
    named = [row for row in rows if row["judge"] is not None]
    most = {key: max(row["value"] for row in named if place(row) == key) for key in {place(row) for row in named}}
    judged = [
        (one, other, (other["value"] - one["value"]) / most[place(one)])
        for one, other in product(rows, rows)
        if place(one) == place(other) and one["model"] == other["model"] and (one["judge"], other["judge"]) == ("j", "k")
    ]
    for row in agreement_of_judges(scores).iter_rows(named=True):
        mine = [each for each in judged if each[0]["benchmark"] == row["benchmark"]]
        assert (row["pairs"], row["models"]) == (len(mine), len({one["model"] for one, *_ in mine}))
        assert row["difference"] == pytest.approx(fmean(gap for *_, gap in mine))
        tracks = [
            [(one["value"], other["value"]) for one, other, _ in mine if one["track"] == each] for each in ("overall", "t")
        ]
        orders = [correlation(*map(ranks, zip(*track, strict=True))) for track in tracks if len(track) > 1 and varies(track)]
        assert row["spearman"] == (pytest.approx(fmean(orders)) if orders else None)


def place(row: dict[str, Any]) -> tuple[str, str]:
    return row["benchmark"], row["track"]


def kinds(both: tuple[dict[str, Any], ...]) -> list[str]:
    return [row["reported"] for row in both]


def ranks(values: tuple[float, ...]) -> list[float]:
    return [sum(other < value for other in values) + sum(other == value for other in values) / 2 for value in values]


def varies(track: list[tuple[float, float]]) -> bool:
    return all(len(set(side)) > 1 for side in zip(*track, strict=True))


def test_a_gap_smaller_than_sources_differ_separates_nothing() -> None:
    models = [f"m{number:02}" for number in range(12)]
    scores = [made_up(model=models, value=[100.0 - number for number in range(12)])]
    for number in range(5):
        differing = made_up(model=models[-1:], value=[89.0 + 10.0 * (-1) ** number], source=f"other-{number}")
        scores.append(differing.with_columns(date=pl.lit(f"2025-0{number + 2}-01")))
    whole = pl.concat(scores)
    row = separation_of_best(whole).row(0, named=True)
    assert (row["best"], row["tenth"], row["gap"]) == (100.0, 92.0, pytest.approx(0.08))  # m11 has 99 somewhere
    assert row["pairs"] == 11 and row["ci_low"] < 0.0 < row["gap"] < row["ci_high"]
    alone = separation_of_best(scores[0]).row(0, named=True)
    assert (alone["noise"], alone["pairs"], alone["ci_low"]) == (None, 0, None)
    two = [
        scores[0].with_columns(judge=pl.lit(judge), value=pl.col("value") / size) for judge, size in (("a", 1.0), ("b", 2.0))
    ]
    assert separation_of_best(pl.concat(two))["best"].to_list() == [100.0, 50.0]


def test_a_rivals_number_is_quoted_from_the_benchmark_the_maker_or_an_older_rival() -> None:
    scores = ledger_scores()
    quoted = scores.drop_nulls("quoted")
    assert set(quoted["reported"]) == {"rival"} and 0.15 < quoted.height / scores.filter(reported="rival").height < 0.35
    origin = scores.select(
        "task", "benchmark", "track", "model", "value", quoted="source", by="reported", since="date"
    ).unique()
    keys = ["task", "benchmark", "track", "model", "value", "quoted"]
    assert quoted.join(origin, on=keys, how="anti").height == 0
    pairs = quoted.join(origin, on=keys)
    assert not pairs.filter(pl.col("source") == pl.col("quoted")).height
    assert (pairs.filter(by="rival")["since"] < pairs.filter(by="rival")["date"]).all()
    known = {"source": "hidream-i1", "model": "sdxl", "benchmark": "GenEval", "track": "overall"}
    assert scores.filter(**known)["quoted"].to_list() == ["geneval"]


def test_tiif_bench_is_counted_from_its_released_answers() -> None:
    sheets = [table for table in ledger() if table.paper.paper == "tiif-bench"]
    answers = [int(n) for sheet in sheets for name in ("answers_short", "answers_long") for n in sheet.printed[name] if n]
    assert sum(answers) == 141_024
    assert ledger_scores().filter(source="tiif-bench")["n"].null_count() == 0


def test_judges_that_differ_are_not_compared() -> None:
    pairs = repeated_numbers(ledger_scores())
    assert pairs.filter(benchmark="GenAI-Bench", source="genai-bench").height == 0
    assert pairs.height > 1_500


# --- a new source


def changed(tmp_path: Path, **words: str) -> Path:
    text = VMBENCH.read_text(encoding="utf-8").replace('"vmbench', '"vmbench-again')
    for old, new in words.items():
        assert old.replace("_", " ") in text or old in text
        text = text.replace(old, new)
    file = tmp_path / "vmbench-again.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_source_without_a_fault_passes(tmp_path: Path) -> None:
    report = check_source(changed(tmp_path))
    assert [problem.what for problem in report.problems if problem.is_error] == []
    assert (report.numbers, report.models, report.means) == (36, 6, 6)
    assert report.repeated == report.equal == 36  # VMBench has them already


def test_what_is_wrong_with_a_source_is_named(tmp_path: Path) -> None:
    file = changed(tmp_path, **{"HunyuanVideo,63.4": "HunyuanVidoe,163.4", "Mochi 1,": "CogVideoX 5B,"})
    problems = {(problem.row, problem.column): problem.what for problem in check_source(file).problems if problem.is_error}
    assert "hunyuanvideo" in problems["HunyuanVidoe", ""]
    assert problems["HunyuanVidoe", "overall"] == "163.4 is outside 0 to 100, the range of 'points of 100'"
    assert problems["cogvideox-5b", ""] == "2 rows are this model"


def looks(file: Path) -> dict[tuple[str, str], str]:
    return {(problem.row, problem.column): problem.what for problem in check_source(file).problems if not problem.is_error}


def test_a_number_that_another_source_prints_otherwise_is_named_with_both(tmp_path: Path) -> None:
    file = changed(tmp_path, **{"HunyuanVideo,63.4": "HunyuanVideo,64.9"})
    assert looks(file)["HunyuanVideo", "overall"].startswith("64.9 here but 63.4 in vmbench:1")
    report = check_source(file)
    assert (report.repeated, report.equal) == (36, 35)
    code, text = called("add", file)
    assert code == 0 and "63.4 in vmbench:1" in text


def test_a_number_that_some_sources_print_and_others_otherwise_says_so() -> None:
    assert looks(LEDGER / "bagel.toml")["BAGEL", "geneval.overall"] == "0.82 here, as in 7 other tables, but 0.78 in irg:1"


def test_a_bold_number_that_is_not_the_best_is_named(tmp_path: Path) -> None:
    right = changed(tmp_path, **{"78.4": "**78.4**", "HunyuanVideo,63.4": "HunyuanVideo,**63.4**"})
    assert check_source(right).numbers == 36
    bold = [(each.row, each.what) for each in check_source(right).problems if each.what.startswith("bold")]
    assert bold == [("HunyuanVideo", "bold, but Wan2.1 has 78.4")]


def test_a_bold_word_is_no_number_to_compare(tmp_path: Path) -> None:
    words = {"column = [": 'column = [{ match = "open", unit = "text", role = "note" },', "coherence\n": "coherence,open\n"}
    words |= {f"{end}\n": f"{end},**yes**\n" for end in ("88.5", "83.6", "94.7", "91.0", "96.3", "97.8")}
    report = check_source(changed(tmp_path, **words))
    assert report.numbers == 36 and not [each.what for each in report.problems if each.what.startswith("bold")]


@for_each(
    ("old", "new", "said"),
    [
        ('unit = "points of 100"', 'unit = "percents"', "unknown unit 'percents': one of 'percent'"),
        ('unit = "points of 100"', 'unit = "fraction"', "other sources print VMBench in 'points of 100'"),
        ('direction = "higher"', 'direction = "lower"', "in other sources higher is better"),
        ('benchmark = "VMBench"', 'benchmark = "VM-bench"', "'VM-bench' is written 'VMBench'"),
        ('measured_by = "benchmark"', 'measured_by = "votes"', "the judge is one of"),
        ("read = 2026-11-26", "read = 2096-11-26", "has not come yet"),
        ('paper = "vmbench-again"', 'paper = "vmbench-other"', "the file is called vmbench-again"),
    ],
)
def test_what_does_not_go_with_the_ledger_must_be_put_right(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, said: str
) -> None:
    file = changed(tmp_path_factory.mktemp("source"), **{old: new})
    if "vmbench-other" in new:
        file.write_text(file.read_text(encoding="utf-8").replace("again:", "other:"), encoding="utf-8")
    assert any(said in problem.what for problem in check_source(file).problems if problem.is_error)


def test_a_source_of_a_makers_repository_is_to_be_looked_at(tmp_path: Path) -> None:
    file = changed(tmp_path, **{"github.com/GD-AIGC/VMBench": "github.com/Tencent-Hunyuan/Bench"})
    assert "Tencent publishes there as a maker" in looks(file)["", "origin.measured_by"]


@pytest.mark.slow
def test_shipped_sources_have_nothing_that_must_be_put_right() -> None:
    for path in sorted(LEDGER.iterdir()):
        assert [problem for problem in check_source(path).problems if problem.is_error] == [], path.stem


def test_names_have_no_signs_that_act_unseen() -> None:
    texts = [text for model in registry().models for text in (model.name, model.maker or "", *model.spellings)]
    texts += [text for table in (*tables(), *ledger()) for text in (*table.names, *table.columns)]
    assert [text for text in texts if not text.isprintable()] == []


@for_each(
    ("old", "new", "said"),
    [
        ('measured_by = "benchmark"', 'measured_by = "maker"', "names its maker"),
        ("[origin]", "[orgin]", "orgin"),
        ("csv = ", "file = 'a.csv'\ncsv = ", "in one of them"),
        ("51.6", "about 51", "not a number"),
        ("51.6", "nan", "not a number"),
        ("51.6", "1e400", "not a number"),
        ("51.6", "9" * 400, "not a number"),
        ("51.6", "٥١.٦", "not a number"),
        ("Mochi 1", "Mochi\u200b 1", "cannot be seen"),
        ('title = "VMBench"', 'title = "VM\u202eBench"', "cannot be seen"),
        ("date = 2025-03-13", "date = 2026-11-27", "before the commit"),
        ("https://github.com", "https://github.com@evil.example", "link"),
        ("GD-AIGC/VMBench", "x'onclick=alert(1)", "link"),
        ("read = 2026-11-26", "read = 2026-13-26", "line"),
        ('link = "https:', 'link = "ftp:', "link"),
    ],
)
def test_a_file_that_is_no_source_is_an_error_that_names_the_place(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, said: str
) -> None:
    file = changed(tmp_path_factory.mktemp("source"), **{old: new})
    with pytest.raises(InputError, match=re.escape(said)):
        check_source(file)


def test_a_paper_that_scores_no_generators_is_no_source() -> None:
    with pytest.raises(InputError, match="origin"):
        check_source(LEDGER.parent / "artifact-bench.toml")


# --- the commands


def test_the_commands_print_tables_and_json(tmp_path: Path) -> None:
    code, text = called("list", "--format", "json")
    assert code == 0 and len(json.loads(text)) == sources().height == 80
    code, text = called("board", "image-to-video", "--top", 3)
    assert code == 0 and "sources" in text
    code, text = called("scores", "--model", "Veo 3.1", "--format", "json")
    assert code == 0 and {row["model"] for row in json.loads(text)} == {"veo-3.1"}
    code, text = called("consistency", "--format", "json")
    assert code == 0 and json.loads(text)["benchmarks"][0]["benchmark"] == "GenEval"
    for words in (["list"], ["board", "edit"], ["scores", "--task", "edit"], ["consistency"], ["check"]):
        code, text = called(*words, "--format", "csv")
        assert code == 0 and pl.read_csv(io.StringIO(text), infer_schema_length=None).height > 3, words
    code, text = called("show", "genexam:1", "--format", "csv")
    assert code == 0 and "GPT-Image-2,50.3,79.6" in text
    code, text = called("add", changed(tmp_path), "--format", "json")
    assert code == 0 and json.loads(text)["models"] == 6


def test_a_source_with_faults_ends_the_command_with_1(tmp_path: Path) -> None:
    code, text = called("add", changed(tmp_path, **{"HunyuanVideo,": "Nobody knows,"}))
    assert code == 1 and "unknown model" in text


def test_sources_that_were_read_long_ago_are_listed() -> None:
    from datetime import date

    assert set(sources((date(2026, 11, 26), 0))["source"]) == {"magicmirror", "r3", "prism", "mef"}
    assert sources((date(2027, 11, 26), 180)).height == 80


# --- the study of boards


def test_a_board_predicts_the_edits_of_a_source_that_it_has_not_seen() -> None:
    from studies.ledger import left_out

    found = list(left_out("edit"))
    assert len(found) == 17
    right, loss = ({name: sum(row[at][name] for row in found) / len(found) for name in found[0][at]} for at in (1, 2))
    assert 0.5 < right["newer is better"] < right["Bradley–Terry"]
    assert right["mean of z-scores"] < right["Bradley–Terry"]
    assert loss["Bradley–Terry"] < loss["newer is better"] < 1.0


def test_the_slope_of_a_board_is_the_best_of_many_and_a_board_of_equals_is_a_coin() -> None:
    from studies.ledger import log_loss, right_share, slope_of

    own = np.random.default_rng(0).normal(0.5, 1.0, 500)
    losses = {slope: log_loss(own, slope) for slope in np.linspace(0, 4, 401)}
    assert slope_of(own) == pytest.approx(min(losses, key=losses.__getitem__), abs=0.01)
    assert (right_share(np.zeros(3)), log_loss(np.zeros(3), 2.0)) == (0.5, pytest.approx(math.log(2)))


def test_numbers_that_a_source_is_quoted_for_do_not_predict_it() -> None:
    from studies.ledger import without_quotes

    scores = compared_scores("text-to-image")
    test = scores.filter(source="geneval")
    train = without_quotes(scores.filter(pl.col("source") != "geneval"), test)
    sdxl = pl.col("measures").str.starts_with("GenEval"), pl.col("model") == "sdxl"
    assert test.filter(*sdxl).height == 6
    assert train.filter(*sdxl, pl.col("value") == 0.98).height == 0  # as six tables quote it
    assert 0 < train.height < scores.height - test.height


# --- the schema


def test_a_table_of_another_repository_links_there_on_the_page() -> None:
    elsewhere = {}
    for table in sourced_tables():
        if match := re.search(r" of ([\w.-]+/[\w.-]+) at ", table.spec.place or ""):
            elsewhere[table.id] = f"https://github.com/{match[1]}"
    assert len(elsewhere) == 4
    assert {table.id: table.spec.link for table in sourced_tables() if table.spec.link} == elsewhere
    embedded = re.search(r'<script type="application/json" class="content">(.*?)</script>', ledger_page(), re.DOTALL)
    assert embedded is not None
    tables = json.loads(embedded[1])["tables"]
    assert {link for _, _, link in tables if link} == {*elsewhere.values()}


def test_the_schema_of_a_source_is_that_of_the_docs() -> None:
    """``python packages/published/tests/test_ledger.py`` writes it again."""
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == Paper.model_json_schema()


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(Paper.model_json_schema(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
