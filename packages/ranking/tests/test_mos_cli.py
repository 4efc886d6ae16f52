"""`salon ratings mos`, `salon votes drivers` and `salon ratings pass-rates`, and the files and pages that they write."""

import builtins
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import rich_click as click
from click.testing import CliRunner, Result

from salon_ranking.cli import opinion
from salon_ranking.errors import MissingExtraError
from salon_taxonomy.errors import SalonError

HOSTILE = "[red]<script>alert(1)</script>\x1b[31m"
MODELS = ["x", "y", HOSTILE]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ratings in two dimensions and scenarios, votes that follow them, and checks, as CSV files."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    model, prompt, sample, dimension = (grid.ravel() for grid in np.mgrid[:3, :30, :2, :2])
    value = np.clip(np.rint(3 + 0.5 * model * dimension + rng.normal(0, 1, len(model))), 1, 5)
    frame = pl.DataFrame({"m": model, "prompt_id": prompt, "s": sample, "d": dimension, "value": value}).with_row_index(
        "rating_id"
    )
    ratings = frame.select(
        "rating_id",
        "prompt_id",
        "value",
        model=pl.Series([MODELS[number] for number in model]),
        generation_id=pl.format("{}/{}/{}", "m", "prompt_id", "s"),
        dimension=pl.Series([["beauty", "fit.to [prompt]"][number] for number in dimension]),
        rater_id=pl.lit("ann"),
        scale_min=pl.lit(1),
        scale_max=pl.lit(5),
        scenario=pl.format("scenario {}", pl.col("prompt_id") % 2),
    )
    ratings.write_csv(folder / "ratings.csv")
    pairs = [(p, a, b) for p in range(30) for a in range(3) for b in range(3) if a != b]
    votes = pl.DataFrame(pairs, schema=["prompt_id", "a", "b"], orient="row").select(
        "prompt_id",
        model_a=pl.col("a").replace_strict(dict(enumerate(MODELS)), return_dtype=pl.String),
        model_b=pl.col("b").replace_strict(dict(enumerate(MODELS)), return_dtype=pl.String),
        winner=pl.Series(rng.choice(["model_a", "model_b", "tie"], len(pairs))),
        mode=pl.Series(rng.choice(["expert", "public"], len(pairs), p=[0.1, 0.9])),
    )
    votes.write_csv(folder / "votes.csv")
    checks = [(m, t, bool(n % 3)) for m in MODELS for t in ("Text", "Size") for n in range(9)]
    pl.DataFrame(checks, schema=["model", "test_point", "satisfied"], orient="row").write_csv(folder / "checks.csv")
    return folder


def ran(command: click.Command, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


CALLS = {"mos": ["ratings.csv"], "drivers": ["votes.csv", "ratings.csv"], "pass_rates": ["checks.csv"]}


def call(name: str, files: Path, *options: object) -> Result:
    return ran(getattr(opinion, name), *(files / file for file in CALLS[name]), *options)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mos", ["360 scored, 0 unscored", "MOS", "scenario 0", "comparisons differ", "samples per prompt", "correlations"]),
        ("drivers", ["180 of 180 battles used", "public", "rise", "No weights for expert", "ties half a win"]),
        ("pass_rates", ["54 checks scored, 0 unscored", "all checks", "66.7%"]),
    ],
)
def test_people_get_a_table_that_says_how_it_was_made(name: str, shown: list[str], files: Path):
    result = call(name, files)
    assert result.exit_code == 0, result.exception
    words = " ".join(result.stdout.split())  # where lines break depends on how long the files' paths are
    for part in shown:
        assert part in words
    assert "\x1b[31m" not in result.stdout


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("mos", "scenario,dimension,model,mean"),
        ("drivers", "persona,scenario,dimension,rise"),
        ("pass_rates", "model,test_point,satisfied"),
    ],
)
def test_programs_get_csv_and_json(name: str, columns: str, files: Path):
    assert call(name, files, "--format", "csv").stdout.startswith(columns)
    document = json.loads(call(name, files, "--format", "json").stdout)
    assert document["confidence"] == 0.95 and document["source"].endswith(CALLS[name][0])


