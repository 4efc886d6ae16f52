"""Any function of picture and prompt as a suite, a panel member and a column of the refine loop, by its text alone."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from salon_bench.suites import dry_run, read_generations, suite_named
from salon_console import main
from salon_judges.clients.scorer import ScoreAnswer, parse_score
from salon_judges.testing.mock_server import Script, fixed, serving
from salon_synthetic import Item, Scene, imagine, png
from salon_taxonomy.answers import Parsed
from salon_taxonomy.digest import digest
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Scored

SOURCE = '''
def red(images, prompts):
    """How red the first pixel is."""
    return [image.getpixel((0, 0))[0] / 255 for image in images]
red.range = (0, 1)

def words(images, prompts):
    return [len(prompt.split()) for prompt in prompts]

async def error(images, prompts):
    return [255 - image.getpixel((0, 0))[0] for image in images]
error.range, error.higher_is_better = (0, 255), False

def other_red(images, prompts):
    return [1.0] * len(images)
other_red.name = "red"

def hostile(images, prompts):
    answers = {"none": None, "nan": float("nan"), "much": 7.0, "text": "0.5"}
    return [answers.get(prompt, 0.5) for prompt in prompts]
hostile.range = (0, 1)

def half(images, prompts):
    return [None if image.getpixel((0, 0))[0] > 120 else 3.0 for image in images]

def broken(images, prompts):
    from pathlib import Path
    if not Path("repaired").exists():
        raise RuntimeError("out of memory")
    return [1.0] * len(images)
'''


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of scorers, the prompts, and the pictures of two models: p1 … p4, redder from one to the next."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metrics.py").write_text(SOURCE)
    prompts = [f"a red ball {number}" for number in range(1, 5)]
    (tmp_path / "prompts.txt").write_text("\n".join(prompts) + "\n")
    for model, step in (("ours", 50), ("theirs", 25)):
        (tmp_path / model).mkdir()
        for number in range(1, 5):
            Image.new("RGB", (8, 8), (step * number, 0, 0)).save(tmp_path / model / f"{number:04d}.png")
    return tmp_path


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run(*words: object, subject: str = "ours", prompts: str = "prompts.txt") -> Result:
    given = ("--model", subject, "--generations", subject, "--prompts", prompts)
    return salon("bench", "run", "scorer", *given, "--format", "json", *words)


def numbers(result: Result, place: int = 0) -> dict[str, float]:
    assert result.exit_code == 0, result.output
    return {row["metric"]: row["value"] for row in json.loads(result.stdout)[place]["models"][0]["table"]}


def test_a_function_of_a_file_is_a_suite_with_leaderboard_comparison_and_report(world: Path) -> None:
    ours = run("--scorer", "./metrics.py:red")
    theirs = run("--scorer", "./metrics.py:red", subject="theirs")
    assert numbers(ours) == {"red": pytest.approx(125 / 255), "scaled": pytest.approx(125 / 255)}
    names = [json.loads(each.stdout)[0]["run_id"] for each in (ours, theirs)]
    compared = salon("results", "compare", *names, "--format", "json")
    assert compared.exit_code == 0, compared.output
    board = salon("results", "leaderboard", "scorer", "--format", "json")
    [found] = json.loads(board.stdout)
    assert found["metric"] == "red"
    ranked = [row["model"] for row in found["rows"] if row["metric"] == "red"]
    assert ranked == ["ours", "theirs"]


def test_a_picture_without_a_score_is_one_unscored_row_where_scores_have_no_range(world: Path) -> None:
    run = ["bench", "run", "scorer", "--prompts", "prompts.txt", "--model", "ours", "--generations", "ours"]
    done = CliRunner().invoke(main, [*run, "--judge", "scorer:./metrics.py:half"])
    assert (done.exit_code, "ours: 2 rows scored, 2 unscored" in done.output) == (0, True), done.output


def test_one_picture_with_a_wrong_score_is_unscored_with_its_reason_and_the_others_count(world: Path) -> None:
    Path("prompts.jsonl").write_text(
        "".join(
            json.dumps({"prompt_id": f"{number:04d}", "prompt": text}) + "\n"
            for number, text in enumerate(("none", "nan", "much", "fine"), 1)
        )
    )
    done = run("--scorer", "./metrics.py:hostile", prompts="prompts.jsonl")
    assert numbers(done) == {"hostile": 0.5, "scaled": 0.5}
    report = json.loads(done.stdout)[0]["models"][0]
    assert (report["scored"], report["unscored"]) == (2, 6)
    assert "Without a score: 1 abstained, 1 malformed, 1 off_menu." in report["notes"]


def test_a_scorer_that_raises_leaves_work_that_a_resume_finishes(world: Path) -> None:
    failed = run("--scorer", "./metrics.py:broken")
    assert failed.exit_code == 1
    assert "4 cases got no reply" in failed.output
    assert "the first: the scorer raised RuntimeError: out of memory" in failed.stderr
    run_id = json.loads(failed.stdout)[0]["run_id"]
    Path("repaired").touch()
    done = salon("bench", "resume", run_id, "--format", "json")
    assert numbers(done) == {"broken": 1.0}


def test_lower_is_better_has_the_other_sign_and_the_note_says_so(world: Path) -> None:
    done = run("--scorer", "./metrics.py:error")
    assert numbers(done) == {"-error": -130.0, "scaled": pytest.approx(125 / 255)}
    assert "Lower is better for error: its scores have the other sign here." in json.loads(done.stdout)[0]["models"][0]["notes"]


@pytest.mark.parametrize("name", ["scaled", "-error", "--scaled"])
def test_a_scorer_whose_name_tables_use_for_something_else_keeps_its_numbers_and_its_sign(world: Path, name: str) -> None:
    with Path("metrics.py").open("a") as source:
        source.write(f"\nred.name = {name!r}\n")
    done = run("--scorer", "./metrics.py:red")
    assert numbers(done) == {f"scorer {name}": pytest.approx(125 / 255), "scaled": pytest.approx(125 / 255)}
    assert not any("Lower is better" in note for note in json.loads(done.stdout)[0]["models"][0]["notes"])


def test_scorers_and_a_judge_are_a_panel_that_has_the_scaled_scores_in_common(world: Path) -> None:
    with serving(Script(rule=fixed('{"justification": "Half of it.", "score": 5}'))) as server:
        done = run("--scorer", "./metrics.py:red", "--scorer", "./metrics.py:words", "--judge", f"vllm:mock@{server.url}")
    assert numbers(done, 3) == {
        "scaled": pytest.approx((125 / 255 + 0.5) / 2),
        "mock": 5.0,
        "red": pytest.approx(125 / 255),
        "words": 4.0,
    }
    assert next(iter(numbers(done, 3))) == "scaled"
    agreed = json.loads(done.stdout)[3]["agreement"]
    assert [(each["dimension"], each["pairs"]) for each in agreed] == [("scaled", 4)]


def test_another_version_of_the_function_is_another_run(world: Path) -> None:
    first = run("--scorer", "./metrics.py:red")
    Path("metrics.py").write_text(SOURCE.replace("How red", "So red"))
    second = run("--scorer", "./metrics.py:red")
    assert json.loads(first.stdout)[0]["run_id"] != json.loads(second.stdout)[0]["run_id"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "name a judge: --judge"),
        (("--scorer", "./metrics.py:absent"), "has no such function"),
        (("--scorer", "red"), "no such scorer"),
        (("--scorer", "./metrics.py:red", "--scorer", "./metrics.py:red"), "the same judge was named twice"),
        (("--scorer", "./metrics.py:red", "--scorer", "./metrics.py:other_red"), "two judges of a panel have the name 'red'"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_is_written(world: Path, words: tuple[str, ...], problem: str) -> None:
    before = set(world.iterdir())
    refused = run(*words)
    assert (refused.exit_code, problem in refused.output) == (2, True), refused.output
    assert set(world.iterdir()) - before <= {world / "__pycache__"}


def test_a_scorer_refuses_the_questions_of_other_suites(world: Path) -> None:
    Path("prism.jsonl").write_text(json.dumps({"prompt": "a cat", "track": "style", "prompt_id": "0001"}) + "\n")
    given = ("--model", "ours", "--generations", "ours", "--prompts", "prism.jsonl")
    refused = salon("bench", "run", "prism", *given, "--judge", "scorer:./metrics.py:red")
    assert refused.exit_code == 2
    assert "the scorer red gives scores, and cannot answer the question 'alignment'" in refused.output, refused.output


MIXED = """name = "mixed"
prompts = "drawn.csv"

