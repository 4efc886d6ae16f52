"""Rules of the arena against second implementations of them: borders of shares, rounds, slots, sides, lengths, readers."""

import json
import math
import struct
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from random import Random
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from small_arena import MODELS, Clock, seen, write_material
from sqlalchemy import insert, select
from test_arena_screening import twin

from for_each import for_each
from salon_arena import (
    ArenaDatabase,
    Material,
    RefusedError,
    WorkService,
    agreement,
    demo,
    export_answers,
    quality,
    read_material,
)
from salon_arena.admin import Action
from salon_arena.app import JoinBody, LoginBody, OidcBody
from salon_arena.battles import CHOICES, BattleTask
from salon_arena.blind import BlindMedia
from salon_arena.blind_video import BlindVideo, filled
from salon_arena.board import anchors_wanted
from salon_arena.database import _READERS
from salon_arena.demo import simulated_choice
from salon_arena.forms import FormTask, RankingTask
from salon_arena.labels import LabelItem, LabelTask
from salon_arena.prompt_tasks import PromptItem, PromptTask, slots
from salon_arena.questions import BenchQuestionTask
from salon_arena.rounds import _LEASED
from salon_arena.screening import screen_raters
from salon_arena.service import AnswerBody
from salon_arena.tables import ASSIGNMENTS, CERTIFICATES, RATERS
from salon_arena.tasks import instant
from salon_arena.verdicts import Verdict, VerdictItem, VerdictTask
from salon_judges.formats.generations import Generated
from salon_judges.formats.magic_bench_377_labels import points
from salon_store import ResultStore
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Mode
from salon_taxonomy.taxonomy import Taxonomy
from salon_taxonomy.verdict import Unscored

Body = Callable[..., AnswerBody]


def far_marks(files: int, above: int, below: int) -> pl.DataFrame:
    """One rater is far above the others' mean on some files and far below it on others; the others take turns."""
    others = [-1.8, -1.4, -1.1, -0.9, -0.7, -0.5, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.1, 1.4, 1.8]
    rows = []
    for file in range(files):
        own = 3.0 if file < above else -3.0 if file < above + below else 0.0
        values = [own, *(others[(place + file) % len(others)] for place in range(len(others)))]
        rows += [(f"r{rater:02d}", f"f{file}", "looks", value) for rater, value in enumerate(values)]
    return pl.DataFrame(rows, schema=["rater_id", "file", "dimension", "value"], orient="row")


@pytest.mark.parametrize(
    ("files", "above", "below", "rejected"),
    [(40, 1, 1, False), (39, 1, 1, True), (100, 13, 7, False), (100, 12, 8, True), (100, 7, 13, False), (100, 8, 12, True)],
)
def test_the_borders_of_the_screening_are_those_of_the_rule(files: int, above: int, below: int, rejected: bool) -> None:
    """More than 5% of the marks, and a difference of less than 30% of them."""
    marks = far_marks(files, above, below)
    found = {row["rater_id"]: row for row in screen_raters(marks).to_dicts()}
    assert (found["r00"]["far_above"], found["r00"]["far_below"], found["r00"]["screened"]) == (above, below, files)
    assert {rater: row["rejected"] for rater, row in found.items()} == twin(marks)
    assert found["r00"]["rejected"] is rejected


@pytest.mark.parametrize("seed", range(6))
def test_biases_are_those_of_least_squares(seed: int) -> None:
    """Whoever shares files with whom: biases of all marks sum to zero, and residuals are those of one solve."""
    generator = Random(seed)
    raters, files = 7, 40
    pairs = [(file, rater) for file in range(files) for rater in generator.sample(range(raters), generator.randint(2, 4))]
    values = np.array([2.0 + 0.1 * file % 3 + (rater - 3) * 0.4 + generator.gauss(0, 0.3) for file, rater in pairs])
    design = np.zeros((len(pairs) + 1, files + raters))
    for row, (file, rater) in enumerate(pairs):
        design[row, file] = design[row, files + rater] = 1
        design[-1, files + rater] += 1
    solved = np.linalg.lstsq(design, np.append(values, 0.0), rcond=None)[0]
    marks = pl.DataFrame(
        {"rater_id": [f"r{rater}" for _, rater in pairs], "file": [f"f{file}" for file, _ in pairs], "dimension": "looks",
         "value": values}
    )  # fmt: skip
    found = {row["rater_id"]: row for row in screen_raters(marks).to_dicts()}
    levels = solved[:files]
    for rater in range(raters):
        rest = [value - levels[file] for (file, who), value in zip(pairs, values, strict=True) if who == rater]
        assert found[f"r{rater}"]["bias"] == pytest.approx(np.mean(rest), abs=1e-6)
        assert found[f"r{rater}"]["inconsistency"] == pytest.approx(np.std(rest, ddof=1), abs=1e-6)


