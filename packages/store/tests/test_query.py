"""SQL reads the tables, and can do nothing else whatever it says."""

from _thread import interrupt_main
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from threading import enumerate as enumerate_threads
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_store import DamagedFileError, QueryError, ResultStore
from salon_store import query as query_module
from salon_store.query import query_folder
from salon_store.schemas import SCHEMAS
from salon_store.tables import StoreTable
from salon_store.views import identifier, literal


def votes(prefix: str = "b") -> pl.DataFrame:
    return pl.DataFrame({"battle_id": [f"{prefix}{number}" for number in range(3)]}).with_columns(
        model_a=pl.lit("flux"), model_b=pl.lit("sdxl"), winner=pl.lit("model_a"), rater_id=pl.lit("ann"), mode=pl.lit("public")
    )


@pytest.fixture
def filled(store: ResultStore) -> ResultStore:
    store.append("battles", votes(), run_id="r")
    return store


@pytest.fixture(scope="module")
def queried(tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    """A store that many queries share, beside a secret file; none of them may change anything."""
    directory = tmp_path_factory.mktemp("queried")
    (directory / "secret.csv").write_text("password\nhunter2\n")
    store = ResultStore.open(directory / "results")
    store.append("battles", votes(), run_id="r")
    return store


ATTACKS = [
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{part}')",
    "SELECT * FROM read_parquet('{part}')",
    "SELECT * FROM parquet_metadata('{part}')",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM glob('{root}/*')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM (FROM read_text('{secret}'))",
    "SELECT (SELECT content FROM read_text('{secret}'))",
    "WITH x AS (FROM read_text('{secret}')) FROM x",
    "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
    "SELECT * FROM query_table('battles')",
    "SELECT * FROM json_execute_serialized_sql('{{}}')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "DESCRIBE '{secret}'",
    "SUMMARIZE '{secret}'",
    "COPY battles TO '{root}/stolen.csv'",
    "COPY (SELECT 1) TO '{part}'",
    "COPY (SELECT 1 AS a) TO '{part}' (FORMAT parquet, USE_TMP_FILE false)",
    "WITH x AS (COPY (SELECT 1 AS a) TO '{part}' (FORMAT parquet, USE_TMP_FILE false)) SELECT 1",
    "WITH y AS (WITH x AS (COPY (SELECT 1 AS a) TO '{part}' (FORMAT parquet, USE_TMP_FILE false)) SELECT 1) FROM y",
    "SELECT (WITH x AS (COPY (SELECT 1 AS a) TO '{part}' (FORMAT parquet, USE_TMP_FILE false)) SELECT 1)",
    "SELECT 1 UNION ALL (WITH x AS (COPY (SELECT 1 AS a) TO '{part}' (FORMAT parquet, USE_TMP_FILE false)) SELECT 1)",
    "FROM query('WITH x AS (COPY (SELECT 1 AS a) TO ''{part}'' (FORMAT parquet, USE_TMP_FILE false)) SELECT 1')",
    "WITH x AS (INSERT INTO battles SELECT * FROM battles) SELECT 1",
    "WITH x AS (DELETE FROM battles) SELECT 1",
    "WITH x AS (UPDATE battles SET weight = 0) SELECT 1",
    "ATTACH '{root}/other.duckdb'",
    "ATTACH '{root}/catalog.duckdb' AS catalog",
    "EXPORT DATABASE '{root}/export'",
    "IMPORT DATABASE '{root}'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{secret}'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET allowed_paths",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "CREATE TABLE t AS SELECT 1",
    "CREATE OR REPLACE VIEW battles AS SELECT 1",
    "CREATE TEMP MACRO f(x) AS x",
    "CREATE SECRET s (TYPE s3)",
    "DROP VIEW battles",
    "INSERT INTO battles SELECT * FROM battles",
    "DELETE FROM battles",
    "UPDATE battles SET weight = 0",
    "EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '{part}' (FORMAT parquet, USE_TMP_FILE false)",
    "PREPARE p AS SELECT 1",
    "SELECT 1; DROP VIEW battles",
    "SELECT 1; SELECT 2",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "USE memory",
    "",
    "-- nothing",
    "SELEKT 1",
    "SELECT",
    "SELECT '\x00'; DROP",
    "UPDATE EXTENSIONS",
    "SELECT '\ud800'",
    "SELECT " + "+".join(["1"] * 900),
]
ATTACKS += [f"PIVOT ({attack}) ON winner USING count(*)" for attack in ATTACKS]
ATTACKS += [f"PIVOT battles ON winner IN ('tie'), ({attack})" for attack in ATTACKS[: len(ATTACKS) // 2]]
ATTACKS += [
    "PIVOT battles ON winner; DROP VIEW battles",
    "PIVOT battles ON winner; SELECT 1",
    "PIVOT '{secret}' ON password",
    "PIVOT battles ON winner USING count(*), (SELECT content FROM read_text('{secret}'))",
    "CREATE TABLE t AS PIVOT battles ON winner",
    "COPY (PIVOT battles ON winner) TO '{root}/stolen.csv'",
]


@for_each("attack", ATTACKS)
def test_a_query_that_would_do_more_than_read_tables_is_refused(queried: ResultStore, attack: str) -> None:
    beside = queried.path.parent
    part = next((queried.path / "battles").glob("*.parquet"))
    everything = {path: path.read_bytes() for path in beside.rglob("*") if path.is_file()}
    query = attack.format(secret=beside / "secret.csv", part=part, root=queried.path)
    with pytest.raises(QueryError) as caught:
        queried.sql(query)
    assert "hunter2" not in str(caught.value)
    assert {path: path.read_bytes() for path in beside.rglob("*") if path.is_file()} == everything


def test_an_empty_query_gets_an_example(filled: ResultStore) -> None:
    with pytest.raises(QueryError, match=r'got 0\nWrite one SELECT: "SELECT \* FROM scores LIMIT 10"'):
        filled.sql(" ")


def test_a_python_variable_is_out_of_reach(filled: ResultStore) -> None:
    secret_frame = pl.DataFrame({"password": ["hunter2"]})
    with pytest.raises(QueryError, match="does not exist"):
        filled.sql("SELECT * FROM secret_frame")
    assert secret_frame.height == 1


@pytest.mark.parametrize(
    ("query", "height"),
    [
        ("SELECT * FROM battles", 3),
        ("FROM battles LIMIT 2", 2),
        ("SELECT winner, count(*) FROM battles GROUP BY ALL", 1),
        ("WITH x AS (SELECT * FROM battles) SELECT * FROM x UNION ALL SELECT * FROM x", 6),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT i FROM n", 4),
        ("SELECT * FROM range(5)", 5),
        ("SELECT unnest(labels) FROM battles", 0),
        ("SHOW TABLES", len(SCHEMAS)),
        ("DESCRIBE battles", len(SCHEMAS["battles"].columns)),
        ("SUMMARIZE battles", len(SCHEMAS["battles"].columns)),
        ("VALUES (1), (2)", 2),
        ('SELECT "group", model FROM leaderboards; -- a remark', 0),
        ("PIVOT (SELECT winner, weight FROM battles) ON winner IN ('tie', 'model_a') USING sum(weight)", 1),
    ],
)
def test_a_query_that_reads_is_answered(queried: ResultStore, query: str, height: int) -> None:
    assert queried.sql(query).height == height


VOTES = "(SELECT model_a, winner, weight FROM battles)"


@pytest.fixture(scope="module")
def pivoted(tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    names = pl.Series("model_a", ["a", "b", "é'x", "d"] * 3)
    rows = pl.concat([votes(str(number)) for number in range(4)]).with_columns(
        names, winner=pl.Series(["model_a", "tie", "model_b"] * 4), weight=pl.Series([1.0, 2.0, 10.0] * 4)
    )
    store = ResultStore.open(tmp_path_factory.mktemp("pivoted") / "results")
    store.append("battles", rows, run_id="r")
    store.catalog()
    return store


@for_each(
    "query",
    [
        f"PIVOT {VOTES} ON winner USING count(*)",
        f"pivot {VOTES} on winner, model_a using sum(weight), count(*) as n -- on x",
        f"FROM (PIVOT {VOTES} ON winner USING sum(weight)) WHERE model_a = 'a'",
        f"WITH p AS (PIVOT {VOTES} ON winner USING sum(weight) GROUP BY model_a) FROM p ORDER BY ALL",
        f"WITH q AS {VOTES} PIVOT q ON weight > 1 USING count(*);",
        f"PIVOT {VOTES} ON weight USING count(*) ORDER BY model_a, winner LIMIT 2",
        f"PIVOT {VOTES} ON winner IN ('tie'), model_a USING sum(weight)",
        f"PIVOT {VOTES} ON winner -- é '\n USING count(*)",
        f"PIVOT {VOTES} ON winner",
        f"PIVOT {VOTES} ON (winner || model_a) USING count(*)",
        f"PIVOT {VOTES} ON winner USING count(*) UNION ALL PIVOT {VOTES} ON winner USING count(*)",
    ],
)
def test_a_pivot_answers_what_duckdb_answers(pivoted: ResultStore, query: str) -> None:
    import duckdb

    with duckdb.connect(str(pivoted.path / "catalog.duckdb"), read_only=True) as connection:
        wanted = connection.sql(query.rstrip(";"))
        columns, found = wanted.columns, wanted.fetchall()
    answer = pivoted.sql(query)
    assert answer.columns == columns
    assert sorted(map(repr, answer.rows())) == sorted(map(repr, found))


def test_a_pivot_without_a_value_says_what_to_write(store: ResultStore) -> None:
    with pytest.raises(QueryError, match="no value to make a column of"):
        store.sql("PIVOT battles ON winner USING count(*)")


def test_a_pivot_over_a_part_that_was_cut_names_it(filled: ResultStore) -> None:
    spoiled(filled, lambda content: content[:-50])
    with pytest.raises(DamagedFileError, match=r"run-r-0000000001-"):
        filled.sql("PIVOT battles ON winner USING count(*)")


def test_results_have_types_that_can_be_shown(filled: ResultStore) -> None:
    result = filled.sql(
        "SELECT sum(length(model_a)) AS total, INTERVAL 1 DAY AS pause, 1 AS a, 2 AS a, 3 AS A_1, "
        "170141183460469231731687303715884105727::HUGEINT AS huge, "
        "TIMESTAMPTZ '2026-01-01 00:00:00+02' AS moment, [1, 2] AS many "
        "FROM battles"
    )
    assert result["total"].to_list() == [12]
    assert result.schema["total"] == pl.Int64
    assert result["pause"].item() == "1 day"
    assert result.columns[2:5] == ["a", "a_1", "A_1_1"]
    assert str(result["huge"].item()) == "170141183460469231731687303715884105727"
    assert result.schema["moment"] == pl.Datetime("us", "UTC")
    assert result["many"].to_list() == [[1, 2]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("union_value(a := 1)", "1"),
        ("'x'::VARIANT", "x"),
        ("'0101'::BIT", "0101"),
        ("[INTERVAL 1 DAY]", "[1 day]"),
        ("{'a': INTERVAL 1 DAY}", "{'a': 1 day}"),
    ],
)
def test_a_type_that_polars_lacks_comes_as_text(queried: ResultStore, value: str, text: str) -> None:
    assert queried.sql(f"SELECT {value} AS v")["v"].to_list() == [text]


@pytest.mark.parametrize("value", ["DATE 'infinity'", "TIMESTAMPTZ '-infinity'", "TIMESTAMP '99999-01-01 00:00:00'"])
def test_a_time_that_python_has_no_value_for_is_refused(queried: ResultStore, value: str) -> None:
    with pytest.raises(QueryError, match="years 1 to 9999"):
        queried.sql(f"SELECT {value} AS v")


def test_an_error_shows_where_and_what_there_is_instead(filled: ResultStore) -> None:
    with pytest.raises(QueryError, match="modell"):
        filled.sql("SELECT modell FROM battles")
    with pytest.raises(QueryError, match="The tables are runs"):
        filled.sql("SELECT * FROM votes")


@pytest.mark.parametrize("table", ["mine", "'mine.csv'", "read_csv('mine.csv')"])
def test_a_query_of_a_file_says_how_to_add_it_as_a_table(filled: ResultStore, tmp_path: Path, table: str) -> None:
    (tmp_path / "mine.csv").write_text("model,price\nflux,3\n")
    with pytest.raises(QueryError, match=r"--table NAME=FILE \(files="):
        filled.sql(f"SELECT price FROM {table}")
    assert filled.sql("SELECT price FROM mine", files={"mine": tmp_path / "mine.csv"}).item() == 3


def compact_alone(store: ResultStore) -> None:
    """Merge the files of the battles and remove those that were merged."""
    merged = list((store.path / "battles").glob("*.parquet"))
    store.compact()
    for path in merged:
        path.unlink()


def test_a_query_whose_files_are_merged_and_removed_while_it_runs_begins_again(
    filled: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.append("battles", votes("c"), run_id="r")
    calls = []

    original = query_module._create_views

    def replaced(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 1:
            compact_alone(filled)
        original(*arguments)

    monkeypatch.setattr("salon_store.query._create_views", replaced)
    assert filled.sql("SELECT count(*) AS n FROM battles")["n"].item() == 6
    assert len(calls) == 2


def test_a_query_that_fails_by_itself_is_not_begun_again_because_of_a_commit_meanwhile(
    filled: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    original = query_module._create_views

    def overtaken(*arguments: Any) -> None:
        calls.append(arguments)
        original(*arguments)
        filled.append("battles", votes(f"late{len(calls)}-"), run_id="r")

    monkeypatch.setattr("salon_store.query._create_views", overtaken)
    with pytest.raises(QueryError, match="Could not convert"):
        filled.sql("SELECT model_a::INTEGER FROM battles")
    assert len(calls) == 1


READS = (
    "SELECT * FROM battles",
    "SELECT count(*) FROM Battles",
    "SELECT 1 FROM main.battles WHERE model_a = 'x'",
    "SUMMARIZE battles",
)


def spoiled(store: ResultStore, change: Callable[[bytes], bytes]) -> None:
    part = next((store.path / "battles").glob("*.parquet"))
    part.chmod(0o644)
    part.write_bytes(change(part.read_bytes()))


@pytest.mark.parametrize(
    "change", [lambda content: b"PAR1 nothing", lambda content: content[:-1], lambda content: content[:50], lambda content: b""]
)
@pytest.mark.parametrize("compacted", [False, True])
def test_a_part_that_was_cut_spoils_its_own_table_only(
    filled: ResultStore, change: Callable[[bytes], bytes], compacted: bool
) -> None:
    if compacted:
        filled.append("battles", votes("c"), run_id="r")
        compact_alone(filled)
    spoiled(filled, change)
    for query in READS:
        with pytest.raises(DamagedFileError, match=r"(run-r|merged)-0000000001-") as caught:
            filled.sql(query)
        assert "VIEW" not in str(caught.value)
    assert filled.sql("SELECT * FROM runs").is_empty()
    assert filled.sql("WITH battles AS (SELECT 1 AS a) SELECT a, 'battles' AS b FROM battles, runs").is_empty()
    assert filled.sql("SHOW TABLES").height == len(SCHEMAS)


@pytest.mark.parametrize("at", [10, 60])
def test_a_part_that_duckdb_stumbles_over_is_named(store: ResultStore, at: int) -> None:
    rows = votes().select(pl.all().repeat_by(2000).explode()).with_columns(battle_id=pl.int_range(6000).hash().cast(pl.String))
    store.append("battles", rows, run_id="r")
    spoiled(store, lambda content: content[:at] + bytes(255 - byte for byte in content[at : at + 40]) + content[at + 40 :])
    for query in ("SELECT * FROM battles", "FROM battles ORDER BY battle_id", "SELECT max(battle_id) FROM battles"):
        with pytest.raises(DamagedFileError, match=r"run-r-0000000001-.* not those that were written"):
            store.sql(query)
    assert store.sql("SELECT 1 AS a")["a"].item() == 1


def test_a_file_that_keeps_a_query_waiting_stops_neither_the_timeout_nor_ctrl_c(
    filled: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, go_on, ended = Event(), Event(), Event()
    create = query_module._create_views

    def hung(table: StoreTable, at: object = None) -> object:
        waiting.set()
        go_on.wait()
        return original(table, at)

    def after_all(*arguments: Any) -> None:
        ended.set()
        create(*arguments)

    original = StoreTable.files_at
    monkeypatch.setattr(StoreTable, "files_at", hung)
    monkeypatch.setattr(query_module, "_create_views", after_all)
    with pytest.raises(QueryError, match=r"stopped after 0\.5 seconds"):
        filled.sql("FROM battles", timeout=0.5)
    waiting.wait(5)  # a slow machine may have stopped the query before it came to the file
    waiting.clear()
    Thread(target=lambda: (waiting.wait(), interrupt_main())).start()
    with pytest.raises(KeyboardInterrupt):
        filled.sql("FROM battles")
    left = [thread for thread in enumerate_threads() if thread.name == "salon-sql"]
    go_on.set()
    for thread in left:
        thread.join()
    assert 1 <= len(left) <= 2 and not ended.is_set()


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e18])
def test_a_timeout_that_is_no_time_is_refused(queried: ResultStore, timeout: float) -> None:
    with pytest.raises(QueryError, match="seconds above 0"):
        queried.sql("SELECT 1", timeout=timeout)


def test_a_mistake_in_a_query_is_not_blamed_on_sound_parts(filled: ResultStore) -> None:
    for query in ("SELECT CAST(model_a AS INT) FROM battles", "SELECT modell FROM battles", "SELECT error('no') FROM battles"):
        with pytest.raises(QueryError):
            filled.sql(query)


def test_a_part_that_was_replaced_by_another_table_is_named(filled: ResultStore, tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    spoiled(filled, lambda _: (tmp_path / "other.parquet").read_bytes())
    with pytest.raises(DamagedFileError, match=r"run-r-0000000001-"):
        filled.sql("FROM battles")


@given(st.text(st.characters(exclude_categories=["Cs"])))
@settings(max_examples=30, deadline=None)
def test_any_text_is_one_literal_and_one_identifier(text: str) -> None:
    import duckdb

    if "\x00" in text:
        return
    with duckdb.connect(":memory:") as connection:
        result = connection.sql(f"SELECT {literal(text)} AS {identifier(text + 'x')}")
        assert result.columns == [text + "x"]
        assert result.fetchall() == [(text,)]


@pytest.mark.parametrize(
    "value", ["[DATE 'infinity']", "{'a': TIMESTAMP '-infinity'}", "[{'a': [DATE '99999-01-01']}]", "[NULL, DATE 'infinity']"]
)
def test_times_that_python_has_no_values_for_are_named_also_within_lists_and_structures(
    queried: ResultStore, value: str
) -> None:
    with pytest.raises(QueryError, match="outside the years 1 to 9999"):
        queried.sql(f"SELECT {value} AS a")
    assert queried.sql("SELECT [DATE '2024-01-01', NULL] AS a, {'b': [TIMESTAMP '2024-01-01']} AS c").height == 1


@for_each("query", ["SELECT nothing_such\nFROM battles", "SELECT '\x1b[31m'::INTEGER\n FROM battles"])
def test_an_error_keeps_its_lines_and_shows_what_would_act_on_a_terminal(filled: ResultStore, query: str) -> None:
    """DuckDB points at the place in a query by a line below it."""
    with pytest.raises(QueryError) as caught:
        filled.sql(query)
    lines = str(caught.value).splitlines()
    assert len(lines) > 2 and all(line.isprintable() for line in lines)


def test_an_error_of_a_query_over_a_folder_is_one_line_and_keeps_its_spaces(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\u3000,text\n7,a\n")
    with pytest.raises(QueryError) as caught:
        query_folder("SELECT \"no\u3000one\" FROM '{folder}/a.csv'\nWHERE 1 = 1", tmp_path)
    assert "no\u3000one" in caught.value.problem and "\n" not in caught.value.problem
    with pytest.raises(QueryError) as caught:
        query_folder("SELECT \"no\x1bone\" FROM '{folder}/a.csv'", tmp_path)
    assert "\\x1b" in caught.value.problem and "\x1b" not in caught.value.problem


@for_each("value", ["DATE '9999-12-31'", "DATE '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59'", "TIMESTAMP '0001-01-01'"])
def test_the_first_and_the_last_day_are_times_that_python_has(queried: ResultStore, value: str) -> None:
    found = queried.sql(f"SELECT {value} AS v, [{value}] AS many")
    assert str(found["v"].item()).startswith(value.split("'")[1]) and found["many"].item().to_list() == [found["v"].item()]


def test_a_file_of_ones_own_is_joined_by_its_name_and_no_other_file_is_read(store: ResultStore, tmp_path: Path) -> None:
    rows = "model,price\nflux,3\nsdxl,1\n"
    (tmp_path / "mine.csv").write_text(rows)
    (tmp_path / "mine.jsonl").write_text('{"model": "flux", "price": 3}\n{"model": "sdxl", "price": 1}\n')
    pl.DataFrame({"model": ["flux", "sdxl"], "price": [3, 1]}).write_parquet(tmp_path / "mine.parquet")
    for ending in ("csv", "jsonl", "parquet"):
        files = {"mine": tmp_path / f"mine.{ending}"}
        joined = store.sql("SELECT sum(price)::INT AS n FROM mine LEFT JOIN battles ON model_a = model || '!'", files=files)
        assert joined["n"].to_list() == [4]
        with pytest.raises(QueryError):
            store.sql(f"FROM '{tmp_path / 'mine.csv'}'", files=files)
        with pytest.raises(QueryError):
            store.sql("DROP TABLE mine", files=files)
    (tmp_path / "broken.parquet").write_bytes(b"no")
    wrong = [("battles", "mine.csv"), ("a b", "mine.csv"), ("mine", "mine.txt"), ("mine", "broken.parquet")]
    for name, file in wrong:
        with pytest.raises(QueryError, match=r"battles|a b|txt|broken"):
            store.sql("SELECT 1", files={name: tmp_path / file})


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_file_of_ones_own_with_a_pattern_in_its_name_is_read_and_none_beside_it(
    store: ResultStore, tmp_path: Path, ending: str
) -> None:
    for number, name in enumerate(["v[1]", "v1", "v*", "v?"]):
        frame = pl.DataFrame({"n": [number]})
        path = tmp_path / f"{name}.{ending}"
        {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[ending](path)
    for number, name in enumerate(["v[1]", "v1", "v*", "v?"]):
        assert store.sql("FROM mine", files={"mine": tmp_path / f"{name}.{ending}"}).rows() == [(number,)]
