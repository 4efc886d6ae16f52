"""What votes mean: anchors, own weights, declared clusters, names that are nearly the same, and formats of other arenas."""

import json
import shlex
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from ranked import contextual, tied

from for_each import for_each
from salon_console import main
from salon_ranking import BattleError, Battles, OptionError, differences, online_elo, rank, rank_by
from salon_ranking.battles.vote_formats import VOTE_FORMATS, VoteFormat
from salon_ranking.cli import votes
from salon_ranking.raters import Votes

VOTES = pl.DataFrame(
    {
        "prompt_id": [f"p{number // 6}" for number in range(48)],
        "scenario": ["art", "film"] * 24,
        "model_a": ["x", "y", "z"] * 16,
        "model_b": ["y", "z", "x"] * 16,
        "winner": ["model_a", "model_b", "tie", "model_b", "model_a", "model_a", "tie", "model_b"] * 6,
        "length": [number * 7 % 11 for number in range(48)],
    }
)
ANCHORS = VOTES.head(7).with_columns(winner=pl.lit("model_a"))
WITH_ANCHORS = pl.concat([VOTES.with_columns(is_anchor=False), ANCHORS.with_columns(is_anchor=True)])
RANKINGS = {
    "rank": lambda battles: rank(battles, replicates=20),
    "rank_by": lambda battles: rank_by(battles, "scenario", replicates=20)[0],
    "ties": lambda battles: tied(battles),
    "contextual": lambda battles: contextual(battles, ["length"]),
    "elo": online_elo,
}


@pytest.mark.parametrize("name", RANKINGS)
@pytest.mark.parametrize("spelling", ["truth values", "text", "numbers", "nulls"])
def test_anchors_are_left_out_of_every_board_and_counted(name: str, spelling: str) -> None:
    flag = pl.col("is_anchor")
    spelled = {
        "truth values": flag,
        "text": pl.when(flag).then(pl.lit("Yes")).otherwise(pl.lit("no")),
        "numbers": flag.cast(pl.Int8),
        "nulls": pl.when(flag).then(True),
    }
    mixed = WITH_ANCHORS.with_columns(is_anchor=spelled[spelling])
    found, alone = RANKINGS[name](Battles.from_frame(mixed)), RANKINGS[name](Battles.from_frame(VOTES))
    assert found.table.equals(alone.table)
    assert "7 anchor battles left out" in found.header
    assert "anchor" not in alone.header
    assert Battles.from_frame(mixed, anchors="count").count == 55


def test_a_wrong_row_beside_anchors_keeps_its_number(tmp_path: Path) -> None:
    rows = WITH_ANCHORS.sort("is_anchor", descending=True)
    wrong = pl.concat([rows, rows.tail(1).with_columns(winner=pl.lit("nobody"))])
    with pytest.raises(BattleError) as caught:
        Battles.from_frame(wrong)
    assert caught.value.row == 56
    with pytest.raises(BattleError, match="row 3, column 'is_anchor': is no truth value: 'perhaps'"):
        Battles.from_frame(VOTES.with_columns(is_anchor=pl.Series(["no", "yes", "perhaps", *["no"] * 45])))


def test_anchors_of_a_store_are_left_out(tmp_path: Path) -> None:
    store = pytest.importorskip("salon_store").ResultStore.open(tmp_path / "store")
    rows = WITH_ANCHORS.with_row_index("battle_id").with_columns(
        pl.col("battle_id").cast(pl.String), rater_id=pl.lit("r"), mode=pl.lit("public")
    )
    store.append("battles", rows.drop("length"), run_id="arena")
    board = rank(str(store.path), replicates=0)
    assert (board.battles, board.remarks) == (48, ("7 anchor battles left out",))
    assert board.table.equals(rank(VOTES, replicates=0).table)


