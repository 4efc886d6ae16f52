"""Suites of edits and videos in ``examples/suites`` against released scoring scripts, on equal replies about cases of our own.

The numbers named ``RELEASED_…`` were printed by the authors' scripts for the folders and marks that this file makes.
"""

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_released_suites import EXAMPLES, is_lost, judged, numbers, released, share_of

from salon_bench.suites import suite_named

TYPES = ("extract", "style", "add", "adjust", "background", "replace", "remove", "action", "compose")


def mark(most: int, *place: object, least: int = 1) -> int:
    return least + int(share_of(*place, "mark") * (most - least + 1))


def file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(str(path.name).encode())


# ------------------------------------------------------------------------------------------------------------ ImgEdit-Bench


def imgedit(folder: Path) -> None:
    """Write a released file of 45 cases and their sources."""
    cases = {}
    for number in range(45):
        kind = TYPES[int(share_of("type", number) * 9)] if number > 8 else TYPES[number]
        cases[str(number)] = {"id": f"{kind}/{number:03d}.jpg", "prompt": f"change thing {number}", "edit_type": kind}
        file(folder / kind / f"{number:03d}.jpg")
    (folder / "basic_edit.json").write_text(json.dumps(cases))


RELEASED_IMGEDIT: dict[str, float] = {
    "extract": 3.2666666666666666,
    "style": 2.666666666666667,
    "add": 3.666666666666667,
    "adjust": 3.476190476190476,
    "background": 3.111111111111111,
    "replace": 2.8888888888888893,
    "remove": 2.466666666666667,
    "action": 3.2499999999999996,
    "compose": 3.4444444444444446,
}
"""``step1_get_avgscore.py`` and ``step2_typescore.py`` (PKU-YuanGroup/ImgEdit at 547185d), without their rounding to two
decimals, of a case and again of a kind."""


def imgedit_marks(name: str) -> dict[str, int]:
    return {key: mark(5, name, key) for key in ("done", "natural", "intact")}


def test_imgedit_bench_gives_the_released_scripts_numbers_on_equal_replies(tmp_path: Path) -> None:
    imgedit(tmp_path)
    suite = suite_named(str(EXAMPLES / "imgedit_bench.toml"))
    found = numbers(suite, judged(suite, tmp_path, lambda name, *_: imgedit_marks(name)))
    for kind, number in RELEASED_IMGEDIT.items():
        assert found["overall", kind] == pytest.approx(number, abs=1e-12)
    assert {group for metric, group in found if metric == "overall"} == {None, *RELEASED_IMGEDIT}


LOST_IMGEDIT: dict[str, float] = {
    "extract": 3.0666666666666664,
    "style": 2.5714285714285716,
    "add": 3.416666666666667,
    "adjust": 3.5476190476190474,
    "background": 3.111111111111111,
    "replace": 3.027777777777778,
    "remove": 2.466666666666667,
    "action": 3.083333333333333,
    "compose": 3.4444444444444446,
}
"""``step1_get_avgscore.py`` without its rounding, where the lines of some marks are missing (``is_lost``)."""


def test_imgedit_bench_as_released_leaves_missing_marks_out(tmp_path: Path) -> None:
    imgedit(tmp_path)
    suite = released("imgedit_bench")

    def marks(name: str, *_: object) -> str:
        return json.dumps({key: value for key, value in imgedit_marks(name).items() if not is_lost(name, key)})

    found = numbers(suite, judged(suite, tmp_path, marks, replies=True))
    assert {kind: found["overall", kind] for kind in LOST_IMGEDIT} == pytest.approx(LOST_IMGEDIT, abs=1e-12)
    high = judged(suite, tmp_path, lambda *_: '{"done": 7, "natural": 5}', replies=True)
    assert set(high.filter(pl.col("dimension") == "overall")["value"]) == {6}, "there is no check of the range"
    unread = judged(suite, tmp_path, lambda *_: "no marks", replies=True)
    assert unread["value"].null_count() == unread.height, "without any mark there is no number"


