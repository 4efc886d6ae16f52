"""The command line: what it prints, writes and refuses."""

import csv
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main
from salon_store import ResultStore

VOTES = "battle_id,model_a,model_b,winner,rater_id,mode\n1,flux,sdxl,tie,ann,public\n2,flux,sdxl,model_a,bob,public\n"


def salon(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["store", *map(str, arguments)])


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results"
    assert salon("init", path).exit_code == 0
    return path


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return path


def test_init_says_what_to_do_next_and_may_be_repeated(tmp_path: Path) -> None:
    for _ in range(2):
        done = salon("init", tmp_path / "results")
        assert done.exit_code == 0
        assert "salon store import" in done.stderr
        assert done.stdout == ""


def test_a_file_is_imported_listed_and_queried(results: Path, votes: Path) -> None:
    done = salon("import", results, "battles", votes)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "2 rows written to battles" in done.stderr
    listed = salon("ls", results)
    assert any(line.split()[:3] == ["battles", "2", "1"] for line in listed.stdout.splitlines())
    asked = salon("sql", results, "SELECT winner, count(*) AS n FROM battles GROUP BY ALL ORDER BY winner")
    assert [line.split() for line in asked.stdout.splitlines()] == [["winner", "n"], ["model_a", "1"], ["tie", "1"]]


def test_importing_again_is_refused_or_skipped(results: Path, votes: Path, tmp_path: Path) -> None:
    salon("import", results, "battles", votes)
    more = tmp_path / "more.csv"
    more.write_text(VOTES.replace("\n1,", "\n3,"))
    again = salon("import", results, "battles", more, votes)
    assert again.exit_code == 2
    assert f"{more}, table battles, row 2" in again.stderr
    skipped = salon("import", results, "battles", more, votes, "--on-duplicate", "skip")
    assert skipped.exit_code == 0
    assert "1 row written to battles, 3 skipped" in skipped.stderr