@pytest.mark.parametrize("name", CALLS)
def test_every_kind_of_file_is_written(name: str, files: Path, tmp_path: Path):
    for ending in ("csv", "parquet", "json", "html"):
        result = call(name, files, "--output", tmp_path / f"out.{ending}")
        assert result.exit_code == 0, result.exception
        assert "Wrote" in result.stderr
    assert pl.read_csv(tmp_path / "out.csv").columns == pl.read_parquet(tmp_path / "out.parquet").columns
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert page.count('class="chart"') >= 1
    assert [path.name for path in tmp_path.iterdir() if "unfinished" in path.name] == []


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("mos", ["--alpha", "2"], "alpha"),
        ("mos", ["--confidence", "nan"], "confidence"),
        ("mos", ["--output", "out.pdf"], "'.pdf'"),
        ("mos", ["--output", "no/such/folder/out.csv"], "no such folder"),
        ("mos", ["--prompts", "none.csv"], "none.csv: there is no such file"),
        ("drivers", ["--persona", "age"], "'age'"),
        ("drivers", ["--cluster", "age"], "'age'"),
        ("pass_rates", ["--task", "t"], "'task'"),
    ],
)
def test_mistakes_are_typed_errors(name: str, options: list[str], said: str, files: Path):
    result = call(name, files, *options)
    assert isinstance(result.exception, SalonError)
    assert said in str(result.exception)


def test_a_file_of_another_kind_is_refused(files: Path):
    result = ran(opinion.mos, files / "votes.csv")
    assert isinstance(result.exception, SalonError)
    assert "missing column 'rating_id'" in str(result.exception)
    assert "--columns theirs=ours,…`, and --scale LOW HIGH; see docs/mos.md." in str(result.exception)


def test_every_command_of_marks_reads_other_names_of_columns_and_models(files: Path, tmp_path: Path):
    """A file with foreign names of all columns, and one model in two spellings, has the numbers of the file with ours."""
    for name in sorted(CALLS.keys() - {"drivers"}):  # votes: `salon votes import`
        given = [pl.read_csv(files / file) for file in CALLS[name]]
        theirs = given[0].rename({column: f"their {column}" for column in given[0].columns})
        models = [column for column in theirs.columns if column.startswith("their model")]
        path = tmp_path / f"{name}.csv"
        theirs.with_columns(pl.col(column).replace("y", "the Y") for column in models).write_csv(path)
        (tmp_path / "names.csv").write_text("name,model\nthe Y,y\n")
        others = [files / file for file in CALLS[name][1:]]
        ours = ",".join(f"their {column}={column}" for column in given[0].columns)
        options = ["--columns", ours, "--names", tmp_path / "names.csv", "--format", "csv"]
        done = ran(getattr(opinion, name), path, *others, *options)
        assert done.exit_code == 0, (name, done.exception)
        assert done.stdout == call(name, files, "--format", "csv").stdout, name
        refused = ran(getattr(opinion, name), path, *others, "--columns", f"none={given[0].columns[0]}")
        assert "missing column 'none'" in str(refused.exception), name


def test_a_file_of_bare_marks_needs_a_scale_and_says_what_was_assumed(tmp_path: Path):
    path = tmp_path / "marks.csv"
    rows = ("gpt 4,cat,4", "sdxl,cat,3", "GPT4,dog,5", "sdxl,dog,2", "gpt 4,owl,4")
    path.write_text("\n".join(["rater,model,prompt,score", *(f"ann,{row}" for row in rows)]))
    words = [path, "--columns", "rater=rater_id,prompt=prompt_id,score=value", "--names", "merge", "--format", "json"]
    found = json.loads(ran(opinion.mos, *words, "--scale", 1, 5).stdout)
    assert {row["model"]: row["mean"] for row in found["scores"]} == {"gpt 4": pytest.approx(13 / 3), "sdxl": 2.5}
    assert found["remarks"] == [
        "assumed: each row is one rating, all marks are of one dimension, overall, each model made one picture for each prompt",
        "merged 'GPT4' into 'gpt 4'",
    ]
    for low, high in ((5, 1), (2, 2), (1, "inf"), ("nan", 5)):
        assert "the lowest mark must be below the highest" in str(ran(opinion.mos, *words, "--scale", low, high).exception)
    assert "is off its scale: 5.0" in str(ran(opinion.mos, *words, "--scale", 1, 4).exception)


def test_without_scipy_the_extra_is_named_and_scores_need_none(files: Path, monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.split(".")[0] == "scipy":
            raise ModuleNotFoundError("No module named 'scipy'", name="scipy")
        return real(name, *rest, **more)  # type: ignore[arg-type]

    def lacking(name: str) -> object:
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr("salon_ranking.extras.import_module", lacking)
    result = call("mos", files)
    assert isinstance(result.exception, MissingExtraError)
    assert "./packages/ranking[analysis]" in str(result.exception)
    assert call("mos", files, "--test", "none").exit_code == 0
    assert call("mos", files, "--test", "within-prompts").exit_code == 0
    assert call("drivers", files).exit_code == 0
