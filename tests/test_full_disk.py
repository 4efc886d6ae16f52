"""A disk that is full or may not be written: one message, exit code 1, nothing half written; the same command works later."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from for_each import for_each
from salon_console import main
from salon_store import ResultStore

VOTES = "battle_id,model_a,model_b,winner,rater_id,mode\n" + "".join(
    f"{number},{'xyz'[number % 3]},{'yzx'[number % 3]},{'model_a' if number % 5 else 'model_b'},r{number % 4},public\n"
    for number in range(60)
)
RATINGS = "rating_id,prompt_id,generation_id,model,dimension,value,scale_min,scale_max,rater_id\n" + "".join(
    f"{number},p{number % 6},g{number % 12},m{number % 2},quality,{1 + number % 5},1,5,r{number % 3}\n" for number in range(36)
)
WRITERS = {
    **{f"votes rank as {end}": f"votes rank votes.csv --bootstrap 50 --output out.{end}" for end in
       ("csv", "parquet", "html")},
    "votes raters": "votes raters votes.csv --output out.csv",
    "votes next": "votes next votes.csv --count 3 --output out.csv",
    "ratings mos": "ratings mos ratings.csv --output out.csv",
    "papers show": "papers show prism:1 --output out.parquet",
    "papers check": "papers check prism:3 --output out.md",
    "taxonomy show": "taxonomy show magicmirror --format json --output out.json",
    "store init": "store init new",
    "store import": "store import store battles votes.csv --on-duplicate skip",
    "store sql": "store sql store 'FROM battles' --output out.parquet",
    "curate init": "curate init new",
    "synthetic scenes": "synthetic scenes generate --output new --per-category 1",
    "reward score": "reward score completions.jsonl --reward magicmirror --output out.jsonl",
    "bench list": "bench list --output out.csv",
}  # fmt: skip
LONG_WRITERS = ("quickstart --dir new", "curate demo new", "arena demo new --votes 4 --no-serve")


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can get a byte, whoever writes it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def salon(command: str) -> Result:
    import shlex

    return CliRunner().invoke(main, shlex.split(command))


@pytest.mark.real_store
@pytest.mark.slow
@for_each("command", LONG_WRITERS)
def test_so_it_is_for_long_commands(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(command, tmp_path, monkeypatch)


@pytest.mark.real_store
@for_each("command", WRITERS.values())
def test_a_full_disk_is_one_message_and_exit_code_1_and_the_same_command_works_later(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(command, tmp_path, monkeypatch)


def check(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text(VOTES)
    Path("ratings.csv").write_text(RATINGS)
    Path("prompts.txt").write_text("a cat\n")
    Path("completions.jsonl").write_text(
        '{"completion": "{\\"Whether Normal\\": true}", "truth": "{\\"Whether Normal\\": true}"}\n'
    )
    if "store" in command:
        ResultStore.open("store")
    with full_disk():
        done = salon(command)
    assert (done.exit_code, done.stderr.count("Error:")) == (1, 1), done.output
    assert "No such file" not in done.stderr and ("File too large" in done.stderr or "could not be" in done.stderr)
    assert not list(Path().glob("out.*")) and not list(Path().glob(".*.tmp"))
    assert salon(command).exit_code == 0, salon(command).output
