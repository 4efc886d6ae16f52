"""Battles that nobody should send, in every kind of file: a typed error that names the place, or a documented result."""

import math
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main
from salon_ranking import (
    BattleError,
    Battles,
    OptionError,
    RankingError,
    UnratableError,
    cycle_report,
    differences,
    explain,
    listing,
    online_elo,
    rank,
    win_rates,
)
from salon_ranking.battles.repeated_ids import refuse_repeated
from salon_ranking.raters import Votes
from salon_ranking.scheduling import ScheduleState

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROWS: dict[str, list[object]] = {
    "battle_id": [f"b{number}" for number in range(12)],
    "rater_id": ["r1", "r2", "r3"] * 4,
    "model_a": ["x", "y", "z"] * 4,
    "model_b": ["y", "z", "x"] * 4,
    "winner": ["model_a", "model_b", "tie", "model_a", "model_a", "model_b"] * 2,
    "weight": [1.0] * 12,
    "started_at": [NOON + timedelta(minutes=number) for number in range(12)],
    "answered_at": [NOON + timedelta(minutes=number, seconds=5) for number in range(12)],
}
SCHEMA = {
    **dict.fromkeys(ROWS, pl.String()),
    "weight": pl.Float64(),
    "started_at": pl.Datetime("us", "UTC"),
    "answered_at": pl.Datetime("us", "UTC"),
}
WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".csv": pl.DataFrame.write_csv,
    ".jsonl": pl.DataFrame.write_ndjson,
    ".parquet": pl.DataFrame.write_parquet,
}


def frame(column: str | None = None, value: object = None) -> pl.DataFrame:
    """Twelve good battles, but for the fifth row's ``column``."""
    rows = {name: [*values] for name, values in ROWS.items()}
    if column is not None:
        rows[column][4] = value
    return pl.DataFrame(rows, schema=SCHEMA)


def written(table: pl.DataFrame, folder: Path, ending: str) -> Path:
    path = folder / f"votes{ending}"
    WRITERS[ending](table, path)
    return path


