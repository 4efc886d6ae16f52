"""Edits are compared beside their source: it is shown with every pair, never compared, and kept with the votes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browsing import Served, context, opened
from click.testing import CliRunner
from PIL import Image
from playwright.sync_api import Browser
from small_arena import MODELS, PROMPTS, Clock, seen, write_material

from salon_arena import ArenaDatabase, Material, read_material, vote_service
from salon_arena.battles import BattleRules
from salon_arena.export import export_answers
from salon_arena.material import KnownPair, shown_beside
from salon_arena.release import release
from salon_arena.service import AnswerBody
from salon_console import main
from salon_store import ResultStore
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Winner

Body = Callable[..., AnswerBody]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three editors, and the grey sources of their edits."""
    folder, _ = write_material(tmp_path, samples=1, size=96)
    (folder / "source").mkdir()
    for prompt in PROMPTS:
        Image.new("RGB", (96, 64), "grey").save(folder / "source" / f"{prompt}.png")
    return tmp_path


def named_by_rows(folder: Path) -> Path:
    """Move the sources out of the models' folder, and name them in a column of the prompts."""
    (folder / "pictures" / "source").rename(folder / "before")
    table = folder / "prompts.jsonl"
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    named = [row | {"source": f"before/{row['prompt_id']}.png"} for row in rows]
    table.write_text("".join(json.dumps(row) + "\n" for row in named))
    return table


@pytest.fixture(params=["folder", "column"])
def edits(folder: Path, request: pytest.FixtureRequest) -> Material:
    table = folder / "prompts.jsonl" if request.param == "folder" else named_by_rows(folder)
    return shown_beside(read_material(folder / "pictures", table), "source", table)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("../secret.png", "leads out of the table's folder"),
        ("/etc/passwd.png", "absolute"),
        ("http://127.0.0.1/a.png", "address"),
        ("before/clip.mp4", "is no picture, as the files beside it are"),
        ("before/nothing.png", "cannot be shown"),
        (["before/a.png", "before/b.png"], "must hold text"),
        ("  ", "must hold text"),
        (None, "has 0 of"),
    ],
)
def test_a_cell_that_names_no_file_of_its_folder_is_named(folder: Path, cell: Any, words: str) -> None:
    table = named_by_rows(folder)
    first, *others = [json.loads(line) for line in table.read_text().splitlines()]
    table.write_text("".join(json.dumps(row) + "\n" for row in (first | {"source": cell}, *others)))
    with pytest.raises(InputError, match=words):
        shown_beside(read_material(folder / "pictures", table), "source", table)


def test_the_source_is_with_every_pair_and_in_none(
    edits: Material, database: ArenaDatabase, body: Body, clock: Clock, tmp_path: Path
) -> None:
    assert edits.models == MODELS and {*edits.beside} == {*PROMPTS}
    one, other, *_ = (file for file in edits.files if file.prompt_id == edits.files[0].prompt_id)
    anchors = (KnownPair(one, other, Winner.MODEL_A),)
    service = vote_service(database, edits, clock=clock, rules=BattleRules(anchors=anchors))
    rater = service.people.join().result().rater_id
    for _ in range(6):
        task = seen(service, rater)
        assert len(task["media"]) == 3 and "source" not in str(task)
        shown = service.files(rater, task["assignment"]).media
        assert len({len(data) for data in shown}) == 1, "sizes tell nothing"
        service.answer(rater, body(task)).result()
        assert service.payload_of(task["assignment"])["files"][2]["model"] == "source"
    clock.forward(11)
    export_answers(database, tmp_path / "store", now=clock.now)
    store = ResultStore.open(tmp_path / "store")
    battles = store.read("battles").collect()
    model_of = dict(store.read("generations").select("generation_id", "model").collect().rows())
    assert "source" not in {*battles["model_a"], *battles["model_b"], *model_of.values()}
    for battle in battles.iter_rows(named=True):
        assert (model_of[battle["generation_a"]], model_of[battle["generation_b"]]) == (battle["model_a"], battle["model_b"])
        assert battle["source"] == edits.beside[battle["prompt_id"]].path.as_posix()
    pairs = tmp_path / "pairs.parquet"
    made = CliRunner().invoke(main, ["votes", "pairs", str(tmp_path / "store"), "--undecided", "--output", str(pairs)])
    assert made.exit_code == 0, made.output
    source_of = {row["prompt_id"]: row["source"] for row in battles.iter_rows(named=True)}
    assert dict(pl.read_parquet(pairs).select("prompt_id", "source").rows()) == source_of
    assert release(database, "datasets", tmp_path / "votes").rows == 6
    assert {*pl.read_parquet(tmp_path / "votes" / "data" / "*.parquet")["models"].list.len()} == {3}


def test_two_editors_are_enough(folder: Path) -> None:
    shutil.rmtree(folder / "pictures" / MODELS[2])
    material = shown_beside(read_material(folder / "pictures", folder / "prompts.jsonl"), "source")
    assert (material.models, {*material.beside}) == (MODELS[:2], {*PROMPTS})