# -------------------------------------------------------------------------------------------------------------- GEdit-Bench

GROUPS = {"background_change": 7, "color_alter": 2, "text_change": 9, "ps_human": 5}
ALL_GROUPS = (*GROUPS, "material_alter", "motion_change", "style_change", "subject-add", "subject-remove", "subject-replace")


def gedit(folder: Path) -> dict[str, str]:
    """Write a released table of English and Chinese cases; returns the group of each English one."""
    rows = []
    for group in (*ALL_GROUPS, "tone_transfer"):
        for number in range(GROUPS.get(group, 3)):
            for language in ("en", "cn"):
                picture = {"bytes": f"{group}{number}".encode(), "path": None}
                row = {"task_type": group, "key": f"key{number}", "instruction": f"change {number}"}
                rows.append({**row, "instruction_language": language, "input_image_raw": picture, "Intersection_exist": True})
    (folder / "data").mkdir()
    pl.DataFrame(rows).write_parquet(folder / "data/train-00000-of-00001.parquet")
    return {f"{row['task_type']}-{row['key']}": row["task_type"] for row in rows if row["instruction_language"] == "en"}


RELEASED_GEDIT: dict[str | None, float] = {
    "background_change": 2.2247048617988567,
    "color_alter": 2.0,
    "material_alter": 0.0,
    "motion_change": 2.1729115524240026,
    "ps_human": 1.5832159566199233,
    "style_change": 2.5773502691896257,
    "subject-add": 2.9027346441664563,
    "subject-remove": 2.9792699364935245,
    "subject-replace": 2.494438257849294,
    "text_change": 2.007681752101561,
    "tone_transfer": 2.449489742783178,
    None: 2.1265269975842203,
}
"""Column O of ``calculate_statistics.py`` (stepfun-ai/Step1X-Edit at 570eba6) by group, and its Average (None); the scores of
a case are the minima that ``viescore`` makes of the marks."""


GEDIT_KEYS = {"edit": ("done", "kept"), "look": ("natural", "clean")}


def gedit_marks(name: str, step: str) -> dict[str, int]:
    return {key: mark(10, name, key, least=0) for key in GEDIT_KEYS[step]}


def test_gedit_bench_gives_the_released_scripts_numbers_on_equal_replies(tmp_path: Path) -> None:
    groups = gedit(tmp_path)
    suite = suite_named(str(EXAMPLES / "gedit_bench.toml"))
    prompts = suite.prompts(tmp_path)
    assert {item.prompt.prompt_id for item in prompts} == set(groups), "two groups may have one key"
    found = numbers(suite, judged(suite, tmp_path, lambda name, step, _: gedit_marks(name, step)))
    for group, number in RELEASED_GEDIT.items():
        assert found["overall", group] == pytest.approx(number, abs=1e-12)
    assert len(RELEASED_GEDIT) == 12


def test_gedit_bench_as_released_draws_a_mark_for_what_cannot_be_read(tmp_path: Path) -> None:
    gedit(tmp_path)
    suite = released("gedit_bench")

    def reply(name: str, step: str, _: int) -> str:
        return "no braces" if step == "edit" and share_of(name) < 0.5 else json.dumps(gedit_marks(name, step))

    scores = judged(suite, tmp_path, reply, replies=True)
    assert scores.equals(judged(suite, tmp_path, reply, replies=True)), "the draw has a seed"
    drawn = {
        row["prompt_id"]: row["value"]
        for row in scores.iter_rows(named=True)
        if row["dimension"] == "edit.done" and share_of(row["prompt_id"]) < 0.5
    }
    assert len(set(drawn.values())) > 5
    assert set(drawn.values()) <= set(range(11))
    for row in scores.iter_rows(named=True):
        name = row["prompt_id"]
        if row["dimension"] == "overall":
            edit, look = ([gedit_marks(name, step)[key] for key in keys] for step, keys in GEDIT_KEYS.items())
            assert row["value"] == pytest.approx((drawn.get(name, min(edit)) * min(look)) ** 0.5), "the minimum of one mark"
    summary = suite.aggregate(scores, pl.DataFrame())
    shares = {row["metric"]: row["value"] for row in summary.table.iter_rows(named=True) if row["group"] is None}
    assert 0 < shares["edit.unread"] < 1
    assert shares["look.unread"] == 0
    assert any("random one (seed 0)" in note for note in summary.notes)