def test_the_own_column_of_weights_is_used_and_said_and_can_be_ignored() -> None:
    own = VOTES.with_columns(weight=pl.Series([3.0, 1.0] * 24))
    named = rank(Battles.from_frame(own, weight="weight"), replicates=0)
    default = rank(own, replicates=0)
    assert default.table.equals(named.table)
    assert "weighted by weight" in default.header
    ignored = rank(Battles.from_frame(own, weight=False), replicates=0)
    assert ignored.table.equals(rank(VOTES, replicates=0).table)
    assert "the column weight is not used" in ignored.header
    assert "weight" not in rank(VOTES.with_columns(weight=1.0), replicates=0).header  # as in every result store


def test_declared_clusters_are_used_until_they_are_turned_off() -> None:
    many = pl.concat([VOTES.with_columns(pl.col("prompt_id") + f"-{part}") for part in range(6)])
    declared, plain = Battles.from_frame(many, cluster_by="prompt_id"), Battles.from_frame(many)
    for make in (
        lambda battles, **how: rank(battles, replicates=50, **how),
        lambda battles, **how: differences(battles, replicates=50, **how),
        lambda battles, **how: tied(battles, **how),
        lambda battles, **how: contextual(battles, ["length"], **how),
    ):
        assert make(declared).table.equals(make(declared, cluster=True).table)
        assert make(declared, cluster=False).table.equals(make(plain).table)
        assert not make(declared).table.equals(make(plain).table)
        with pytest.raises(OptionError, match="nothing to cluster by"):
            make(plain, cluster=True)
    assert "clusters by prompt_id are NOT used" in rank(declared, replicates=0, cluster=False).header
    assert "NOT used" not in rank(declared, replicates=0).header


SPELLINGS = [("m1", "m1 "), ("m1", "M1"), ("two words", "twowords"), ("caf\u00e9", "cafe\u0301"), ("\uff4d1", "m1")]


@pytest.mark.parametrize("pair", SPELLINGS)
def test_names_that_are_nearly_the_same_are_named_and_merged_when_asked(pair: tuple[str, str], tmp_path: Path) -> None:
    often, seldom = pair
    first, both = VOTES.with_columns(pl.col("model_a", "model_b").replace({"x": often})), pl.col("model_a", "model_b")
    votes = pl.concat([first.head(40), first.tail(8).with_columns(both.replace({often: seldom}))])
    board = rank(votes, replicates=0, prior_ties=1.0)
    assert board.table.height == 4
    assert all(repr(name) in board.header for name in pair)
    for names in ("merge", {seldom: often}):
        merged = rank(Battles.from_frame(votes, names=names), replicates=0)  # type: ignore[arg-type]
        assert merged.table.equals(rank(first, replicates=0).table)
        assert "WARNING" not in merged.header
    votes.write_csv(tmp_path / "votes.csv")
    pl.DataFrame({"name": [seldom], "model": [often]}).write_csv(tmp_path / "names.csv")
    for options in (["--names", "merge"], ["--names", str(tmp_path / "names.csv")]):
        shown = CliRunner().invoke(main, ["votes", "rank", str(tmp_path / "votes.csv"), "--bootstrap", "0", *options])
        assert "WARNING" not in shown.stdout
        assert "3 models" in " ".join(shown.stdout.split())


PUBLISHED = {
    "evalica": VOTES.select(
        left="model_a", right="model_b", winner=pl.col("winner").replace({"model_a": "left", "model_b": "right"})
    ),
    "genai-arena": VOTES.select(
        left_model="model_a",
        right_model="model_b",
        vote_type=pl.col("winner").replace(
            {"model_a": "leftvote", "model_b": "rightvote", "tie": "tievote", "both_bad": "bothbad_vote"}
        ),
    ),
    "lmarena": VOTES.select("model_a", "model_b", winner=pl.col("winner").replace({"both_bad": "tie (bothbad)"})),
    "lmarena-kaggle": VOTES.select(
        "model_a",
        "model_b",
        winner_model_a=(pl.col("winner") == "model_a").cast(pl.Int64),
        winner_model_b=(pl.col("winner") == "model_b").cast(pl.Int64),
        winner_tie=(pl.col("winner") == "tie").cast(pl.Int64),
    ),
    "named": VOTES.with_columns(
        pl.when(pl.col("winner").is_in(["model_a", "model_b"]))
        .then(pl.when(winner="model_a").then("model_a").otherwise("model_b"))
        .otherwise("winner")
        .alias("winner")
    ),
}
"""The shapes of released votes, with rows of our own."""