def wanted_adjudicators(said: list[str], verdicts: list[bool], final: int) -> int:
    """Artifact-Bench's rule in words: three who agree, or most of five; else, or when an auditor rejects, one decides."""
    chosen = [frozenset(mark["label"] for mark in json.loads(choice)["marks"]) for choice in said]
    if final or not all(verdicts[:2]):
        return 1
    if len(chosen) >= 3 and chosen[0] == chosen[1] == chosen[2]:
        return 0
    if len(chosen) < 5:
        return 0
    held = [
        label for label in {each for one in chosen for each in one} if sum(label in one for one in chosen) * 2 > len(chosen)
    ]
    faulty = sum(bool(one) for one in chosen) * 2 > len(chosen)
    return int(faulty and not held)


def test_an_adjudicator_is_asked_exactly_when_people_end_in_dispute() -> None:
    options = ["", "a", "b"]
    text = {each: json.dumps({"marks": [{"label": each}] if each else [], "level": None}) for each in options}
    checked = 0
    for size in range(6):
        for choices in product(options, repeat=size):
            said = [text[each] for each in choices]
            for verdicts in ([], [True], [True, False]):
                answers = [json.dumps({"accept": each}) for each in verdicts]
                item = LabelItem(said=said, verdicts=answers)
                assert item.wanted("adjudicator") == wanted_adjudicators(said, verdicts, 0), (choices, verdicts)
                checked += 1
    assert checked > 1000


def test_what_people_agreed_on_stays_whatever_comes_late() -> None:
    """An answer to a lease that ran out counts; what auditors accepted, or an export holds, is not changed by it."""
    text = {each: json.dumps({"marks": [{"label": each}] if each else [], "level": level})
            for each, level in (("", "L1"), ("a", "L1"), ("b", "L2"))}  # fmt: skip
    yes = json.dumps({"accept": True})
    for choices in product(text, repeat=5):
        said = [text[each] for each in choices]
        for verdicts, final in (([yes, yes], []), ([yes, yes], [text["a"]])):
            item = LabelItem(said=said, verdicts=verdicts, final=final)
            if item.state != "accepted":
                continue
            for late in product(text, repeat=2):
                after = LabelItem(
                    said=[*said, *(text[each] for each in late)],
                    verdicts=[*verdicts, json.dumps({"accept": False})],
                    final=[*final, *(text[each] for each in late if final)],
                )
                assert (after.state, after.agreed, after.level) == (item.state, item.agreed, item.level), (choices, late)


def test_three_or_five_raters_are_right_as_often_as_the_binomial_says() -> None:
    """Raters who are right about one label with probability q; the closed forms of unanimity and of most of five."""
    q, number, random = 0.8, 4000, np.random.default_rng(0)
    text = {right: json.dumps({"marks": [{"label": "a"}] if right else [], "level": None}) for right in (True, False)}
    files = []
    for right in (random.random((number, 5)) < q).tolist():
        three, five = LabelItem(said=[text[each] for each in right[:3]]), LabelItem(said=[text[each] for each in right])
        assert three.wanted("rater") == (3 if len(set(right[:3])) == 1 else 5)
        files.append(three if three.wanted("rater") == 3 else five)
    unanimous = sum(len(each.said) == 3 for each in files) / number
    settled = sum(each.agreed == {"a"} for each in files) / number
    of_five = q**3 + 3 * q**2 * (1 - q) * (1 - (1 - q) ** 2) + 3 * q * (1 - q) ** 2 * q**2  # most of five, where three differ
    for share, expected in ((unanimous, q**3 + (1 - q) ** 3), (settled, of_five)):
        assert abs(share - expected) < 4 * (expected * (1 - expected) / number) ** 0.5


