"""Every public function: what it does with options at and beyond their ends, and with every kind of table."""

import importlib
import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import polars as pl
import pytest

import salon_ranking
from salon_ranking import Battles, rank
from salon_ranking.mos import Checks, Ratings
from salon_ranking.options import RANGES
from salon_ranking.raters import Votes, check_raters
from salon_ranking.scheduling import ScheduleState, Shelf
from salon_taxonomy.errors import SalonError

MODULES = ["salon_ranking", *(f"salon_ranking.{part}" for part in ("agreement", "mos", "raters", "scheduling"))]
MODULES += [
    "salon_ranking.diagnostics.head_to_head",
    "salon_ranking.diagnostics.convergence",
    "salon_ranking.scheduling.planning",
]
VOTES = pl.DataFrame(
    {
        "battle_id": [f"b{number}" for number in range(24)],
        "prompt_id": [f"p{number % 6}" for number in range(24)],
        "generation_a": [f"g{number % 6}-{number % 3}" for number in range(24)],
        "generation_b": [f"g{number % 6}-{(number + 1) % 3}" for number in range(24)],
        "rater_id": [f"r{number % 4}" for number in range(24)],
        "model_a": ["x", "y", "z"] * 8,
        "model_b": ["y", "z", "x"] * 8,
        "winner": ["model_a", "model_b", "tie", "model_b", "model_a", "model_a", "tie", "both_bad"] * 3,
        "mode": ["expert", "public"] * 12,
        "length": [float(number * 7 % 11) for number in range(24)],
    }
)
MARKS = pl.DataFrame(
    {
        "rating_id": [str(number) for number in range(72)],
        "prompt_id": [f"p{number % 6}" for number in range(72)],
        "generation_id": [f"g{number % 6}-{number % 3}{number % 6}" for number in range(72)],
        "model": [f"{'xyz'[number % 3]}" for number in range(72)],
        "dimension": [("beauty", "detail")[number // 36] for number in range(72)],
        "value": [1 + number * 5 % 7 % 5 for number in range(72)],
        "scale_min": [1] * 72,
        "scale_max": [5] * 72,
        "rater_id": [f"r{number % 4}" for number in range(72)],
    }
)
CHECKS = pl.DataFrame({"model": ["x", "y"] * 4, "test_point": ["hands", "hands", "text", "text"] * 2, "satisfied": [1, 0] * 4})
CODES = pl.DataFrame({"p": [1, 1, 2, 2, 3, 3], "who": ["a", "b"] * 3, "score": [4, 4, 2, 3, 1, 1], "other": [1, 2, 3, 4, 5, 6]})


def calls() -> dict[str, dict[str, Any]]:
    """Arguments with which every public function that has options works."""
    battles = Battles.from_frame(VOTES, cluster_by="prompt_id")
    ratings = Ratings.from_frame(MARKS)
    board = rank(battles, replicates=20)
    scores = np.random.default_rng(0).normal(size=(30, 2))
    few = {"replicates": 20}
    return {
        "acceptability": {"battles": battles},
        "alpha": {"frame": CODES, "thing": "p", "rater": "who", "value": "score"},
        "alternative_scores": {"battles": battles, "method": "newman"},
        "assumed_ratings": {"models": 4, "spread": 100.0},
        "audit_sample": {"battles": VOTES},
        "check_models": {"models": 4},
        "check_raters": {"battles": VOTES},
        "compare": {"boards": salon_ranking.rank_by(battles, "mode", replicates=0, prior_ties=1.0)},
        "compare_all": {"scores": scores, **few},
        "compare_votes": {"battles": battles, "other": VOTES.drop("battle_id")},
        "contributions": {"battles": battles},
        "convergence": {"battles": battles, "baseline": "x"},
        "correlations": {"frame": CODES, "first": "score", "second": "other"},
        "cycle_report": {"battles": battles},
        "differences": {"battles": battles, **few},
        "dimension_correlations": {"ratings": ratings},
        "explain": {"board": board, "battles": battles, "model": "x"},
        "exclude_flagged": {"battles": VOTES, "report": check_raters(VOTES)},
        "fit": {"battles": battles},
        "fleiss_counts": {"frame": CODES, "thing": "p", "label": "who"},
        "goodness_of_fit": {"battles": battles, "ratings": salon_ranking.fit(battles)},
        "groups_of": {"battles": battles, "column": "mode"},
        "head_to_head": {"battles": battles},
        "kappas": {"frame": CODES, "thing": "p", "rater": "who", "label": "score"},
        "listing": {"board": board, "battles": battles},
        "mean_opinion_scores": {"ratings": ratings},
        "next_pairs": {"state": ScheduleState.of(battles), "n": 3},
        "online_elo": {"battles": battles},
        "paired_bootstrap": {"first": scores[:, 0], "second": scores[:, 1], **few},
        "paired_comparisons": {"ratings": ratings},
        "plan": {"ratings": np.array([1000.0, 1040.0, 1100.0]), "leagues": 1, "most_per_model": 20},
        "qualify": {"votes": Votes.from_frame(VOTES), "reference": VOTES.head(6).drop("rater_id")},
        "rank": {"battles": battles, **few},
        "rank_by": {"battles": battles, "column": "mode", "prior_ties": 1.0, **few},
        "rank_stability": {"scores": scores, "sizes": [5], "rounds": 3},
        "self_comparison": {"ratings": ratings},
        "settle_both_bad": {"battles": battles, "handling": "drop"},
        "summarise": {"ratings": ratings},
        "win_rates": {"battles": battles},
    }


BOUNDARIES: dict[object, list[object]] = {
    int: [-1, 0, 1, 1.5, 10.0, "7", True, math.nan, 2**63, 10**30, np.int64(2)],
    float: [-1.0, 0.0, 1.0, 0.5, math.nan, math.inf, -math.inf, "0.5", 1e300, 5e-324, True],
    str: ["", "no such", "x", 7, b"x", ["x"]],
    bool: ["yes", 2, True],
    Literal: ["no such", 7, "", ["x"]],
}
"""The options at and beyond their ends, by type: all options of all functions, one table."""
SLOW = {("online_elo", "orders"), ("plan", "leagues"), ("plan", "most_per_model"), ("rank_stability", "rounds")}
"""Options that set how long the function works: only values that are refused are tried."""


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in MODULES:
        module = importlib.import_module(name)
        for function in (getattr(module, each) for each in getattr(module, "__all__", dir(module))):
            own = getattr(function, "__module__", None) == name or hasattr(module, "__all__")
            if inspect.isfunction(function) and own and not function.__name__.startswith("_"):
                yield function.__name__, function


FUNCTIONS = dict(public())
ON_ARRAYS = {
    *("alpha_of_ratings", "as_matrix", "bca_interval", "cohen_kappa", "fit_logistic", "fleiss_kappa", "holm"),
    *("dimension_weights", "interval_widths", "kappa_of_table", "kendall", "krippendorff_alpha", "match_effects"),
    *("mid_ranks", "pearson", "percentile_interval", "read_flags", "spearman", "standardized_marks", "wide_shares"),
    "wilson_interval",
}
"""Functions on bare arrays, or that need more data, which have tests of their own."""


def kinds(parameter: inspect.Parameter) -> list[object]:
    annotation = parameter.annotation
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return [Literal if get_origin(part) is Literal else part for part in parts]


def options() -> Iterator[tuple[str, str, object]]:
    """Every option of every function, with every value to try."""
    for name in calls():
        for option, parameter in inspect.signature(FUNCTIONS[name]).parameters.items():
            for kind in kinds(parameter):
                for value in BOUNDARIES.get(kind, []) if isinstance(kind, type) or kind is Literal else []:
                    if (name, option) not in SLOW or (isinstance(value, int | float) and value < 0):
                        yield name, option, value


@pytest.fixture(scope="module")
def arguments() -> dict[str, dict[str, Any]]:
    return calls()


@pytest.mark.parametrize("name", sorted({name for name, _, _ in options()}))
def test_every_option_is_accepted_or_refused_with_a_typed_error(name: str, arguments: dict[str, dict[str, Any]]) -> None:
    FUNCTIONS[name](**arguments[name])
    raw = []
    for _, option, value in (each for each in options() if each[0] == name):
        try:
            FUNCTIONS[name](**{**arguments[name], option: value})
        except SalonError as error:
            assert str(error)
        except Exception as error:  # noqa: BLE001 - any other error is what this test looks for
            raw.append((option, value, repr(error)[:200]))
    assert raw == []


def test_every_public_function_with_options_is_in_the_table() -> None:
    simple = {int, float, str, bool, Literal}
    found = {
        name
        for name, function in FUNCTIONS.items()
        if any(set(kinds(parameter)) & simple for parameter in inspect.signature(function).parameters.values())
    }
    assert found - set(calls()) <= ON_ARRAYS, found - set(calls()) - ON_ARRAYS


def test_ranges_name_options_that_exist() -> None:
    names = {option for function in FUNCTIONS.values() for option in inspect.signature(function).parameters}
    assert set(RANGES) <= names


def tables(frame: pl.DataFrame) -> dict[str, object]:
    """One table as every kind that a function takes."""
    pandas, pyarrow, datasets = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "datasets"))
    columns = frame.to_dict(as_series=False)
    return {
        "polars": frame,
        "polars, lazy": frame.lazy(),
        "mapping": columns,
        "pandas": pandas.DataFrame(columns),
        "pyarrow": pyarrow.table(columns),
        "batches": pyarrow.table(columns).to_reader(),
        "Hugging Face": datasets.Dataset.from_dict(columns),
    }


