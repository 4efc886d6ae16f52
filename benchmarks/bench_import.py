"""Measure the import of each package in a fresh interpreter, beside the bare interpreter as the floor."""

import subprocess
import sys

import pytest

PACKAGES = ["salon_taxonomy", "salon_store", "salon_ranking", "salon_rewards", "salon_bench", "salon_train"]


def fresh(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], check=True)


@pytest.mark.parametrize("statement", ["pass", *(f"import {name}" for name in PACKAGES)])
def test_import_in_a_fresh_interpreter(benchmark, statement):
    benchmark.pedantic(fresh, args=(statement,), rounds=7, warmup_rounds=1)


def test_the_salon_command_shows_its_help(benchmark):
    code = "from salon_console import main; main(['--help'], standalone_mode=False)"
    benchmark.pedantic(
        lambda: subprocess.run([sys.executable, "-c", code], check=True, capture_output=True), rounds=7, warmup_rounds=1
    )
