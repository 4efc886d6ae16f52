"""Rankings: three or four files of a prompt are put in order, blind; each is kept once and reaches ``salon votes rank``."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from browsing import Served, context, opened
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page
from small_arena import MODELS, PROMPTS, Clock, write_material, write_prompts
from test_arena_over_http import Visitor, visitors
from test_arena_pages import faults
from test_arena_videos import write_numbered

from salon_arena import ArenaDatabase, Material, RefusedError, WorkService, read_material
from salon_arena.draws import PlanDraws
from salon_arena.forms import FormItem, RankingTask, ranking_task
from salon_arena.release import release
from salon_arena.service import AnswerBody
from salon_arena.verify import verify_answers
from salon_console import main
from salon_judges.formats.generations import Generated
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Prompt

Body = Callable[..., AnswerBody]
SIX = (*MODELS, "Canary-Delta-4b0", "Canary-Epsilon-8d5", "Canary-Zeta-1a6")
STRENGTHS = dict(zip(SIX, (2.0, -1.0, 1.0, 0.0, -2.0, 3.0), strict=True))


@pytest.fixture
def six(tmp_path: Path) -> Material:
    return read_material(*write_material(tmp_path, models=SIX, samples=4))


def models_of(service: WorkService, task: dict[str, Any]) -> list[str]:
    return [file["model"] for file in service.payload_of(task["assignment"])["files"]]


def groups(service: WorkService, rater: str, body: Body) -> list[tuple[str, ...]]:
    """The models of each ranking of a rater, in the order of the screen."""
    found = []
    while tasks := service.lease(rater).result()["tasks"]:
        found.append(tuple(models_of(service, tasks[0])))
        service.look(rater, tasks[0]["assignment"])
        service.answer(rater, body(tasks[0], [[1]] * len(found[-1]))).result()
    return found


def of_files(models: Sequence[str]) -> RankingTask:
    """A task of one prompt, whose files are never opened."""
    files = tuple(Generated("p", model, 0, Path(model), Path()) for model in models)
    return ranking_task(Material({"p": Prompt(prompt_id="p", suite="s", text="a cat")}, files))


@given(st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_places_are_kept_without_gaps_and_their_order_stays(places: list[int]) -> None:
    payload = {"options": dict.fromkeys("1234", ""), "files": [0] * 4, "rated_from": 0, "questions": [["Place", "Place"]]}
    stored = [place for [place] in json.loads(of_files(SIX[:4]).check(payload, [[place] for place in places]))]
    assert {*stored} == {*range(1, max(stored) + 1)}
    for (place, kept), (other, after) in combinations(zip(places, stored, strict=True), 2):
        assert (place > other) - (place < other) == (kept > after) - (kept < after)


def test_people_rank_over_http_and_salon_votes_rank_finds_the_order_of_the_models(
    tmp_path: Path, database: ArenaDatabase, six: Material, clock: Clock
) -> None:
    service = WorkService(database, ranking_task(six, raters=5), clock=clock)
    draw = np.random.default_rng(3)
    given_places: dict[str, dict[str, int]] = {}

    async def work(visitor: Visitor) -> None:
        while tasks := await visitor.pairs():
            assert len(tasks[0]["media"]) == 4 and [value for value, _ in tasks[0]["options"]] == [1, 2, 3, 4]
            models = models_of(service, tasks[0])
            order = np.argsort([-STRENGTHS[model] - draw.gumbel() for model in models])
            places = [int(np.flatnonzero(order == number)[0]) + 1 for number in range(4)]
            assert (await visitor.answer(tasks[0], [[place] for place in places])).status_code == 200  # type: ignore[arg-type]
            given_places[tasks[0]["assignment"]] = dict(zip(models, places, strict=True))

    async def all_work() -> list[bytes]:
        async with visitors(service, 8) as people:
            await asyncio.gather(*(work(person) for person in people))
            page = await people[0].ask("GET", "/")
            board = await people[0].ask("GET", "/board")
            assert "<title>Rank</title>" in page.text and board.status_code == 404 and "no live board" in board.text
            return [part for person in people for part in person.heard]

    heard = asyncio.run(all_work())
    for part in heard:
        assert b"anary" not in part
    assert len(given_places) == len(PROMPTS) * 4 * 5
    clock.forward(11)
    service.settle_due().result()
    assert not verify_answers(database).problems
    done = release(database, "rankings", tmp_path / "ranked")
    assert (done.rows, done.left_out) == (320, ())
    frame = pl.read_parquet(tmp_path / "ranked" / "rankings.parquet")
    assert frame.drop("answered_at").equals(pl.read_csv(tmp_path / "ranked" / "rankings.csv", infer_schema_length=None,
        schema_overrides=frame.schema).drop("answered_at"))  # fmt: skip
    parts = [part for _, part in frame.group_by("ranking_id")]
    released = Counter(tuple(sorted(zip(part["model"], part["place"], strict=True))) for part in parts)
    assert released == Counter(tuple(sorted(places.items())) for places in given_places.values())
    assert verify_answers(database).head in (tmp_path / "ranked" / "README.md").read_text()
    by_strength = sorted(SIX, key=lambda model: -STRENGTHS[model])
    for name in ("rankings.parquet", "rankings.csv"):
        options = ["--cluster", "prompt_id", "--cluster", "rater_id", "--format", "csv"]
        ranked = CliRunner().invoke(main, ["votes", "rank", str(tmp_path / "ranked" / name), *options])
        assert ranked.exit_code == 0, ranked.output
        lines = [line for line in ranked.stdout.splitlines() if "Canary" in line]
        assert [next(model for model in SIX if model in line) for line in lines] == by_strength
    exported = CliRunner().invoke(
        main, ["arena", "export", "--database", str(database.place), "--store", str(tmp_path / "store")]
    )
    assert "80 rankings" in exported.output and "release rankings" in exported.output, exported.output
    agreed = CliRunner().invoke(main, ["arena", "progress", "--database", str(database.place)])
    assert agreed.exit_code == 0 and "order of two" in agreed.output, agreed.output


def test_of_more_than_four_models_every_four_and_every_order_is_equally_likely() -> None:
    task = of_files(SIX[:5])
    task.begin(PlanDraws("a secret"))
    payloads = [task.payload("ranking\x1fp\x1f0", FormItem(), "ranking") for _ in range(6000)]
    shown = [tuple(file["model"] for file in payload["files"]) for payload in payloads]
    assert all(len({*models}) == 4 and len(payload["options"]) == 4 for models, payload in zip(shown, payloads, strict=True))
    for counts, cells in ((Counter(frozenset(models) for models in shown), 5), (Counter(shown), 120)):
        expected = len(shown) / cells
        chi2 = sum((count - expected) ** 2 for count in counts.values()) / expected
        assert len(counts) == cells and chi2 < cells - 1 + 4 * (2 * (cells - 1)) ** 0.5


def test_who_knows_prompts_and_names_cannot_compute_who_is_shown_but_for_a_public_plan(
    tmp_path: Path, six: Material, body: Body, clock: Clock
) -> None:
    def plan(name: str, seed: int | None) -> list[tuple[str, ...]]:
        with ArenaDatabase.open(tmp_path / name) as opened_database:
            service = WorkService(opened_database, ranking_task(six), seed=seed, clock=clock)
            return groups(service, service.people.join().result().rater_id, body)

    one, other = plan("one.db", None), plan("other.db", None)
    same = sum({*group} == {*beside} for group, beside in zip(one, other, strict=True))
    assert sum(group == beside for group, beside in zip(one, other, strict=True)) <= 2 and same < len(one) / 2
    assert plan("third.db", 5) == plan("fourth.db", 5)


@pytest.mark.parametrize(
    "choice",
    [
        "left", None, 1, [], {}, [[1], [2]], [[1], [2], [3], [4]], [[0], [1], [2]], [[1], [2], [4]], [[1], [2], [5]],
        [[1], [2], ["3"]], [[1], [2], []], [[1], [2], [3, 3]], [[1], [2], [2.0]], [[1], [2], [True]], [[1], [2], None],
        [1, 2, 3], {"0": 1, "1": 2, "2": 3}, [[-1], [1], [2]], [[1], [2], [10**30]],
    ],
)  # fmt: skip
def test_hostile_answers_are_refused_and_nothing_is_kept(
    database: ArenaDatabase, material: Material, clock: Clock, choice: Any
) -> None:
    service = WorkService(database, ranking_task(material), clock=clock)

    async def work() -> None:
        async with visitors(service, 2) as [visitor, other]:
            [task, *_] = await visitor.pairs()
            assert len(task["media"]) == 3 and [value for value, _ in task["options"]] == [1, 2, 3]
            assert 400 <= (await visitor.answer(task, choice)).status_code < 500
            assert (await other.answer(task, [[1], [2], [3]])).status_code == 404  # type: ignore[arg-type]
            assert service.counts()[1] == 0

    asyncio.run(work())


def test_an_order_is_kept_once_and_can_be_undone(database: ArenaDatabase, material: Material, body: Body, clock: Clock) -> None:
    service = WorkService(database, ranking_task(material), clock=clock)
    rater = service.people.join().result().rater_id
    task = service.lease(rater).result()["tasks"][0]
    sent = body(task, [[1], [3], [3]])
    with pytest.raises(RefusedError, match="409 not_shown"):
        service.answer(rater, sent).result()
    service.look(rater, task["assignment"])
    first = service.answer(rater, sent).result()
    assert service.answer(rater, sent).result() == first and service.counts()[1] == 1
    with pytest.raises(RefusedError, match="409 answered_already"):
        service.answer(rater, body(task, [[3], [2], [1]])).result()
    last = service.lease(rater).result()["last"]
    service.answer(rater, body(task, "undo", supersedes=last["answer_id"])).result()
    again = next(each for each in service.lease(rater).result()["tasks"] if each["assignment"] == task["assignment"])
    service.answer(rater, body(again, [[2], [1], [2]])).result()
    clock.forward(11)
    service.settle_due().result()
    rows = database.read(lambda c: list(c.exec_driver_sql("SELECT choice FROM answers ORDER BY number").scalars()))
    assert rows == ["[[1], [2], [2]]", "undo", "[[2], [1], [2]]"]
    assert not verify_answers(database).problems


def test_prompts_with_fewer_than_three_models_are_named_and_left_out(tmp_path: Path) -> None:
    pictures, prompts = write_material(tmp_path, samples=1)
    (pictures / MODELS[0] / f"{next(iter(PROMPTS))}.0.png").unlink()
    assert ranking_task(read_material(pictures, prompts)).remarks == (
        "1 of 4 prompts and samples have files of fewer than three models and are not shown.",
    )
    for path in (pictures / MODELS[0]).iterdir():
        path.unlink()
    (pictures / MODELS[0]).rmdir()
    with pytest.raises(InputError, match="three models"):
        ranking_task(read_material(pictures, prompts))


def test_videos_are_ranked(tmp_path: Path, database: ArenaDatabase) -> None:
    prompts = write_prompts(tmp_path)
    for model, rate in zip(MODELS, ("24", "25", "varying"), strict=True):
        (folder := tmp_path / "videos" / model).mkdir(parents=True)
        write_numbered(folder / f"{next(iter(PROMPTS))}.mp4", rate)
    service = WorkService(database, ranking_task(read_material(tmp_path / "videos", prompts)))

    async def work() -> None:
        async with visitors(service) as [visitor]:
            [task] = await visitor.pairs()
            types = [(await visitor.ask("GET", path)).headers["content-type"] for path in task["media"]]
            assert task["media_kind"] == "video" and types == ["video/mp4"] * 3
            assert (await visitor.answer(task, [[1], [2], [2]])).status_code == 200  # type: ignore[arg-type]

    asyncio.run(work())


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme", "direction"), [(1400, "light", "ltr"), (360, "dark", "rtl")])
def test_four_are_ranked_by_keys_and_by_clicks(
    browser: Browser, tmp_path: Path, width: int, scheme: Any, direction: str
) -> None:
    material = read_material(*write_material(tmp_path, models=SIX, samples=1, size=96))
    with ArenaDatabase.open(tmp_path / "rankings.db") as database:
        served = Served(tmp_path, service=WorkService(database, ranking_task(material)))
        with context(browser, served, width, color_scheme=scheme, bypass_csp=True) as (rater, heard):
            page = opened(rater, served, ready="#stage figure")
            page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
            assert faults(page) == [] and page.title() == "Rank"
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            tops = page.locator("figure").evaluate_all("all => all.map((one) => Math.round(one.getBoundingClientRect().top))")
            assert [tops.count(top) for top in sorted({*tops})] == ([4] if width > 1000 else [2, 2])
            for key in "2413":
                assert page.get_by_role("button", name="Done").is_enabled() and served.answers() == []
                page.keyboard.press(key)
            page.keyboard.press("Enter")
            [(_, stored)] = served.wait_for_answers(1)
            assert json.loads(stored) == [[2], [4], [1], [3]]
            page.wait_for_selector("#stage figure")
            for number, place in enumerate((1, 3, 3)):  # a tie: 1, 3, 3, 4 is kept as 1, 2, 2, 3
                page.locator("figure").nth(number).get_by_role("radio", name=str(place)).click()
            page.get_by_role("button", name="Done").click()
            assert page.locator("#left").text_content() == "1 to answer" and len(served.answers()) == 1
            page.locator("figure").nth(3).locator(".view").focus()
            page.keyboard.press("4")  # of the picture in focus
            assert page.locator("#left").text_content() == ""
            page.get_by_role("button", name="Done").click()
            assert json.loads(served.wait_for_answers(2)[1][1]) == [[1], [2], [2], [3]]
            page.wait_for_selector("#stage figure")
            page.keyboard.press("u")
            assert served.wait_for_answers(3)[2][1] == "undo"
            page.wait_for_selector("#stage figure")
            for letter in "ABCD":
                assert page.get_by_role("group", name=f"{letter}: Place").get_by_role("radio").count() == 4
            assert heard == []
        served.close()


def dragged(page: Page, file: int | str, to: str, *, drop: bool = True) -> None:
    """Drag a picture (by number) or its letter in the places to what a selector names, by mouse."""
    source = (
        page.locator("figure .view").nth(file) if isinstance(file, int) else page.locator(f'#places .chip:text-is("{file}")')
    )
    (one, other) = (each.bounding_box() for each in (source, page.locator(to)))
    assert one is not None and other is not None
    page.mouse.move(one["x"] + one["width"] / 2, one["y"] + one["height"] / 2)
    page.mouse.down()
    page.mouse.move(one["x"] + one["width"] / 2 + 9, one["y"] + one["height"] / 2)
    page.mouse.move(other["x"] + other["width"] / 2, other["y"] + other["height"] / 2, steps=4)
    if drop:
        page.mouse.up()


def in_places(page: Page) -> list[str]:
    return page.locator("#places li").evaluate_all("all => all.map((one) => one.textContent.slice(1))")  # type: ignore[no-any-return]


@pytest.mark.browser
def test_pictures_are_dragged_into_places_and_onto_another_for_a_tie(browser: Browser, tmp_path: Path) -> None:
    material = read_material(*write_material(tmp_path, models=SIX, samples=1, size=96))
    with ArenaDatabase.open(tmp_path / "rankings.db") as database:
        served = Served(tmp_path, service=WorkService(database, ranking_task(material)))
        with context(browser, served, 1400) as (rater, heard):
            page = opened(rater, served, ready="#stage figure")
            dragged(page, 0, '[data-place="3"]')
            dragged(page, 1, "figure:nth-of-type(3)")  # it has no place yet: nothing is shared
            dragged(page, 2, '[data-place="1"]')
            dragged(page, 1, "figure:nth-of-type(3)")
            assert in_places(page) == ["BC", "", "A", ""] and page.locator("#left").text_content() == "1 to answer"
            dragged(page, 3, '[data-place="4"]', drop=False)
            assert page.locator(".ghost").count() == 1 and page.locator(".over").count() == 1
            page.keyboard.press("Escape")
            page.mouse.up()
            assert in_places(page) == ["BC", "", "A", ""] and page.locator(".ghost, .over").count() == 0
            dragged(page, 3, "#prompt")  # onto no place
            dragged(page, 3, '[data-place="4"]')
            dragged(page, "A", '[data-place="2"]')
            assert in_places(page) == ["BC", "A", "", "D"] and not page.locator("dialog[open]").count()
            assert [page.get_by_role("radio", checked=True).nth(n).get_attribute("value") for n in range(4)] == list("2114")
            page.locator("figure .view").nth(1).click()  # a click is no drag
            assert page.locator("dialog[open]").count() == 1
            page.get_by_role("button", name="Close").click()
            page.get_by_role("button", name="Done").click()
            assert json.loads(served.wait_for_answers(1)[0][1]) == [[2], [1], [1], [3]]
            page.wait_for_selector("#stage figure")
            assert in_places(page) == [""] * 4
            for key in "1223":  # keys fill the same places
                page.keyboard.press(key)
            assert in_places(page) == ["A", "BC", "D", ""] and faults(page) == [] and heard == []
        served.close()


@pytest.mark.browser
def test_a_finger_drags_letters_and_still_scrolls_on_pictures(browser: Browser, tmp_path: Path) -> None:
    material = read_material(*write_material(tmp_path, models=SIX, samples=1, size=96))
    with ArenaDatabase.open(tmp_path / "rankings.db") as database:
        served = Served(tmp_path, service=WorkService(database, ranking_task(material)))
        with context(browser, served, 360, has_touch=True) as (rater, heard):
            page = opened(rater, served, ready="#stage figure")
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
            finger = rater.new_cdp_session(page)

            def drag(source: str, to: str) -> None:
                boxes = [page.locator(each).bounding_box() for each in (source, to)]
                (x, y), (to_x, to_y) = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes if box)
                points = [(x + (to_x - x) * part / 5, y + (to_y - y) * part / 5) for part in range(6)]
                for kind, places in (("Start", points[:1]), ("Move", points[1:]), ("End", [None])):
                    for place in places:
                        touches = [] if place is None else [{"x": place[0], "y": place[1]}]
                        finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": touches})

            for number, place in ((1, 4), (2, 1), (3, 1), (4, 2)):
                page.locator(f"figure:nth-of-type({number})").scroll_into_view_if_needed()
                drag(f"figure:nth-of-type({number}) figcaption", f'[data-place="{place}"]')
            assert in_places(page) == ["BC", "D", "", "A"]
            drag("#places .chip:text-is('D')", '[data-place="3"]')
            page.evaluate("scrollTo(0, 0)")
            drag("figure:nth-of-type(3) .view", "#prompt")
            assert in_places(page) == ["BC", "", "D", "A"] and page.locator(".ghost").count() == 0
            page.get_by_role("button", name="Done").tap()
            assert json.loads(served.wait_for_answers(1)[0][1]) == [[3], [1], [1], [2]] and heard == []
        served.close()
