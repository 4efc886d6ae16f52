"""Files and directories of battles."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from salon_ranking import BattleError, Battles, RankingError, files
from salon_ranking.opinion import MosRatings
from salon_ranking.raters import Votes

ROWS = pl.DataFrame(
    {"model_a": ["007", "y"], "model_b": ["y", "007"], "winner": ["model_a", "tie"], "w": [1, 2], "note": ["é", None]}
)


def text(separator: str = ",") -> bytes:
    return ROWS.write_csv(separator=separator).encode()


def lines() -> bytes:
    return ROWS.write_ndjson().encode()


def written_by(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


KINDS: dict[str, Callable[[], bytes]] = {
    "votes.csv": text,
    "votes.CSV": text,
    "votes.tsv": lambda: text("\t"),
    "semicolons.csv": lambda: text(";"),
    "bars.csv": lambda: text("|"),
    "votes.csv.gz": lambda: gzip.compress(text()),
    "votes.tsv.gz": lambda: gzip.compress(text("\t")),
    "utf16.csv": lambda: text().decode().encode("utf-16"),
    "utf16-big.csv": lambda: b"\xfe\xff" + text(";").decode().encode("utf-16-be"),
    "mark.csv": lambda: b"\xef\xbb\xbf" + text(),
    "votes.jsonl": lines,
    "votes.ndjson": lines,
    "votes.jsonl.gz": lambda: gzip.compress(lines()),
    "utf16.jsonl": lambda: lines().decode().encode("utf-16"),
    "votes.json": lambda: ROWS.write_json().encode(),
    "lines.json": lines,
    "votes.json.gz": lambda: gzip.compress(ROWS.write_json().encode()),
    "votes.parquet": lambda: written_by(ROWS.write_parquet),
    "votes.arrow": lambda: written_by(ROWS.write_ipc),
    "stream.arrow": lambda: written_by(ROWS.write_ipc_stream),
}


def same_battles(path: Path | str) -> None:
    battles = Battles.read(path, weight="w")
    assert battles.models == ("007", "y")
    assert battles.cells.records()[0].tolist() == [3.0, 3.0]
    assert battles.source == str(path)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_file_gives_the_same_battles(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / name).write_bytes(KINDS[name]())
    same_battles(tmp_path / name)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(KINDS[name]())))
    same_battles("-")


def test_data_sets_of_hugging_face_are_folders_of_battles(tmp_path: Path):
    (tmp_path / "hub" / "data").mkdir(parents=True)
    (tmp_path / "hub" / "README.md").write_text("words", encoding="utf-8")
    ROWS.head(1).write_parquet(tmp_path / "hub" / "data" / "train-00000-of-00002.parquet")
    ROWS.tail(1).write_parquet(tmp_path / "hub" / "data" / "train-00001-of-00002.parquet")
    same_battles(tmp_path / "hub")
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict(ROWS.to_dict(as_series=False))
    whole.save_to_disk(tmp_path / "saved")
    same_battles(tmp_path / "saved")
    datasets.DatasetDict(train=whole.select([0]), test=whole.select([1])).save_to_disk(tmp_path / "splits")
    same_battles(tmp_path / "splits")


def test_tables_of_a_duckdb_database_are_read_by_name(tmp_path: Path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "arena.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", ROWS)
        connection.execute('CREATE TABLE "my votes" AS FROM given')
    same_battles(path)
    same_battles(path / "my votes")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE other (x INTEGER)")
    with pytest.raises(BattleError, match=r"no table 'battles' \(allowed: .*my votes"):
        Battles.read(path)
    (tmp_path / "broken.duckdb").write_bytes(b"nothing")
    with pytest.raises(BattleError, match="cannot be read"):
        Battles.read(tmp_path / "broken.duckdb")


GOOD = '{"model_a": "x", "model_b": "y", "winner": "tie"}\n'
BROKEN = {
    "lines.jsonl": (
        (GOOD + "{oops\n" + GOOD + "[1]\n{oops\n").encode(),
        [
            "row 2: cannot be read: this is not JSON: '{oops'",
            "There are 2 such rows.",
            "Also row 4: cannot be read: this is not a JSON",
        ],
    ),
    "latin.jsonl": (
        (GOOD + GOOD.replace("x", "\xe9")).encode("latin-1"),
        ["row 2: cannot be read: this is not UTF-8: ", "iconv"],
    ),
    "latin.csv": (
        "model_a,model_b,winner\nx,y,tie\n\xe9,y,tie\nx,y,tie,1\n\xe9,y,tie\n".encode("latin-1"),
        ["row 2: cannot be read: this is not UTF-8: ", "There are 2 such rows.", "Also row 3: cannot be read: more fields"],
    ),
    "rows.csv": (
        b"model_a,model_b,winner,battle_id\nx,y,tie,1\nx,x,tie,2\nx,y,draw,1\n,y,tie,4\nx,x,won,5\n",
        [
            "row 2, column 'model_b': a model against itself: 'x'",
            "There are 2 such rows.",
            "Also row 3, column 'winner': unknown winner 'draw' (2 such rows).",
            "Also row 4, column 'model_a': no model name.",
            "Also row 3, column 'battle_id': the same id twice: '1'",
        ],
    ),
    "columns.csv": (
        b"a,model_b\nx,y\n",
        [
            "missing column 'model_a'",
            "Missing too: 'winner'. Columns with other names: `salon votes import --columns theirs=model_a,…`",
        ],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_all_kinds_of_problems_of_a_file_are_reported_in_one_go(tmp_path: Path, name: str):
    content, said = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BattleError) as caught:
        Battles.read(tmp_path / name)
    for words in said:
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("cut.csv", b'model_a,model_b,winner\nx,"y,model_a\n'),
        ("ragged.csv", b"model_a,model_b,winner\nx,y,tie,1,2,3\n"),
        ("binary.csv", bytes(range(256))),
        ("latin.csv", "model_a,model_b,winner\nx,é,tie\n".encode("latin-1")),
        ("cut.csv.gz", gzip.compress(b"model_a,model_b,winner\n" + b"x,y,tie\n" * 99, mtime=0)[:-12]),
        ("damaged.jsonl.gz", b"\x1f\x8b\x08\x00" + bytes(range(64))),
        ("empty.jsonl", b""),
        ("cut.jsonl", b'{"model_a": "x", "model_b": "y", "winner": "tie"}\n{"model_a": "x", "mod'),
        ("list.jsonl", b"[1, 2]\n"),
        ("empty.parquet", b""),
        ("text.parquet", b"PAR1 this is not a table PAR1"),
    ],
)
def test_a_broken_file_is_a_battle_error_that_names_it(tmp_path: Path, name: str, content: bytes):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BattleError) as caught:
        Battles.read(path)
    assert caught.value.source == str(path)


def test_a_truncated_parquet_file_is_a_battle_error(tmp_path: Path):
    path = tmp_path / "votes.parquet"
    ROWS.write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BattleError, match=r"votes\.parquet: cannot be read"):
        Battles.read(path)


def test_a_missing_file_and_an_unknown_ending_are_named(tmp_path: Path):
    with pytest.raises(BattleError, match="there is no such file"):
        Battles.read(tmp_path / "nothing.csv")
    with pytest.raises(BattleError, match=r"unknown kind of file '\.xlsx' \(allowed: \.csv"):
        Battles.read(tmp_path / "votes.xlsx")


class _Entry:
    def __init__(self, name: str, answer: pl.LazyFrame | None) -> None:
        self.name = name
        self.answer = answer

    def load(self) -> files.Source:
        return lambda path, table: self.answer if table == "battles" else None


def test_a_directory_is_read_by_the_first_package_that_knows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    entries = [_Entry("b", ROWS.lazy()), _Entry("a", None)]
    monkeypatch.setattr(files, "entry_points", lambda group: entries if group == "salon.sources" else [])
    assert Battles.read(tmp_path).count == 2


def test_a_directory_that_nobody_knows_is_a_battle_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "entry_points", lambda group: [])
    with pytest.raises(BattleError, match="salon-store"):
        Battles.read(tmp_path)


@pytest.mark.parametrize("name", ['{"x": 1}', "7", "[1]"])
def test_a_model_name_in_json_that_is_no_text_is_refused(tmp_path: Path, name: str):
    path = tmp_path / "votes.jsonl"
    path.write_text(f'{{"model_a": "x", "model_b": {name}, "winner": "tie"}}\n', encoding="utf-8")
    with pytest.raises(BattleError, match="column 'model_b': must hold text"):
        Battles.read(path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("votes.csv", b"", "cannot be read: the file is empty"),
        ("votes.jsonl", b"", "cannot be read: the file is empty"),
        ("votes.parquet", b"", "cannot be read: the file is empty"),
        ("votes.csv", None, "is a link that leads to no file: 'votes.csv'"),
        ("votes.csv", b"model_a,model_b,winner,winner\nx,y,tie,tie\n", "the header has the column 'winner' twice"),
        ("votes.csv", b'"model_a";model_b;winner;model_a\nx;y;tie;z\n', "the header has the column 'model_a' twice"),
        ("votes.csv", b"\x93\xfe\rab\x07,\x01\n", "the first line is not a header of column names"),
    ],
)
def test_a_file_that_is_empty_or_a_loop_or_has_a_column_twice_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes | None, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is None:
        Path(name).symlink_to(name)
    else:
        Path(name).write_bytes(content)
    for read in (Battles.read, Votes.read, MosRatings.read):
        with pytest.raises(RankingError) as caught:
            read(name)
        assert str(caught.value).startswith(f"{name}") and said in str(caught.value)
