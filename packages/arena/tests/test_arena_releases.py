"""What people said leaves in the benchmarks' released forms and is read back by Salon's own loaders."""

import json
import math
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from small_arena import MODELS, PROMPTS, Clock, write_material
from sqlalchemy import select
from test_arena_labels import FACE, HAND, join, label_all, marks

from for_each import for_each
from salon_arena import ArenaDatabase, Material, RefusedError, WorkService, export_answers, label_studio, read_material
from salon_arena.forms import check_task, panel_task
from salon_arena.label_studio import import_annotations, read_annotations
from salon_arena.labels import LabelTask, label_states
from salon_arena.prompt_tasks import PromptTask
from salon_arena.release import FORMS, release
from salon_arena.service import AnswerBody
from salon_arena.tables import ASSIGNMENTS
from salon_arena.verdicts import VerdictItem, VerdictTask, read_verdict_rows
from salon_arena.verify import verify_answers
from salon_bench.suites.assessors.label_file import read_labels
from salon_bench.suites.assessors.magicdata import MagicDataRow, magicdata_rows
from salon_console import main
from salon_console.table_rows import TableRow
from salon_judges.formats.artifact_bench import QuestionLevel, QuestionTask, read_rows
from salon_judges.formats.artifact_bench_options import offer
from salon_judges.formats.magic_bench_377_prompts import read_prompts
from salon_judges.formats.r3_bench import read_items
from salon_ranking.opinion import Checks, MosRatings
from salon_store import ResultStore
from salon_taxonomy.errors import InputError
from salon_taxonomy.taxonomy import Taxonomy

Body = Callable[..., AnswerBody]


def answer_all(service: WorkService, rater: str, body: Body, clock: Clock, choose: Callable[[dict[str, Any]], Any]) -> int:
    """Answer everything that a rater gets, by what was pinned; returns how much it was."""
    count = 0
    while tasks := service.lease(rater).result()["tasks"]:
        payload = service.payload_of(tasks[0]["assignment"])
        if payload["files"]:
            service.look(rater, tasks[0]["assignment"])
        service.answer(rater, body(tasks[0], choose(payload))).result()
        count += 1
    clock.forward(11)
    service.settle_due().result()
    return count


def labelled(database: ArenaDatabase, material: Material, taxonomy: str, body: Body, clock: Clock, said: Any) -> WorkService:
    """Three raters who agree and two auditors who accept; ``said`` gives the answer by model."""
    service = WorkService(database, LabelTask(material, Taxonomy.open(taxonomy)), clock=clock)
    for _ in range(3):
        label_all(service, join(service), body, clock, said)
    for _ in range(2):
        label_all(service, join(service, "auditor"), body, clock, lambda _: {"accept": True})
    return service


@pytest.fixture
def material(tmp_path: Path) -> Material:
    return read_material(*write_material(tmp_path, samples=1))


@pytest.fixture
def experts(tmp_path: Path) -> Any:
    with ArenaDatabase.open(tmp_path / "experts.db", mode="expert") as database:
        yield database


