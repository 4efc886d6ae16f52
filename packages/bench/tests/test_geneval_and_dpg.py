"""GenEval-style and DPG-Bench: the released scripts' numbers on equal replies, the truth on drawn pictures, and bad files."""

import asyncio
import csv
import hashlib
import io
import json
from collections.abc import Callable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from for_each import for_each
from salon_bench.runs.plan import SubjectModel, planned
from salon_bench.runs.plan import drawn as drawn_from
from salon_bench.runs.suite_runner import execute
from salon_bench.runs.view import RunView
from salon_bench.suites import Case, Generated, Suite, dry_run, suite_named
from salon_bench.suites.dpg_bench import suite as dpg
from salon_bench.suites.geneval.metadata import TAGS, conditions, drawn_prompts
from salon_synthetic import imagine, png
from salon_synthetic.pixel_judge.judge import PixelJudge
from salon_synthetic.scenes.claims import holds
from salon_synthetic.scenes.reading import read_question
from salon_synthetic.scenes.scene import Scene
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Score
from salon_taxonomy.testing import HOSTILE_REPLIES

Line = Mapping[str, Any]
OFFSETS = {"left of": (-40, 0), "right of": (40, 0), "above": (0, -40), "below": (0, 40)}
CATEGORIES = (
    "entity - whole (x)",
    "entity - part (x)",
    "attribute - color (x, red)",
    "relation - spatial (x, y)",
    "global - style (x)",
)


def share(*place: object) -> float:
    """A number from 0 to 1 by a digest of a place: the same in the scripts' runs and here."""
    return int(hashlib.sha256("/".join(map(str, place)).encode()).hexdigest(), 16) % 1000 / 1000


def lines_of(suite: Suite, rows: list[Score]) -> dict[tuple[str, str | None], Line]:
    frame = pl.DataFrame([row.model_dump() for row in rows], infer_schema_length=None)
    table = suite.aggregate(frame, pl.DataFrame()).table
    return {(row["metric"], row["group"]): row for row in table.iter_rows(named=True)}


def examined(suite: Suite, items: list[Any], samples: int, reply: Callable[[str, int, str], str]) -> list[Score]:
    """The rows of every picture; ``reply`` answers by prompt, sample and step."""
    rows: list[Score] = []
    for item in items:
        for sample in range(samples):
            name = item.prompt.prompt_id
            case = Case(
                f"{name}.{sample}", suite.name, "m", item.prompt, facts=item.facts, generation_ids=(f"{name}.{sample}",)
            )
            replies: list[str] = []
            while len(done := dry_run(suite, case, replies).inquiries) > len(replies):
                replies.append(reply(name, sample, done[len(replies)].step))
            rows += dry_run(suite, case, replies).records  # type: ignore[arg-type]
    return rows


# ------------------------------------------------------------------------------------------- equal replies, GenEval's script

RELEASED = "110000110010010111110110111100110010110101000111110110110100100101110100110010100101110111"
"""``evaluate`` of evaluation/evaluate_images.py (geneval, commit 16f1681) on the 90 pictures of ``seen``, seen rightly."""
RELEASED_TASKS = (86.67, 80.00, 6.67, 73.33, 53.33, 40.00)
RELEASED_OVERALL = 0.56667
"""Printed by evaluation/summary_scores.py for them."""


def metadata(number: int) -> dict[str, Any]:
    tag = TAGS[number % 6]
    one, other = {"class": "dog", "count": 1}, {"class": "cat", "count": 1}
    where = list(OFFSETS)[int(share("where", number) * 4)]
    count = 2 + int(share("wanted", number) * 3)
    clauses: list[dict[str, Any]] = {
        "single_object": [one],
        "two_object": [one, other],
        "counting": [{**one, "count": count}],
        "colors": [{**one, "color": "red"}],
        "position": [other, {**one, "position": [where, 0]}],
        "color_attr": [{**one, "color": "red"}, {**other, "color": "blue"}],
    }[tag]
    exclude = [{"class": "dog", "count": count + 1}] if tag == "counting" else []
    return {"tag": tag, "prompt": f"{tag} {number}", "include": clauses, "exclude": exclude}


