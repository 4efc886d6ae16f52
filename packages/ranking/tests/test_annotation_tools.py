"""Marks collected in Label Studio and Argilla: tasks out, answers back, the same ratings whichever tool was used."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from click.testing import CliRunner

from salon_console import main
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.opinion import MosRatings
from salon_ranking.opinion.annotation_tools import TOOLS, MarkRange, Tool, collected_marks, rating_tasks, tool_settings

HOSTILE = 'beauty "<&>'
DIMENSIONS = ["truth", HOSTILE]
GENERATIONS = pl.DataFrame(
    {
        "generation_id": [f"g{place}" for place in range(4)],
        "prompt_id": ["p", "p", "q", "q"],
        "model": ["secret-a", "secret-b"] * 2,
        "uri": [f"https://example.org/{place}.png" for place in range(4)],
        "prompt": ["a cat", "a cat", None, "a dog"],
    }
)


def mark(place: int, dimension: int, rater: int) -> int:
    return 1 + (place + 2 * dimension + rater) % 5


def answered(tasks: list[dict[str, Any]], tool: Tool) -> list[dict[str, Any]]:
    """What the tool exports after two raters marked everything; the second skips the last task."""
    for place, task in enumerate(tasks):
        if tool == "argilla":
            task["responses"] = {
                name: [
                    {"value": mark(place, number, rater), "user_id": f"u{rater}"}
                    | ({"status": "discarded"} if (place, rater) == (3, 1) else {"status": "submitted"})
                    for rater in range(2)
                ]
                for number, name in enumerate(DIMENSIONS)
            }
            continue
        task["annotations"] = [
            {
                "completed_by": rater if place else {"id": rater, "email": "ann@example.org"},
                "was_cancelled": (place, rater) == (3, 1),
                "result": [
                    {"from_name": name, "to_name": "picture", "type": "rating", "value": {"rating": mark(place, number, rater)}}
                    for number, name in enumerate(DIMENSIONS)
                ],
            }
            for rater in range(2)
        ]
    return tasks


@pytest.mark.parametrize("tool", TOOLS)
def test_answers_come_back_as_ratings_and_no_task_names_a_model(tmp_path: Path, tool: Tool) -> None:
    GENERATIONS.write_csv(tmp_path / "made.csv")
    ending = "xml" if tool == "label-studio" else "json"
    words = ["tasks", str(tmp_path / "made.csv"), "--to", tool, "--output", str(tmp_path / "tasks.json")]
    words += [word for name in DIMENSIONS for word in ("--dimension", name)]
    done = CliRunner().invoke(main, ["ratings", *words, "--settings", str(tmp_path / f"settings.{ending}")])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "tasks.json").read_text("utf-8") + (tmp_path / f"settings.{ending}").read_text("utf-8")
    assert "secret" not in text
    (tmp_path / "answers.json").write_text(json.dumps(answered(json.loads((tmp_path / "tasks.json").read_text()), tool)))
    read = ["import", str(tmp_path / "answers.json"), "--generations", str(tmp_path / "made.csv")]
    done = CliRunner().invoke(main, ["ratings", *read, "--output", str(tmp_path / "ratings.csv")])
    assert done.exit_code == 0, done.output
    assert "14 ratings by 2 raters" in done.stderr
    ratings = pl.read_csv(tmp_path / "ratings.csv")
    assert ratings.filter(generation_id="g2", dimension=HOSTILE).sort("rater_id")["value"].to_list() == [5.0, 1.0]
    assert ratings["model"].unique().sort().to_list() == ["secret-a", "secret-b"]
    assert "ann@example.org" not in (tmp_path / "ratings.csv").read_text("utf-8")
    assert MosRatings.from_frame(ratings).scored.height == 14


@pytest.mark.parametrize("tool", TOOLS)
def test_a_task_shows_the_prompt_of_its_picture_and_nothing_where_there_is_none(tool: Tool) -> None:
    for generations, prompts in ((GENERATIONS, ["a cat", "a cat", "", "a dog"]), (GENERATIONS.drop("prompt"), [""] * 4)):
        tasks = rating_tasks(generations, DIMENSIONS, tool)
        shown = [task["data"] if tool == "label-studio" else task["fields"] for task in tasks]
        assert [fields["prompt"] for fields in shown] == prompts
        assert [fields["picture"] for fields in shown] == generations["uri"].to_list()


def test_the_settings_have_every_question() -> None:
    view = ElementTree.fromstring(tool_settings(DIMENSIONS, "label-studio", scale=MarkRange(1, 7)))
    assert [(each.get("name"), each.get("maxRating")) for each in view.iter("Rating")] == [(name, "7") for name in DIMENSIONS]
    questions = json.loads(tool_settings(DIMENSIONS, "argilla", scale=MarkRange(0, 2)))["questions"]
    assert [(each["name"], each["values"]) for each in questions] == [(name, [0, 1, 2]) for name in DIMENSIONS]


def test_wrong_tasks_and_answers_are_refused(tmp_path: Path) -> None:
    for wrong in (
        ("argilla", MarkRange(0, 11)),
        ("argilla", MarkRange(3, 3)),
        ("label-studio", MarkRange(0, 5)),
        ("paper", MarkRange()),
    ):
        with pytest.raises(OptionError):
            rating_tasks(GENERATIONS, ["a"], wrong[0], scale=wrong[1])  # type: ignore[arg-type]
    for dimensions in ([], ["a", "a"], [" "]):
        with pytest.raises(OptionError, match="each dimension once"):
            rating_tasks(GENERATIONS, dimensions, "argilla")
    with pytest.raises(BattleError, match="two rows"):
        rating_tasks(pl.concat([GENERATIONS, GENERATIONS[:1]]), ["a"], "argilla")
    with pytest.raises(BattleError, match="missing column"):
        rating_tasks(GENERATIONS.drop("uri"), ["a"], "argilla")
    good = answered(rating_tasks(GENERATIONS, DIMENSIONS, "argilla"), "argilla")

    def changed(**fields: object) -> list[object]:
        return [{**good[0], **fields}]

    path = tmp_path / "answers.json"
    response = {"truth": [{"value": 4, "user_id": "u"}]}
    for content, words in (
        ("{", "cannot be read"),
        (json.dumps({}), "list of tasks"),
        (json.dumps(changed(id="other", metadata={})), "unknown generation"),
        (json.dumps(changed(responses={"truth": [{"value": 9, "user_id": "u"}]})), "mark from 1 to 5"),
        (json.dumps(changed(responses={"truth": [{"value": True, "user_id": "u"}]})), "mark from 1 to 5"),
        (json.dumps(changed(responses=response) * 2), "marks it twice"),
    ):
        path.write_text(content)
        with pytest.raises(BattleError, match=words):
            collected_marks(path, GENERATIONS)