def test_a_level_is_that_of_most_raters() -> None:
    for levels, level in (("111", "L1"), ("11213", "L1"), ("11223", None), ("33233", "L3")):
        item = LabelItem(said=[json.dumps({"marks": [], "level": f"L{each}"}) for each in levels])
        assert item.level == level and (item.agreed is None) == (level is None), levels


def test_a_verdict_that_experts_agreed_on_stays_whatever_comes_late() -> None:
    kinds = [Verdict(aligned=True), Verdict(aligned=False, explanation="no"), Verdict(aligned=True, discard=True)]

    def item(said: list[Verdict], final: list[Verdict]) -> VerdictItem:
        return VerdictItem(said=[each.model_dump_json() for each in said], final=[each.model_dump_json() for each in final])

    for one, other, late in product(kinds, repeat=3):
        for final in ([], [kinds[0]], [kinds[1]]):
            before, after = item([one, other], final), item([one, other, late], [*final, late] if final else [])
            found, wanted = ((each.state, each.agreed, each.wanted("adjudicator")) for each in (after, before))
            assert found == wanted, (one, other, late)


def test_every_prefix_of_the_slots_has_the_shares_as_nearly_as_whole_numbers_can() -> None:
    from salon_judges.formats.magic_bench_377_labels import scenarios

    shares = {name: label.shares["prompts"] for name, label in scenarios().items()}
    whole = sum(shares.values())
    listed = [scenario for scenario, _ in slots(120)]
    for number in range(1, 121):
        for name, share in shares.items():
            assert abs(listed[:number].count(name) - share * number / whole) < 1


@given(st.lists(st.integers(0, 4), max_size=12))
def test_a_rejected_slot_is_opened_once_more_with_the_same_wish(rejections: list[int]) -> None:
    from salon_arena.draws import PlanDraws

    task = PromptTask(5)
    task.begin(PlanDraws("0"))
    wish = [task.payload(f"prompt\x1f{number}\x1f0", PromptItem(), "write") for number in range(5)]
    written = json.dumps({"prompt": "x", "language": "en", "labels": ["a"], "scenario": "film", "test_points": []})
    no = json.dumps({"accept": False, "prompt": None, "reason": "no"})
    versions = dict.fromkeys(range(5), 0)
    for number in rejections:
        subject = f"prompt\x1f{number}\x1f{versions[number]}"
        item = task._items[subject]
        item.said.append(written)
        item.verdicts.append(no)
        versions[number] += 1
        opened = f"prompt\x1f{number}\x1f{versions[number]}"
        assert task.refresh({subject}) == [opened]
        assert task.payload(opened, task._items[opened], "write") == wish[number]
    assert len(task._items) == 5 + len(rejections)


def test_a_battle_of_the_store_names_the_file_of_each_model(
    service: WorkService, database: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path
) -> None:
    rater = service.people.join().result().rater_id
    for _ in range(8):
        service.answer(rater, body(seen(service, rater))).result()
    clock.forward(11)
    export_answers(database, tmp_path / "store", now=clock.now)
    store = ResultStore.open(tmp_path / "store")
    model_of = dict(store.read("generations").select("generation_id", "model").collect().rows())
    battles = store.read("battles").collect().to_dicts()
    assert {battle["side_a_shown"] for battle in battles} == {"left", "right"}
    for battle in battles:
        assert (model_of[battle["generation_a"]], model_of[battle["generation_b"]]) == (battle["model_a"], battle["model_b"])


@given(st.lists(st.integers(1, 700), min_size=1, max_size=3), st.sampled_from([64, 100, 256]))
def test_videos_of_a_task_get_the_shortest_common_length_with_a_box_that_players_pass_over(
    sizes: list[int], bucket: int
) -> None:
    videos = [BlindVideo(b"v" * size, ()) for size in sizes]
    made = filled(videos, bucket)
    [length] = {len(video.data) for video in made}
    assert length % bucket == 0 and max(sizes) + 8 <= length < max(sizes) + 8 + bucket
    for video, size in zip(made, sizes, strict=True):
        assert video.data[:size] == b"v" * size
        assert struct.unpack(">I4s", video.data[size : size + 8]) == (length - size, b"free") and not any(
            video.data[size + 8 :]
        )


def test_as_many_threads_read_at_once_as_there_are(database: ArenaDatabase) -> None:
    from concurrent.futures import ThreadPoolExecutor

    together = Barrier(_READERS)
    with ThreadPoolExecutor(_READERS) as pool:
        assert [*pool.map(lambda _: database.read(lambda _: together.wait(60)), range(_READERS))]