def seen(number: int) -> list[tuple[str, str, int, int]]:
    """What a picture shows: class, colour and place of each object."""
    tag = TAGS[number % 6]
    dogs = int(share("dogs", number) * 6) if tag == "counting" else int(share("dogs", number) < 0.85)
    found = [("dog", "red" if share("dog colour", number) < 0.7 else "green", 100, 100)] * dogs
    if share("cat", number) < 0.8:
        dx, dy = list(OFFSETS.values())[int(share("place", number) * 4)]
        if share("right", number) < 0.5 and tag == "position":
            dx, dy = OFFSETS[metadata(number)["include"][1]["position"][0]]
        found.append(("cat", "blue" if share("cat colour", number) < 0.7 else "red", 100 - dx, 100 - dy))
    return found


def observed(facts: Mapping[str, Any], step: str, objects: list[tuple[str, str, int, int]]) -> bool:
    """The answer to a question of a clause by somebody who sees the objects."""
    kind, _, place = step.partition("-")
    clause = facts["exclude" if kind == "exclude" else "include"][int(place) - 1]
    mine = [each for each in objects if each[0] == clause["class"]]
    if kind != "position":
        return sum(clause.get("color") in (None, each[1]) for each in mine) >= clause["count"]
    where, target = clause["position"]
    others = [each for each in objects if each[0] == facts["include"][target]["class"]]
    return any((one[2] - other[2], one[3] - other[3]) == OFFSETS[where] for one in mine for other in others)


def test_geneval_gives_the_released_scripts_verdicts_and_numbers_on_equal_replies(tmp_path: Path) -> None:
    path = tmp_path / "evaluation_metadata.jsonl"
    path.write_text("\n".join(json.dumps(metadata(number)) for number in range(90)))
    suite = suite_named("geneval")
    items = list(suite.prompts(path))
    facts = {item.prompt.prompt_id: item.facts for item in items}

    def reply(name: str, sample: int, step: str) -> str:
        return "Answer: yes" if observed(facts[name], step, seen(int(name) - 1)) else "Answer: no"

    rows = examined(suite, items, 1, reply)
    assert "".join(str(int(row.value or 0)) for row in rows) == RELEASED
    found = lines_of(suite, rows)
    assert tuple(round(100 * found["correct", tag]["value"], 2) for tag in TAGS) == RELEASED_TASKS
    assert round(found["overall", None]["value"], 5) == RELEASED_OVERALL
    assert round(100 * found["correct pictures", None]["value"], 2) == 56.67


def test_a_prompt_whose_pictures_lack_verdicts_is_correct_by_another_picture_or_has_none(tmp_path: Path) -> None:
    path = tmp_path / "evaluation_metadata.jsonl"
    clauses = [{"class": "dog", "count": 1}]
    path.write_text("\n".join(json.dumps({"tag": "single_object", "prompt": "a dog", "include": clauses}) for _ in range(4)))
    suite = suite_named("geneval")
    said = {"0001": ("yes", "who knows"), "0002": ("no", "who knows"), "0003": ("who knows", "who knows"), "0004": ("no", "no")}
    rows = examined(suite, list(suite.prompts(path)), 2, lambda name, sample, step: said[name][sample])
    line = lines_of(suite, rows)["correct prompts", None]
    assert (line["value"], line["scored"], line["unscored"]) == (0.5, 2, 2)


# --------------------------------------------------------------------------------------------- equal replies, DPG's script

ITEMS = 12
COLUMNS = "item_id,text,keywords,proposition_id,dependency,category_broad,category_detailed,tuple,question_natural_language"


def questions(item: int) -> list[tuple[int, list[int], str]]:
    found = []
    for number in range(1, 4 + int(share("count", item) * 6)):
        parents = [parent for parent in range(1, number) if share("parent", item, number, parent) < 0.3]
        found.append((number, parents, CATEGORIES[int(share("category", item, number) * len(CATEGORIES))]))
    return found


def dpg_csv(folder: Path) -> Path:
    stream = io.StringIO()
    rows = csv.writer(stream)
    rows.writerow(COLUMNS.split(","))
    for item in range(ITEMS):
        for number, parents, category in questions(item):
            needs = ",".join(map(str, parents)) or "0"
            rows.writerow([f"item{item}", f"prompt {item}", "", number, needs, "", "", category, f"Is fact {number} shown?"])
    path = folder / "dpg_bench.csv"
    path.write_text(stream.getvalue())
    return path