@pytest.mark.parametrize(
    ("frame", "read"),
    [
        (VOTES, lambda table: Battles.from_frame(table).cells.records()[0].tolist()),
        (VOTES, lambda table: rank(table, replicates=0).table.rows()),
        (VOTES, lambda table: salon_ranking.online_elo(table).table.rows()),
        (VOTES, lambda table: Votes.from_frame(table).frame.rows()),
        (VOTES, lambda table: check_raters(table).table.rows()),
        (VOTES, lambda table: salon_ranking.Arena().update(table).count),
        (VOTES, lambda table: FUNCTIONS["audit_sample"](table).height),
        (MARKS, lambda table: Ratings.from_frame(table).frame.rows()),
        (CHECKS, lambda table: Checks.from_frame(table).shares().rows()),
        (
            pl.DataFrame({"model": ["x", "y"], "prompt_id": ["p", "p"], "generation_id": ["g", "h"]}),
            lambda table: Shelf.from_frame(table).models,
        ),
        (CODES, lambda table: FUNCTIONS["correlations"](table, "score", "other").rows()),
    ],
    ids=["battles", "rank", "elo", "votes", "raters", "arena", "audit", "ratings", "checks", "shelf", "agreement"],
)
def test_every_kind_of_table_says_the_same(frame: pl.DataFrame, read: Callable[[object], object]) -> None:
    expected = read(frame)
    for kind, table in tables(frame).items():
        assert read(table) == expected, kind


def test_a_path_does_for_battles_and_what_is_neither_is_named(tmp_path: Path) -> None:
    VOTES.write_csv(tmp_path / "votes.csv")
    assert rank(str(tmp_path / "votes.csv"), replicates=0).battles == 24
    for wrong in (7, None, [VOTES], "no-such-file.csv"):
        with pytest.raises(SalonError):
            rank(wrong, replicates=0)  # type: ignore[arg-type]
