"""`salon votes rank` with models beyond plain Bradley-Terry."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    a = random.integers(0, 3, 300)
    b = (a + random.integers(1, 3, 300)) % 3
    names = np.array(["x", "[red]y", "z"])
    columns = {
        "model_a": names[a],
        "model_b": names[b],
        "winner": random.choice(["model_a", "model_b", "tie", "both_bad"], 300),
        "length_a": random.normal(size=300),
        "length_b": random.normal(size=300),
        "side_a_shown": random.choice(["left", "right"], 300),
        "answered_at": [f"2024-03-01T10:{n // 60:02}:{n % 60:02}" for n in range(300)],
        "prompt": random.integers(0, 20, 300),
    }
    path = tmp_path / "votes.csv"
    pl.DataFrame(columns).write_csv(path)
    return path


def salon(*arguments: object) -> Result:
    return called("rank", *arguments)


def called(command: str, *arguments: object) -> Result:
    return CliRunner().invoke(main, ["votes", command, *map(str, arguments)])


def elo(*arguments: object) -> Result:
    return called("elo", *arguments)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_a_tie_model_shows_its_parameter_with_its_error(votes: Path, ties: str):
    result = salon(votes, "--ties", ties)
    assert result.exit_code == 0, result.stderr
    for part in ("parameters", "ν" if ties == "davidson" else "κ", "[red]y", "interval", "sandwich"):
        assert part in result.stdout
    (document,) = json.loads(salon(votes, "--ties", ties, "--format", "json").stdout)
    assert len(document["rows"]) == 3
    assert document["parameters"][0]["standard_error"] > 0


def test_both_bad_can_be_dropped_or_shown_beside_the_ratings(votes: Path):
    assert "without" in salon(votes, "--both-bad", "drop", "--bootstrap", 0).stdout
    own = salon(votes, "--both-bad", "own", "--bootstrap", 0)
    assert "acceptability" in own.stdout
    machine = salon(votes, "--both-bad", "own", "--bootstrap", 0, "--format", "json")
    assert len(json.loads(machine.stdout)[0]["rows"]) == 3
    assert "acceptability" in machine.stderr
    tied = salon(votes, "--both-bad", "own", "--ties", "davidson", "--format", "json")
    assert len(json.loads(tied.stdout)[0]["acceptability"]) == 3


def test_covariates_and_position_bias_are_shown_with_their_tests(votes: Path, tmp_path: Path):
    output = tmp_path / "board.json"
    result = salon(votes, "--covariate", "length_a,length_b", "--covariate", "side_a_shown", "--output", output)
    assert result.exit_code == 0, result.stderr
    for part in ("parameters", "length_a - length_b", "shown on the left", "position bias", "left share"):
        assert part in " ".join(salon(votes, "--covariate", "length_a,length_b", "--covariate", "side_a_shown").stdout.split())
    (document,) = json.loads(output.read_text(encoding="utf-8"))
    assert [row["term"] for row in document["parameters"]] == ["length_a - length_b", "shown on the left"]
    assert 0 < document["position_bias"][0]["left_share"] < 1


def test_online_elo_follows_the_order_or_averages_over_orders(votes: Path, tmp_path: Path):
    ordered = elo(votes, "--order-by", "answered_at")
    assert "in the order of answered_at" in " ".join(ordered.stdout.split())
    mean = elo(votes, "--k", 8, "--orders", 20, "--output", tmp_path / "elo.csv")
    assert mean.exit_code == 0, mean.stderr
    assert "20 random orders" in " ".join(mean.stdout.split())
    assert pl.read_csv(tmp_path / "elo.csv").columns[:4] == ["rank", "model", "rating", "spread"]
    backward = tmp_path / "backward.csv"
    pl.read_csv(votes).reverse().write_csv(backward)
    refused = elo(backward, "--order-by", "answered_at")
    assert refused.exit_code == 2
    assert "row 2, column 'answered_at': a time before that of the row above it" in refused.stderr
    first, second = (elo(path, "--order-by", "answered_at", "--sort", "--format", "csv") for path in (votes, backward))
    assert first.stdout == second.stdout


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_a_diagnosis_shows_deviance_worst_pairs_and_cycles(votes: Path, ties: str):
    result = salon(votes, "--ties", ties, "--diagnose", "--bootstrap", 0)
    assert result.exit_code == 0, result.stderr
    for part in ("deviance:", "degrees of freedom:", "worst fitting pairs", "residual", "cyclic share:"):
        assert part in result.stdout
    assert ("No p-value" in result.stdout) == (ties == "half")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--covariate", "side_a_shown", "--diagnose"], "no diagnosis of a fit with covariates"),
        (["--ties", "davidson", "--covariate", "side_a_shown"], "cannot be combined"),
        (["--ties", "davidson", "--confidence", "95"], "confidence must lie"),
        (["--ties", "davidson", "--baseline", "nobody"], "unknown baseline 'nobody'"),
        (["--covariate", "size"], "missing column 'size'"),
        (["--covariate", "a,b,c"], "a covariate is a column"),
        (["--covariate", "length_a,length_b", "--covariate", "length_b,length_a"], "is determined by what else is fitted"),
        (["elo", "--k", "0"], "k must be"),
        (["elo", "--order-by", "when"], "missing column to order by 'when'"),
        (["elo", "--output", "board.svg"], "unknown kind of output"),
    ],
)
def test_wrong_options_exit_2_and_say_what_is_wrong(votes: Path, arguments: list[str], said: str):
    result = elo(votes, *arguments[1:]) if arguments[0] == "elo" else salon(votes, *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_an_empty_file_is_refused_by_every_model(tmp_path: Path):
    path = tmp_path / "empty.csv"
    path.write_text("model_a,model_b,winner,side_a_shown\n", encoding="utf-8")
    for arguments in (["--ties", "davidson"], ["elo"], ["--covariate", "side_a_shown"], ["--both-bad", "drop"]):
        result = elo(path) if arguments == ["elo"] else salon(path, *arguments)
        assert result.exit_code == 2, arguments
        assert "empty.csv" in result.stderr


MODELS = {
    "bradley-terry": [],
    "firth": ["--estimator", "firth"],
    "davidson": ["--ties", "davidson"],
    "rao-kupper": ["--ties", "rao-kupper"],
    "covariates": ["--covariate", "length_a,length_b", "--covariate", "side_a_shown"],
}
OPTIONS: dict[str, list[str]] = {
    "by": ["--by", "half"],
    "ranks": ["--ranks"],
    "listing": ["--listing"],
    "components": ["--components", "separate"],
    "cluster": ["--cluster", "prompt"],
    "two clusters": ["--cluster", "prompt", "--cluster", "rater"],
    "prior": ["--prior-ties", "1"],
    **{kind: ["--interval", kind] for kind in ("sandwich", "percentile", "bca")},
    **{f"{kind}, clustered": ["--interval", kind, "--cluster", "prompt"] for kind in ("sandwich", "percentile", "bca")},
}


@pytest.mark.parametrize("model", MODELS)
def test_every_option_of_a_board_works_for_every_model(model: str, tmp_path: Path):
    random = np.random.default_rng(1)
    names, a = np.array(["x", "y", "z"]), random.integers(0, 3, 300)
    columns = {
        "model_a": names[a],
        "model_b": names[(a + random.integers(1, 3, 300)) % 3],
        "winner": random.choice(["model_a", "model_b", "tie"], 300),
        "length_a": random.normal(size=300),
        "length_b": random.normal(size=300),
        "side_a_shown": random.choice(["left", "right"], 300),
        "prompt": random.integers(0, 25, 300),
        "rater": random.integers(0, 25, 300),
        "half": random.choice(["one", "other"], 300),
        "battle_id": [f"b{number}" for number in range(300)],
    }
    path, other = tmp_path / "votes.csv", tmp_path / "other.csv"
    pl.DataFrame(columns).write_csv(path)
    pl.DataFrame(columns).with_columns(battle_id=pl.lit("other ") + pl.col("battle_id")).write_csv(other)
    shown: dict[str, Result] = {}
    for name, options in OPTIONS.items():
        if model != "firth" or ("bca" not in options and "--prior-ties" not in options):
            shown[name] = salon(path, *MODELS[model], "--bootstrap", 50, *options)
    few = [*MODELS[model], "--bootstrap", 50]
    shown["page"] = salon(path, *few, "--output", tmp_path / "board.html")
    shown["pairs"] = called("compare", path, *few, "--output", tmp_path / "out.csv")
    shown["groups"] = called("compare", path, *few, "--by", "half")
    shown["sets"] = called("compare", path, other, *MODELS[model])
    shown["explain"] = called("explain", path, "x", *few)
    assert {name: result.stderr or result.exception for name, result in shown.items() if result.exit_code} == {}
    assert [name for name, result in shown.items() if "NaN" in result.stdout or "nan" in result.stdout] == []
    page = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert (">Parameters</h2>" in page) == (model not in ("bradley-terry", "firth"))
    assert set(pl.read_csv(tmp_path / "out.csv")["model_a"]) < {"x", "y", "z"}


def test_each_component_and_each_group_has_the_parameters_that_it_has_alone(tmp_path: Path):
    random = np.random.default_rng(2)
    parts = []
    for letter, share in (("x", 0.2), ("y", 0.5)):
        names, a = np.array([f"{letter}{number}" for number in range(3)]), random.integers(0, 3, 300)
        columns = {"model_a": names[a], "model_b": names[(a + 1) % 3], "part": [letter] * 300}
        columns["side_a_shown"] = random.choice(["left", "right"], 300)
        won = random.choice(["model_a", "model_b", "tie"], 300, p=[(1 - share) / 2, (1 - share) / 2, share])
        parts.append(pl.DataFrame({**columns, "winner": won}))
    path = tmp_path / "votes.csv"
    pl.concat(parts).write_csv(path)
    for options in (["--ties", "davidson"], ["--ties", "rao-kupper"], ["--covariate", "side_a_shown"]):
        (whole,) = json.loads(salon(path, *options, "--components", "separate", "--format", "json").stdout)
        groups = json.loads(salon(path, *options, "--by", "part", "--format", "json").stdout)
        alone = {group["rows"][0]["model"]: group for group in groups}
        assert whole["parameters"][0]["estimate"] != whole["parameters"][1]["estimate"]
        for number, parameter in enumerate(whole["parameters"]):
            rows = [row for row in whole["rows"] if row["component"] == number]
            group = next(group for model, group in alone.items() if model in {row["model"] for row in rows})
            for name in ("estimate", "standard_error", "ci_low", "ci_high"):
                assert parameter[name] == pytest.approx(group["parameters"][0][name], rel=1e-6), (options, name)
            for row, other in zip(rows, group["rows"], strict=True):
                assert row["ci_low"] == pytest.approx(other["ci_low"], abs=1e-4)