def salon(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


WRONG_ROWS = [
    ("winner", "nobody", "unknown winner 'nobody' (allowed: model_a, model_b, both_good, both_bad, tie)"),
    ("winner", None, "no winner (allowed: model_a, model_b, both_good, both_bad, tie)"),
    ("model_a", None, "no model name"),
    ("model_b", "", "empty model name ''"),
    ("model_b", "z", None),
    ("battle_id", "b2", "the same id twice: 'b2'\nIt is in row 3 already."),
    ("weight", -1.0, "a weight that cannot be used:"),
    ("weight", math.nan, "weight"),
]


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize(("column", "value", "said"), WRONG_ROWS)
def test_a_wrong_row_of_any_kind_of_file_is_named(
    tmp_path: Path, ending: str, column: str, value: object, said: str | None
) -> None:
    wrong = frame(column, value) if said else frame("model_a", "z")  # a model against itself
    path = written(wrong, tmp_path, ending)
    with pytest.raises(BattleError) as caught:
        Battles.read(path, weight="weight")
    assert (caught.value.source, caught.value.row, caught.value.column) == (str(path), 5, column)
    assert (said or "a model against itself: 'z'") in str(caught.value)
    told = salon("votes", "rank", path, "--weight", "weight", "--bootstrap", 0)
    assert told.exit_code == 2
    assert told.stderr.strip() == f"Error: {caught.value}"


@pytest.mark.parametrize("command", [["elo"], ["rank", "--ties", "davidson"], ["raters"], ["next"]])
def test_the_same_id_twice_stops_every_reader_of_battles(tmp_path: Path, command: list[str]) -> None:
    path = written(frame("battle_id", "b2"), tmp_path, ".parquet")
    told = salon("votes", command[0], path, *command[1:])
    assert told.exit_code == 2
    assert "row 5, column 'battle_id': the same id twice: 'b2'" in told.stderr


def test_online_elo_refuses_the_same_id_twice_in_a_frame() -> None:
    with pytest.raises(BattleError, match="the same id twice"):
        online_elo(frame("battle_id", "b2"))


def test_battles_of_one_id_are_both_counted_when_that_is_asked_for(tmp_path: Path) -> None:
    twice = frame("battle_id", "b2")
    assert Battles.from_frame(twice, ids=None).count == 12
    path = written(twice, tmp_path, ".csv")
    assert salon("votes", "rank", path, "--repeated-ids", "count", "--bootstrap", 0).exit_code == 0


def test_battles_without_an_id_are_no_repetition_of_each_other() -> None:
    assert Battles.from_frame(frame().with_columns(battle_id=pl.lit(None, dtype=pl.String))).count == 12


def test_another_column_of_ids_must_be_there() -> None:
    with pytest.raises(BattleError, match="missing column of ids 'vote'"):
        Battles.from_frame(frame(), ids="vote")


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_the_first_repetition_is_found_in_however_many_readings(most: int) -> None:
    ids = [*range(1000), 700, 300, 700]
    with pytest.raises(BattleError) as caught:
        refuse_repeated(pl.LazyFrame({"battle_id": ids}), "battle_id", "votes", 100 * most, most=100 * most)
    assert (caught.value.row, caught.value.value) == (1001, "700")


def test_numbers_may_be_ids_and_lists_may_not() -> None:
    assert Battles.from_frame(frame().with_columns(battle_id=pl.int_range(12))).count == 12
    with pytest.raises(BattleError, match="must hold one value per row"):
        Battles.from_frame(frame().with_columns(battle_id=pl.concat_list("battle_id")))


@pytest.mark.parametrize("ending", WRITERS)
def test_an_answer_before_its_start_is_ranked_and_stops_the_look_at_raters(tmp_path: Path, ending: str) -> None:
    backward = written(frame("answered_at", NOON - timedelta(days=1)), tmp_path, ending)
    good = tmp_path / "good"
    good.mkdir()
    ranked = salon("votes", "rank", backward, "--bootstrap", 0, "--format", "csv")
    assert ranked.stdout == salon("votes", "rank", written(frame(), good, ending), "--bootstrap", 0, "--format", "csv").stdout
    with pytest.raises(BattleError) as caught:
        Votes.read(backward)
    assert (caught.value.row, caught.value.column) == (5, "answered_at")
    told = salon("votes", "raters", backward)
    assert told.exit_code == 2
    assert "answered before it was started" in told.stderr


def test_online_elo_follows_times_only_when_they_ascend_or_sorting_was_asked_for(tmp_path: Path) -> None:
    path = written(frame("answered_at", NOON - timedelta(days=1)), tmp_path, ".parquet")
    told = salon("votes", "elo", path, "--order-by", "answered_at")
    assert told.exit_code == 2
    assert "row 5, column 'answered_at': a time before that of the row above it" in told.stderr
    assert salon("votes", "elo", path, "--order-by", "answered_at", "--sort").exit_code == 0


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("command", ["rank", "raters"])
def test_no_battles_at_all_are_a_message(tmp_path: Path, ending: str, command: str) -> None:
    path = written(frame().clear(), tmp_path, ending)
    told = salon("votes", command, path)
    assert told.exit_code == 2
    # JSON Lines without a line has no columns either.
    assert f"{path}: there are no battles" in told.stderr or (ending == ".jsonl" and "cannot be read" in told.stderr)


UNRATABLE = {
    "a single battle": (frame().head(1), "won all of their battles: 'x'; lost all of their battles: 'y'"),
    "one side": (
        frame().with_columns(winner=pl.Series(["model_a", "model_b", "model_b"] * 4)),
        "won all of their battles: 'x'",
    ),
    "two leagues": (
        frame().with_columns(model_a=pl.Series(["x", "u"] * 6), model_b=pl.Series(["y", "v"] * 6)),
        "groups that do not both win and lose against each other: {'u', 'v'}; {'x', 'y'}",
    ),
}


@pytest.mark.parametrize("case", UNRATABLE)
def test_what_has_no_finite_ratings_says_whose_and_what_to_do(tmp_path: Path, case: str) -> None:
    votes, said = UNRATABLE[case]
    path = written(votes, tmp_path, ".csv")
    told = salon("votes", "rank", path)
    assert told.exit_code == 2
    assert said in told.stderr
    assert "--prior-ties" in told.stderr
    assert salon("votes", "rank", path, "--components", "separate", "--bootstrap", 20).exit_code == 0
    ranked = salon("votes", "rank", path, "--prior-ties", 1, "--bootstrap", 20, "--format", "csv")
    assert ranked.exit_code == 0
    assert all(rating is not None for rating in pl.read_csv(ranked.stdout.encode())["rating"])


@pytest.fixture(scope="module")
def crowd() -> Battles:
    """100,000 models in a ring of wins with chords."""
    count = 100_000
    names = pl.Series([f"model {number}" for number in range(count)], dtype=pl.String)
    random = np.random.default_rng(0)
    ring, far = np.arange(count), random.integers(0, count, count)
    other = np.where(far == ring, (ring + 2) % count, far)
    first, second = np.concatenate([ring, ring]), np.concatenate([(ring + 1) % count, other])
    winner = pl.Series(["model_a"] * count + ["model_a", "model_b"] * (count // 2))
    return Battles.from_frame(pl.DataFrame({"model_a": names.gather(first), "model_b": names.gather(second), "winner": winner}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "rows"),
    [
        (lambda battles: rank(battles, replicates=2).table, 100_000),
        (lambda battles: rank(battles, replicates=0).records(), 100_000),
        (lambda battles: online_elo(battles).table, 100_000),
        (win_rates, 400_000),
    ],
    ids=["rank", "records", "online elo", "win rates"],
)
def test_a_hundred_thousand_models_are_counted_and_rated(
    crowd: Battles, work: Callable[[Battles], pl.DataFrame], rows: int
) -> None:
    assert work(crowd).height == pytest.approx(rows, rel=0.001)


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        lambda battles: rank(battles, interval="sandwich"),
        lambda battles: rank(battles, interval="bca", replicates=2),
        lambda battles: rank(battles, replicates=2, ranks=True),
        lambda battles: rank(battles, replicates=1_000_000),
        lambda battles: differences(battles, replicates=2),
        lambda battles: listing(rank(battles, replicates=2), battles),
        lambda battles: explain(rank(battles, replicates=2), battles, "model 0"),
        lambda battles: win_rates(battles, every_pair=True),
        lambda battles: cycle_report(battles),
        lambda battles: rank(battles, ties="davidson", interval="sandwich"),
        lambda battles: ScheduleState.of(battles),
    ],
    ids=[
        "sandwich",
        "bca",
        "ranks",
        "replicates",
        "differences",
        "listing",
        "explain",
        "every pair",
        "cycles",
        "sandwich of ties",
        "next pairs",
    ],
)
def test_what_needs_a_square_of_a_hundred_thousand_models_says_so_before_it_is_made(
    crowd: Battles, work: Callable[[Battles], object]
) -> None:
    with pytest.raises(OptionError, match=r"100,?000|at most"):
        work(crowd)


PRESS = """
import os, signal, sys, threading, time
from salon_console import main

def press():
    '''Once the main thread was met in the package's own code ten times, at work and no longer on its way there.'''
    met = 0
    while met < 10:
        time.sleep(0.02)
        met += "salon_ranking" in sys._current_frames()[threading.main_thread().ident].f_code.co_filename
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
main(prog_name="salon")
"""


@pytest.fixture(scope="module")
def long_work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "votes.parquet"
    random = np.random.default_rng(0)
    first = random.integers(0, 200, 200_000)
    second = (first + random.integers(1, 200, 200_000)) % 200
    names = pl.Series([f"m{number}" for number in range(200)])
    votes = pl.DataFrame({"model_a": names.gather(first), "model_b": names.gather(second)})
    winner = pl.Series(random.choice(["model_a", "model_b", "tie"], 200_000))
    prompts, raters = (pl.Series(random.integers(0, 3000, 200_000)).cast(pl.String) for _ in range(2))
    votes.with_columns(winner=winner, prompt_id=prompts, rater_id=raters).write_parquet(path)
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["rank", "--bootstrap", "200000"],
        pytest.param(["rank", "--bootstrap", "200000", "--interval", "bca", "--cluster", "prompt_id"], marks=pytest.mark.slow),
        ["rank", "--bootstrap", "200000", "--cluster", "prompt_id", "--cluster", "rater_id"],
        pytest.param(["rank", "--by", "rater_id", "--prior-ties", "1", "--bootstrap", "200000"], marks=pytest.mark.slow),
        ["elo", "--orders", "10000000"],
        ["simulate", "--models", "300", "--leagues", "1000"],
    ],
    ids=["bootstrap", "bca", "two-way", "by", "elo", "plan"],
)
def test_ctrl_c_ends_long_work_with_the_exit_code_of_an_interrupt(long_work: Path, command: list[str]) -> None:
    given = ["votes", *(command if command[0] == "simulate" else [command[0], str(long_work), *command[1:]])]
    done = subprocess.run([sys.executable, "-c", PRESS, *given], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == "Aborted."


def test_every_error_of_battles_is_a_ranking_error() -> None:
    assert issubclass(BattleError, RankingError)
    assert issubclass(UnratableError, RankingError)
