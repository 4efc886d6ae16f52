"""Options are declared once: a function that fits a model takes them as an object, whose fields callers write as keywords."""

import ast
import inspect
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import salon_ranking
from salon_ranking import compare_votes, contributions, differences, fit, rank, rank_by
from salon_ranking.errors import OptionError
from salon_ranking.leaderboard.options import ComparisonOptions, ContributionOptions, EstimateOptions, RankOptions
from salon_ranking.models.options import FitOptions
from salon_ranking.options import Options

ROOMS = ("models", "uncertainty", "leaderboard", "diagnostics")
TAKERS = {
    fit: FitOptions,
    rank: RankOptions,
    rank_by: RankOptions,
    differences: EstimateOptions,
    compare_votes: ComparisonOptions,
    contributions: ContributionOptions,
}
NAMES = {field.name for kind in TAKERS.values() for field in fields(kind)}
VOTES = {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "model_a"]}


def declarations() -> Counter[str]:
    """How often each option is declared with a default: as the field of an object of options, or by a function."""
    found: Counter[str] = Counter()
    for path in (path for room in ROOMS for path in (Path(salon_ranking.__file__).parent / room).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Options"):
                found.update(ast.unparse(part.target) for part in node.body if isinstance(part, ast.AnnAssign) and part.value)
            elif isinstance(node, ast.FunctionDef):
                keywords = [
                    one.arg for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default
                ]
                found.update(keywords)
    return found


def test_every_option_of_a_fit_and_its_intervals_is_declared_once():
    repeated = {name: count for name, count in declarations().items() if name in NAMES and count > 1}
    # What else works with confidence, a seed or threads: no interval of ratings, but of shares, orders and reports.
    assert set(repeated) <= {"confidence", "seed", "threads", "progress"}


@pytest.mark.parametrize("function", TAKERS, ids=lambda function: function.__name__)
def test_the_keywords_of_a_function_are_the_fields_of_its_options(function):
    parameters = inspect.signature(function).parameters.values()
    keywords = {one.name: one.default for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}
    assert keywords == {field.name: field.default for field in fields(TAKERS[function])}


@given(
    st.sampled_from(sorted(NAMES)),
    st.one_of(st.floats(), st.integers(), st.text(max_size=3), st.lists(st.floats(), max_size=2)),
)
def test_a_wrong_option_is_refused_by_its_object_as_by_every_function_that_takes_it(name: str, value: object):
    for kind in set(TAKERS.values()):
        if name not in {field.name for field in fields(kind)}:
            continue
        try:
            kind(**{name: value})
        except salon_ranking.RankingError as error:
            for function in (function for function, own in TAKERS.items() if own is kind):
                first = (VOTES, VOTES) if function is compare_votes else (VOTES, "winner") if function is rank_by else (VOTES,)
                with pytest.raises(salon_ranking.RankingError) as refused:
                    function(*first, **{name: value})
                assert str(refused.value) == str(error)


def test_options_know_no_other_names_and_never_change():
    options = RankOptions(covariates=["a", "b"])
    assert options.covariates == ("a", "b")
    assert options.into(FitOptions, ridge=1.0) == FitOptions(covariates=("a", "b"), ridge=1.0)
    with pytest.raises(TypeError, match="winner"):
        rank(VOTES, winner="x")
    with pytest.raises(AttributeError):
        options.ridge = 2.0
    with pytest.raises(OptionError, match="seed must be a whole number"):
        RankOptions(seed=1.5)
    assert isinstance(options, Options)