@pytest.mark.parametrize("change", ["none", "no file", "two files", "one editor", "damaged"])
def test_sources_that_are_missing_or_doubled_are_named(folder: Path, change: str) -> None:
    pictures, prompt = folder / "pictures", next(iter(PROMPTS))
    words = {
        "none": "no model of the folder",
        "damaged": "none of the picture formats",
        "no file": f"has 0 of.*{prompt}",
        "two files": f"has 2 of.*{prompt}",
    }
    if change == "no file":
        (pictures / "source" / f"{prompt}.png").unlink()
    elif change == "two files":
        Image.new("RGB", (8, 8)).save(pictures / "source" / f"{prompt}.1.png")
    elif change == "damaged":
        (pictures / "source" / f"{prompt}.png").write_bytes(b"hello")
    elif change == "one editor":
        for model in MODELS[1:]:
            (pictures / model).rename(folder / model)
    material = read_material(pictures, folder / "prompts.jsonl")
    with pytest.raises(InputError, match=words.get(change, "no prompt has pictures of two models beside the reference")):
        shown_beside(material, "sources" if change == "none" else "source")
    command = ["arena", "serve", str(pictures), "--prompts", str(folder / "prompts.jsonl"), "--port", "0"]
    command += ["--database", str(folder / "a.db"), "--reference", "sources" if change == "none" else "source"]
    assert CliRunner().invoke(main, command).exit_code == 2 and not (folder / "a.db").exists()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 360])
def test_a_source_is_shown_first_and_zooms_with_the_two(browser: Browser, edits: Material, tmp_path: Path, width: int) -> None:
    served = Served(tmp_path, edits)
    try:
        with context(browser, served, width) as (rater, heard):
            page = opened(rater, served)
            names = page.locator(".stage figure:visible figcaption").all_inner_texts()
            assert names == ["Source", "A", "B"]
            assert [*page.locator(".stage img:not(.laid)").evaluate_all("all => all.map(one => one.alt)")] == [
                "Source",
                "Picture A",
                "Picture B",
            ]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for place in range(3):  # over each of the three, the point under the mouse stays where it is
                page.keyboard.press("0")
                box = page.locator(".stage .frame").nth(place).bounding_box()
                assert box is not None
                page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
                page.mouse.wheel(0, -400)
                page.wait_for_function("() => document.querySelector('.frame img').style.transform.includes('scale(1.')")
                moved = page.locator(".stage img:not(.laid)").evaluate_all("all => all.map(one => one.style.transform)")
                assert len({*moved}) == 1
                scale = float(moved[0].split("scale(")[1].rstrip(")"))
                shift = float(moved[0].split("translate(")[1].split("%")[0])
                assert shift == pytest.approx(50 * (1 - scale), abs=0.5)
            page.keyboard.press("ArrowLeft")
            assert served.wait_for_answers(1)[0][1] == "left"
            assert heard == []
    finally:
        served.close()


@pytest.mark.browser
def test_the_source_is_laid_over_both_by_a_slider_and_while_a_key_is_held(
    browser: Browser, edits: Material, tmp_path: Path
) -> None:
    served = Served(tmp_path, edits)
    try:
        with context(browser, served, width=1400) as (rater, heard):
            page = opened(rater, served)
            laid = page.locator(".laid")
            assert laid.count() == 2
            parts = "[...document.querySelectorAll('.laid')].map((each) => each.style.clipPath)"
            assert page.evaluate(parts) == ["inset(0px 100% 0px 0px)"] * 2
            page.get_by_label("How much of the source is laid over A and B").fill("40")
            assert page.evaluate(parts) == ["inset(0px 60% 0px 0px)"] * 2
            page.keyboard.down("h")
            assert page.evaluate(parts) == ["inset(0px 0% 0px 0px)"] * 2
            page.keyboard.up("h")
            assert page.evaluate(parts) == ["inset(0px 60% 0px 0px)"] * 2
            page.keyboard.press("+")
            scales = page.evaluate("[...document.querySelectorAll('.frame img')].map((each) => each.style.transform)")
            assert len(scales) == 5 and len({*scales}) == 1, "what is laid over them is zoomed with them"
            page.get_by_role("button", name="A is better").click()
            served.wait_for_answers(1)
            page.wait_for_function(
                "() => document.querySelectorAll('.laid').length === 2 && document.querySelector('#part').value === '0'"
            )
            assert heard == []
    finally:
        served.close()


def test_of_an_editing_conversation_the_last_turn_is_compared(folder: Path) -> None:
    for model in MODELS:
        lines = []
        for number, prompt in enumerate(PROMPTS):
            for turn, colour in enumerate(("red", "blue"), 1):
                name = f"{number}.turn{turn}.png"
                Image.new("RGB", (8, 8), colour).save(folder / "pictures" / model / name)
                lines.append(json.dumps({"prompt_id": prompt, "path": name, "sample": 0, "turn": turn}))
        (folder / "pictures" / model / "generations.jsonl").write_text("\n".join(lines))
    material = shown_beside(read_material(folder / "pictures", folder / "prompts.jsonl"), "source")
    assert len(material.files) == len(MODELS) * len(PROMPTS)
    assert {file.turn for file in material.files} == {2}


@pytest.mark.browser
def test_every_answer_is_on_the_screen_of_a_phone_beside_the_source(browser: Browser, edits: Material, tmp_path: Path) -> None:
    served = Served(tmp_path, edits)
    try:
        with context(browser, served, width=360) as (rater, heard):
            page = opened(rater, served)
            page.set_viewport_size({"width": 360, "height": 740})
            answers = page.locator(".answers button")
            assert answers.count() == 4
            for box in [answer.bounding_box() for answer in answers.all()]:
                assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 740
            for frame in page.locator(".stage .frame").all():
                shown = frame.bounding_box()
                assert shown is not None and shown["height"] >= 120 and shown["width"] >= 120
                assert shown["y"] + shown["height"] <= 740
            assert heard == []
    finally:
        served.close()
