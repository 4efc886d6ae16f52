"""Marks of pictures collected in Label Studio or Argilla: tasks for them, and their answers as ratings.

A task has the picture's address, the prompt and the generation's id, but no model: raters stay blind, and the import takes
model and prompt from the same table of generations. Label Studio: the JSON of its import and export. Argilla: records as
dictionaries, as ``dataset.records.to_list()`` of its client returns them and ``dataset.records.log`` takes them. No server is
asked.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args
from xml.sax.saxutils import quoteattr

import polars as pl

from salon_ranking.errors import BattleError, OptionError
from salon_ranking.table_checks import CheckedTable
from salon_taxonomy.digest import digest

Tool: TypeAlias = Literal["label-studio", "argilla"]
TOOLS: Final[tuple[Tool, ...]] = get_args(Tool)
_NEEDED: Final = ("generation_id", "prompt_id", "model", "uri")
_LARGEST: Final = 10
"""The largest mark that both tools take."""
_NOT_GIVEN: Final = ("discarded", "draft", "pending")
"""The states of a response of Argilla that is no answer."""


@dataclass(frozen=True, slots=True)
class MarkRange:
    """The marks of a task: whole numbers from ``low`` to ``high``."""

    low: int = 1
    high: int = 5

    def check(self, tool: Tool) -> None:
        """Check that a tool can ask for these marks.

        Raises:
            OptionError: Argilla takes 0 to 10, Label Studio begins at 1; or the ends are equal or turned.
        """
        least = 1 if tool == "label-studio" else 0
        if not least <= self.low < self.high <= _LARGEST or (tool == "label-studio" and self.low != 1):
            rule = "1 to at most 10" if tool == "label-studio" else "two ends between 0 and 10, the lower first"
            raise OptionError(f"{tool} takes a scale of {rule}, not", value=f"{self.low},{self.high}")


@dataclass(frozen=True, slots=True)
class CollectedMarks:
    """Ratings out of a tool's answers.

    Attributes:
        ratings: one row per mark, with the columns that ``salon ratings mos`` reads.
        skipped: annotations or responses that their author skipped, discarded or left unfinished.
    """

    ratings: pl.DataFrame
    skipped: int


def rating_tasks(
    generations: pl.DataFrame,
    dimensions: Sequence[str],
    tool: Tool,
    *,
    scale: MarkRange | None = None,
    source: str = "generations",
) -> list[dict[str, Any]]:
    """Return one task per generation, as the tool imports it.

    Args:
        generations: columns ``generation_id``, ``prompt_id``, ``model``, ``uri`` and, if there is one, ``prompt`` (its text).
        dimensions: what is marked, such as ``beauty``.
        tool: whose form the tasks have.
        scale: the marks; default: 1 to 5.
        source: what a message calls the table.

    Raises:
        BattleError: a column is missing, a name is null or empty, or a generation is in two rows.
        OptionError: the tool is unknown or does not take the scale, or a dimension is missing, empty or given twice.

    Example:
        >>> rows = {"generation_id": ["g"], "prompt_id": ["p"], "model": ["m"], "uri": ["g.png"]}
        >>> rating_tasks(pl.DataFrame(rows), ["beauty"], "argilla")[0]["fields"]
        {'picture': 'g.png', 'prompt': ''}
    """
    marks = _checked(dimensions, tool, scale or MarkRange())
    rows = _generations(generations, source)
    texts = rows["prompt"] if "prompt" in rows.columns else pl.Series([""] * rows.height)
    tasks = []
    for row, text in zip(rows.iter_rows(named=True), texts, strict=True):
        about = {"generation_id": row["generation_id"], "scale_min": marks.low, "scale_max": marks.high}
        if tool == "label-studio":
            tasks.append({"data": {"picture": row["uri"], "prompt": text or "", **about}})
        else:
            fields = {"picture": row["uri"], "prompt": text or ""}
            tasks.append({"id": row["generation_id"], "fields": fields, "metadata": about, "suggestions": {}, "responses": {}})
    return tasks


def tool_settings(dimensions: Sequence[str], tool: Tool, *, scale: MarkRange | None = None) -> str:
    """Return the questions for the tool: Label Studio's labelling configuration, or Argilla's settings as JSON.

    Raises:
        OptionError: as :func:`rating_tasks`.
    """
    marks = _checked(dimensions, tool, scale or MarkRange())
    if tool == "label-studio":
        questions = "".join(
            f'  <Header value={name}/>\n  <Rating name={name} toName="picture" maxRating="{marks.high}"/>\n'
            for name in map(quoteattr, dimensions)
        )
        shown = '  <Text name="prompt" value="$prompt"/>\n  <Image name="picture" value="$picture"/>\n'
        return f"<View>\n{shown}{questions}</View>\n"
    document = {
        "fields": [{"name": "picture", "type": "image"}, {"name": "prompt", "type": "text"}],
        "questions": [
            {"name": name, "type": "rating", "values": list(range(marks.low, marks.high + 1))} for name in dimensions
        ],
        "metadata": [{"name": name, "type": kind} for name, kind in _METADATA.items()],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


_METADATA: Final = {"generation_id": "terms", "scale_min": "integer", "scale_max": "integer"}


def collected_marks(path: Path, generations: pl.DataFrame, *, source: str = "generations") -> CollectedMarks:
    """Read a tool's answers about generations as ratings; the file's content says which tool it is.

    Args:
        path: Label Studio's JSON export, or a list of Argilla's records as JSON.
        generations: the table that the tasks were made of.
        source: what a message calls that table.

    Raises:
        BattleError: the file is no list of tasks or records, names an unknown generation, has a mark outside its scale, or
            a rater marks one dimension of a generation twice; or the table of generations is wrong.
    """
    rows = _generations(generations, source)
    known = {row["generation_id"]: row for row in rows.iter_rows(named=True)}
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BattleError(f"cannot be read ({error})", source=path) from error
    if not isinstance(records, list) or not all(isinstance(each, Mapping) for each in records):
        raise BattleError(
            "must be a list of tasks or records", source=path, hint="Give the JSON export of Label Studio or Argilla."
        )
    found: dict[str, dict[str, Any]] = {}
    skipped = 0
    for number, record in enumerate(records, start=1):
        about = record.get("data") if "data" in record else record.get("metadata")
        about = about if isinstance(about, Mapping) else {}
        generation = about.get("generation_id", record.get("id") if "fields" in record else None)
        if generation not in known:
            raise BattleError("names an unknown generation", source=path, row=number, column="generation_id", value=generation)
        low, high = about.get("scale_min", MarkRange().low), about.get("scale_max", MarkRange().high)
        given = _of_label_studio(record) if "data" in record else _of_argilla(record)
        for rater, dimension, value in given:
            if value is None:
                skipped += 1
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                allowed = f"{low} to {high}"
                raise BattleError(f"must be a mark from {allowed}, not", source=path, row=number, column=dimension, value=value)
            rating = digest("collected mark", [generation, dimension, rater])
            if rating in found:
                raise BattleError("one rater marks it twice:", source=path, row=number, column=dimension, value=rater)
            row = known[generation]
            found[rating] = {
                "rating_id": rating,
                "prompt_id": row["prompt_id"],
                "generation_id": generation,
                "model": row["model"],
                "dimension": dimension,
                "value": float(value),
                "scale_min": float(low),
                "scale_max": float(high),
                "rater_id": rater,
            }
    return CollectedMarks(pl.DataFrame(list(found.values()), schema=_RATINGS), skipped)


_RATINGS: Final = {
    **dict.fromkeys(("rating_id", "prompt_id", "generation_id", "model", "dimension"), pl.String),
    **dict.fromkeys(("value", "scale_min", "scale_max"), pl.Float64),
    "rater_id": pl.String,
}
_Given: TypeAlias = Iterator[tuple[str, str, Any]]
"""Rater, dimension and mark; None for a mark: skipped."""


def _of_label_studio(task: Mapping[str, Any]) -> _Given:
    annotations = task.get("annotations")
    for each in annotations if isinstance(annotations, list) else ():
        who = each.get("completed_by")
        rater = str(who.get("id") if isinstance(who, Mapping) else who)
        if each.get("was_cancelled") is True:
            yield rater, "", None
            continue
        for result in each.get("result") or ():
            if result.get("type") == "rating":
                yield rater, str(result.get("from_name")), (result.get("value") or {}).get("rating")


def _of_argilla(record: Mapping[str, Any]) -> _Given:
    responses = record.get("responses")
    for dimension, given in responses.items() if isinstance(responses, Mapping) else ():
        for each in given or ():
            rater = str(each.get("user_id"))
            yield rater, str(dimension), None if each.get("status") in _NOT_GIVEN else each.get("value")


def _checked(dimensions: Sequence[str], tool: Tool, scale: MarkRange) -> MarkRange:
    if tool not in TOOLS:
        raise OptionError("unknown tool", value=tool, allowed=TOOLS)
    scale.check(tool)
    if not dimensions or not all(name.strip() for name in dimensions) or len(set(dimensions)) < len(dimensions):
        raise OptionError("name each dimension once:", value=list(dimensions))
    return scale


def _generations(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    table = CheckedTable(frame, source, BattleError).with_names(list(_NEEDED))
    table.refuse_wrong()
    rows = table.frame
    twice = rows.filter(~pl.col("generation_id").is_first_distinct())
    if twice.height:
        raise BattleError(
            "a generation is in two rows:", source=source, column="generation_id", value=twice["generation_id"][0]
        )
    return rows