def dpg_reply(name: str, sample: int, step: str) -> str:
    number = step.removeprefix("question-")
    return "yes" if share("answer", name.removeprefix("item"), sample, number) < 0.75 else "no"


@pytest.mark.parametrize(("samples", "released"), [(1, 63.70039682539682), (4, 64.03025793650794)])
def test_dpg_gives_the_released_scripts_score_on_equal_replies(tmp_path: Path, samples: int, released: float) -> None:
    for name in ("dpg-bench", "dpg-bench-released"):  # compute_dpg_bench.py of ELLA, --pic-num 1 and 4
        suite = suite_named(name)
        found = lines_of(suite, examined(suite, list(suite.prompts(dpg_csv(tmp_path))), samples, dpg_reply))
        assert 100 * found["overall", None]["value"] == pytest.approx(released, abs=1e-9)


def test_dpg_released_gives_the_released_scripts_categories_on_equal_replies(tmp_path: Path) -> None:
    suite = suite_named("dpg-bench-released")
    found = lines_of(suite, examined(suite, list(suite.prompts(dpg_csv(tmp_path))), 1, dpg_reply))
    printed = {
        ("category", "entity"): 82.14285714285714,
        ("category", "global"): 83.33333333333334,
        ("category", "relation"): 61.53846153846154,
        ("category", "attribute"): 73.33333333333333,
        ("detailed category", "attribute - color"): 73.33333333333333,
        ("detailed category", "entity - part"): 87.5,
        ("detailed category", "entity - whole"): 75.0,
        ("detailed category", "global - style"): 83.33333333333334,
        ("detailed category", "relation - spatial"): 61.53846153846154,
    }
    assert {key: 100 * found[key]["value"] for key in printed} == pytest.approx(printed, abs=1e-9)


def test_dpg_asks_no_question_whose_parent_is_no_and_counts_it_so(tmp_path: Path) -> None:
    items = list(dpg.prompts(dpg_csv(tmp_path)))
    asked = {name: len(examined(suite_named(name), items, 1, dpg_reply)) for name in ("dpg-bench", "dpg-bench-released")}
    assert asked["dpg-bench"] == asked["dpg-bench-released"] == sum(len(questions(item)) + 1 for item in range(ITEMS))
    calls = dict.fromkeys(asked, 0)
    for name in asked:

        def counting(prompt: str, sample: int, step: str, name: str = name) -> str:
            calls[name] += 1
            return dpg_reply(prompt, sample, step)

        examined(suite_named(name), items, 1, counting)
    assert calls["dpg-bench"] < calls["dpg-bench-released"] == sum(len(questions(item)) for item in range(ITEMS))


# ------------------------------------------------------------------------------------------------------ truth, bad input


def judged(
    suite: Suite, prompts: Path | None, pictures: Path, store: Path, limit: int | None = None
) -> dict[tuple[str, str | None], Line]:
    async def main() -> str:
        judge = PixelJudge()
        plan = planned(suite, [SubjectModel("drawn", pictures)], judge, prompts=prompts, limit=limit)
        await execute(plan, judge, store)
        return plan.plan.run_id

    [subject] = RunView(store, asyncio.run(main())).summaries(suite)
    assert subject.unscored == 0
    return {(row["metric"], row["group"]): row for row in subject.summary.table.iter_rows(named=True)}


def drawn(folder: Path, prompts: Mapping[str, str], slips: float) -> dict[str, Scene]:
    folder.mkdir()
    scenes = {name: imagine(text, seed=place, slips=slips) for place, (name, text) in enumerate(prompts.items())}
    for name, scene in scenes.items():
        (folder / f"{name}.png").write_bytes(png(scene))
    return scenes


def true(question: str, scene: Scene) -> bool:
    claim = read_question(question)
    assert claim is not None, question
    return holds(claim, scene)