def test_nothing_is_written_when_one_of_several_files_is_wrong(results: Path, votes: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(VOTES.replace("\n1,", "\n3,").replace("\n2,", "\n4,").replace("model_a,bob", "A,bob"))
    done = salon("import", results, "battles", votes, wrong)
    assert done.exit_code == 2
    assert f"{wrong}, table battles, row 2, column 'winner': unknown value 'A'" in done.stderr
    assert ResultStore.open(results).read("battles").collect().is_empty()


def test_a_run_id_names_the_part_and_stays_in_the_store(results: Path, votes: Path) -> None:
    assert salon("import", results, "battles", votes, "--run-id", "../../monday").exit_code == 0
    (path,) = (results / "battles").glob("*.parquet")
    assert path.name.startswith("run-_2E._2F.._2Fmonday-0000000001-")


def test_results_come_as_csv_json_and_parquet(results: Path, votes: Path, tmp_path: Path) -> None:
    salon("import", results, "battles", votes)
    query = "SELECT battle_id, labels, started_at, 1.5::DECIMAL(4,1) AS d, weight FROM battles ORDER BY battle_id LIMIT 1"
    assert salon("sql", results, query, "--format", "csv").stdout.splitlines()[1] == "1,[],,1.5,1.0"
    (row,) = json.loads(salon("sql", results, query, "--format", "json").stdout)
    assert row == {"battle_id": "1", "labels": [], "started_at": None, "d": "1.5", "weight": 1.0}
    raw = salon("sql", results, query, "--format", "parquet").stdout_bytes
    assert raw.startswith(b"PAR1")
    for suffix in ("csv", "json", "parquet"):
        file = tmp_path / f"out.{suffix}"
        done = salon("sql", results, query, "--output", file)
        assert (done.exit_code, done.stdout) == (0, "")
        assert file.stat().st_size > 0
    assert pl.read_parquet(tmp_path / "out.parquet").height == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("SELECT 1", "--output", "out.xlsx"), "unknown kind of output '.xlsx' (allowed: .csv, .json"),
        (("SELECT 1", "--output", "missing/out.csv"), "there is no such folder"),
        (("DROP VIEW battles",), "only reads"),
        (("SELEKT",), "syntax error"),
        (("SELECT * FROM votes; --'",), "does not exist"),
    ],
)
def test_a_wrong_query_or_output_is_explained(results: Path, arguments: tuple[str, ...], words: str) -> None:
    done = salon("sql", results, *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("ls", "nowhere"),
        ("sql", "nowhere", "SELECT 1"),
        ("compact", "nowhere"),
        ("verify", "nowhere"),
        ("verify", "nowhere", "--set-aside"),
        ("remove", "nowhere", "run"),
        ("ls", "nowhere", "battles"),
        ("vacuum", "nowhere"),
        ("import", "nowhere", "battles", "votes.csv"),
        ("import", "{results}", "votes", "votes.csv"),
        ("import", "{results}", "battles", "missing.csv"),
        ("import", "{results}", "battles"),
        ("schema", "battels"),
    ],
)
def test_a_wrong_name_is_an_error_that_makes_nothing(
    results: Path, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = salon(*(argument.format(results=results) for argument in arguments))
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    assert not Path("nowhere").exists()


def test_schema_shows_columns_keys_and_vocabularies() -> None:
    lines = salon("schema", "battles").stdout.splitlines()
    assert any(line.startswith("battle_id*") and "always" in line for line in lines)
    assert any(line.startswith("winner") and "model_a, model_b, both_good, both_bad, tie" in line for line in lines)
    assert lines[-2:] == ["model_a and model_b must differ", "answered_at must not lie before started_at"]


def test_what_a_model_wrote_cannot_act_upon_the_terminal(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(json.dumps({"prompt_id": "p", "suite": "s", "text": "\x1b[2J[bold red]x[/]\n\x07", "labels": []}) + "\n")
    assert salon("import", results, "prompts", file).exit_code == 0
    shown = salon("sql", results, "SELECT text FROM prompts").stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[bold red]x[/]" in shown


def on_a_terminal(*arguments: object) -> tuple[int, bytes]:
    """Run ``salon store`` on a terminal of its own; returns its exit code and what the terminal was given."""
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-c",
        "from salon_console import main; main(prog_name='salon')",
        "store",
        *map(str, arguments),
    ]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 1 << 16)
        except OSError:  # how Linux says that the other side was closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(ours)
    return process.wait(timeout=60), shown


def test_csv_and_json_on_a_terminal_are_made_harmless_and_in_a_pipe_exact(results: Path) -> None:
    text = "\x1b[2J\x07\x9b1mred\x1b]0;title\x07"
    ResultStore.open(results).append("prompts", pl.DataFrame([{"prompt_id": "p", "suite": "s", "text": text}]), run_id="r")
    for form in ("csv", "json", "table"):
        code, shown = on_a_terminal("sql", results, "SELECT text FROM prompts", "--format", form)
        assert code == 0
        assert b"red" in shown
        # The table's bold header is ours.
        rest = shown.replace(b"\x1b[1m", b"").replace(b"\x1b[0m", b"").decode()
        assert not set(rest) & {"\x1b", "\x07", "\x9b"}
    piped = salon("sql", results, "SELECT text FROM prompts", "--format", "csv").stdout_bytes
    assert piped == f"text\n{text}\n".encode()
    assert json.loads(salon("sql", results, "SELECT text FROM prompts", "--format", "json").stdout) == [{"text": text}]


def test_parquet_is_not_written_to_a_terminal(results: Path) -> None:
    code, shown = on_a_terminal("sql", results, "SELECT 1 AS a", "--format", "parquet")
    assert code == 2
    assert b"not for the screen" in shown
    assert b"PAR1" not in shown


