"""Every public function: what it does with options at and beyond their ends, and with every kind of table."""

import collections.abc
import importlib
import inspect
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import FunctionType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
import polars as pl
import pytest
from numpy.typing import ArrayLike

import salon_ranking
from salon_ranking import Battles, rank
from salon_ranking.files import Frame
from salon_ranking.opinion import Checks, MosRatings
from salon_ranking.opinion.design import Terms
from salon_ranking.raters import Votes, check_raters
from salon_ranking.scheduling import Inventory, ScheduleState
from salon_taxonomy.errors import SalonError

MODULES = ["salon_ranking", *(f"salon_ranking.{part}" for part in ("agreement", "opinion", "raters", "scheduling"))]
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
PICTURES = pl.DataFrame(
    {"generation_id": [f"g{n}" for n in range(24)], "model": ["x", "y"] * 12, "value": [n % 5 for n in range(24)]}
)
MANY = pl.concat([VOTES, VOTES.with_columns(pl.format("c{}", pl.int_range(24)).alias("battle_id"))])
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
ALL_MARKS = pl.DataFrame(
    [
        (str(number), f"p{prompt}", f"{model}{prompt}", model, dimension, 1 + (number * 7 + number // 5) % 5, 1, 5, "r")
        for number, (model, prompt, dimension) in enumerate(product("xyz", range(6), ("beauty", "detail")))
    ],
    schema=MARKS.columns,
    orient="row",
)
GENERATIONS = pl.DataFrame({"model": ["x", "y"], "prompt_id": ["p", "p"], "generation_id": ["g", "h"]})
CODES = pl.DataFrame({"p": [1, 1, 2, 2, 3, 3], "who": ["a", "b"] * 3, "score": [4, 4, 2, 3, 1, 1], "other": [1, 2, 3, 4, 5, 6]})


PAIRS = pl.DataFrame(
    {"prompt": "a cat", "chosen": "1.png", "rejected": "2.png", "margin": 1.0, "votes_chosen": 3.0, "votes_rejected": 0.0}
).with_columns(split=pl.lit("train"), chosen_model=pl.lit("x"), rejected_model=pl.lit("y"))


def calls() -> dict[str, dict[str, Any]]:
    """Arguments with which every public function that has options works."""
    battles = Battles.from_frame(VOTES, cluster_by="prompt_id")
    ratings = MosRatings.from_frame(MARKS)
    board = rank(battles, replicates=20)
    scores = np.random.default_rng(0).normal(size=(30, 2))
    few = {"replicates": 20}
    labels = [1, 2, 1, 2, 2, 1, 3, 3]
    x = np.random.default_rng(1).normal(size=(40, 2))
    y = (x[:, 0] + np.random.default_rng(2).normal(size=40) > 0).astype(float)
    votes = Votes.from_frame(VOTES)
    state = ScheduleState.of(battles)
    inventory = Inventory.full(["x", "y"], ["p", "q"])
    report = check_raters(VOTES)
    path = Path(tempfile.mkdtemp()) / "table.csv"
    VOTES.write_csv(path)
    MARKS.write_csv(path.with_name("marks.csv"))
    CHECKS.write_csv(path.with_name("checks.csv"))
    on_arrays = {
        "alpha_of_ratings": {"things": np.array([0, 0, 1, 1]), "values": [1.0, 1.0, 2.0, 3.0]},
        "as_matrix": {"rates": salon_ranking.win_rates(battles)},
        "bca_interval": {
            "replicates": scores,
            "estimate": np.zeros(2),
            "acceleration": np.zeros(2),
            "confidence": 0.9,
        },
        "cohen_kappa": {"first": labels, "second": labels[::-1]},
        "fit_logistic": {"x": x, "y": y, "terms": ["a", "b"]},
        "fleiss_kappa": {"counts": [[3, 0], [1, 2], [0, 3]]},
        "benjamini_hochberg": {"p_values": [0.1, 0.02]},
        "holm": {"p_values": [0.1, 0.02]},
        "kappa_of_table": {"observed": [[20, 5], [10, 15]]},
        "kendall": {"first": scores[:, 0], "second": scores[:, 1]},
        "krippendorff_alpha": {"ratings": [[1.0, 1.0], [2.0, 3.0]]},
        "mid_ranks": {"values": [1.0, 2.0, 2.0]},
        "pearson": {"first": scores[:, 0], "second": scores[:, 1]},
        "percentile_interval": {"replicates": scores, "confidence": 0.9},
        "spearman": {"first": scores[:, 0], "second": scores[:, 1]},
        "wilson_interval": {"successes": [8, 0], "trials": [10, 5]},
    }
    of_classes = {
        "GrowingLeague.battles": {"self": salon_ranking.GrowingLeague().update(VOTES)},
        "GrowingLeague.fitted": {"self": salon_ranking.GrowingLeague().update(VOTES)},
        "GrowingLeague.update": {"self": salon_ranking.GrowingLeague(), "new_battles": VOTES},
        "Battles.from_frame": {"frame": VOTES},
        "Battles.with_equal_pairs": {"self": battles},
        "Battles.is_clustered": {"self": battles, "cluster": None},
        "Battles.read": {"path": path},
        "Battles.remarks_with": {"self": battles, "cluster": True},
        "Checks.from_frame": {"frame": CHECKS},
        "Checks.read": {"path": path.with_name("checks.csv")},
        "Checks.shares": {"self": Checks.from_frame(CHECKS)},
        "Covariate.parse": {"text": "length"},
        "Leaderboard.plot": {"self": board, "names": {"x": "X"}},
        "Leaderboard.records": {"self": board},
        "Leaderboard.save": {"self": board, "path": path.with_name("board.csv")},
        "RaterPolicy": {},
        "Ratings.chances": {"self": salon_ranking.fit(battles), "model": "x", "opponent": "y"},
        "Ratings.win_probability": {"self": salon_ranking.fit(battles), "model": "x", "opponent": "y"},
        "ScheduleState.of": {"battles": battles},
        "Inventory.among": {"self": inventory, "models": ["x"]},
        "Inventory.from_frame": {"frame": GENERATIONS},
        "Inventory.full": {"models": ["x", "y"], "prompts": ["p", "q"]},
        "Terms.columns": {"self": Terms(("a", "b"), True), "level": x, "change": x},
        "Votes.from_frame": {"frame": VOTES},
        "Votes.lacks": {"self": votes},
        "Votes.read": {"path": path},
        "MosRatings.from_frame": {"frame": MARKS},
        "MosRatings.read": {"path": path.with_name("marks.csv")},
    }
    return {
        **on_arrays,
        **of_classes,
        "acceptability": {"battles": battles},
        "alpha": {"frame": CODES, "thing": "p", "rater": "who", "value": "score"},
        "assumed_ratings": {"models": 4, "spread": 100.0},
        "audit_sample": {"battles": VOTES},
        "check_models": {"models": 4},
        "check_raters": {"battles": VOTES},
        "compare": {"boards": salon_ranking.rank_by(battles, "mode", replicates=0, prior_ties=1.0)},
        "compare_all": {"scores": scores, **few},
        "compare_groups": {"battles": battles, "column": "mode"},
        "compare_votes": {"battles": battles, "other": VOTES.drop("battle_id")},
        "contributions": {"battles": battles},
        "convergence": {"battles": battles, "baseline": "x"},
        "correct_means": {"people": PICTURES, "judged": PICTURES},
        "correct_ratings": {"people": Battles.from_frame(MANY), "judged": Battles.from_frame(MANY)},
        "correlations": {"frame": CODES, "first": "score", "second": "other"},
        "cycle_report": {"battles": battles},
        "differences": {"battles": battles, **few},
        "dimension_weights": {"battles": battles, "ratings": MosRatings.from_frame(ALL_MARKS), "interactions": False},
        "dimension_correlations": {"ratings": ratings},
        "audit_judges": {"pairs": VOTES.with_columns(verdict=pl.col("winner").shift(1))},
        "read_pairs": {"path": path},
        "released_accuracy": {"pairs": VOTES.with_columns(verdict=pl.col("winner").shift(1)), "form": "genai-bench"},
        "pairs_of_votes": {"people": battles, "judged": Battles.from_frame(VOTES)},
        "preference_pairs": {"battles": battles},
        "trl_rows": {"pairs": PAIRS},
        "released_rows": {"pairs": PAIRS, "form": "hpdv3"},
        "draw_for_people": {"judged": Battles.from_frame(MANY), "count": 5},
        "explain": {"board": board, "battles": battles, "model": "x"},
        "exclude_flagged": {"battles": VOTES, "report": report},
        "fit": {"battles": battles},
        "fleiss_counts": {"frame": CODES, "thing": "p", "label": "who"},
        "goodness_of_fit": {"battles": battles, "ratings": salon_ranking.fit(battles)},
        "groups_of": {"battles": battles, "column": "mode"},
        "head_to_head": {"battles": battles},
        "kappas": {"frame": CODES, "thing": "p", "rater": "who", "label": "score"},
        "label_statistics": {"frame": CODES, "thing": "p", "rater": "who", "label": "score", **few},
        "listing": {"board": board, "battles": battles},
        "mean_opinion_scores": {"ratings": ratings, **few},
        "next_pairs": {"state": state, "n": 3},
        "online_elo": {"battles": battles},
        "paired_bootstrap": {"first": scores[:, 0], "second": scores[:, 1], **few},
        "paired_comparisons": {"ratings": ratings},
        "plan": {"ratings": np.array([1000.0, 1040.0, 1100.0]), "leagues": 1, "most_per_model": 20},
        "qualify": {"votes": votes, "reference": VOTES.head(6).drop("rater_id")},
        "predict": {"battles": battles, "ratings": salon_ranking.fit(battles)},
        "log_loss": {"battles": battles, "ratings": salon_ranking.fit(battles)},
        "rank": {"battles": battles, **few},
        "rank_by": {"battles": battles, "column": "mode", "prior_ties": 1.0, **few},
        "rank_stability": {"scores": scores, "sizes": [5], "rounds": 3},
        "self_comparison": {"ratings": ratings},
        "settle_both_bad": {"battles": battles, "handling": "drop"},
        "standardized_marks": {"ratings": ratings},
        "summarise": {"ratings": ratings, **few},
        "win_rates": {"battles": battles},
    }


BOUNDARIES: dict[object, list[object]] = {
    int: [-1, 0, 1, 1.5, 10.0, "7", True, math.nan, 2**63, 10**30, np.int64(2)],
    float: [-1.0, 0.0, 1.0, 0.5, math.nan, math.inf, -math.inf, "0.5", 1e300, 5e-324, True],
    str: ["", "no such", "x", 7, b"x", ["x"]],
    bool: ["yes", 2, True],
    Literal: ["no such", 7, "", ["x"]],
    Callable: [3, "print"],
    Mapping: [[0.0, 1.0], {"x": math.nan}, {"x": "much"}, {"no such": 1.0}, {"x": math.inf}, 7],
    Sequence: [[], 7, [math.nan], [math.inf], ["x"], ["x", "x"], [None], [[1.0]], [-1.0, 2.0], [1.5], [{}], np.zeros((0, 2))],
}
"""The options at and beyond their ends, by type: all options of all functions, one table."""
VARIADIC = inspect.Parameter.VAR_POSITIONAL
SLOW = {
    *(("online_elo", "orders"), ("plan", "leagues"), ("plan", "most_per_model"), ("rank_stability", "rounds")),
    ("rank_stability", "replicates"),
}
"""Options that set how long the function works: only values that are refused are tried."""


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, every method of a public class, and every public class that checks its arguments."""
    for name in MODULES:
        module = importlib.import_module(name)
        for word in getattr(module, "__all__", dir(module)):
            found = getattr(module, word)
            own = hasattr(module, "__all__") or getattr(found, "__module__", None) == name
            if word.startswith("_") or not own:
                continue
            if inspect.isfunction(found):
                yield word, found
            elif inspect.isclass(found) and not issubclass(found, Exception):
                yield from _of_class(found)


def _of_class(found: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    where = found.__name__
    if "__post_init__" in vars(found):
        yield where, found
    for word, member in vars(found).items():
        if word.startswith("_") or not isinstance(member, FunctionType | classmethod | staticmethod):
            continue
        yield f"{where}.{word}", getattr(found, word)


FUNCTIONS = dict(public())


def parameters(name: str) -> dict[str, inspect.Parameter]:
    found = inspect.signature(FUNCTIONS[name]).parameters
    return {option: parameter for option, parameter in found.items() if option != "self" and parameter.kind is not VARIADIC}


def kinds(parameter: inspect.Parameter) -> set[object]:
    """The rows of ``BOUNDARIES`` that an option's type asks for."""
    annotation = parameter.annotation
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    if annotation in (Frame, ArrayLike) or any(get_origin(part) is np.ndarray for part in parts):
        return set() if annotation is Frame else {Sequence}
    bare = [get_args(part)[0] if get_origin(part) is Annotated else part for part in parts]
    origins = {get_origin(part) or part for part in bare}
    named = {collections.abc.Callable: Callable, collections.abc.Mapping: Mapping, collections.abc.Sequence: Sequence}
    return {named.get(origin, origin) for origin in origins if named.get(origin, origin) in BOUNDARIES}


def options() -> Iterator[tuple[str, str, object]]:
    """Every option of every function, with every value to try."""
    for name in calls():
        for option, parameter in parameters(name).items():
            for value in (value for kind in kinds(parameter) for value in BOUNDARIES[kind]):
                if (name, option) not in SLOW or (isinstance(value, int | float) and value < 0):
                    yield name, option, value


OPTIONS = list(options())


@pytest.fixture(scope="module")
def arguments() -> dict[str, dict[str, Any]]:
    return calls()


@pytest.mark.parametrize("name", sorted({name for name, _, _ in OPTIONS}))
def test_every_option_is_accepted_or_refused_with_a_typed_error(name: str, arguments: dict[str, dict[str, Any]]) -> None:
    FUNCTIONS[name](**arguments[name])
    raw = []
    for _, option, value in (each for each in OPTIONS if each[0] == name):
        try:
            FUNCTIONS[name](**{**arguments[name], option: value})
        except SalonError as error:
            assert str(error)
        except Exception as error:  # noqa: BLE001 - any other error is what this test looks for
            raw.append((option, value, repr(error)[:200]))
    assert not raw, "\n".join(map(str, raw))


def test_every_public_function_with_options_is_in_the_table() -> None:
    found = {name for name in FUNCTIONS if any(kinds(parameter) for parameter in parameters(name).values())}
    assert found == {name for name, _, _ in OPTIONS}


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
        (VOTES, lambda table: salon_ranking.GrowingLeague().update(table).count),
        (VOTES, lambda table: FUNCTIONS["audit_sample"](table).height),
        (MARKS, lambda table: MosRatings.from_frame(table).frame.rows()),
        (CHECKS, lambda table: Checks.from_frame(table).shares().rows()),
        (
            GENERATIONS,
            lambda table: Inventory.from_frame(table).models,
        ),
        (CODES, lambda table: FUNCTIONS["correlations"](table, "score", "other").rows()),
    ],
    ids=["battles", "rank", "elo", "votes", "raters", "arena", "audit", "ratings", "checks", "inventory", "agreement"],
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