def test_geneval_on_drawn_pictures_is_the_truth(tmp_path: Path) -> None:
    suite = suite_named("geneval")
    items = drawn_from(suite.prompts(None), 48, 0)
    scenes = drawn(tmp_path / "pictures", {item.prompt.prompt_id: item.prompt.text for item in items}, 0.3)
    truth: dict[str, list[bool]] = {tag: [] for tag in TAGS}
    for item in items:
        met = [true(each.question, scenes[item.prompt.prompt_id]) is each.wanted for each in conditions(item.facts)]
        truth[str(item.facts["tag"])].append(all(met))
    found = judged(suite, None, tmp_path / "pictures", tmp_path / "results", limit=48)
    shares = {tag: sum(values) / len(values) for tag, values in truth.items()}
    assert 0.2 < sum(shares.values()) / 6 < 0.8
    for tag, value in shares.items():
        line = found["correct", tag]
        assert line["ci_low"] <= value <= line["ci_high"], tag
    overall = found["overall", None]
    assert overall["ci_low"] <= sum(shares.values()) / 6 <= overall["ci_high"]
    assert overall["value"] == pytest.approx(sum(shares.values()) / 6, abs=0.02)


def test_dpg_on_drawn_pictures_is_the_truth(tmp_path: Path) -> None:
    prompts = {
        f"p{n:02d}": text for n, text in enumerate(["a red star above a blue circle", "a green square and a pink cross"] * 8)
    }
    scenes = drawn(tmp_path / "pictures", prompts, 0.4)
    rows = [HEAD.strip()]
    scores = []
    for name, text in prompts.items():
        graph = STARS if "star" in text else SQUARES
        counted: dict[int, bool] = {0: True}
        for number, (parents, category, question) in enumerate(graph, start=1):
            rows.append(f'{name},{text},{number},"{",".join(map(str, parents))}",{category} (x),{question}')
            counted[number] = all(counted[parent] for parent in parents) and true(question, scenes[name])
        scores.append(sum(value for number, value in counted.items() if number) / len(graph))
    (tmp_path / "dpg.csv").write_text("\n".join(rows))
    truth = sum(scores) / len(scores)
    overall = judged(dpg, tmp_path / "dpg.csv", tmp_path / "pictures", tmp_path / "results")["overall", None]
    assert overall["ci_low"] <= truth <= overall["ci_high"]
    assert overall["value"] == pytest.approx(truth, abs=0.02)
    assert 0.2 < truth < 0.9


STARS: list[tuple[list[int], str, str]] = [
    ([0], "entity - whole", "Is there a star?"),
    ([0], "entity - whole", "Is there a circle?"),
    ([1], "attribute - color", "Is the star red?"),
    ([2], "attribute - color", "Is the circle blue?"),
    ([1, 2], "relation - spatial", "Is the star above the circle?"),
]
SQUARES: list[tuple[list[int], str, str]] = [
    ([0], "entity - whole", "Is there a square?"),
    ([0], "entity - whole", "Is there a cross?"),
    ([1], "attribute - color", "Is the square green?"),
    ([2], "attribute - color", "Is the cross pink?"),
]


@for_each("reply", HOSTILE_REPLIES)
def test_no_spoiled_reply_is_a_score(tmp_path: Path, reply: str) -> None:
    for name, source in (("geneval", None), ("dpg-bench", dpg_csv(tmp_path)), ("dpg-bench-released", dpg_csv(tmp_path))):
        suite = suite_named(name)
        item = suite.prompts(source)[0]
        case = Case("c", suite.name, "m", item.prompt, facts=item.facts, generation_ids=("c",))
        rows = dry_run(suite, case, [reply] * 12).records
        assert {row.value for row in rows} == {None}  # type: ignore[union-attr]
        assert lines_of(suite, list(rows))["overall", None]["value"] is None  # type: ignore[arg-type]