def test_an_error_that_quotes_a_model_cannot_act_upon_the_terminal(results: Path) -> None:
    rows = pl.DataFrame([{"prompt_id": "p", "suite": "s", "text": "\x1b[2Jred"}])
    ResultStore.open(results).append("prompts", rows, run_id="r")
    for query in ("SELECT CAST(text AS INT) FROM prompts", "SELECT error(text) FROM prompts", "SELECT '\x1b[2Jred' FROM"):
        done = salon("sql", results, query)
        assert done.exit_code == 2
        assert "red" in done.stderr
        code, shown = on_a_terminal("sql", results, query)
        assert code == 2
        assert b"\x1b[2J" not in shown


INTERRUPTED = """
import os, random, signal, sys, threading
import salon_store.query as query
from salon_console import main

checked, draw = query._checked, random.Random(0)

def soon(*arguments):
    threading.Timer(draw.choice((0, 0.001, 0.01, 0.05, 0.2, 0.5)), os.kill, (os.getpid(), signal.SIGINT)).start()
    return checked(*arguments)

query._checked = soon
for _ in range(5):
    for query in sys.argv[2:]:
        try:
            main(["store", "sql", sys.argv[1], query, "--format", "csv"], prog_name="salon")
        except SystemExit as done:
            print("exit", done.code, flush=True)
"""
ENDLESS = (
    "SELECT count(*) FROM range(100000000000) a",
    "SELECT max(hash(a.range + b.range)) FROM range(10000000) a, range(10000000) b",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "SELECT a.range, count(*) FROM range(1000) a, range(100000000) b GROUP BY ALL ORDER BY ALL",
    "SELECT list(b.range)[1] FROM range(3000) a, range(100000000) b WHERE a.range = b.range % 3001 GROUP BY a.range",
)


@pytest.mark.slow  # interrupts at many moments
def test_ctrl_c_always_ends_a_long_query_without_a_traceback(results: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(results), *ENDLESS], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == ["exit 130"] * 25
    assert done.stderr.split() == ["Aborted."] * 25


@pytest.mark.parametrize("query", ENDLESS)
def test_a_timeout_ends_a_long_query(results: Path, query: str) -> None:
    done = salon("sql", results, query, "--timeout", "0.1")
    assert done.exit_code == 2
    assert "query: the query was stopped after 0.1 seconds" in done.stderr
    assert salon("sql", results, "SELECT 1 AS a", "--timeout", "60").exit_code == 0


def test_compact_merges_and_verify_finds_nothing(results: Path, votes: Path) -> None:
    salon("import", results, "battles", votes)
    assert "Nothing to merge" in salon("compact", results).stderr
    votes.write_text(VOTES.replace("\n1,", "\n3,").replace("\n2,", "\n4,"))
    salon("import", results, "battles", votes)
    done = salon("compact", results)
    assert "battles: 2 files merged into 1" in done.stderr
    checked = salon("verify", results)
    assert checked.exit_code == 0
    assert "1 file, 4 rows: sound" in checked.stderr


def test_verify_names_what_is_damaged_and_fails(results: Path, votes: Path) -> None:
    salon("import", results, "battles", votes)
    (part,) = (results / "battles").glob("*.parquet")
    part.chmod(0o644)
    part.write_bytes(part.read_bytes()[:-9])
    done = salon("verify", results)
    assert done.exit_code == 1
    assert part.name in done.stdout
    assert "moved to" in salon("verify", results, "--set-aside").stdout
    assert not part.exists()


def test_a_journal_left_behind_is_mentioned_and_folded(results: Path) -> None:
    from salon_taxonomy.records import Prompt

    journal = ResultStore.open(results).journal("night")
    journal.add("prompts", Prompt(prompt_id="p", suite="s", text="t"))
    journal._file.write(b"torn")
    journal._file.close()
    assert "night.jsonl" in salon("ls", results).stderr
    done = salon("compact", results)
    assert "journal of run night, left behind by a writer that died, was folded: 1 row, 0 already there" in done.stderr
    assert "line 3: the line breaks off" in done.stderr
    assert salon("sql", results, "SELECT count(*) AS n FROM prompts", "--format", "csv").stdout == "n\n1\n"