def test_what_cannot_be_read_is_named_or_is_not_shown(tmp_path: Path) -> None:
    pictures, prompts = write_material(tmp_path)
    for labels, words in (([1], "labels"), ({"a": 1}, "labels")):
        row: dict[str, Any] = {"prompt_id": "canary-prompt-1", "prompt": "a", "labels": labels}
        prompts.write_text(json.dumps(row))
        with pytest.raises(InputError, match=f"(?s){words}.*list of texts"):
            read_material(pictures, prompts)
    media = BlindMedia()
    gone = Generated("p", MODELS[0], 0, tmp_path / "gone.mp4", tmp_path)
    assert isinstance(media.prepared([gone, gone]), Unscored)


def test_texts_of_a_release_are_written_as_they_are(tmp_path: Path, material: Material) -> None:
    """In the files for Label Studio, too: whoever opens them reads the prompt's own script."""
    from salon_arena.release import _Release

    made = _Release(SimpleNamespace(setting=lambda _: None), tmp_path, None, None, None, 0, False)  # type: ignore[arg-type]
    made._write_lines("a.jsonl", [{"prompt": "قطة زرقاء"}])
    assert "قطة زرقاء" in (tmp_path / "a.jsonl").read_text(encoding="utf-8")


@for_each(("left", "right"), [(1000.0, 1000.0), (1200.0, 1000.0), (900.0, 1150.0)])
def test_a_simulated_rater_prefers_the_stronger_model_as_elo_says(left: float, right: float) -> None:
    generator = Random(7)
    count = 20_000
    drawn = Counter(simulated_choice(generator, left, right) for _ in range(count))
    expected = 1 / (1 + 10 ** ((right - left) / 400))
    ties = drawn["both_good"] + drawn["both_bad"]
    slack = 4 * 0.5 / math.sqrt(count)
    assert (drawn["left"] + ties / 2) / count == pytest.approx(expected, abs=slack)
    assert ties / count == pytest.approx(demo._TIES * min(expected, 1 - expected), abs=slack)
    assert drawn["both_good"] / ties == pytest.approx(0.5, abs=0.05) and drawn.total() == count


def values(kind: str, choice: object, payload: dict[str, Any], **more: object) -> list[tuple[Any, ...]]:
    row = SimpleNamespace(kind=kind, choice=choice if isinstance(choice, str) else json.dumps(choice), subject="it", **more)
    return list(agreement._VALUES[kind](row, payload))


def test_what_raters_agree_about_is_each_answer_of_a_form_and_the_order_of_each_two_files() -> None:
    files = [{"model": name, "sample": number} for number, name in enumerate(("ref", "x", "y"))]
    form = {"files": files, "rated_from": 1, "questions": [("looks", 5), ("true", 5)], "prompt_id": "p"}
    rated = [("p", model, sample, name) for model, sample in (("x", 1), ("y", 2)) for name in ("looks", "true")]
    for kind, scale, names in (("panel", "ordinal", ["looks", "true"] * 2), ("check", "nominal", ["checks"] * 4)):
        assert values(kind, [[4, 2], [1, 5]], form) == [*zip(names, [scale] * 4, rated, [4, 2, 1, 5], strict=True)]
    ranked = values("ranking", [[2], [1], [1]], {"files": [{"model": name} for name in ("b", "a", "c")]})
    assert ranked == [
        ("order of two", "nominal", ("it", "a", "b"), "a"),
        ("order of two", "nominal", ("it", "a", "c"), ""),
        ("order of two", "nominal", ("it", "b", "c"), "c"),
    ]


@given(st.integers(0, 4_000_000_000_000_000))
def test_an_instant_of_the_database_is_exact(microseconds: int) -> None:
    assert (instant(microseconds) - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1) == microseconds