BAD_METADATA = [
    ('{"tag": "size", "prompt": "x", "include": [{"class": "dog", "count": 1}]}', "column 'tag': unknown value 'size'"),
    ('{"tag": "colors", "prompt": "x", "include": []}', "column 'include': must be a list"),
    ('{"tag": "colors", "prompt": "x", "include": [{"class": "dog", "count": 0}]}', "count of a clause.*0"),
    ('{"tag": "colors", "prompt": "x", "include": [{"count": 1}]}', "needs the key 'class'"),
    (
        '{"tag": "position", "prompt": "x", "include": [{"class": "dog", "count": 1, "position": ["above", 0]}]}',
        "an earlier clause, not 0",
    ),
    (
        '{"tag": "position", "prompt": "x", "include": [{"class": "dog", "count": 1, "position": ["under", 0]}]}',
        r"\['under', 0\] \(allowed: left of, right of, above, below\)",
    ),
    *(
        (f'{{"tag": "colors", "prompt": "x", "include": {value}}}', f"column 'include': must be a list of .* {value.title()}")
        for value in ("5", "true")
    ),
    *(
        (
            '{"tag": "position", "prompt": "x", "include": [{"class": "cat", "count": 1}, '
            f'{{"class": "dog", "count": 1, "position": {value}}}]}}',
            message,
        )
        for value, message in (
            ('[["above"], 0]', r"a position is a word and the place of a clause, not \[\['above'\], 0\]"),
            ('["above", 0.0]', r"an earlier clause, not 0\.0"),
            ('["above", "0"]', "an earlier clause, not '0'"),
        )
    ),
]
HEAD = "item_id,text,proposition_id,dependency,tuple,question_natural_language\n"
BAD_QUESTIONS = [
    ("a,x,1,2,entity - whole (x),Is it?\n", "column 'dependency': the item has no proposition 2"),
    ("a,x,1,1,entity - whole (x),Is it?\n", "column 'dependency': depends on itself: 1"),
    ("a,x,1,0,e (x),Is it?\na,x,1,0,e (x),Is it?\n", "column 'proposition_id': is there twice in this item: 1"),
    ("a,x,one,0,entity - whole (x),Is it?\n", "column 'proposition_id': must be a whole number from 0, not 'one'"),
    ("a,x,1,0,entity - whole (x),\n", "column 'question_natural_language': must hold text"),
]


@pytest.mark.parametrize(("text", "message"), [*BAD_METADATA, *((HEAD + rows, message) for rows, message in BAD_QUESTIONS)])
def test_a_wrong_row_is_named_by_file_row_column_and_value(tmp_path: Path, text: str, message: str) -> None:
    own = text.startswith("{")
    path = tmp_path / ("evaluation_metadata.jsonl" if own else "dpg_bench.csv")
    path.write_text(text)
    with pytest.raises(InputError, match=f"(?s){path.name}, row [12], .*{message}"):
        suite_named("geneval" if own else "dpg-bench").prompts(path)


def test_questions_are_asked_parents_first_whatever_the_order_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(f"{HEAD}a,x,1,2,e (x),Is it red?\na,x,2,0,e (x),Is it there?\n")
    [item] = dpg.prompts(tmp_path / "q.csv")
    case = Case("c", dpg.name, "m", item.prompt, facts=item.facts, pictures=(Generated("a", "m", 0, tmp_path, tmp_path),))
    steps = [inquiry.step for inquiry in dry_run(dpg, case, ["yes", "yes"]).inquiries]
    assert steps == [name for name, _ in zip_longest(["question-2", "question-1"], steps)]


@for_each("tag", TAGS)
def test_a_drawn_prompt_asks_for_what_its_conditions_ask_about(tag: str) -> None:
    """A picture that shows the prompt's words has the wanted answer to every question."""
    rows = [row for row in drawn_prompts("geneval", seed=4) if row.prompt.scenario == tag]
    assert [row.prompt.prompt_id for row in rows] == [f"{tag}-{number:02d}" for number in range(20)]
    for row in rows:
        scene = imagine(words := row.prompt.text.removeprefix("a photo of "), slips=0)
        asked = list(conditions(row.facts))
        claims = [read_question(each.question) for each in asked]
        assert [claim is not None and holds(claim, scene) for claim in claims] == [each.wanted for each in asked], words
        assert len(asked) == dict(zip(TAGS, (1, 2, 2, 1, 3, 2), strict=True))[tag]
    assert drawn_prompts("geneval", seed=4) != drawn_prompts("geneval", seed=5)
    assert len(drawn_prompts("geneval")) == 120