# --------------------------------------------------------------------------------------------------------------- KRIS-Bench

FACTUAL = ("count_change", "color_change", "size_adjustment", "part_completion", "anomaly_correction")
PLACES = ("viewpoint_change", "position_movement", "temporal_prediction")
CONCEPTUAL = ("humanities", "practical_knowledge", "biology", "chemistry", "geography", "medicine", "mathematics", "physics")
PROCEDURAL = ("abstract_reasoning", "rule-based_reasoning", "multi-element_composition", "multi-instruction_execution")
CATEGORIES = (*FACTUAL, *PLACES, *CONCEPTUAL, *PROCEDURAL)
KNOWLEDGE = {*CONCEPTUAL, *PROCEDURAL[:2]}


def kris(folder: Path) -> None:
    """Write released folders of two to five cases for each category."""
    for category in CATEGORIES:
        cases = {}
        for number in range(1, 3 + int(share_of(category) * 4)):
            several = category in ("temporal_prediction", "multi-element_composition")
            names = [f"{number}-{part}.jpg" for part in (1, 2)] if several else f"{number}.jpg"
            for name in names if isinstance(names, list) else [names]:
                file(folder / category / name)
            file(folder / category / f"{number}_gt.jpg")
            case = {"ori_img": names, "gt_img": f"{number}_gt.jpg", "ins_en": f"do {number}", "explain_en": ""}
            cases[str(number)] = case | ({} if category != "chemistry" else {"explain_en": "it burns"})
        (folder / category / "annotation.json").write_text(json.dumps(cases))


RELEASED_KRIS: dict[str | None, float] = {
    "Attribute Perception": 48.75,
    "Spatial Perception": 50.0,
    "Temporal Prediction": 50.0,
    "Social Science": 33.75,
    "Natural Science": 48.29545454545455,
    "Logical Reasoning": 44.53125,
    "Instruction Decomposition": 66.66666666666667,
    "Factual": 49.107142857142854,
    "Conceptual": 45.601851851851855,
    "Procedural": 51.59574468085106,
    None: 48.01255230125523,
}
"""The averages of ``summarize.py`` (ByteDance-Seed/Bagel at 056b5fd, the only released aggregation) by kind, by the three sorts
of knowledge, and Overall (None)."""


def kris_mark(name: str, step: str) -> int:
    return mark(5, name, "instruction" if step == "done" else step)


def test_kris_bench_gives_the_released_scripts_numbers_on_equal_replies(tmp_path: Path) -> None:
    kris(tmp_path)
    suite = suite_named(str(EXAMPLES / "kris_bench.toml"))
    prompts = {item.prompt.prompt_id: item for item in suite.prompts(tmp_path)}
    roles = [file.role.value for file in prompts["viewpoint_change-1"].media]
    assert roles == ["source", "reference"]
    assert [file.path.name for file in prompts["temporal_prediction-2"].media] == ["2-1.jpg", "2-2.jpg"]
    scores = judged(suite, tmp_path, lambda name, step, _: kris_mark(name, step))
    found = numbers(suite, scores)
    for group, number in RELEASED_KRIS.items():
        assert found["overall", group] == pytest.approx(number, abs=1e-10)
    assert len(RELEASED_KRIS) == 11