def test_a_certificate_is_that_of_the_last_test_and_ends_after_its_days(database: ArenaDatabase, service: WorkService) -> None:
    day = 86_400_000_000

    def certificate(number: int, at: int, *, passed: bool) -> Callable[[Any], None]:
        row = {"rater_id": rater, "round": number, "at": at, "agreement": 0.9, "kappa": 0.85, "passed": passed}
        return lambda connection: connection.execute(insert(CERTIFICATES), row)

    rater = service.people.join().result().rater_id

    def certified(now: int) -> bool:
        return database.read(lambda connection: quality.certified(connection, rater, now, 30))

    assert not certified(0)
    database.write(certificate(1, 10 * day, passed=True)).result()
    assert [certified(now) for now in (10 * day, 40 * day - 1, 40 * day, 41 * day)] == [True, True, False, False]
    database.write(certificate(2, 20 * day, passed=False)).result()
    assert not certified(20 * day), "the last test counts"
    database.write(certificate(3, 25 * day, passed=True)).result()
    assert certified(55 * day - 1) and database.read(lambda connection: quality.rounds(connection, rater)) == 3


@for_each(("mode", "kind", "wanted"), [(Mode.PUBLIC, "anchor", 1), (Mode.PUBLIC, "battle", 0), (Mode.EXPERT, "anchor", 0),
                                       (Mode.EXPERT, "battle", 0), (Mode.PUBLIC, None, 0)])  # fmt: skip
def test_anchors_come_first_in_a_public_arena_that_has_dealt_one(
    tmp_path: Path, mode: Mode, kind: str | None, wanted: int
) -> None:
    with ArenaDatabase.open(tmp_path / f"{mode}-{kind}.db") as database:
        row = {"assignment_id": "a", "rater_id": "r", "kind": kind, "subject": "s", "payload": "{}", "state": "open",
               "issued_at": 0, "lease_until": 0}  # fmt: skip
        if kind is not None:
            person = {"rater_id": "r", "created_at": 0, "role": "rater"}
            database.write(lambda connection: connection.execute(insert(RATERS), person)).result()
            database.write(lambda connection: connection.execute(insert(ASSIGNMENTS), row)).result()
        assert database.read(lambda connection: anchors_wanted(connection, mode.value)) == wanted


WHOLE: dict[type[BaseModel], dict[str, Any]] = {
    JoinBody: {}, LoginBody: {"name": "ann", "password": "secret"}, OidcBody: {"code": "c", "state": "s"},
    Action: {"action": "invite"}, Verdict: {"aligned": True},
    AnswerBody: {"answer_id": "00000000-0000-4000-8000-000000000001", "assignment": "a", "choice": "left", "elapsed_ms": 1},
}  # fmt: skip


@for_each(
    ("body", "field", "longest", "empty"),
    [
        (JoinBody, "consent", 64, True), (JoinBody, "invite", 64, True), (LoginBody, "name", 200, False),
        (LoginBody, "password", 1000, False),
        (OidcBody, "invite", 64, True), (Action, "rater", 64, True), (AnswerBody, "assignment", 64, False),
        (Verdict, "explanation", 4000, True),
    ],
)  # fmt: skip
def test_a_text_of_a_request_is_taken_up_to_its_limit_and_no_field_is_made_up(
    body: type[BaseModel], field: str, longest: int, empty: bool
) -> None:
    def taken(**fields: Any) -> bool:
        try:
            body.model_validate({**WHOLE[body], **fields})
        except ValidationError:
            return False
        return True

    lengths = (0, 1, longest, longest + 1)
    assert [taken(**{field: "x" * length}) for length in lengths] == [empty, True, True, False]
    assert not taken(made_up=1)


@for_each(
    ("body", "field", "taken", "refused"),
    [
        (AnswerBody, "elapsed_ms", (0, 1, 604_800_000), (-1, 604_800_001, 1.5, None)),
        (Action, "days", (0, 0.5, 3650), (-0.1, 3650.1, math.inf, math.nan)),
        (Verdict, "questions", ([{"relevant": True, "answer": True}] * 100,), ([{"relevant": True, "answer": True}] * 101,)),
    ],
)
def test_a_number_of_a_request_is_taken_within_its_limits(
    body: type[BaseModel], field: str, taken: tuple[Any, ...], refused: tuple[Any, ...]
) -> None:
    for value in taken:
        body.model_validate({**WHOLE[body], field: value})
    for value in refused:
        with pytest.raises(ValidationError):
            body.model_validate({**WHOLE[body], field: value})


