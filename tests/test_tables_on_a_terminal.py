"""Tables of commands on a terminal of 80 columns: no name of a model is cut, no line is too long, no number is broken."""

import random
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from salon_taxonomy.cli import main

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "packages" / "bench" / "tests"))
NAMES = [
    f"{start}" + "".join(chr(0x61 + (place * 7 + number) % 26) for place in range(59)) for number, start in enumerate("ABC")
]
"""Three names of 60 characters."""


def votes(path: Path) -> Path:
    draw = random.Random(0)
    lines = ["model_a,model_b,winner,prompt_id,rater_id,mode,answered_at,battle_id"]
    for number in range(240):
        a, b = draw.sample(range(3), 2)
        winner = draw.choices(["model_a", "model_b", "tie", "both_bad"], [4 + b - a, 4 + a - b, 1, 1])[0]
        when = f"2026-01-01T00:{number // 60:02}:{number % 60:02}"
        lines.append(f"{NAMES[a]},{NAMES[b]},{winner},p{number % 20},r{number % 4},public,{when},b{number}")
    path.write_text("\n".join(lines))
    return path


def ratings(path: Path) -> Path:
    lines = ["rating_id,prompt_id,generation_id,model,dimension,value,scale_min,scale_max,rater_id,scenario"]
    lines += [
        f"{model}{prompt}{dimension},p{prompt},{model}{prompt},{name},{dimension},"
        f"{1 + (prompt * 7 + model) % 5},1,5,ann,s{prompt % 3}"
        for model, name in enumerate(NAMES)
        for prompt in range(9)
        for dimension in ("beauty", "truth")
    ]
    path.write_text("\n".join(lines))
    return path


def checks(path: Path) -> Path:
    lines = [f"{name},point {point},{(point + model) % 2}" for model, name in enumerate(NAMES) for point in range(4)]
    path.write_text("\n".join(["model,test_point,satisfied", *lines]))
    return path


def runs(folder: Path) -> Path:
    from verdict_store import VerdictStore

    made = VerdictStore(folder)
    made.prompts({f"p{place}": "text" for place in range(4)}, suite="prism")
    for number, name in enumerate(NAMES):
        values = {("style", f"p{place}", "alignment"): 1.0 + (place + number) % 5 for place in range(4)}
        made.run(f"run-{number}", values, subject=name, suite="prism", judge=f"judge-{NAMES[0]}")
    return made.path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tables")
    made = {
        "votes": votes(folder / "votes.csv"),
        "ratings": ratings(folder / "ratings.csv"),
        "checks": checks(folder / "checks.csv"),
        "store": runs(folder),
    }
    return {name: str(path) for name, path in made.items()}


COMMANDS = (
    "votes rank {votes} --bootstrap 20 --ranks",
    "votes rank {votes} --interval sandwich --listing --ties davidson --both-bad own --diagnose",
    "votes rank {votes} --by mode --bootstrap 0",
    "votes rank {votes} --method elo --order-by answered_at --orders 5",
    "votes rank {votes} --method pagerank",
    "votes rank {votes} --against {votes} --cluster prompt_id",
    "votes next {votes} -n 6",
    "ratings mos {ratings} --by-scenario",
    "ratings pass-rates {checks}",
    "store sql {store} 'SELECT * FROM scores'",
    "store sql {store} 'SELECT DISTINCT subject_model, judge FROM scores'",
    "bench runs --store {store}",
    "results leaderboard prism --store {store}",
    "results compare run-0 run-1 --store {store}",
    "results reliability run-0 run-1 run-2 --dimension alignment --replicates 20 --rounds 20 --store {store}",
)


def left_over(text: str, name: str) -> str:
    """What is left of a name after its wrapped pieces were taken from the lines of a text; empty: the whole name is there."""
    for line in text.splitlines():
        longest = next((size for size in range(len(name), 0, -1) if name[:size] in line), 0)
        name = name[longest:] if longest > 2 or longest == len(name) else name
    return name


def test_no_command_cuts_a_name_or_prints_beyond_the_edge(files: dict[str, str]) -> None:
    cut, wide = [], []
    for command in COMMANDS:
        words = shlex.split(command.format(**files))
        done = CliRunner().invoke(main, words, env={"COLUMNS": "80"})
        assert done.exit_code == 0, f"{command}\n{done.output}"
        shown = [name for name in NAMES if name[:16] in done.stdout]
        assert shown, f"{command} shows no model"
        cut += [f"{command}\n{done.stdout}" for name in shown if left_over(done.stdout, name)]
        table = [line for line in done.stdout.splitlines() if line.startswith(" ")]
        wide += [f"{command}: {line}" for line in table if len(line) > 80]
    assert cut == []
    assert wide == []


def test_every_result_prints_and_is_html_with_its_chart(files: dict[str, str]) -> None:
    from salon_bench.analysis.compare import compare
    from salon_bench.analysis.leaderboard import leaderboards
    from salon_bench.runs.view import RunView
    from salon_bench.suites.contract.registry import suite_named
    from salon_ranking import Battles, compare_votes, rank
    from salon_ranking.agreement import label_statistics, paired_bootstrap

    battles, store = Battles.read(files["votes"]), Path(files["store"])
    results = [
        rank(battles, replicates=10),
        compare_votes(battles, battles),
        compare(store, "run-0", "run-1", replicates=10),
        leaderboards(store, suite_named("prism"))[0],
        RunView(store, "run-0").summaries()[0],
        paired_bootstrap([1.0, 0.5, 0.75], [0.5, 0.25, 0.5], replicates=10),
        label_statistics({"t": [1, 1], "r": ["x", "y"], "l": ["a", "b"]}, thing="t", rater="r", label="l"),
    ]
    for result in results:
        text, html = str(result), result._repr_html_()
        assert len(text.splitlines()) >= 2, type(result)
        assert "object at" not in text
        assert (html.count("<table>"), html.count("<svg")) == (1, 1), type(result)


def test_tables_are_drawn_in_one_place(packages: dict[str, Path]) -> None:
    """Only one module draws with rich's tables, so that what holds for its tables holds for all; see LEFT for those to come."""
    drawing = {
        path.relative_to(folder.parent).as_posix()
        for folder in packages.values()
        for path in folder.rglob("*.py")
        if "from rich.table import" in path.read_text("utf-8")
    }
    assert drawing == {"salon_taxonomy/shown_result.py", *LEFT}


LEFT = {
    "salon_published/cli.py",
    "salon_train/world.py",
    "salon_train/data/cli.py",
    "salon_train/demo/cli.py",
    "salon_train/run/cli.py",
}
"""Modules whose tables have no names of strangers."""