@pytest.mark.parametrize("name", VOTE_FORMATS)
@pytest.mark.parametrize("command", ["rank", "next"])
def test_released_formats_are_read_by_their_names_and_imported(name: str, command: str, tmp_path: Path) -> None:
    PUBLISHED[name].write_csv(tmp_path / "theirs.csv")
    VOTES.write_csv(tmp_path / "ours.csv")
    assert rank(Battles.read(tmp_path / "theirs.csv", votes=name), replicates=0).table.equals(rank(VOTES, replicates=0).table)
    extra = ["--bootstrap", "0"] if command == "rank" else []
    imported(tmp_path, "--votes", name)
    theirs = CliRunner().invoke(main, ["votes", command, str(tmp_path / "imported.csv"), "--format", "csv", *extra])
    ours = CliRunner().invoke(main, ["votes", command, str(tmp_path / "ours.csv"), "--format", "csv", *extra])
    assert (theirs.exit_code, theirs.stdout) == (0, ours.stdout)


def test_a_row_with_two_winners_is_refused() -> None:
    winners = {"winner_model_a": [1, 0, 0, 0], "winner_model_b": [0, 1, 0, 1], "winner_tie": [0, 0, 1, 1]}
    rows = pl.DataFrame({"model_a": ["x"] * 4, "model_b": ["y"] * 4, **winners})
    for options in ({}, {"no_winner": "leave_out"}):
        with pytest.raises(BattleError, match="row 4, column 'winner': unknown winner 'winner_model_b and winner_tie'"):
            Battles.from_frame(rows, votes="lmarena-kaggle", **options)


def test_a_winner_that_is_a_models_name_is_refused_with_the_format_that_reads_it(tmp_path: Path) -> None:
    PUBLISHED["named"].write_csv(tmp_path / "theirs.csv")
    refused = CliRunner().invoke(main, ["votes", "rank", str(tmp_path / "theirs.csv")])
    assert (refused.exit_code, "--votes named" in refused.output) == (2, True), refused.output


@pytest.mark.parametrize("name", VOTE_FORMATS)
def test_raters_of_released_formats_are_read_by_their_names(name: str, tmp_path: Path) -> None:
    who = pl.Series("judge", ["r1", "r2", "r3", "r4"] * 100).head(VOTES.height)
    PUBLISHED[name].with_columns(who).write_csv(tmp_path / "theirs.csv")
    VOTES.with_columns(who.alias("rater_id")).select("rater_id", "model_a", "model_b", "winner").write_csv(
        tmp_path / "ours.csv"
    )
    imported(tmp_path, "--votes", name, "--columns", "judge=rater_id")
    theirs = CliRunner().invoke(main, ["votes", "raters", str(tmp_path / "imported.csv"), "--format", "csv"])
    ours = CliRunner().invoke(main, ["votes", "raters", str(tmp_path / "ours.csv"), "--format", "csv"])
    assert (theirs.exit_code, theirs.stdout) == (0, ours.stdout.replace("ours.csv", "imported.csv")), theirs.output


def test_raters_merge_names_as_boards_do(tmp_path: Path) -> None:
    votes = VOTES.with_columns(rater_id=pl.lit("r"))
    other = votes.with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit(" X")).otherwise("model_a").alias("model_a")
    )
    other = votes.with_columns(model_a=pl.when(pl.col("model_a") == "x").then(other["model_a"]).otherwise("model_a"))
    expected = Votes.from_frame(votes).frame
    for names in ("merge", {" X": "x"}):
        assert Votes.from_frame(other, names=names).frame.equals(expected)  # type: ignore[arg-type]
    other.write_csv(tmp_path / "theirs.csv")
    done = imported(tmp_path, "--names", "merge")
    assert "merged ' X' into 'x'" in done.stderr
    assert Votes.read(tmp_path / "imported.csv").frame.equals(Votes.from_frame(other, names="merge").frame)