def test_a_battle_is_audited_while_an_auditor_holds_it_or_has_judged_it(database: ArenaDatabase, service: WorkService) -> None:
    rater = service.people.join().result().rater_id
    audits = [("open", 101), ("open", 100), ("open", 99), ("answered", 1), ("settled", 1), ("void", 500)]
    cases = [*(("audit", *each) for each in audits), ("battle", "open", 500)]
    rows = [
        {"assignment_id": f"a{number}", "rater_id": rater, "kind": kind, "subject": f"s{number}", "state": state,
         "payload": json.dumps({"audits": f"battle {number}"}), "issued_at": number, "lease_until": lease}
        for number, (kind, state, lease) in enumerate(cases)
    ]  # fmt: skip
    database.write(lambda connection: connection.execute(insert(ASSIGNMENTS), rows)).result()
    held = database.read(lambda connection: set(connection.execute(quality._audited(100)).scalars()))
    assert held == {"battle 0", "battle 3", "battle 4"}
    leased = select(ASSIGNMENTS.c.assignment_id).where(_LEASED).order_by(ASSIGNMENTS.c.assignment_id)
    assert database.read(lambda connection: list(connection.execute(leased, {"now": 100}).scalars())) == ["a0", "a6"]


def test_an_agreement_that_is_undefined_says_why_and_of_how_much() -> None:
    alike = [["yes", "yes"], ["yes", "yes"]]
    for what in (agreement._alpha("verdicts", "nominal", alike), agreement._fleiss("verdicts", alike)):
        assert what.value is None and what.reason and "\n" not in what.reason
    clear = agreement._fleiss("verdicts", [["yes", "yes", "yes"], ["no", "no", "no"], ["no", "no"]])
    assert (clear.value, clear.items, clear.answers) == (1.0, 2, 6), "of the first three raters"
    pairs = agreement._fleiss("verdicts", [["yes", "yes"], ["no", "no"], ["no", "yes"]])
    assert (pairs.statistic, pairs.items, pairs.answers) == ("Fleiss' κ (first 2 raters)", 3, 6)


@for_each(
    ("answers", "agreed"),
    [
        ((True, True), True),
        ((False, False), False),
        ((True, False), False),
        ((False, True), True),
        ((True, False, True), False),
    ],
)
def test_the_answer_to_a_question_is_that_of_most_and_of_the_last_of_two_who_differ(
    answers: tuple[bool, ...], agreed: bool
) -> None:
    """A third one, to a lease that ran out, changes nothing."""
    said = [Verdict(aligned=True, questions=({"relevant": True, "answer": answer},)) for answer in answers]
    item = VerdictItem(said=[each.model_dump_json() for each in said])
    assert item.agreed is not None and [each.answer for each in item.agreed.questions] == [agreed]
    assert VerdictItem(said=[said[0].model_dump_json()]).agreed is None


EDGES = (-0.01, 0, 0, 0.4, 0.4, 0.6, 0.6, 1, 1, 1.01)
FRAMES = (None, None, None, (0, 0), (2, 3), (-1, 3), (3, 2))


def stored(task: Any, payload: dict[str, Any], choice: Any) -> Any:
    """What is kept of an answer; None where it is refused as an answer that is none."""
    try:
        text = task.check(payload, choice)
    except RefusedError as refused:
        assert (refused.status, refused.code) == (422, "bad_answer")
        return None
    return text if isinstance(task, BattleTask) else json.loads(text)


def kind_of_work(kind: type) -> Any:
    """A task that only checks answers."""
    return object.__new__(kind)


@for_each(("name", "most"), [("magicmirror", 2), ("artifact-bench", 99)])
def test_labels_are_taken_exactly_if_they_are_known_few_and_on_the_picture(name: str, most: int) -> None:
    taxonomy = Taxonomy.load(name)
    task, draw = LabelTask(Material({}, ()), taxonomy), Random(3)
    known = [label.id for label in taxonomy.answers() if label.id != "normal"]
    outcomes: Counter[bool] = Counter()
    for _ in range(4000):
        names = [draw.choice([*known[:4], *known[-4:]]) for _ in range(draw.choice((0, 1, 1, 1, 2, 2, 3)))]
        if draw.random() < 0.05:
            names.append(draw.choice(["normal", "", "no such label"]))
        boxes = [tuple(draw.choice(EDGES) for _ in range(4)) if draw.random() < 0.7 else (0, 0, 1, 1) for _ in names]
        frames = [draw.choice(FRAMES) for _ in names]
        level = draw.choice((None, "L1", "L3", "L4"))
        right = {*names} <= {*known} and len({*names}) == len(names) <= most
        right = right and all(min(l, t) >= 0 and max(r, b) <= 1 and r > l and b > t for l, t, r, b in boxes)  # noqa: E741
        right = right and all(of is None or of[0] in range(of[1] + 1) for of in frames)
        right = right and (level in ("L1", "L3") if name == "artifact-bench" else level is None)
        marks = [{"label": each, "boxes": [box], "frames": of} for each, box, of in zip(names, boxes, frames, strict=True)]
        kept = stored(task, {}, {"marks": marks, "level": level})
        assert (kept is not None) is right, (marks, level)
        assert not right or [mark["label"] for mark in kept["marks"]] == names
        outcomes[right] += 1
    assert min(outcomes.values()) > 200, outcomes