LOST_KRIS: dict[str | None, float] = {
    "Attribute Perception": 50.96153846153846,
    "Spatial Perception": 47.05882352941177,
    "Temporal Prediction": 55.0,
    "Social Science": 29.166666666666668,
    "Natural Science": 50.324675324675326,
    "Logical Reasoning": 44.827586206896555,
    "Instruction Decomposition": 67.3076923076923,
    "Factual": 50.33783783783784,
    "Conceptual": 46.31578947368421,
    "Procedural": 51.785714285714285,
    None: 48.81516587677725,
}
"""``summarize.py``, where some marks are none (``is_lost``)."""


def mark_line(value: float | None) -> str:
    return "cannot say" if value is None else f"Answer: {value:g}"


def test_kris_bench_as_released_leaves_missing_marks_out_and_sends_no_instruction(tmp_path: Path) -> None:
    kris(tmp_path)
    suite = released("kris_bench")

    def reply(name: str, step: str, _: int) -> str:
        return mark_line(None if is_lost(name, step) else kris_mark(name, step))

    found = numbers(suite, judged(suite, tmp_path, reply, replies=True))
    assert {group: found["overall", group] for group in LOST_KRIS} == pytest.approx(LOST_KRIS, abs=1e-10)
    assert not any("{" in question.ask for question, _ in suite.questions)


# ---------------------------------------------------------------------------------------------------------------- RISEBench

RISE = ("temporal_reasoning", "causal_reasoning", "spatial_reasoning", "logical_reasoning")


def rise_cases() -> list[dict[str, Any]]:
    """Return released rows of 15 cases for each category; some need no consistency, some have a reference."""
    rows = []
    for category in RISE:
        for number in range(15):
            image = f"{category}_images/{number}.png"
            row = {"index": f"{category}_{number}", "category": category, "instruction": f"do {number}", "image": image}
            if category in RISE[2:] and number % 3 == 0:
                row["reference_img"] = f"{category}_images/{number}_ref.png"
            else:
                row["reference_txt" if category == RISE[3] else "reference"] = f"it is {number}"
            if category != RISE[3] and number % 5 == 1:
                row["consistency_free"] = "true"
            if category != RISE[3] and number % 4 == 1:
                row["reasoning_img"] = "true"
            rows.append(row)
    return rows


def rise(folder: Path) -> None:
    rows = rise_cases()
    for row in rows:
        for path in (row["image"], row.get("reference_img")):
            if path:
                file(folder / path)
    (folder / "data_total.json").write_text(json.dumps(rows))


def rise_mark(name: str, step: str) -> int:
    if step in ("layout", "solution"):
        return int(share_of(name, step, "mark") < 0.6)
    return max(1, min(5, mark(8, name, step) - 1))


RELEASED_RISE: dict[str | None, tuple[float, float]] = {
    "causal_reasoning": (36.66666666666667, 0.13333333333333333),
    "logical_reasoning": (72.83333333333333, 0.4),
    "spatial_reasoning": (43.91666666666667, 0.0),
    "temporal_reasoning": (42.33333333333334, 0.06666666666666667),
    None: (48.937500000000014, 0.15),
}
"""Score in percent and accuracy by ``calculate_score`` and ``calculate_completion`` of ``gpt_eval.py`` (PhoenixZ810/RISEBench
at 5f22651), for one row after the other; all together (None)."""


def test_risebench_gives_the_released_scripts_numbers_on_equal_replies(tmp_path: Path) -> None:
    rise(tmp_path)
    suite = suite_named(str(EXAMPLES / "risebench.toml"))
    found = numbers(suite, judged(suite, tmp_path, lambda name, step, _: rise_mark(name, step)))
    for group, (percent, accuracy) in RELEASED_RISE.items():
        assert found["overall", group] == pytest.approx(percent, abs=1e-10)
        assert found["accuracy", group] == pytest.approx(accuracy, abs=1e-12)
    assert len(RELEASED_RISE) == 5


