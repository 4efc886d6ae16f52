"""``kill -9`` and a server that fails in every way: what comes out in the end is what comes out without them."""

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from run_child import RE_ASKS, plan_of, start

from salon_bench.runs.status import run_status
from salon_bench.runs.view import RunView
from salon_judges.testing.mock_server import Asked, FaultRates, Latency, MockServer, Script, ServerFault, serving
from salon_store import ResultStore

HERE = Path(__file__).resolve().parent
CONCURRENCY = 8
FAULTS = dict.fromkeys(
    (
        ServerFault.HANG,
        ServerFault.TOO_MANY,
        ServerFault.SERVER_ERROR,
        ServerFault.CUT,
        ServerFault.MALFORMED,
        ServerFault.EMPTY,
    ),
    0.05,
)


def number(asked: Asked) -> str:
    """An answer that depends on the question alone, not on how often it was asked."""
    numbers = re.findall(r"\d+", asked.text.split("(Time ")[0])
    return str(sum(map(int, numbers)) % 1000)


def scores(store: Path, prompts: int) -> pl.DataFrame:
    rows = RunView(store, plan_of(prompts).plan.run_id).rows("scores")
    return rows.sort("prompt_id", "dimension")


def killed_after(seconds: float, store: Path, server: MockServer, prompts: int) -> bool:
    """Start the run, kill it so long after its first request; False when it was done before."""
    before = server.stats.requests
    command = [sys.executable, str(HERE / "run_child.py"), str(store), server.url, str(prompts), str(CONCURRENCY)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    while server.stats.requests == before and process.poll() is None:
        time.sleep(0.002)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGKILL, 0), errors.decode()
    return process.returncode != 0


def survived(store: Path, script: Script, prompts: int, kills: int, seed: int, longest: float) -> MockServer:
    """Kill the run so often at random moments, then let it end; returns the server with its counts."""
    draw = random.Random(seed)
    with serving(script) as server:
        for _ in range(kills):
            killed_after(draw.uniform(0.0, longest), store, server, prompts)
        done = [sys.executable, str(HERE / "run_child.py"), str(store), server.url, str(prompts), str(CONCURRENCY)]
        last = subprocess.run(done, capture_output=True, text=True, check=False, timeout=240)
        assert last.returncode == 0, last.stderr
    return server


@pytest.mark.slow
def test_a_run_that_was_killed_asks_again_only_what_was_in_flight_and_doubles_no_row(tmp_path: Path) -> None:
    prompts, kills = 150, 2
    script = Script(rule=number, latency=Latency.fixed(5))
    server = survived(tmp_path / "results", script, prompts, kills, seed=1, longest=0.12)
    assert server.stats.paid_again <= kills * CONCURRENCY
    found = scores(tmp_path / "results", prompts)
    assert found.height == 2 * prompts
    assert found["value"].null_count() == 0
    calls = RunView(tmp_path / "results", plan_of(prompts).plan.run_id).rows("judge_calls")
    assert calls.select("call_id", "attempt").is_unique().all()
    assert calls.height == 2 * prompts
    assert ResultStore.open(tmp_path / "results", read_only=True).journals_waiting() == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompts", "kills"), [pytest.param(60, 1), pytest.param(500, 3, marks=pytest.mark.study)], ids=["small", "large"]
)
def test_faults_of_every_kind_and_kills_change_no_score_and_pay_nothing_twice(tmp_path: Path, prompts: int, kills: int) -> None:
    with serving(Script(rule=number)) as server:
        outcome = asyncio.run(start(tmp_path / "calm", server.url, prompts, CONCURRENCY))
        assert outcome.complete
        assert server.stats.paid == 2 * prompts
    script = Script(rule=number, latency=Latency.fixed(3), faults=FaultRates(FAULTS), seed=7)
    stormy = survived(tmp_path / "stormy", script, prompts, kills, seed=prompts, longest=1.0)
    assert set(stormy.stats.faults) == {fault.value for fault in FAULTS}
    assert scores(tmp_path / "calm", prompts).equals(scores(tmp_path / "stormy", prompts))
    assert stormy.stats.paid_again <= kills * CONCURRENCY
    spoiled = stormy.stats.faults["malformed"] + stormy.stats.faults["empty"]
    assert stormy.stats.paid <= 2 * prompts + spoiled + kills * CONCURRENCY
    calls = RunView(tmp_path / "stormy", plan_of(prompts).plan.run_id).rows("judge_calls")
    assert calls.select("call_id", "attempt").is_unique().all()
    assert calls["step"].str.contains(f"#{RE_ASKS + 1}").sum() == 0


def test_the_status_of_a_killed_run_counts_the_replies_that_wait_in_its_journal(tmp_path: Path) -> None:
    with serving(Script(rule=number, latency=Latency.fixed(50))) as server:
        assert killed_after(0.4, tmp_path, server, 200)
        paid = server.stats.paid
    left = run_status(tmp_path, plan_of(200).plan.run_id)
    assert paid - CONCURRENCY <= left.waiting <= paid
    assert left.waiting > 0
    ResultStore.open(tmp_path)  # folds
    assert run_status(tmp_path, plan_of(200).plan.run_id).waiting == 0


def test_two_processes_cannot_work_on_one_run(tmp_path: Path) -> None:
    with serving(Script(rule=number, latency=Latency.fixed(200))) as server:
        command = [sys.executable, str(HERE / "run_child.py"), str(tmp_path / "results"), server.url, "50", "2"]
        first = subprocess.Popen(command, stderr=subprocess.PIPE)
        while server.stats.requests == 0:
            assert first.poll() is None
            time.sleep(0.002)
        second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        os.kill(first.pid, signal.SIGKILL)
        first.communicate(timeout=60)
    assert second.returncode == 1
    assert "JournalInUseError" in second.stderr