@for_each(("what", "longest"), [("where", 500), ("boxes", 20), ("marks", 20)])
def test_a_label_has_at_most_so_many_letters_boxes_and_neighbours(what: str, longest: int) -> None:
    taxonomy = Taxonomy.load("artifact-bench")
    task = LabelTask(Material({}, ()), taxonomy)
    known = [label.id for label in taxonomy.answers() if label.id != "normal"]
    for number in (longest, longest + 1):
        more = {"where": "x" * number} if what == "where" else {"boxes": [[0, 0, 1, 1]] * number} if what == "boxes" else {}
        marks = [{"label": each, **more} for each in known[: number if what == "marks" else 1]]
        assert what != "marks" or len(marks) == number
        assert (stored(task, {}, {"marks": marks, "level": "L2"}) is not None) is (number == longest)


@for_each(("options", "values"), [(False, ["yes", "no"]), (False, ["A", "B"]), (True, [*"ABCDEF"])])
def test_a_question_is_answered_by_what_it_offers_by_one_unless_there_are_options(options: bool, values: list[str]) -> None:
    task, draw = kind_of_work(BenchQuestionTask), Random(4)
    outcomes: Counter[bool] = Counter()
    for _ in range(800):
        asked = {"values": values, "options": values if options else [], "level": draw.choice((None, "L1"))}
        asked["turned"] = values == ["A", "B"] and draw.random() < 0.5
        answer = [draw.choice([*values, *values, "Z"]) for _ in range(draw.choice((0, 1, 1, 2, 3)))]
        level = draw.choice((None, "L2", "L9"))
        right = bool(answer) and {*answer} <= {*values} and len({*answer}) == len(answer) and (options or len(answer) == 1)
        right = right and (level is None if asked["level"] else level == "L2")
        kept = stored(task, {"question": asked}, {"answer": answer, "level": level})
        assert (kept is not None) is right, (asked, answer, level)
        if right:
            meant = sorted({"A": "B", "B": "A"}[each] if asked["turned"] else each for each in answer)
            assert (kept["answer"], kept["level"]) == (meant, level)
        outcomes[right] += 1
    assert min(outcomes.values()) > 50, outcomes


def test_a_form_is_taken_exactly_if_each_rated_file_has_a_value_of_the_scale_for_each_question() -> None:
    form, ranking, draw = kind_of_work(FormTask), kind_of_work(RankingTask), Random(5)
    outcomes: Counter[bool] = Counter()
    for turn in range(1500):
        files, first, questions = draw.randint(1, 4), draw.randint(0, 1), 1 if turn % 2 else draw.randint(1, 3)
        payload = {"options": dict.fromkeys("1234"[:3], ""), "files": [{}] * files, "rated_from": first}
        payload["questions"] = [["q", ""]] * questions
        wrong = (0, 4, -1, True, 1.0, "1", None)
        choice: Any = [
            [draw.choice(wrong) if draw.random() < 0.03 else draw.randint(1, 3) for _ in range(questions)]
            for _ in range(max(0, files - first + draw.choice((0, 0, 0, 0, 1, -1))))
        ]
        if draw.random() < 0.1:
            choice = draw.choice((None, {}, "left", [*choice, []], [[], *choice], [5], {"1": choice}))
        right = isinstance(choice, list) and len(choice) == files - first
        right = right and all(isinstance(each, list) and len(each) == questions for each in choice)
        right = right and all(type(value) is int and value in (1, 2, 3) for each in choice for value in each)
        assert stored(form, payload, choice) == (choice if right else None)
        if questions == 1:
            places = [each[0] for each in choice] if right else []
            gapless = [[1 + len({other for other in places if other < place})] for place in places]
            assert stored(ranking, payload, choice) == (gapless if right else None)
        outcomes[right] += 1
    assert min(outcomes.values()) > 300, outcomes


