"""The ledger: every source reads, every row is a model, numbers lie in their ranges, and boards do not depend on order."""

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from for_each import for_each
from salon_console import main
from salon_published import check
from salon_published.check import check_tables
from salon_published.derived_battles import derive_battles
from salon_published.ledger import (
    capabilities,
    chosen_scores,
    compared_scores,
    ledger_battles,
    ledger_board,
    ledger_scores,
    sources,
)
from salon_published.ledger_consistency import agreement_of_sources, lead_of_self_reports, repeated_numbers
from salon_published.manifest import GenerationTask, MeasuredBy, Paper
from salon_published.registry import registry, resolve_row
from salon_published.source_check import RANGES, check_source
from salon_published.tables import LEDGER, cells_of, ledger, tables
from salon_taxonomy.errors import InputError

TASKS = [str(task) for task in GenerationTask]
SCHEMA = Path(__file__).parents[3] / "docs" / "ledger-source.schema.json"
VMBENCH = LEDGER / "vmbench.toml"


def called(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["papers", *map(str, words)])
    return result.exit_code, result.output


# --- the data


def test_the_ledger_has_what_it_promises() -> None:
    scores = ledger_scores()
    generators = scores.filter(kind="generator")
    assert scores["source"].n_unique() == 76
    assert generators["model"].n_unique() >= 400
    distinct = scores.unique(["task", "benchmark", "track", "judge", "model", "value"])
    assert distinct.height >= 7_000
    assert set(scores["task"]) == set(TASKS)
    assert scores.null_count().select(pl.exclude("judge", "n")).sum_horizontal().item() == 0


def test_the_page_says_how_large_it_is() -> None:
    scores = ledger_scores()
    page = (Path(__file__).parents[3] / "docs/ledger.md").read_text(encoding="utf-8")
    generators = scores.filter(kind="generator")["model"].n_unique()
    assert f"{scores.height:,} numbers of {generators} generators in 76 sources and {len(ledger())} tables" in page
    assert f"{len(registry().models)} models" in page
    pairs = repeated_numbers(scores)
    assert f"{100 * pairs['equal'].mean():.0f}% of {pairs.height:,} cases" in page  # type: ignore[str-bytes-safe]


def test_the_papers_tables_are_no_part_of_it() -> None:
    assert not {table.id for table in tables()} & {table.id for table in ledger()}
    assert all(table.paper.origin is None for table in tables())
    assert sum(len(table.names) * len(table.columns) for table in tables()) == 3_657


def test_every_row_is_one_known_model_of_its_table() -> None:
    for table in ledger():
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
    makers = {table.paper.paper for table in ledger() if table.paper.origin.measured_by is MeasuredBy.MAKER}  # type: ignore[union-attr]
    assert set(scores.filter(reported="self")["source"]) == makers - {"srum"}  # whose method has no weights of its own
    assert not set(scores.filter(pl.col("reported").is_in(["self", "rival"]))["source"]) - makers
    owners = {model.id: model.maker for model in registry().models}
    own = scores.filter(reported="self")
    assert {owners[model] for model in own["model"]} <= {table.paper.origin.maker for table in ledger()}  # type: ignore[union-attr]


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


@for_each(("options", "named"), [({"benchmark": "GenEvil"}, "GenEval"), ({"models": ["qwen imag"]}, "qwen-image")])
def test_unknown_names_are_refused_with_those_that_look_like_them(options: dict[str, object], named: str) -> None:
    with pytest.raises(InputError) as caught:
        chosen_scores(**options)  # type: ignore[arg-type]
    assert named in (caught.value.allowed or ())


@pytest.mark.parametrize("task", TASKS)
def test_no_pair_that_a_table_quotes_is_counted_twice(task: str) -> None:
    scores = compared_scores(task)
    battles = ledger_battles(scores)
    assert battles["battle_id"].n_unique() == battles.height <= derive_battles(scores).height


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


def test_boards_do_not_depend_on_the_order_of_rows() -> None:
    scores = compared_scores("text-to-video")
    board = ledger_board(scores).table.sort("model")
    again = ledger_board(scores.sample(fraction=1.0, shuffle=True, seed=3)).table.sort("model")
    assert again["model"].to_list() == board["model"].to_list()
    assert again["rating"].to_list() == pytest.approx(board["rating"].to_list(), abs=1e-6)


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


def test_boards_of_people_and_of_measured_numbers_leave_out_the_others() -> None:
    assert set(compared_scores("text-to-image", people=True)["judge"]) == {"people"}
    assert set(compared_scores("text-to-image", measured=True)["reported"]) == {"benchmark", "votes"}
    assert (
        compared_scores("text-to-image", people=True)["model"].n_unique() < compared_scores("text-to-image")["model"].n_unique()
    )


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


@for_each(
    ("old", "new", "said"),
    [
        ('measured_by = "benchmark"', 'measured_by = "maker"', "names its maker"),
        ("[origin]", "[orgin]", "orgin"),
        ("csv = ", "file = 'a.csv'\ncsv = ", "in one of them"),
        ("51.6", "about 51", "not a number"),
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


def test_a_paper_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="origin"):
        check_source(LEDGER.parent / "prism.toml")


# --- the commands


def test_the_commands_print_tables_and_json(tmp_path: Path) -> None:
    code, text = called("list", "--format", "json")
    assert code == 0 and len(json.loads(text)) == sources().height == 76
    code, text = called("board", "image-to-video", "--top", 3)
    assert code == 0 and "sources" in text
    code, text = called("scores", "--model", "Veo 3.1", "--format", "json")
    assert code == 0 and {row["model"] for row in json.loads(text)} == {"veo-3.1"}
    code, text = called("consistency", "--format", "json")
    assert code == 0 and json.loads(text)["benchmarks"][0]["benchmark"] == "GenEval"
    code, text = called("show", "genexam:1", "--format", "csv")
    assert code == 0 and "GPT-Image-2,50.3,79.6" in text
    code, text = called("add", changed(tmp_path), "--format", "json")
    assert code == 0 and json.loads(text)["models"] == 6


def test_a_source_with_faults_ends_the_command_with_1(tmp_path: Path) -> None:
    code, text = called("add", changed(tmp_path, **{"HunyuanVideo,": "Nobody knows,"}))
    assert code == 1 and "unknown model" in text


def test_sources_that_were_read_long_ago_are_listed() -> None:
    from datetime import date

    assert sources((date(2026, 11, 26), 0)).height == 0
    assert sources((date(2027, 11, 26), 180)).height == 76


# --- the study of boards


def test_a_board_predicts_the_edits_of_a_source_that_it_has_not_seen() -> None:
    from studies.ledger import left_out

    found = [shares for _, shares, _ in left_out("edit")]
    mean = {name: sum(shares[name] for shares in found) / len(found) for name in found[0]}
    assert len(found) == 17
    assert 0.5 < mean["newer is better"] < mean["Bradley–Terry"]
    assert mean["mean of z-scores"] < mean["Bradley–Terry"]


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


def test_the_schema_of_a_source_is_that_of_the_docs() -> None:
    """``python packages/published/tests/test_ledger.py`` writes it again."""
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == Paper.model_json_schema()


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(Paper.model_json_schema(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
