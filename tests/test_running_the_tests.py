"""The test command gives the same result wherever it is started, and leaves out the tests that take longest.

``tests/slow.txt`` names those; it is made again from what all tests took:

    pytest -m "not study and not browser" --durations 0 --durations-min 0.05 > durations.txt
    python tests/test_running_the_tests.py durations.txt
"""

import ast
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SLOW = ROOT / "tests" / "slow.txt"
SHARE_LEFT = 0.1
"""Of all time, that which the test command's own tests take."""
ALWAYS = (
    "tests/test_documentation.py",
    "tests/test_commands.py",
    "packages/ranking/tests/test_public_functions.py",
    "packages/ranking/tests/test_properties.py",
)
"""Files whose tests are never left out: what pages print, what commands take, what must not change an answer."""
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


def test_the_slow_tests_that_are_named_exist_once_and_in_order() -> None:
    names = SLOW.read_text(encoding="utf-8").split()
    assert names == sorted({*names})
    there = {path: (ROOT / path).read_text(encoding="utf-8") for path in {name.partition("::")[0] for name in names}}
    functions = {
        f"{path}::{node.name}"
        for path, text in there.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {*names} <= functions
    assert not {name.partition("::")[0] for name in names} & {*ALWAYS}


def slowest(durations: str) -> list[str]:
    """Return the tests that take longest, in order of their names: all but a tenth of the time.

    Args:
        durations: what pytest printed.
    """
    seconds: Counter[str] = Counter()
    for spent, name in re.findall(r"^([\d.]+)s (?:call|setup|teardown) +([^\s\[]+)", durations, re.MULTILINE):
        seconds[name] += float(spent)
    left, wanted, named = sum(seconds.values()), SHARE_LEFT * sum(seconds.values()), []
    for name, spent in seconds.most_common():
        path, _, function = name.partition("::")
        if left > wanted and function.startswith("test_") and path not in ALWAYS:
            named.append(name)
            left -= spent
    return sorted(named)


if __name__ == "__main__":
    SLOW.write_text("".join(f"{name}\n" for name in slowest(Path(sys.argv[1]).read_text())), encoding="utf-8")