LOST_RISE: dict[str | None, tuple[float, float]] = {
    "causal_reasoning": (34.44444444444444, 0.06666666666666667),
    "logical_reasoning": (77.27272727272727, 0.3333333333333333),
    "spatial_reasoning": (38.07692307692309, 0.0),
    "temporal_reasoning": (52.08333333333335, 0.06666666666666667),
    None: (50.66666666666667, 0.11666666666666667),
}
"""The same functions over the table of all rows, where some marks are missing (``is_lost``): where some cases need no
consistency, the cell of the others is NaN, which counts as true."""


def test_risebench_as_released_drops_consistency_and_fails_what_is_missing(tmp_path: Path) -> None:
    rise(tmp_path)
    suite = released("risebench")

    def reply(name: str, step: str, _: int) -> str:
        return mark_line(None if is_lost(name, step) else rise_mark(name, step))

    found = numbers(suite, judged(suite, tmp_path, reply, replies=True))
    for group, (percent, accuracy) in LOST_RISE.items():
        assert found["overall", group] == pytest.approx(percent, abs=1e-10)
        assert found["accuracy", group] == pytest.approx(accuracy, abs=1e-12)


# ------------------------------------------------------------------------------------------------------------- T2V-CompBench

JUDGED = ("consistent_attribute_binding", "action_binding", "object_interactions", "dynamic_attribute_binding")


def t2v(folder: Path) -> None:
    """Write released files of 25 prompts for each category, and one of a category that is left out."""
    for category in (*JUDGED, "motion_binding"):
        rows: list[dict[str, Any]] = [{"prompt": f"things {number}"} for number in range(25)]
        if category == JUDGED[0]:
            rows = [{**row, "phrases": f"a red thing {number}; a blue one"} for number, row in enumerate(rows)]
        if category == JUDGED[3]:
            rows = [{**row, "state 0": "a red thing", "state 1": f"a blue one {number}"} for number, row in enumerate(rows)]
        (folder / f"{category}.json").write_text(json.dumps(rows))


RELEASED_T2V: dict[str, float] = {
    "consistent_attribute_binding": 0.49,
    "action_binding": 0.528,
    "object_interactions": 0.49,
}
"""``model_score`` of ``eval_consistent_attr.py``, with the table of its ``eval_model``, ``eval_action_binding.py`` and
``eval_interaction.py`` (KaiyueSun98/T2V-CompBench at 116f996)."""


def t2v_mark(name: str, step: str) -> int:
    most = 5 if step in ("action", "interaction") or step.startswith(("begins", "ends")) else 4
    return mark(most, name, step, least=0 if step == "action" else 1)


def t2v_changes(name: str) -> float:
    """The number of ``eval_dynamic_attr.py`` for a video whose frames between all show one of the states."""
    first, first_other, last_other, last = (
        t2v_mark(name, step) / 5 for step in ("begins_first", "begins_second", "ends_first", "ends_second")
    )
    return first * (1 - first_other) * 0.5 + (1 - last_other) * last * 0.5


def test_t2v_compbench_gives_the_released_scripts_numbers_on_equal_replies(tmp_path: Path) -> None:
    t2v(tmp_path)
    suite = suite_named(str(EXAMPLES / "t2v_compbench.toml"))
    between = {f"{JUDGED[3]}-{number:04d}": number % 5 > 0 for number in range(1, 26)}

    def answer(name: str, step: str, sample: int) -> int:
        return between[name] if step == "between" else t2v_mark(name, step)

    found = numbers(suite, judged(suite, tmp_path, answer))
    for group, number in RELEASED_T2V.items():
        assert found["overall", group] == pytest.approx(number, abs=1e-12)
    changes = [t2v_changes(name) * shown for name, shown in between.items()]
    assert found["overall", JUDGED[3]] == pytest.approx(sum(changes) / 25)


# --------------------------------------------------------------------------------------------------------------- VideoPhy-2

ADHERENCE, PHYSICS = (5, 5, 5, 5, 4, 5, 5, 5, 4, 4), (4, 5, 4, 5, 4, 4, 4, 4, 4, 4)
"""The scores of the ten released examples (``VIDEOPHY2/examples``, Hritikbansal/videophy at 01d366c); joint 10/10."""