def imported(folder: Path, *options: str) -> Result:
    paths = [str(folder / "theirs.csv"), "--output", str(folder / "imported.csv")]
    done = CliRunner().invoke(main, ["votes", "import", *paths, *options])
    assert done.exit_code == 0, done.output
    return done


def test_an_import_keeps_every_row_and_every_column(tmp_path: Path) -> None:
    votes = VOTES.with_columns(weight=pl.lit(2.0), is_anchor=pl.int_range(pl.len()) % 3 == 0, note=pl.lit("…"))
    votes.write_csv(tmp_path / "theirs.csv")
    done = imported(tmp_path)
    assert f"{VOTES.height} battles" in done.stderr
    assert pl.read_csv(tmp_path / "imported.csv").equals(pl.read_csv(tmp_path / "theirs.csv"))


def test_an_import_prints_what_it_writes_also_of_conversations_and_of_names_like_formulas(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "a cat"}]
    row = {"model_a": "=x", "model_b": "y", "winner": "model_a", "conversation_a": turns, "at": "2026-01-01T12:00:00Z"}
    theirs, ours = tmp_path / "theirs.json", tmp_path / "imported.csv"
    theirs.write_text(json.dumps([row]))
    printed = CliRunner().invoke(main, ["votes", "import", str(theirs)])
    assert printed.exit_code == 0, printed.output
    assert CliRunner().invoke(main, ["votes", "import", str(theirs), "--output", str(ours)]).exit_code == 0
    assert printed.stdout == ours.read_text() and "'=x" in printed.stdout and '""a cat""' in printed.stdout


WORDS = {"model_a": "Left", "model_b": " RIGHT", "tie": "Draw"}
DIRTY = VOTES.with_row_index("id").select(
    pl.col("id").cast(pl.String), "scenario", "model_a", "model_b", winner=pl.col("winner").replace(WORDS)
)
DIRTY = pl.concat([DIRTY, DIRTY.sample(5, seed=1), DIRTY.head(3).with_columns(winner=pl.lit(""), id=pl.lit("none"))])
"""Votes with copies of rows, rows without a winner, and words in other cases."""
CLEANED = {
    "columns": {"id": "battle_id"},
    "winner_words": {"left": "model_a", "right": "model_b", "DRAW": "tie"},
    "no_winner": "leave_out",
    "copies": "first",
}


def test_dirty_votes_are_ranked_as_the_clean_ones_and_what_was_left_out_is_counted(tmp_path: Path) -> None:
    path, clean = tmp_path / "theirs.csv", rank(VOTES, replicates=20)
    DIRTY.sample(DIRTY.height, seed=3, shuffle=True).write_csv(path)
    for board in (rank(path, replicates=20, **CLEANED), rank(Battles.read(path, **CLEANED), replicates=20)):  # type: ignore[call-arg,arg-type]
        assert board.table.drop("ci_low", "ci_high").equals(clean.table.drop("ci_low", "ci_high"))
        assert board.remarks == ("3 rows without a winner left out", "5 exact copies left out")
    options = ["--columns", "id=battle_id", "--winner-words", "LEFT=model_a,right=model_b,draw=tie"]
    options += ["--no-winner", "leave-out", "--repeated-ids", "first"]
    done = imported(tmp_path, *options)
    assert done.stderr.splitlines()[:2] == ["3 rows without a winner left out", "5 exact copies left out"]
    written = pl.read_csv(tmp_path / "imported.csv")
    assert written.columns == ["battle_id", "scenario", "model_a", "model_b", "winner"]
    assert written.height == VOTES.height
    assert rank(written, replicates=0).table.equals(rank(VOTES, replicates=0).table)
    with pytest.raises(OptionError, match="read already"):
        rank(Battles.from_frame(VOTES), columns={})  # type: ignore[call-arg]


