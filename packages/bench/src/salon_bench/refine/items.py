"""The pictures to refine, each with its prompt: one, or a file of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from salon_bench.runs.picture_digests import PictureDigests
from salon_console.table_rows import BadRow, TableRow, UsableRows, read_each, unique_rows
from salon_judges.formats.r3_bench import read_items
from salon_taxonomy.errors import InputError

PAGE: Final = "trace.html"
"""The page of a refinement, beside the folders of the items."""
ROUNDS: Final = "rounds.jsonl"
"""A line for each round of each item, beside the page."""
_LONGEST_ID: Final = 200


@dataclass(frozen=True, slots=True)
class RefineItem:
    """One picture to be refined.

    Attributes:
        item_id: names its folder and its rows.
        prompt: what the picture should show.
        picture: the file.
        questions: yes/no questions about the prompt's facts; empty: a judge is asked to find them where they are needed.
        answers: the right answer to each.

    Raises:
        InputError: for an id that cannot name a folder, a blank prompt, or lists of different lengths.
    """

    item_id: str
    prompt: str
    picture: Path
    questions: tuple[str, ...] = ()
    answers: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        name = self.item_id
        if not 0 < len(name) <= _LONGEST_ID or not name.isprintable() or "/" in name or name.strip(". ") == "":
            raise InputError("an id must be a short text without '/', not", column="id", value=name)
        if name.casefold() in (PAGE, ROUNDS):
            raise InputError("an id names a folder, and a file beside it has this name:", column="id", value=name)
        if not self.prompt.strip():
            raise InputError("the prompt is blank", column="prompt", value=self.prompt)
        if len(self.questions) != len(self.answers):
            raise InputError("every question needs its answer", column="questions", value=len(self.questions))


def read_refine_items(path: Path, images: Path | None = None) -> UsableRows[RefineItem]:
    """Read a file with ``prompt, image`` and maybe ``id``, or released rows of R³-Bench.

    Args:
        path: ``.csv``, ``.json``, ``.jsonl`` or ``.parquet``.
        images: the folder that pictures are named from; default: that of the file.

    Raises:
        InputError: the file cannot be read, or none of its rows can be used.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "items.csv"
        >>> _ = path.write_text("id,prompt,image\\ncat,a black cat,cat.png\\n")
        >>> read_refine_items(path)[0].item_id
        'cat'
    """
    rows = read_each(path, lambda row: row)
    first = next((each[1] for each in rows if not isinstance(each, BadRow)), None)
    if first is not None and "original_prompt" in first.cells:
        return read_items(path, images).map(
            lambda row: RefineItem(row.idx, row.prompt, row.picture, row.questions, row.answers)
        )
    folder = images or path.parent
    return unique_rows(path, lambda row: _item(row, folder), lambda row: row.item_id, "id")


def listing(items: Sequence[RefineItem]) -> list[list[str | int | list[str] | list[bool]]]:
    """Return what of the items could change a run: their ids, prompts, questions, and the digests of their files."""
    sums = PictureDigests().of([each.picture for each in items])
    return [
        [each.item_id, each.prompt, list(each.questions), list(each.answers), sha256]
        for each, sha256 in zip(items, sums, strict=True)
    ]


def _item(row: TableRow, folder: Path) -> RefineItem:
    value = row.cells.get("id")
    item_id = str(value).strip() if isinstance(value, int | str) and str(value).strip() else f"{row.number:04d}"
    try:
        return RefineItem(item_id, row.text("prompt"), folder / row.text("image"))
    except InputError as error:
        if error.source is not None:
            raise
        raise row.problem(error.problem, error.column or "id", value=error.value) from error