def test_accepted_labels_are_magicmirrors_rows(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    said = {MODELS[0]: marks(HAND, FACE), MODELS[1]: marks(), MODELS[2]: marks("abnormal-object-morphology")}
    labelled(experts, material, "magicmirror", body, clock, said.__getitem__)
    done = release(experts, "magicmirror", tmp_path / "release")
    assert (done.rows, done.left_out) == (12, ())
    file = tmp_path / "release" / "labels.jsonl"
    answers = read_labels(file, truth=True).answers()
    assert len(answers) == 12 and all((tmp_path / "release" / image).is_file() for image in answers)
    rows = [row for row in magicdata_rows(file) if isinstance(row, MagicDataRow)]
    assert {row.prompt for row in rows} == {text for text, _ in PROMPTS.values()}
    by_model = {model: next(row.answer for row in rows if model in row.image) for model in MODELS}
    assert by_model[MODELS[1]].normal
    limbs = {"L2: Abnormal Human Anatomy": ("L3: Hand Structure Deformity", "L3: Facial Structure Deformity")}
    assert by_model[MODELS[0]].labels == limbs
    assert by_model[MODELS[2]].labels == {"L2: Abnormal Object Morphology": ()}


def test_labels_that_an_adjudicator_decided_after_a_rejection_are_released_with_and_without_unaudited(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    service = WorkService(experts, LabelTask(material, Taxonomy.open("magicmirror")), clock=clock)
    for _ in range(3):
        label_all(service, join(service), body, clock, lambda _: marks(HAND))
    for _ in range(2):
        label_all(service, join(service, "auditor"), body, clock, lambda model: {"accept": model != MODELS[0]})
    with_rejected = release(experts, "magicmirror", tmp_path / "before", unaudited=True)
    assert (with_rejected.rows, len(with_rejected.left_out)) == (8, 4)
    assert len(label_all(service, join(service, "adjudicator"), body, clock, lambda _: marks(FACE))) == 4
    for unaudited in (False, True):
        done = release(experts, "magicmirror", tmp_path / str(unaudited), unaudited=unaudited)
        assert (done.rows, done.left_out) == (12, ())
        rows = [row for row in magicdata_rows(tmp_path / str(unaudited) / "labels.jsonl") if isinstance(row, MagicDataRow)]
        decided = [row.answer.labels for row in rows if MODELS[0] in row.image]
        assert decided == [{"L2: Abnormal Human Anatomy": ("L3: Facial Structure Deformity",)}] * 4


def test_accepted_labels_and_levels_are_artifact_benchs_rows(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    some = {"marks": [{"label": "spatial-clipping"}, {"label": "flickering-and-noise"}], "level": "L2"}
    said = {MODELS[0]: some, MODELS[1]: {"marks": [], "level": "L1"}, MODELS[2]: {**some, "level": "L3"}}
    labelled(experts, material, "artifact-bench", body, clock, said.__getitem__)
    assert release(experts, "artifact-bench", tmp_path / "release", real=MODELS[1]).rows == 12 + 8
    rows = read_rows(tmp_path / "release")
    assert not rows.left_out and {row.task for row in rows} == {QuestionTask.RVAC, QuestionTask.AID}
    for row in rows:
        assert (tmp_path / "release" / row.videos[0]).is_file()
        assert (
            row.level
            == {MODELS[0]: QuestionLevel.L2, MODELS[1]: QuestionLevel.L1, MODELS[2]: QuestionLevel.L3}[
                row.videos[0].split("/")[1]
            ]
        )
        if row.task is QuestionTask.RVAC:
            assert row.answer == ("no" if MODELS[1] in row.videos[0] else "yes")
        else:
            right = {leaf for place, leaf in enumerate(row.leaves) if "ABCDEF"[place] in row.answer}
            assert len(row.leaves) == 6 and right == {"spatial-clipping", "flickering-and-noise"}
            assert row.leaves == offer(sorted(right), seed=0, sample_id=row.sample_id).leaves  # one rule, everywhere


def test_labels_that_fill_all_options_make_no_question(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    leaves = [leaf.id for leaf in Taxonomy.load("artifact-bench").leaves()][:6]
    marked = {"marks": [{"label": leaf} for leaf in leaves], "level": "L1"}
    labelled(experts, material, "artifact-bench", body, clock, lambda _: marked)
    release(experts, "artifact-bench", tmp_path / "release", real=MODELS[1])
    assert {row.task for row in read_rows(tmp_path / "release")} == {QuestionTask.RVAC}


def test_every_released_file_is_the_one_that_its_row_was_said_of(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    """One file is another one for the second person; the third sees files of the same names in another folder."""
    (tmp_path / "again").mkdir()
    others = read_material(*write_material(tmp_path / "again", samples=1, size=32))
    swapped, bytes_of = material.files[0].path, material.files[0].path.read_bytes()
    for turn, shown in enumerate((material, material, others)):
        swapped.write_bytes(material.files[1].path.read_bytes() if turn == 1 else bytes_of)
        service = WorkService(experts, LabelTask(shown, Taxonomy.load("magicmirror")), clock=clock)
        label_all(service, join(service), body, clock, lambda _: marks(HAND))
    swapped.write_bytes(bytes_of)
    done = release(experts, "datasets", tmp_path / "release")
    assert (done.rows, len(done.left_out)) == (35, 1)
    query = select(ASSIGNMENTS.c.rater_id, ASSIGNMENTS.c.payload, ASSIGNMENTS.c.digests)
    seen = {
        (row.rater_id, (about := json.loads(row.payload))["prompt_id"], about["files"][0]["model"]): json.loads(row.digests)
        for row in experts.read(lambda connection: list(connection.execute(query)))
    }
    for row in pl.read_parquet(tmp_path / "release" / "data" / "*.parquet").to_dicts():
        released = [sha256(file["bytes"]).hexdigest() for file in row["files"]]
        assert released == seen[row["rater_id"], row["prompt_id"], row["models"][0]]


def test_a_file_that_was_another_one_for_one_of_its_raters_is_left_out(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    """The file is exchanged for the second rater and put back: its digest is that of the first rater's."""
    swapped, content = material.files[0].path, material.files[0].path.read_bytes()
    for turn, role in enumerate(("rater", "rater", "rater", "auditor", "auditor")):
        swapped.write_bytes(material.files[1].path.read_bytes() if turn == 1 else content)
        service = WorkService(experts, LabelTask(material, Taxonomy.load("magicmirror")), clock=clock)
        said = marks(HAND) if role == "rater" else {"accept": True}
        label_all(service, join(service, role), body, clock, lambda _, said=said: said)
    swapped.write_bytes(content)
    for options in ({}, {"unaudited": True}):
        done = release(experts, "magicmirror", tmp_path / f"release-{len(options)}", **options)
        assert (done.rows, len(done.left_out)) == (11, 1)
        assert "different versions" in done.left_out[0]
    export_answers(experts, tmp_path / "store")
    stored = ResultStore.open(tmp_path / "store").read("assessments").collect()
    assert stored.group_by(pl.col("judge") == "agreed").len().sort("judge")["len"].to_list() == [36, 11]


def write_rows(folder: Path, count: int = 4) -> Path:
    if not (folder / "pictures").exists():
        write_material(folder, samples=1)
    rows = []
    for number in range(count):
        qa = {"yn_question_list": ["Is the cube red?", "Is there a dog?"], "yn_answer_list": ["yes", "no"]}
        row = {"idx": number, "original_prompt": f"a red cube {number}", "answer": number % 2 == 0, "generated_qa": qa}
        picture = f"{MODELS[number % 3]}/{list(PROMPTS)[number % 4]}.0.png"
        explained = "It is blue.\u202e" if number % 2 else ""
        rows.append({**row, "bad_image": picture, "explanation": explained, "category": "color"})
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_experts_who_saw_different_questions_of_one_row_are_in_dispute() -> None:
    said = [json.dumps({"aligned": True, "questions": [{"relevant": True, "answer": True}] * count}) for count in (1, 2)]
    item = VerdictItem(said=said)
    assert (item.state, item.wanted("adjudicator")) == ("disputed", 1)


def test_verified_rows_are_r3_benchs_rows_disputes_go_to_an_adjudicator_and_discards_are_left_out(
    experts: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path
) -> None:
    rows, _ = read_verdict_rows(write_rows(tmp_path), tmp_path / "pictures")
    service = WorkService(experts, VerdictTask(rows), clock=clock)
    kept = [{"relevant": True, "answer": True}, {"relevant": False, "answer": False}]

    def say(number: int) -> Callable[[dict[str, Any]], Any]:
        def choose(payload: dict[str, Any]) -> Any:
            idx = payload["prompt_id"]
            if idx == "3":
                return {"aligned": False, "discard": True, "questions": kept}
            aligned = number == 0 if idx == "1" else idx == "0"  # experts differ on row 1
            return {"aligned": aligned, "explanation": "" if aligned else f"said {number}", "questions": kept}

        return choose

    for number in range(2):
        assert answer_all(service, join(service), body, clock, say(number)) == 4
    assert service.lease(join(service)).result()["tasks"] == []
    adjudicator = join(service, "adjudicator")
    shown = CliRunner().invoke(main, ["arena", "progress", "--database", experts.place]).output
    assert "1 disputed" in shown and "1 discarded" in shown and "2 agreed" in shown
    final = {"aligned": False, "explanation": "The cube is blue.", "questions": kept}
    assert answer_all(service, adjudicator, body, clock, lambda _: final) == 1
    assert release(experts, "r3", tmp_path / "release").rows == 3
    found = {item.idx: item for item in read_items(tmp_path / "release" / "rows.jsonl")}
    assert {idx: item.aligned for idx, item in found.items()} == {"0": True, "1": False, "2": False}
    assert (found["1"].explanation, found["2"].explanation) == ("The cube is blue.", "said 1")
    assert all(item.questions == ("Is the cube red?",) and item.answers == (True,) for item in found.values())
    assert all(item.picture.is_file() for item in found.values())


def test_a_row_that_was_generated_again_between_its_experts_is_released_as_its_adjudicator_saw_it_or_not_at_all(
    experts: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path
) -> None:
    """Row 0 gets other questions, row 1 one more, row 2 another picture; row 3 stays. The first expert answers last."""

    def served(path: Path) -> WorkService:
        return WorkService(experts, VerdictTask(read_verdict_rows(path, tmp_path / "pictures")[0]), clock=clock)

    def choose(payload: dict[str, Any]) -> Any:
        questions = [{"relevant": True, "answer": True} for _ in payload["row"]["questions"]]
        return {"aligned": True, "questions": questions}

    path = write_rows(tmp_path)
    before = served(path)
    first = join(before)
    assert len(before.lease(first).result()["tasks"]) == 4
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["generated_qa"]["yn_question_list"] = ["Is there a sky?", "Is it night?"]
    rows[1]["generated_qa"] = {"yn_question_list": ["Is it A?", "Is it B?", "Is it C?"], "yn_answer_list": ["yes"] * 3}
    rows[2]["bad_image"] = rows[0]["bad_image"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    after = served(path)
    assert answer_all(after, join(after), body, clock, choose) == 4
    assert answer_all(before, first, body, clock, choose) == 4
    again = served(path)
    assert answer_all(again, join(again, "adjudicator"), body, clock, choose) == 1
    done = release(experts, "r3", tmp_path / "release")
    assert {item.idx: item.questions for item in read_items(tmp_path / "release" / "rows.jsonl")} == {
        "1": ("Is it A?", "Is it B?", "Is it C?"),
        "3": ("Is the cube red?", "Is there a dog?"),
    }
    assert [line.partition(":")[0] for line in sorted(done.left_out)] == ["row 0", "row 2"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"aligned": False, "questions": [{"relevant": True, "answer": True}] * 2},  # not explained
        {"aligned": False, "explanation": "x", "questions": [{"relevant": False, "answer": True}] * 2},  # no question left
        {"aligned": True, "questions": [{"relevant": True, "answer": True}]},  # a question is missing
        {"aligned": 1, "questions": [{"relevant": True, "answer": True}] * 2},
        {"aligned": True, "questions": [{"relevant": True, "answer": "yes"}] * 2},
        {"aligned": True},
        "yes",
    ],
)
def test_half_verdicts_are_refused(experts: ArenaDatabase, body: Body, tmp_path: Path, wrong: Any) -> None:
    rows, _ = read_verdict_rows(write_rows(tmp_path), tmp_path / "pictures")
    service = WorkService(experts, VerdictTask(rows))
    rater = join(service)
    task = service.lease(rater).result()["tasks"][0]
    service.look(rater, task["assignment"])
    with pytest.raises(RefusedError, match="422 bad_answer"):
        service.answer(rater, body(task, wrong)).result()


def test_written_prompts_are_inspected_rejected_ones_written_again_and_read_as_magic_bench_377(
    experts: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path
) -> None:
    service = WorkService(experts, PromptTask(5), clock=clock)

    def write(payload: dict[str, Any]) -> Any:
        text = f"Three cats in a {payload['scenario']} picture, {payload['prompt_id']}."
        points = [{"name": "Quantity", "demand": "three cats"}]
        base = {"prompt": f"  {text} ", "language": "en", "labels": payload["labels"], "scenario": payload["scenario"]}
        return {**base, "test_points": points}

    authors = [service.people.join(invite=service.people.invite().result(), occupation="design").result().rater_id]
    authors += [join(service) for _ in range(2)]
    assert answer_all(service, authors[0], body, clock, write) == 5
    inspector = join(service, "auditor")
    judged = iter([{"accept": False, "reason": "a celebrity"}, {"accept": True, "prompt": "Refined."}, *[{"accept": True}] * 9])
    assert answer_all(service, inspector, body, clock, lambda _: next(judged)) == 5
    assert answer_all(service, authors[1], body, clock, write) == 1  # the rejected slot, open again
    assert answer_all(service, inspector, body, clock, lambda _: next(judged)) == 1
    assert release(experts, "mef-prompts", tmp_path / "release").rows == 5
    found = read_prompts(tmp_path / "release" / "prompts.jsonl")
    assert len(found) == 5 and not found.left_out
    assert sum(each.prompt.text == "Refined." for each in found) == 1
    assert all(each.prompt.scenario and each.prompt.labels and each.facts["test_points"] for each in found)
    assert "5 accepted" in CliRunner().invoke(main, ["arena", "progress", "--database", experts.place]).output


def test_a_prompt_keeps_its_number_in_later_releases_whatever_is_accepted_after_it(
    experts: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path
) -> None:
    service = WorkService(experts, PromptTask(3), clock=clock)

    def write(payload: dict[str, Any]) -> Any:
        base = {"prompt": payload["prompt_id"], "language": "en", "labels": payload["labels"]}
        return {**base, "scenario": payload["scenario"], "test_points": []}

    def released(name: str) -> dict[str, str]:
        release(experts, "mef-prompts", tmp_path / name)
        rows = map(json.loads, (tmp_path / name / "prompts.jsonl").read_text().splitlines())
        return {row["prompt_id"]: row["prompt"] for row in rows}

    assert answer_all(service, join(service), body, clock, write) == 3
    inspector = join(service, "auditor")
    tasks = service.lease(inspector).result()["tasks"]
    numbers = []
    for number, task in enumerate(reversed(tasks), 1):  # what was written last is accepted first
        service.answer(inspector, body(task, {"accept": True})).result()
        clock.forward(11)
        service.settle_due().result()
        numbers.append(released(f"release-{number}"))
        assert len(numbers[-1]) == number
    assert all(numbers[-1].items() >= earlier.items() for earlier in numbers)


def test_checks_ratings_and_votes_are_mefs_tables_and_a_data_set(
    tmp_path: Path, body: Body, clock: Clock, material: Material
) -> None:
    pictures, prompts = tmp_path / "pictures", tmp_path / "mef.jsonl"
    texts = {"prompt": "three =cats", "labels": ["Quantity"], "scenario": "Art", "test_points": ["Quantity: three cats"]}
    prompts.write_text("".join(json.dumps({"prompt_id": key, **texts}) + "\n" for key in PROMPTS))
    checked = read_material(pictures, prompts)
    one = {"checks": check_task(checked, raters=1), "mos": panel_task(checked, raters=1)}
    for name, task in one.items():
        with ArenaDatabase.open(tmp_path / f"{name}.db") as database:
            service = WorkService(database, task, clock=clock)
            rater = service.people.join().result().rater_id
            mark = (lambda _: [[1]]) if name == "checks" else (lambda payload: [[3, 4, 5]] * len(payload["files"]))
            answer_all(service, rater, body, clock, mark)
            if name == "checks":
                assert release(database, "mef-checks", tmp_path / "list").rows == 12
                rates = Checks.read(tmp_path / "list" / "checks.csv").frame
                assert rates.height == 12 and rates["satisfied"].all()
            else:
                assert release(database, "mef-ratings", tmp_path / "ratings").rows == 12 * 3
                ratings = MosRatings.read(tmp_path / "ratings" / "ratings.csv")
                assert ratings.frame.height == 12 * 3 and len(ratings.scales) == 3 and ratings.has_scenarios
            datasets = pytest.importorskip("datasets")
            rows = release(database, "datasets", tmp_path / f"hub-{name}").rows
            loaded = datasets.load_dataset(str(tmp_path / f"hub-{name}"), split="train", cache_dir=str(tmp_path / "cache"))
            assert loaded.num_rows == rows and loaded[0]["files"][0].size == (48, 48)
            assert json.loads(loaded[0]["answer"]) in ([[1]], [[3, 4, 5]] * 3)


def test_one_person_alone_releases_labels_and_the_card_says_who_was_skipped(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    service = WorkService(experts, LabelTask(material, Taxonomy.load("magicmirror")), clock=clock)
    alone = join(service)
    while tasks := service.lease(alone).result()["tasks"]:
        service.look(alone, tasks[0]["assignment"])
        service.answer(alone, body(tasks[0], marks(HAND))).result()
    clock.forward(11)
    words = ["arena", "release", "magicmirror", str(tmp_path / "out"), "--database", experts.place]
    refused = CliRunner().invoke(main, words)
    assert (refused.exit_code, "--unaudited" in refused.output) == (2, True), refused.output
    done = CliRunner().invoke(main, [*words, "--unaudited"])
    assert done.exit_code == 0, done.output
    read_labels(tmp_path / "out" / "labels.jsonl")
    assert len((tmp_path / "out" / "labels.jsonl").read_text().splitlines()) == len(material.files) == 12
    card = (tmp_path / "out" / "README.md").read_text()
    assert "no auditor" in card and "12 labelled by 1 person" in card


def test_label_studio_round_trip_keeps_labels_boxes_words_and_levels_and_rounds_go_on(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    one = {"label": HAND, "where": "left hand: six", "boxes": [[0.1, 0.2, 0.5, 1.0]]}
    said = {MODELS[0]: {"marks": [one, {"label": FACE}]}, MODELS[1]: marks(), MODELS[2]: marks(FACE)}
    labelled(experts, material, "magicmirror", body, clock, said.__getitem__)
    assert release(experts, "label-studio", tmp_path / "out").rows == 12
    tasks = tmp_path / "out" / "tasks.json"
    with ArenaDatabase.open(tmp_path / "again.db", mode="expert") as database:
        task = LabelTask(material, Taxonomy.load("magicmirror"))
        first = import_annotations(database, tasks, material, task, now=clock.now)
        again = import_annotations(database, tasks, material, task, now=clock.now)
        assert (first.added, first.present, again.added, again.present) == (36, 0, 0, 36)
        assert verify_answers(database).problems == ()
        written = """SELECT kind, subject, state, version, supersedes, choice, digests, elapsed_ms FROM assignments
            JOIN answers USING (assignment_id) WHERE kind = 'label' ORDER BY subject, choice"""
        [by_server, by_import] = (each.read(lambda c: c.exec_driver_sql(written).all()) for each in (experts, database))
        assert by_import == by_server
        old, new = experts.read(label_states), database.read(label_states)
        assert {key: [json.loads(each) for each in item.said] for key, item in new.items()} == {
            key: [json.loads(each) for each in item.said] for key, item in old.items()
        }
        service = WorkService(database, task, clock=clock)
        assert service.lease(join(service)).result()["tasks"] == []  # three agree on each file
        assert len(service.lease(join(service, "auditor")).result()["tasks"]) == 4
        assert release(database, "label-studio", tmp_path / "third").rows == 12


def test_labels_of_an_own_taxonomy_are_released_with_its_file_and_with_no_other(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    tree = 'name = "looks"\ntitle = "Looks"\n[[label]]\nid = "odd"\nname = "Odd"\ndefinition = "Looks odd."\n'
    own, other = tmp_path / "looks.toml", tmp_path / "other.toml"
    own.write_text(tree)
    other.write_text(tree.replace('"looks"', '"other"'))
    labelled(experts, material, str(own), body, clock, lambda _: marks("odd"))
    words = ["arena", "release", "label-studio", str(tmp_path / "out"), "--database", experts.place]
    for more, expected in (
        ([], "--taxonomy labels.toml"),
        (["--taxonomy", str(other)], "another taxonomy"),
        (["--taxonomy", str(tmp_path / "none.toml")], "none.toml"),
    ):
        done = CliRunner().invoke(main, [*words, *more])
        assert (done.exit_code, expected in done.output, (tmp_path / "out").exists()) == (2, True, False), done.output
    done = CliRunner().invoke(main, [*words, "--taxonomy", str(own)])
    assert done.exit_code == 0 and "12 rows" in done.output, done.output
    assert 'value="odd"' in (tmp_path / "out" / "labels.xml").read_text()


FILE = "canary-prompt-1.0.png"
REGION = {"from_name": "labels", "to_name": "media", "type": "taxonomy", "value": {"taxonomy": [[HAND]]}}
TASK: dict[str, Any] = {
    "data": {"prompt_id": "canary-prompt-1", "model": MODELS[0]},
    "annotations": [{"id": 1, "completed_by": {"id": 5, "email": "ann@example.org"}, "result": [REGION], "lead_time": 2.5}],
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**TASK, "annotations": [{**TASK["annotations"][0], **fields}]}


HOSTILE: list[Any] = [
    3,
    {},
    {**TASK, "data": 7},
    {**TASK, "data": {"prompt_id": "none", "model": MODELS[0]}},
    {**TASK, "data": {"prompt_id": ["x"], "model": {}}},
    {**TASK, "data": {"media": "/data/upload/1/cat.png"}},
    {**TASK, "annotations": "all"},
    {**TASK, "annotations": [None]},
    {**TASK, "annotations": [*TASK["annotations"], *TASK["annotations"]]},
    changed(completed_by=None),
    changed(completed_by=True),
    changed(result=None),
    changed(result=[{"type": "taxonomy"}]),
    changed(result=[{**REGION, "value": {"taxonomy": [["no such label"]]}}]),
    changed(result=[{**REGION, "value": {"taxonomy": "x"}}]),
    changed(result=[{**REGION, "type": "brushlabels"}]),
    changed(result=[{**REGION, "value": {"taxonomy": [[HAND], [FACE], ["abnormal-element-overlap"]]}}]),  # two at most
    changed(
        result=[{"type": "rectanglelabels", "value": {"rectanglelabels": [HAND], "x": 90, "y": 0, "width": 20, "height": 5}}]
    ),
    changed(result=[{"type": "rectanglelabels", "value": {"rectanglelabels": [HAND], "x": "a"}}]),
    changed(result=[{"type": "timelinelabels", "value": {"timelinelabels": [HAND], "ranges": [{"start": 3}]}}]),
    changed(result=[{"type": "timelinelabels", "value": {"timelinelabels": [HAND], "ranges": [{"start": 3, "end": -1}]}}]),
    changed(lead_time=float("inf")),
    changed(lead_time="long"),
    changed(was_cancelled="yes"),
    changed(result=[{"type": "textarea", "value": {"text": ["six fingers"]}}]),  # no label, and not normal
    changed(result=[{**REGION, "value": {"taxonomy": [["normal"], [HAND]]}}]),  # and not normal
    changed(result=[REGION, {"type": "textarea", "value": {"text": ["word " * 101]}}]),
    changed(completed_by="ann\ud800"),
    {**TASK, "data": {"prompt_id": "canary-prompt-1", "model": MODELS[0], "sample": False}},
    {**TASK, "data": {"media": "http://["}},
]


@pytest.mark.parametrize("wrong", HOSTILE, ids=range(len(HOSTILE)))
def test_a_task_that_cannot_be_read_is_named_and_costs_the_others_nothing(
    experts: ArenaDatabase, material: Material, clock: Clock, tmp_path: Path, wrong: Any
) -> None:
    task = LabelTask(material, Taxonomy.load("magicmirror"))
    good = {**TASK, "data": {"media": f"s3://bucket/{MODELS[1]}/canary-prompt-2.0.png?sig=1"}}
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps([wrong]))
    with pytest.raises(InputError, match=r"tasks\.json, row 1"):
        import_annotations(experts, file, material, task, now=clock.now)
    file.write_text(json.dumps([good, wrong]))
    found = import_annotations(experts, file, material, task, now=clock.now)
    assert found.added == 1 and any("row" in remark and "2" in remark for remark in found.remarks)
    text = "".join(str(row) for row in experts.read(lambda c: list(c.exec_driver_sql("SELECT * FROM raters"))))
    assert "ann@" not in text


BOX = {"type": "rectanglelabels", "value": {"rectanglelabels": [HAND], "x": 1, "y": 2, "width": 3, "height": 4, "rotation": 0}}
SPAN = {"type": "timelinelabels", "value": {"timelinelabels": [HAND], "ranges": [{"start": 3, "end": 9}]}}
WORDS = {"type": "textarea", "value": {"text": [f"{HAND}: six fingers"]}}
ODD = [
    *(None, True, -1.5, 10**400, float("nan"), "", "\ud800", "9" * 5000, "http://["),
    *([], [None], {}, {"email": "\ud800"}, f"/x?fileuri={b64encode(b'http://[').decode()}"),
]


def odd_at_every_place(value: Any) -> Iterator[Any]:
    """The value with each part of it in turn replaced by each odd value, or missing."""
    yield from ODD
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        rest = {k: v for k, v in value.items() if k != key} if isinstance(value, dict) else value[:key] + value[key + 1 :]
        yield rest
        for odd in odd_at_every_place(value[key]):
            yield {**value, key: odd} if isinstance(value, dict) else [*value[:key], odd, *value[key + 1 :]]


def test_whatever_stands_anywhere_in_an_export_is_read_or_named_and_is_added_once(
    experts: ArenaDatabase, material: Material, clock: Clock, tmp_path: Path
) -> None:
    task, file = LabelTask(material, Taxonomy.load("magicmirror")), tmp_path / "tasks.json"
    one = {"completed_by": 7, "was_cancelled": False, "lead_time": 2.5, "result": [REGION, BOX, SPAN, WORDS]}
    by_address = [{"data": {"media": odd}, "annotations": [one]} for odd in [f"{MODELS[1]}/{FILE}", *ODD]]
    by_name = {"data": {"prompt_id": "canary-prompt-2", "model": MODELS[0], "sample": 0}, "annotations": [one]}
    file.write_text(json.dumps([*by_address, *odd_at_every_place(by_name)]))
    first, again = (import_annotations(experts, file, material, task, now=clock.now) for _ in range(2))
    assert first.added > 3 and (again.added, again.present) == (0, first.added)
    assert verify_answers(experts).problems == ()


@for_each(("more", "expected"), [([{"start": 30, "end": 40}], (3, 40)), ([{"start": 1, "end": 2}], (1, 9))])
def test_frames_of_one_label_in_several_regions_are_all_kept(
    material: Material, tmp_path: Path, more: list[dict[str, int]], expected: tuple[int, int]
) -> None:
    second = {**SPAN, "value": {**SPAN["value"], "ranges": more}}
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps([changed(result=[SPAN, second])]))
    usable, _ = read_annotations(file, material, LabelTask(material, Taxonomy.load("magicmirror")))
    assert [mark.frames for mark in usable[0][0].answer.marks] == [expected]


def test_a_level_that_is_said_twice_and_what_no_answer_holds_are_named(material: Material, tmp_path: Path) -> None:
    def level(*names: str) -> dict[str, Any]:
        return {"from_name": "level", "type": "choices", "value": {"choices": list(names)}}

    artifacts = LabelTask(material, Taxonomy.load("artifact-bench"))
    [label, *_] = (each.id for each in artifacts.taxonomy.answers() if each.id != "normal")
    marked = {"type": "choices", "value": {"choices": [label]}}
    file = tmp_path / "tasks.json"
    for levels in ([level("L1", "L2")], [level("L1"), level("L2")], [level("L9")]):
        file.write_text(json.dumps([changed(result=[marked, *levels])]))
        with pytest.raises(InputError, match="level must be one of L1, L2, L3, not"):
            read_annotations(file, material, artifacts)
    file.write_text(json.dumps([changed(result=[marked, level("L1"), level("L1")])]))
    assert read_annotations(file, material, artifacts)[0][0][0].answer.level == "L1"
    file.write_text(json.dumps([changed(result=[BOX] * 21)]))
    with pytest.raises(InputError, match=r"boxes: .*at most 20"):
        read_annotations(file, material, LabelTask(material, Taxonomy.load("magicmirror")))


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ({"image": f"/data/upload/1/0a1b2c3d-{FILE}", "model": MODELS[1]}, True),
        ({"image": f"/data/local-files/?d=pictures/{MODELS[1]}/{FILE}"}, True),
        ({"image": f"/data/local-files/?d=pictures%2F{MODELS[1]}%2F{FILE}"}, True),
        ({"image": f"gs://bucket/some/{MODELS[1]}/{FILE}"}, True),
        ({"image": f"https://host/{MODELS[1]}/{FILE}?token=1#x"}, True),
        ({"image": "/tasks/4/resolve/?fileuri=" + b64encode(f"s3://b/{MODELS[1]}/{FILE}".encode()).decode()}, True),
        ({"picture": f"{MODELS[1]}/{FILE}"}, False),
        ({"image": f"/data/upload/1/0a1b2c3d-{FILE}"}, False),  # every model has a file of the name
        ({"image": f"/data/upload/1/0a1b2c3d-{FILE}", "model": "nobody"}, False),
        ({"image": f"/data/local-files/?d=nobody/{FILE}"}, False),
        ({"image": "/tasks/4/resolve/?fileuri=%%%"}, False),
        ({"image": ""}, False),
    ],
)
def test_a_task_of_label_studio_names_its_file_by_an_address(
    material: Material, tmp_path: Path, data: dict[str, str], found: bool
) -> None:
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps([{**TASK, "data": data}, TASK]))
    usable, _ = read_annotations(file, material, LabelTask(material, Taxonomy.load("magicmirror")))
    files = [annotation.file for each in usable for annotation in each]
    assert [(each.model, each.path.name) for each in files[:-1]] == ([(MODELS[1], FILE)] if found else [])


def test_a_name_that_several_models_have_asks_for_the_model(material: Material, tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps([{**TASK, "data": {"image": f"/data/upload/1/0a1b2c3d-{FILE}"}}]))
    with pytest.raises(InputError, match=r"files of the folder, not one; name its model's folder or data\.model"):
        read_annotations(file, material, LabelTask(material, Taxonomy.load("magicmirror")))


def test_a_key_of_ones_own_names_the_file_and_a_name_of_one_model_needs_no_folder(tmp_path: Path) -> None:
    folder, prompts = write_material(tmp_path)
    (folder / MODELS[0] / "canary-prompt-1.9.png").write_bytes((folder / MODELS[0] / FILE).read_bytes())
    material = read_material(folder, prompts)
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps([{**TASK, "data": {"photo": "/data/upload/7/ffffffff-canary-prompt-1.9.png"}}]))
    task = LabelTask(material, Taxonomy.load("magicmirror"))
    usable, _ = read_annotations(file, material, task, media_key="photo")
    assert [each[0].file.sample for each in usable] == [9]
    with pytest.raises(InputError, match="--media-key"):
        read_annotations(file, material, task)


def test_label_studio_finds_the_files_of_a_release_by_key_and_prefix(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    labelled(experts, material, "magicmirror", body, clock, lambda _: marks(HAND))
    words = ["arena", "release", "label-studio", str(tmp_path / "out"), "--database", experts.place]
    refused = CliRunner().invoke(main, [*words, "--media-key", "prompt"])
    assert (refused.exit_code, (tmp_path / "out").exists()) == (2, False)
    prefix = "/data/local-files/?d=out/"
    done = CliRunner().invoke(main, [*words, "--media-key", "image", "--media-prefix", prefix])
    assert done.exit_code == 0, done.output
    configuration = (tmp_path / "out" / "labels.xml").read_text()
    assert '<Image name="media" value="$image"' in configuration
    assert '<Label value="hand-structure-deformity"' in configuration and '<Label value="normal"' not in configuration
    addresses = [task["data"]["image"] for task in json.loads((tmp_path / "out" / "tasks.json").read_text())]
    assert all((tmp_path / "out" / address.removeprefix(prefix)).is_file() for address in addresses)


def test_a_form_that_is_unknown_empty_or_would_overwrite_is_refused_and_a_changed_file_is_left_out(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock, tmp_path: Path
) -> None:
    for form in ("none", *FORMS):
        with pytest.raises(InputError):
            release(experts, form, tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(InputError, match="is there already"):
        release(experts, "r3", tmp_path)
    labelled(experts, material, "magicmirror", body, clock, lambda _: marks(HAND))
    material.files[0].path.write_bytes(b"another picture")
    done = release(experts, "magicmirror", tmp_path / "release")
    assert done.rows == 11 and len(done.left_out) == 1 and "not the one that people saw" in done.left_out[0]


def test_votes_are_a_data_set_and_cells_of_tables_are_no_formulas(
    service: WorkService, database: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path
) -> None:
    rater = service.people.join(occupation="design").result().rater_id
    for _ in range(3):
        task = service.lease(rater).result()["tasks"][0]
        service.look(rater, task["assignment"])
        service.answer(rater, body(task, "left")).result()
    clock.forward(11)
    service.settle_due().result()
    assert release(database, "datasets", tmp_path / "votes").rows == 3
    frame = pl.read_parquet(tmp_path / "votes" / "data" / "*.parquet")
    assert frame["winner"].is_in(["model_a", "model_b"]).all() and set(frame["occupation"]) == {"design"}
    assert all(len(files) == 2 for files in frame["files"])


def test_five_raters_who_see_different_faults_make_no_normal_file(
    experts: ArenaDatabase, material: Material, body: Body, clock: Clock
) -> None:
    service = WorkService(experts, LabelTask(material, Taxonomy.load("magicmirror")), clock=clock)
    labels = [HAND, FACE, "abnormal-element-overlap", "abnormal-detail-drawing", "abnormal-spatial-position"]
    for label in labels:
        assert label_all(service, join(service), body, clock, lambda _, label=label: marks(label))
    assert {item.state for item in experts.read(label_states).values()} == {"disputed"}
    adjudicator = join(service, "adjudicator")
    task = service.lease(adjudicator).result()["tasks"][0]
    assert len(task["said"]) == 5 and not any(model in json.dumps(task) for model in MODELS)
    assert len(label_all(service, adjudicator, body, clock, lambda _: marks(HAND))) == 12
    found = experts.read(label_states).values()
    assert {item.state for item in found} == {"accepted"} and {item.agreed for item in found} == {frozenset([HAND])}


ROW = TableRow(Path("export.json"), 3, {})


@for_each(
    ("seconds", "milliseconds"),
    [(None, 0), (0, 0), (0.0014, 1), (4.02, 4020), (12.5, 12_500), (3599.9, 3_599_900), (1e300, 604_800_000)],
)
def test_a_lead_time_is_milliseconds_up_to_a_week(seconds: float | None, milliseconds: int) -> None:
    assert label_studio._lead_ms(ROW, seconds) == milliseconds


@for_each(
    ("read", "value", "shown"),
    [
        (label_studio._lead_ms, -0.001, "-0.001"),
        (label_studio._lead_ms, math.inf, "inf"),
        (label_studio._lead_ms, True, "True"),
        (label_studio._lead_ms, "9" * 60, "9" * 40),
        (label_studio._texts_or_lists, "x" * 100, "x" * 80),
        (label_studio._texts_or_lists, ["a", 1], "['a', 1]"),
    ],
)
def test_what_an_annotation_cannot_hold_is_shown_cut_short(read: Any, value: object, shown: str) -> None:
    with pytest.raises(InputError) as raised:
        read(ROW, value)
    assert (raised.value.value, raised.value.row, raised.value.column) == (shown, 3, "annotations")


def test_a_box_is_in_parts_of_the_picture_and_upright() -> None:
    box = {"x": 10, "y": 20.0, "width": 30, "height": 80.0000000001}
    assert label_studio._box(ROW, box) == pytest.approx((0.1, 0.2, 0.4, 1.0)) and label_studio._box(ROW, box)[3] == 1.0
    assert label_studio._box(ROW, box | {"height": 81.0, "rotation": 0})[3] == pytest.approx(1.01)
    for wrong in ({"rotation": 1}, {"x": None}, {"y": True}, {"width": "30"}):
        with pytest.raises(InputError, match="not upright"):
            label_studio._box(ROW, box | wrong)


def test_every_time_of_an_answer_is_the_same_after_label_studio_had_it() -> None:
    for milliseconds in (*range(5000), *range(604_790_000, 604_800_001, 7)):
        assert label_studio._lead_ms(ROW, milliseconds / 1000) == milliseconds
    assert label_studio._lead_ms(ROW, 10**300) == 604_800_000 and label_studio._lead_ms(ROW, None) == 0


@for_each("name", ["magicmirror", "artifact-bench"])
def test_an_annotation_of_label_studio_says_what_was_answered(name: str) -> None:
    """Labels, boxes, frames, words and levels of answers that people can give, in seconds of their time."""
    taxonomy, draw = Taxonomy.load(name), Random(8)
    task = LabelTask(Material({}, ()), taxonomy)
    known = [label.id for label in taxonomy.answers() if label.id != "normal"]
    file = {"model": "m", "sample": 0}
    answers = []
    for number in range(60):
        choice: dict[str, Any] = {"marks": [], "level": f"L{1 + number % 3}" if name == "artifact-bench" else None}
        for label in draw.sample(known, draw.randint(0, 2)):
            left, right, top, bottom = (each / 100 for pair in (0, 0) for each in sorted(draw.sample(range(101), 2)))
            boxes = [(left, top, right, bottom)] * draw.randint(0, 2)
            frames = draw.choice((None, tuple(sorted(draw.choices(range(90), k=2)))))
            choice["marks"].append({"label": label, "where": draw.choice(("", "left: six")), "boxes": boxes, "frames": frames})
        payload = {"prompt_id": f"p{number // 2}", "prompt": "a cat", "files": [file]}
        about = {"subject": f"s{number // 2}", "rater_id": f"rater-{number % 3}", "elapsed_ms": draw.randrange(10**6)}
        day = datetime(2026, 1, 2, tzinfo=UTC)
        answers.append((choice, SimpleNamespace(payload=payload, choice=choice, answered_at=day, **about)))
    exported = label_studio.exported_tasks([(answered, "m/p.png") for _, answered in answers], taxonomy)
    annotations = [annotation for each in exported for annotation in each["annotations"]]
    assert len(exported) == 30 and [each["id"] for each in exported] == [*range(1, 31)]
    assert [each["id"] for each in annotations] == [*range(1, 61)]
    assert [each["completed_by"] for each in annotations] == [1, 2, 3] * 20
    for annotation, (choice, answered) in zip(annotations, answers, strict=True):
        read = label_studio._annotation(ROW, annotation, SimpleNamespace(), task)  # type: ignore[arg-type]
        assert read.elapsed_ms == answered.elapsed_ms
        assert read.answer.level == choice["level"]
        said, meant = read.answer.model_dump()["marks"], choice["marks"]
        assert [(mark["label"], mark["where"], mark["frames"]) for mark in said] == [
            (mark["label"], mark["where"], mark["frames"]) for mark in meant
        ]
        for mark, own in zip(said, meant, strict=True):
            assert np.array(mark["boxes"]) == pytest.approx(np.array(own["boxes"]), abs=1e-9)


def test_frames_are_the_first_and_the_last_of_all_ranges() -> None:
    assert label_studio._frames(ROW, [{"start": 9, "end": 12}, {"start": 3, "end": 5}]) == (3, 12)
    for wrong in (None, [], [{}], [{"start": 1}], [{"start": 1, "end": True}], [{"start": 1.5, "end": 2}], [[1, 2]]):
        with pytest.raises(InputError, match="without start and end"):
            label_studio._frames(ROW, wrong)


@for_each(
    ("who", "name"),
    [
        ("ann", "ann"),
        (7, "7"),
        ({"email": "a@b", "id": 3}, "a@b"),
        ({"id": 3}, "3"),
        ("a" * 400, "a" * 400),
        *((wrong, None) for wrong in ("a" * 401, " ", True, None, {}, 1.5)),
    ],
)
def test_an_annotation_is_by_a_person_with_a_name(who: object, name: str | None, material: Material) -> None:
    task, file = LabelTask(material, Taxonomy.load("magicmirror")), material.files[0]
    if name is None:
        with pytest.raises(InputError, match="names no person"):
            label_studio._annotation(ROW, {"completed_by": who, "result": []}, file, task)
    else:
        assert label_studio._annotation(ROW, {"completed_by": who, "result": []}, file, task).who == name


@for_each(
    ("result", "problem"),
    [
        (None, "result must be a list"),
        ([1], "without a value"),
        ([{"type": "choices"}], "without a value"),
        ([{"type": "k" * 50, "value": {}}], f"unknown type: '{'k' * 40}'"),
        ([{"type": "taxonomy", "value": {"taxonomy": 3}}], "list of texts or paths"),
        ([{"type": "choices", "value": {"choices": ["n" * 90]}}], f"unknown label '{'n' * 80}'"),
    ],
)
def test_what_is_wrong_in_a_result_is_named(result: object, problem: str, material: Material) -> None:
    task = LabelTask(material, Taxonomy.load("magicmirror"))
    with pytest.raises(InputError) as raised:
        label_studio._annotation(ROW, {"completed_by": "ann", "result": result}, material.files[0], task)
    assert problem in str(raised.value)


@for_each(
    ("data", "problem"),
    [
        (None, "must be an object, not 'NoneType'"),
        ({"prompt_id": "p", "model": "m" * 200}, "names no file of the folder"),
        ({"prompt_id": ["p"], "model": "m"}, "names no file of the folder"),
        ({"other": 1}, "needs prompt_id and model"),
        ({"image": "/nowhere/none.png"}, "names 0 files of the folder, not one: '/nowhere/none.png'"),
    ],
)
def test_a_task_that_names_no_file_says_what_it_holds(data: object, problem: str, material: Material) -> None:
    with pytest.raises(InputError) as raised:
        label_studio._Files(material, None).of(TableRow(Path("export.json"), 1, {"data": data}))
    assert problem in str(raised.value) and len(str(raised.value)) < 700