def test_a_verdict_is_taken_exactly_if_it_is_whole_and_a_mismatch_is_explained() -> None:
    task, draw = kind_of_work(VerdictTask), Random(6)
    outcomes: Counter[bool] = Counter()
    for _ in range(1500):
        count = draw.randint(0, 3)
        questions = [
            {name: draw.choice((True, True, True, False, False, 1 if draw.random() < 0.1 else True))
             for name in ("relevant", "answer")}
            for _ in range(max(0, count + draw.choice((0, 0, 0, 0, 1, -1))))
        ]  # fmt: skip
        aligned, discard = draw.choice((True, False, False, 0)), draw.choice((False, False, True))
        explanation = draw.choice(("", " ", "It is blue.", "x" * 4000, "x" * 4001))
        right = len(questions) == count and type(aligned) is bool and len(explanation) <= 4000
        right = right and all(type(value) is bool for each in questions for value in each.values())
        explained = bool(explanation.strip()) and (not questions or any(each["relevant"] for each in questions))
        right = right and bool(aligned or discard or explained)
        said = {"aligned": aligned, "explanation": explanation, "questions": questions, "discard": discard}
        assert stored(task, {"row": {"questions": ["?"] * count}}, said) == (said if right else None)
        outcomes[right] += 1
    assert min(outcomes.values()) > 200, outcomes


def test_a_prompt_is_taken_exactly_within_its_limits_and_a_rejection_needs_a_reason() -> None:
    task = kind_of_work(PromptTask)
    labels = list(dict.fromkeys(label for _, label in slots(377)))
    names = [each.name for each in points().values()]
    whole = {"prompt": "a cat", "language": "en", "labels": labels[:1], "scenario": "film", "test_points": []}

    def wanted(*of: str) -> list[dict[str, str]]:
        return [{"name": name, "demand": "seen"} for name in of]

    allowed = [
        {}, {"language": "zh"}, {"labels": labels[:4]}, {"prompt": "x" * 4000}, {"test_points": wanted(*names[:12])},
    ]  # fmt: skip
    refused = [
        {"language": "de"}, {"labels": []}, {"labels": labels[:5]}, {"labels": labels[:1] * 2}, {"labels": ["none"]},
        {"prompt": " "}, {"prompt": "x" * 4001}, {"scenario": "none"}, {"test_points": wanted(*names[:13])},
        {"test_points": wanted(names[0], names[0])}, {"test_points": wanted("none")}, {"more": 1},
    ]  # fmt: skip
    assert len(labels) >= 5 and len(names) >= 13
    assert all(stored(task, {}, {**whole, **each}) == {**whole, **each} for each in allowed)
    assert all(stored(task, {}, {**whole, **each}) is None for each in refused)
    seen = {"written": whole}
    for accept, reason, right in (
        (True, "", True), (False, "", False), (False, " ", False), (False, "x" * 1000, True), (False, "x" * 1001, False),
        (1, "", False),
    ):  # fmt: skip
        assert (stored(task, seen, {"accept": accept, "reason": reason}) is not None) is right, (accept, reason)


def test_a_battle_has_four_answers_and_an_auditor_two() -> None:
    battle, labels, questions = (
        kind_of_work(BattleTask),
        LabelTask(Material({}, ()), Taxonomy.load("magicmirror")),
        BenchQuestionTask,
    )
    for choice in CHOICES:
        assert stored(battle, {}, choice) == choice
    for wrong in ("", "LEFT", "undo", None, 0, ["left"], {"left": True}):
        assert stored(battle, {}, wrong) is None
    for task in (labels, kind_of_work(questions)):
        for accept in (True, False):
            assert stored(task, {"proposed": []}, {"accept": accept}) == {"accept": accept}
        for wrong in (
            {"accept": 1},
            {"accept": 0},
            {"accept": "yes"},
            {"accept": True, "more": 1},
            {},
            [],
            None,
            True,
            "accept",
        ):
            assert stored(task, {"proposed": []}, wrong) is None