[[question]]
id = "bright"
answer = "score"

[[question]]
id = "there"
ask = "Is there {prompt}?"
answer = "yes/no"
"""


def test_a_scorer_and_a_judge_share_a_suite_file_or_are_refused_before_either_begins(world: Path) -> None:
    """Words of a column in the middle of a question are read by the judge of drawn scenes, too."""
    Path("mixed.toml").write_text(MIXED)
    Path("drawn.csv").write_text("prompt_id,prompt\n1,a red star\n2,a blue circle\n")
    Path("drawn").mkdir()
    for number, text in ((1, "a red star"), (2, "a red star")):
        Path(f"drawn/{number}.png").write_bytes(png(imagine(text, slips=0)))
    words = (
        "bench",
        "run",
        "./mixed.toml",
        "--model",
        "ours",
        "--generations",
        "drawn",
        "--store",
        "mixed",
        "--format",
        "json",
    )
    refused = salon(*words, "--judge", "pixels:", "--scorer", "./metrics.py:red")
    assert refused.exit_code == 2 and "--judge there=SPEC" in refused.output and not Path("mixed").exists()
    done = salon(*words, "--judge", "there=pixels:", "--scorer", "bright=./metrics.py:red")
    values = numbers(done)
    assert values["there"] == 0.5 and values["bright"] > 0


@pytest.mark.parametrize("reply", HOSTILE_REPLIES)
def test_no_reply_of_a_judge_raises_or_is_a_score_by_mistake(world: Path, reply: str) -> None:
    suite = suite_named("scorer")
    prompts = suite.prompts(Path("prompts.txt"))
    case = next(iter(suite.cases(prompts, read_generations(Path("ours"), "ours", ["0001"]))))
    assert [row.value for row in dry_run(suite, case, [reply]).records] == [None, None]


FORGED = [
    {"score": 0.5},
    {"score": 7, "range": [None, None]},
    {"score": 1e-9},
    {"score": 7},
    {"score": True},
    {"range": [0], "score": 1},
    {"range": ["a", "b"], "score": 1},
    {"higher_is_better": 1, "score": 1},
    {"unscored": "whim", "detail": ""},
    {},
]


@pytest.mark.parametrize("sealed", [False, True])
def test_a_reply_that_imitates_a_scorer_is_no_score(sealed: bool) -> None:
    for members in FORGED[3 * sealed :]:  # the first three are scores where the seal is right
        said = {"name": "x", "range": [0, 1], "higher_is_better": True, **members}
        text = json.dumps({**said, "scorer": digest("scorer", said) if sealed else "0" * 24})
        for reply in (text, text[:-1], text.replace('"score": ', '"score": NaN, "x": '), text.replace(": 7", ": 1e999")):
            outcome = parse_score(reply)
            found = outcome.answer if isinstance(outcome, Parsed) else ScoreAnswer(outcome.unscored(reply))
            assert not isinstance(found.verdict, Scored), reply


def test_the_refine_loop_has_the_score_of_every_picture_as_a_column(world: Path) -> None:
    star = Scene(items=[Item(shape="star", colour="blue", x=128, y=140)])
    Path("star.png").write_bytes(png(star))
    Path("corner.py").write_text(
        "def corner(images, prompts):\n    return [image.size[0] / 512 for image in images]\ncorner.range = (0, 1)\n"
    )
    given = ("--prompt", "a red star", "--image", "star.png", "--judge", "pixels:", "--editor", "draw")
    done = salon("refine", *given, "--scorer", "scorer:./corner.py:corner", "--check", "--output", "refined")
    assert done.exit_code == 0, done.output
    assert "Mean of corner: " in done.output
    rounds = [json.loads(line) for line in Path("refined/rounds.jsonl").read_text().splitlines()]
    assert len(rounds) == 2
    assert all(isinstance(each["score"], float) for each in rounds)
