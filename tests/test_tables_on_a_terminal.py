"""Tables of commands: on a terminal of 80 columns no name is cut, and every table can be written to a file."""

import json
import random
import shlex
import sys
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner

from salon_console import main
from salon_console.table_files import TABLE_ENDINGS

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
        f"{1 + (prompt * (7 if dimension == 'beauty' else 3) + model) % 5},1,5,ann,s{prompt % 3}"
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


def truth(path: Path) -> Path:
    path.write_text('<think>Fine.</think>\\boxed{{"Whether Normal": true}}')
    return path


def arena(path: Path) -> Path:
    from salon_arena.database import ArenaDatabase
    from salon_arena.people import make_invites

    with ArenaDatabase.open(path) as opened:
        opened.write(lambda connection: make_invites(connection, 1, "rater", 0)).result()
    return path


def runs(folder: Path) -> Path:
    from verdict_store import VerdictStore

    made = VerdictStore(folder)
    made.prompts({f"p{place}": "text" for place in range(6)}, suite="prism")
    for number, name in enumerate(NAMES):
        values = {("style", f"p{place}", "alignment"): 1.0 + (place + number) % 5 for place in range(6)}
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
        "truth": truth(folder / "truth.txt"),
        "arena": arena(folder / "arena.db"),
    }
    return {name: str(path) for name, path in made.items()}


COMMANDS = (
    "votes rank {votes} --bootstrap 20 --ranks",
    "votes rank {votes} --interval sandwich --listing --ties davidson --both-bad own --diagnose",
    "votes rank {votes} --by mode --bootstrap 0",
    "votes elo {votes} --order-by answered_at --orders 5",
    "votes compare {votes} {votes} --cluster prompt_id",
    "votes compare {votes} --interval sandwich",
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
        words = shlex.split(command.format(**{name: shlex.quote(path) for name, path in files.items()}))
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
    from salon_ranking.opinion.ratings import MosRatings
    from salon_ranking.opinion.summary import summarise
    from salon_ranking.opinion.weights import dimension_weights

    battles, ratings, store = Battles.read(files["votes"]), MosRatings.read(files["ratings"]), Path(files["store"])
    results = [
        rank(battles, replicates=10),
        compare_votes(battles, battles),
        compare(store, "run-0", "run-1", replicates=10),
        leaderboards(store, suite_named("prism"))[0],
        RunView(store, "run-0").summaries()[0],
        paired_bootstrap([1.0, 0.5, 0.75], [0.5, 0.25, 0.5], replicates=10),
        label_statistics({"t": [1, 1], "r": ["x", "y"], "l": ["a", "b"]}, thing="t", rater="r", label="l"),
        summarise(ratings, replicates=10),
        dimension_weights(battles, ratings),
    ]
    for result in results:
        text, html = str(result), result._repr_html_()
        assert len(text.splitlines()) >= 2, type(result)
        assert "object at" not in text
        assert (html.count("<table>"), html.count("<svg")) == (1, 1), type(result)
        view = result.view()
        page = unescape(str(view.makers()[".html"]()))
        assert view.header in page and all(note in page for note in view.notes), "the page says how the numbers were made"


def test_tables_are_drawn_in_one_place(packages: dict[str, Path]) -> None:
    """Only one module draws with rich's tables, so that what holds for its tables holds for all."""
    drawing = {
        path.relative_to(folder.parent).as_posix()
        for folder in packages.values()
        for path in folder.rglob("*.py")
        if "from rich.table import" in path.read_text("utf-8")
    }
    assert drawing == {"salon_console/shown_result.py"}


OTHER_OUTPUT = {
    "bench generate": "the folder of the pictures",
    "curate diff": "the keys that moved",
    "curate draw": "the keys that were drawn",
    "refine": "the folder of the corrected pictures",
    "train data convert": "the folder of the data set",
}
"""Commands with --format json whose --output is no file of the printed table."""
NO_TABLE = {
    "bench batch ingest",
    "bench batch write",
    "bench cache",
    "curate cascade",
    "curate import",
    "curate init",
    "curate release",
    "curate run",
    "curate verify",
    "papers add",
    "train grpo",
    "train image",
    "train refiner",
    "train reward-model",
    "train sft",
    "train tiny",
}
"""Commands with --format json that print a sentence for people, or a plan: there is no table to write."""


def test_every_command_that_prints_a_table_or_json_can_write_its_table() -> None:
    """Each has --output FILE with the endings of tables, or is in a list with the reason."""
    from test_commands import ALL

    lacking = set()
    for words, command in ALL:
        options = {name: each for each in command.params for name in each.opts}
        form = options.get("--format")
        if form is not None and {"table", "json"} <= {*getattr(form.type, "choices", ())}:
            output = options.get("--output")
            endings = getattr(output.type, "endings", None) or () if output else ()
            if not {*TABLE_ENDINGS} <= {*endings} or " ".join(words[1:]) in OTHER_OUTPUT:
                lacking.add(" ".join(words[1:]))
    assert lacking == {*OTHER_OUTPUT, *NO_TABLE, "reward score"}


WRITERS = (
    "arena people --database {arena}",
    "arena progress --database {arena}",
    "bench list",
    "bench runs --store {store}",
    "bench runs run-0 --store {store}",
    "papers board edit",
    "papers check prism:3 --all",
    "papers consistency",
    "papers list",
    "papers scores --model sora-2",
    "papers show",
    "papers show magicmirror:3",
    "ratings agreement {checks} --thing test_point --rater model --label satisfied",
    "ratings mos {ratings} --by-scenario",
    "ratings pass-rates {checks}",
    "results compare run-0 run-1 --store {store}",
    "results leaderboard prism --store {store}",
    "results reliability run-0 run-1 run-2 --dimension alignment --replicates 20 --rounds 20 --store {store}",
    "reward list",
    "store ls {store} battles",
    "store ls {store}",
    "store schema battles",
    "taxonomy list",
    "train presets",
    "votes next {votes} -n 6",
    "votes rank {votes} --bootstrap 20",
    "votes raters {votes}",
)


def test_a_table_is_the_same_in_json_and_in_every_file(files: dict[str, str], tmp_path: Path) -> None:
    """``conftest.py`` compares the files of all endings with what is printed; the one that is named is written."""
    wrong = []
    for number, line in enumerate(WRITERS):
        ending = TABLE_ENDINGS[number % len(TABLE_ENDINGS)]
        output = tmp_path / f"{number}{ending}"
        words = shlex.split(line.format(**{name: shlex.quote(path) for name, path in files.items()}))
        done = CliRunner().invoke(main, [*words, "--format", "json", "--output", str(output)])
        if done.exit_code or not output.stat().st_size:
            wrong.append(f"{line}\n{done.output}\n{done.exception!r}")
        elif ending == ".json" and json.loads(output.read_text("utf-8")) != json.loads(done.stdout):
            wrong.append(line)
    assert not wrong, "\n".join(wrong)