def test_copies_cannot_be_left_out_without_a_column_of_ids(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    rows = VOTES.with_columns(rater_id=pl.lit("ann"))
    pl.concat([rows, rows.head(5)]).with_row_index("vote").write_csv(path)
    for read in (Battles.read, Votes.read):
        with pytest.raises(BattleError, match=r"missing column 'battle_id'.*\n.*--columns NAME=battle_id"):
            read(path, copies="first")
        assert read(path, copies="first", ids=None) is not None
    failed = CliRunner().invoke(main, ["votes", "rank", str(path), "--repeated-ids", "first"])
    assert failed.exit_code == 2 and "missing column 'battle_id'" in failed.stderr
    with pytest.raises(BattleError, match="missing column 'winner'"):
        Battles.from_frame(rows.drop("winner"), copies="first")


def test_an_id_in_two_rows_that_differ_is_refused_where_copies_are_left_out() -> None:
    twice = pl.concat([VOTES.with_row_index("battle_id")] * 2)
    assert Battles.from_frame(twice, copies="first").count == VOTES.height
    with pytest.raises(BattleError, match="the same id twice") as caught:
        Battles.from_frame(twice.with_columns(note=pl.int_range(pl.len())), copies="first")
    assert caught.value.row == VOTES.height + 1
    assert "\nThe ids: '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', …." in str(caught.value)
    with pytest.raises(BattleError, match=r"The ids: '3', '5'\.") as caught:
        Battles.from_frame(pl.concat([twice.head(VOTES.height), twice[[3, 5, 3]]]))
    with pytest.raises(BattleError, match="the same id twice") as caught:
        Battles.from_frame(pl.concat([twice.head(VOTES.height), twice[[3]]]))
    assert "The ids" not in str(caught.value)


def test_copies_that_count_for_want_of_a_named_id_are_warned_of() -> None:
    copied = pl.concat([VOTES.with_row_index("vote_id"), VOTES.with_row_index("vote_id").head(2)])
    assert "2 rows with a value of 'vote_id' that another row has" in rank(copied, replicates=0).header
    for fine in (copied.rename({"vote_id": "battle_id"}).head(48), copied.rename({"vote_id": "prompt"}), copied.head(48)):
        assert "WARNING" not in rank(fine, replicates=0).header


@given(wanted=st.sampled_from(["art", "film"]), model=st.sampled_from(["x", "y"]))
def test_a_condition_selects_rows_as_a_filter_of_the_frame_does(wanted: str, model: str) -> None:
    where = f"scenario = '{wanted}' AND (model_a = '{model}' OR model_b = '{model}')"
    kept = VOTES.filter(scenario=wanted).filter((pl.col("model_a") == model) | (pl.col("model_b") == model))
    battles = Battles.from_frame(VOTES, where=where)
    assert battles.frame.collect().drop("__row").equals(kept)
    assert battles.remarks[0].endswith(f"{kept.height} of 48 rows")
    broken = VOTES.with_columns(winner=pl.when(pl.int_range(pl.len()) == 45).then(pl.lit("nobody")).otherwise("winner"))
    with pytest.raises(BattleError) as caught:
        Battles.from_frame(broken, where="scenario = 'film'")
    assert caught.value.row == 46


@for_each(
    ("where", "message"),
    [
        ("length > ", "cannot be used"),
        ("nothing = 1", "cannot be used"),
        ("scenario = 'music'", "no row meets the condition"),
    ],
)
def test_a_condition_that_cannot_be_used_is_refused_with_the_columns(where: str, message: str) -> None:
    with pytest.raises(BattleError, match=message):
        Battles.from_frame(VOTES, where=where)


def test_the_hint_for_unknown_words_works_when_it_is_typed(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    theirs = {"model_a": "Left", "model_b": "Right side's", "tie": "Tie"}
    VOTES.with_columns(winner=pl.col("winner").replace(theirs)).write_csv(path)
    refused = CliRunner().invoke(main, ["votes", "rank", str(path)])
    option = refused.stderr.split("--winner-words ")[1].split(" of `salon")[0]
    assert "(for … one of model_a," in refused.stderr
    typed = shlex.split(option)[0].replace("…", "model_b")
    done = CliRunner().invoke(main, ["votes", "rank", str(path), "--winner-words", typed, "--format", "csv"])
    ours = CliRunner().invoke(main, ["votes", "rank", "-", "--format", "csv"], input=VOTES.write_csv())
    assert (done.exit_code, done.stdout) == (0, ours.stdout), done.stderr


@for_each("command", ["rank", "raters", "import"])
def test_commands_that_refuse_repeated_ids_have_the_options_that_the_refusal_names(command: str, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    once = VOTES.with_row_index("battle_id").with_columns(rater_id=pl.lit("r"))
    pl.concat([once, once.head(2)]).write_csv(path)
    refused = CliRunner().invoke(main, ["votes", command, str(path)])
    assert (refused.exit_code, "--repeated-ids first" in refused.stderr) == (2, True)
    for choice, battles in (("first", 48), ("count", 50)):
        done = CliRunner().invoke(main, ["votes", command, str(path), "--repeated-ids", choice])
        assert (done.exit_code, f"{battles} battles" in done.output) == (0, True), done.output


def test_compare_leaves_out_the_rows_that_rank_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    once = VOTES.with_row_index("battle_id").with_columns(side=pl.lit("kept"))
    dirty = once.head(2).with_columns(pl.lit(None, pl.String).alias("winner"), battle_id=pl.lit(900, once["battle_id"].dtype))
    other = once.head(5).with_columns(side=pl.lit("other"), battle_id=pl.col("battle_id") + 500)
    pl.concat([once, once.head(3), dirty.head(1), other]).write_csv(path)
    words = ["votes", "compare", str(path), "--where", "side = 'kept'", "--format", "csv"]
    for option in (["--repeated-ids", "first"], ["--no-winner", "leave-out"]):
        refused = CliRunner().invoke(main, words)
        assert (refused.exit_code, " ".join(option) in refused.stderr) == (2, True), refused.stderr
        words += option
    done = CliRunner().invoke(main, words)
    once.write_csv(path)
    assert done.stdout == CliRunner().invoke(main, ["votes", "compare", str(path), "--format", "csv"]).stdout, done.output


def test_other_spellings_are_read_by_two_commands_alone() -> None:
    context = click.Context(votes)
    options = {
        name: {option for parameter in command.params for option in parameter.opts}
        for name in votes.list_commands(context)
        if (command := votes.get_command(context, name)) is not None
    }
    spelling = {"--votes", "--columns", "--winner-words", "--names"}
    assert {name for name, found in options.items() if "--winner-words" in found} == {
        "rank",
        "import",
    }
    assert all(spelling <= found for found in options.values() if "--winner-words" in found)
    assert {"--weight", "--anchors"} <= options["rank"]


def test_columns_and_words_of_ones_own_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    VOTES.select(one="model_a", two="model_b", who=pl.col("winner").replace({"tie": "tie (both bad)"})).write_csv(path)
    words = ["--columns", "one=model_a,two=model_b,who=winner", "--winner-words", "tie (both bad)=both_bad"]
    shown = CliRunner().invoke(main, ["votes", "rank", str(path), "--bootstrap", "0", "--format", "json", *words])
    assert shown.exit_code == 0, shown.output
    for options, said in (
        (["--columns", "one"], "is not THEIRS=OURS"),
        (["--columns", "nothing=model_a"], "missing column 'nothing'"),
        ([*words, "--winner-words", "x=nobody"], "unknown winner 'nobody'"),
        (words[:2], "unknown winner 'tie (both bad)'"),
    ):
        refused = CliRunner().invoke(main, ["votes", "rank", str(path), *options])
        assert (refused.exit_code, said in refused.stderr) == (2, True), refused.stderr
    with pytest.raises(OptionError, match="unknown format of votes"):
        Battles.from_frame(VOTES, votes="elsewhere")
    with pytest.raises(BattleError, match="has a column 'winner' already"):
        Battles.from_frame(VOTES, votes=VoteFormat({"scenario": "winner"}))