NESTED = (
    "MAP {0.5: 'x'::BLOB}",
    "['x'::BLOB]",
    "{'a': DATE '2026-01-01'}",
    "histogram(1.5)",
    "[1, 'nan'::DOUBLE]",
    "12::BIGNUM",
)


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("value", NESTED)
def test_nested_values_of_any_type_are_json(results: Path, value: str, form: str) -> None:
    done = salon("sql", results, f"SELECT {value} AS v", "--format", form)
    assert done.exit_code == 0
    text = json.loads(done.stdout)[0]["v"] if form == "json" else next(csv.reader(done.stdout.splitlines()[1:]))[0]
    wanted = [{"0.5": "78"}, ["78"], {"a": "2026-01-01"}, {"1.5": 1}, [1, None], "12"][NESTED.index(value)]
    assert (json.loads(text) if form == "csv" and value != "12::BIGNUM" else text) == wanted


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_time_of_day_keeps_the_parts_of_its_second(results: Path, form: str) -> None:
    done = salon(
        "sql", results, "SELECT TIME '01:02:03.25' AS t UNION ALL SELECT TIME '01:02:03.75' ORDER BY t", "--format", form
    )
    assert done.stdout.count("01:02:03.25") == 1 == done.stdout.count("01:02:03.75")


@pytest.mark.parametrize("hours", ["nan", "inf", "1e12", "0.5"])
def test_a_retention_that_is_no_time_is_refused(results: Path, hours: str) -> None:
    assert salon("vacuum", results, "--retention", hours).exit_code == 2


@pytest.mark.parametrize("command", [["ls"], ["sql", "SELECT 1"], ["verify"]])
def test_a_file_is_no_store(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "votes.csv").write_text(VOTES)
    done = salon(command[0], tmp_path / "votes.csv", *command[1:])
    assert (done.exit_code, "this is no store" in done.stderr) == (2, True)


@pytest.mark.parametrize("name", ["store.json", "battles/new.csv", "battles/_delta_log/x.json", "journal/a.csv"])
def test_no_output_becomes_a_file_of_the_store_that_is_read(results: Path, votes: Path, name: str) -> None:
    salon("import", results, "battles", votes)
    before = {path: path.read_bytes() for path in sorted(results.rglob("*")) if path.is_file()}
    for store in (results, results / ".." / results.name):
        done = salon("sql", store, "FROM battles", "--output", results / name)
        assert done.exit_code == 2 and "--output" in done.stderr + str(done.exception), name
    assert {path: path.read_bytes() for path in sorted(results.rglob("*")) if path.is_file()} == before
    assert salon("sql", results, "FROM battles", "--output", results / "mine.csv").exit_code == 0


def test_names_that_a_spreadsheet_would_run_are_the_same_after_csv_and_import(tmp_path: Path) -> None:
    names = ["=a", "-b", "'=c", "@d", "'e", "+f"]
    about = {"winner": "tie", "mode": "public"}
    lines = [
        {"battle_id": f"{name}1", "model_a": name, "model_b": f"x{name}", "rater_id": name, "labels": [name], **about}
        for name in names
    ]
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for store in ("one", "two"):
        assert salon("init", tmp_path / store).exit_code == 0
    assert salon("import", tmp_path / "one", "battles", tmp_path / "votes.jsonl").exit_code == 0
    assert salon("sql", tmp_path / "one", "FROM battles", "--output", tmp_path / "out.csv").exit_code == 0
    assert salon("import", tmp_path / "two", "battles", tmp_path / "out.csv").exit_code == 0
    query = ("FROM battles ORDER BY battle_id", "--format", "json")
    one, two = (json.loads(salon("sql", tmp_path / store, *query).stdout) for store in ("one", "two"))
    assert one == two and len(one) == len(names)
    again = salon("import", tmp_path / "one", "battles", tmp_path / "out.csv", "--on-duplicate", "skip")
    assert "0 rows written" in again.stderr