def test_videophy2_counts_what_is_at_least_four_twice(tmp_path: Path) -> None:
    (tmp_path / "sa_pc.csv").write_text("caption,videopath\n" + "".join(f"thing {n},{n}.mp4\n" for n in range(10)))
    (tmp_path / "rule.csv").write_text("videopath,rule\n0.mp4,it falls\n")
    suite = suite_named(str(EXAMPLES / "videophy2.toml"))

    def answer(name: str, step: str, _: int) -> int:
        return (ADHERENCE if step == "adherence" else PHYSICS)[int(name) - 1]

    assert numbers(suite, judged(suite, tmp_path, answer))["overall", None] == 1
    found = numbers(suite, judged(suite, tmp_path, lambda *place: answer(*place) - (place[0] > "0005")))
    assert found["overall", None] == 0.5, "the physics of the others are 3"


READ_VIDEOPHY2 = {
    "5": 5,
    "Score: 5 on a 1-5 scale": 1,
    "four": 4,
    "Four.": 4,
    "": 0,
    "None of it holds: 4": 1,
    "7": 0,
    "I give it a 3 out of 5": 3,
    "zero": 0,
    "It is good": 0,
    "Answer: 4": 4,
    "19": 1,
}
"""What ``inference.py`` reads in a reply."""


def test_videophy2_as_released_reads_the_first_number_of_its_list(tmp_path: Path) -> None:
    replies = list(READ_VIDEOPHY2)
    (tmp_path / "sa_pc.csv").write_text("caption\n" + "".join(f"thing {n:02}\n" for n in range(len(replies))))
    suite = released("videophy2")
    scores = judged(suite, tmp_path, lambda name, *_: replies[int(name) - 1], replies=True)
    marks = scores.filter(pl.col("dimension") == "physics").sort("prompt_id")
    assert marks["value"].to_list() == list(READ_VIDEOPHY2.values())
    assert numbers(suite, scores)["overall", None] == 4 / 12


@pytest.mark.parametrize(("name", "prompts"), [("vbench2", "Motion_Rationality"), ("vbench2_stories", "Composition")])
def test_vbench2_as_released_reads_yes_anywhere(name: str, prompts: str, tmp_path: Path) -> None:
    info: Any = ["Is it there?"] * 2 if name == "vbench2" else {"question": ["a", "b"], "judge": [False, False]}
    rows = [{"prompt_en": f"thing {n}", "auxiliary_info": info} for n in range(5)]
    (tmp_path / f"{prompts}.json").write_text(json.dumps(rows))
    replies = ["YES", "No.", "", "Her eyes are closed.", "Yes. Answer: no"]
    suite = released(name)
    scores = judged(suite, tmp_path, lambda name, *_: replies[int(name[-2:]) - 1], replies=True)
    overall = scores.filter(pl.col("dimension") == "overall").sort("prompt_id")
    assert overall["value"].to_list() == [1, 0, 0, 1, 1]


# ------------------------------------------------------------------------------------------------------- the users' own copies

EDITS = {"imgedit_bench": 737, "kris_bench": 1267, "gedit_bench": 606, "risebench": 64}
VIDEOS = {"t2v_compbench": 400, "vbench2": 375, "vbench2_stories": 342}
PICTURES = {"oneig_alignment": 695, "geneval2": 800, "wise_verified": 1000, "tiif_bench": 554, "unigenbench": 600}
COUNTS = EDITS | VIDEOS | PICTURES


@pytest.mark.study
@pytest.mark.parametrize("name", COUNTS)
def test_a_users_copy_has_the_published_number_of_cases(name: str) -> None:
    folder = os.environ.get(f"SALON_{name.upper()}")
    if folder is None:
        pytest.skip(f"name the folder of your copy in SALON_{name.upper()}")
    assert len(suite_named(str(EXAMPLES / f"{name}.toml")).prompts(Path(folder))) == COUNTS[name]
