"""A process that votes and exports is killed at random: each acknowledged answer is there once, in database and store."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_arena import write_material

from salon_arena import ArenaDatabase, export_answers
from salon_arena.export import battle_id
from salon_arena.settling import winner_of
from salon_store import ResultStore

VOTER = Path(__file__).with_name("killed_voter.py")


def acknowledged_until_killed(folder: Path, seed: int) -> list[tuple[str, str, str]]:
    """Start the voter, kill it at a random moment after its first vote, and return what it had acknowledged by then."""
    with (folder / "out").open("w+") as out:
        voter = subprocess.Popen([sys.executable, str(VOTER), str(folder), str(seed)], stdout=out, stderr=subprocess.PIPE)
        while not (folder / "out").stat().st_size:
            assert voter.poll() is None, voter.stderr and voter.stderr.read().decode()
            time.sleep(0.002)
        time.sleep(random.Random(seed).uniform(0, 0.8))
        voter.send_signal(signal.SIGKILL)
        voter.wait()
        out.seek(0)
        lines = out.read().split("\n")[:-1]  # a last line without its end was not written whole
    return [(words[0], words[1], words[2]) for words in (line.split() for line in lines)]


def check_everything(folder: Path, acknowledged: list[tuple[str, str, str]]) -> int:
    """Compare acknowledged answers with the database, and its settled answers with the store."""
    with ArenaDatabase.open(folder / "arena.db") as database:
        export_answers(database, folder / "store", now=(time.time_ns() // 1000) + 11_000_000)
        query = "SELECT answer_id, assignment_id, choice, version FROM answers ORDER BY assignment_id, version"
        answers = database.read(lambda connection: list(connection.exec_driver_sql(query)))
        assert {(row[0], row[1], row[2]) for row in answers} >= set(acknowledged)
        assert len({row[0] for row in answers}) == len(answers)
        final = {row[1]: row[2] for row in answers}  # the last version of each pair
        assert database.read(lambda connection: connection.exec_driver_sql("PRAGMA integrity_check").scalar()) == "ok"
        wanted = {battle_id(database.arena_id, pair): choice for pair, choice in final.items() if choice != "undo"}
    stored = ResultStore.open(folder / "store").read("battles").collect()
    assert sorted(stored["battle_id"]) == sorted(wanted)
    for key, winner, a_shown in stored.select("battle_id", "winner", "side_a_shown").iter_rows():
        assert winner == winner_of(wanted[key], a_shown).value
    return len(wanted)


def killed(folder: Path, times: int, seed: int = 0) -> tuple[int, int]:
    """Kill so many voters, and compare everything after each fifty; returns acknowledged answers, and battles in the store."""
    write_material(folder)
    acknowledged: list[tuple[str, str, str]] = []
    battles, started = 0, time.perf_counter()
    for done in range(1, times + 1):
        acknowledged += acknowledged_until_killed(folder, seed + done)
        if done % 50 == 0 or done == times:
            battles = check_everything(folder, acknowledged)
            each = (time.perf_counter() - started) / done
            sys.stdout.write(f"{done} kills: {len(acknowledged):,} acknowledged, {battles:,} battles; {each:.1f} s per kill\n")
            sys.stdout.flush()
    return len(acknowledged), battles


@pytest.mark.slow
def test_three_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    acknowledged, battles = killed(tmp_path, 3)
    assert acknowledged >= 3 and battles >= 1


@pytest.mark.study
@pytest.mark.timeout(4 * 3600)
def test_a_thousand_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    """``KILLS=300`` makes it 300, ``KILLS_AFTER=300`` others than those; ``-s`` shows each fifty."""
    times = int(os.environ.get("KILLS", "1000"))
    acknowledged, battles = killed(tmp_path, times, int(os.environ.get("KILLS_AFTER", "0")))
    assert acknowledged >= times and battles >= times * 3 // 10
