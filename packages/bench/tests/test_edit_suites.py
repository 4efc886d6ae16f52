"""Suites of edits and videos in ``examples/suites`` against released scoring scripts, on equal replies about cases of our own.

The numbers named ``RELEASED_…`` were printed by the authors' scripts for the folders and marks that this file makes.
"""

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_released_suites import EXAMPLES, judged, numbers, share_of

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
    for kind, released in RELEASED_IMGEDIT.items():
        assert found["overall", kind] == pytest.approx(released, abs=1e-12)
    assert {group for metric, group in found if metric == "overall"} == {None, *RELEASED_IMGEDIT}


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


def gedit_marks(name: str, step: str) -> dict[str, int]:
    keys = ("done", "kept") if step == "edit" else ("natural", "clean")
    return {key: mark(10, name, key, least=0) for key in keys}


def test_gedit_bench_gives_the_released_scripts_numbers_on_equal_replies(tmp_path: Path) -> None:
    groups = gedit(tmp_path)
    suite = suite_named(str(EXAMPLES / "gedit_bench.toml"))
    prompts = suite.prompts(tmp_path)
    assert {item.prompt.prompt_id for item in prompts} == set(groups), "two groups may have one key"
    found = numbers(suite, judged(suite, tmp_path, lambda name, step, _: gedit_marks(name, step)))
    for group, released in RELEASED_GEDIT.items():
        assert found["overall", group] == pytest.approx(released, abs=1e-12)
    assert len(RELEASED_GEDIT) == 12


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
    for group, released in RELEASED_KRIS.items():
        assert found["overall", group] == pytest.approx(released, abs=1e-10)
    assert len(RELEASED_KRIS) == 11


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
    for group, released in RELEASED_T2V.items():
        assert found["overall", group] == pytest.approx(released, abs=1e-12)
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


# ------------------------------------------------------------------------------------------------------- the users' own copies

COUNTS = {"imgedit_bench": 737, "kris_bench": 1267, "gedit_bench": 606, "risebench": 64, "t2v_compbench": 400}


@pytest.mark.study
@pytest.mark.parametrize("name", COUNTS)
def test_a_users_copy_has_the_published_number_of_cases(name: str) -> None:
    folder = os.environ.get(f"SALON_{name.upper()}")
    if folder is None:
        pytest.skip(f"name the folder of your copy in SALON_{name.upper()}")
    assert len(suite_named(str(EXAMPLES / f"{name}.toml")).prompts(Path(folder))) == COUNTS[name]
