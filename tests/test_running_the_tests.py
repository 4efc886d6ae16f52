"""The test command gives the same result wherever it is started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CTRL_C = [
    "packages/store/tests/test_query.py::test_a_file_that_keeps_a_query_waiting_stops_neither_the_timeout_nor_ctrl_c",
    "packages/ranking/tests/test_leaderboard.py::test_ctrl_c_stops_a_long_bootstrap_before_its_end",
    "packages/bench/tests/test_runs_session.py",
    "packages/arena/tests/test_arena_commands.py",
]


@pytest.mark.slow  # starts the tests of Ctrl-C again
def test_tests_of_ctrl_c_pass_in_the_background_without_a_terminal_and_below_paths_with_spaces(tmp_path: Path) -> None:
    for name in ("a home", "a temporary folder"):
        (tmp_path / name).mkdir()
    environment = {**os.environ, "HOME": str(tmp_path / "a home"), "TMPDIR": str(tmp_path / "a temporary folder")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "-m", "", "-k", "ctrl_c or interrupt", *CTRL_C],
        cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280, check=False,
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout
