"""What is compared: prompts of a file, and the pictures of one folder per model."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl

from salon_bench.suites.contract.generations import Generated, read_generations
from salon_bench.suites.contract.table_rows import TableRow, unique_rows
from salon_ranking.scheduling import Shelf
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Prompt

SUITE: Final = "arena"
"""The suite of exported battles and prompts."""
_LONGEST_PROMPT: Final = 8000
_LONGEST_KEY: Final = 200
_LONGEST_NAME: Final = 400


@dataclass(frozen=True)
class Material:
    """Prompts and pictures of an arena. Make one with :func:`read_material`.

    Attributes:
        prompts: by id, in the file's order.
        files: the pictures, by model, prompt and sample.
        remarks: sentences about rows and files that were left out.
    """

    prompts: Mapping[str, Prompt]
    files: tuple[Generated, ...]
    remarks: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in ascending order."""
        return tuple(sorted({file.model for file in self.files}))

    @cached_property
    def shelf(self) -> Shelf:
        """The pictures as the scheduler takes them; a sample's id is its place in ``files``."""
        frame = pl.DataFrame(
            {
                "model": [file.model for file in self.files],
                "prompt_id": [file.prompt_id for file in self.files],
                "generation_id": [str(place) for place in range(len(self.files))],
            }
        )
        return Shelf.from_frame(frame)


def read_material(folder: Path, prompts: Path) -> Material:
    """Read the prompts and find the pictures of every model.

    Each sub-folder of ``folder`` is a model; its pictures are matched to prompts by the rules of
    :func:`salon_bench.suites.read_generations`: ``<prompt_id>.png``, ``<prompt_id>.<sample>.png`` or
    ``<prompt_id>/<sample>.png``. No picture is opened.

    Args:
        folder: one sub-folder for each model.
        prompts: a table (``.jsonl``, ``.json``, ``.csv``, ``.parquet``) with ``prompt_id`` and ``prompt`` (or ``text``),
            and if wanted ``language`` (BCP 47), ``scenario`` and ``labels`` (a list, or text with semicolons).

    Raises:
        InputError: the folder or file cannot be read, a model has no picture of a prompt, or no two models have pictures of
            one prompt.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "prompts.jsonl").write_text('{"prompt_id": "cat", "prompt": "a cat"}')
        >>> for model in ("atelier", "brush"):
        ...     (folder / "pictures" / model).mkdir(parents=True)
        ...     _ = (folder / "pictures" / model / "cat.png").write_bytes(b"")
        >>> read_material(folder / "pictures", folder / "prompts.jsonl").models
        ('atelier', 'brush')
    """
    rows = unique_rows(prompts, _prompt, lambda prompt: prompt.prompt_id, "prompt_id", what="prompt")
    known = {prompt.prompt_id: prompt for prompt in rows}
    if not folder.is_dir():
        raise InputError("there is no such folder", source=folder, hint="Give a folder with one sub-folder for each model.")
    models = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if len(models) < 2:
        found = [entry.name for entry in models]
        hint = "Put the pictures of each model into a sub-folder of its own."
        raise InputError(
            "a battle needs two models; sub-folders here:", source=folder, value=len(found), found=found, hint=hint
        )
    files: list[Generated] = []
    left_out = 0
    for model in models:
        if len(model.name) > _LONGEST_NAME:
            raise InputError(f"a model's name has more than {_LONGEST_NAME} characters", source=model)
        one = read_generations(model, model.name, known)
        left_out += len(one.left_out)
        for prompt_id in known:
            files += one.of(prompt_id, model.name)
    per_prompt: dict[str, set[str]] = {}
    for file in files:
        per_prompt.setdefault(file.prompt_id, set()).add(file.model)
    if all(len(names) == 1 for names in per_prompt.values()):
        raise InputError("no prompt has pictures of two models", source=folder, hint="Pictures are matched by prompt_id.")
    unused = sum(len(per_prompt.get(prompt_id, ())) < 2 for prompt_id in known)
    remarks = [*rows.remarks()]
    remarks += [f"{left_out:,} files that belong to no prompt are left out."] if left_out else []
    remarks += (
        [f"{unused:,} of {len(known):,} prompts have pictures of fewer than two models and are not shown."] if unused else []
    )
    return Material(known, tuple(files), tuple(remarks))


def _prompt(row: TableRow) -> Prompt:
    column = "prompt" if "prompt" in row.cells or "text" not in row.cells else "text"
    text, prompt_id = row.text(column), row.text("prompt_id")
    for name, value, longest in ((column, text, _LONGEST_PROMPT), ("prompt_id", prompt_id, _LONGEST_KEY)):
        if len(value) > longest:
            raise row.problem(f"has more than {longest} characters:", name, value=value[:80])
    labels = row.cells.get("labels") or []
    listed = labels.split(";") if isinstance(labels, str) else labels
    if not isinstance(listed, list) or not all(isinstance(label, str) for label in listed):
        raise row.problem("must be a list of texts, or one text with semicolons, not", "labels", value=str(labels)[:80])
    return Prompt(
        prompt_id=prompt_id,
        suite=SUITE,
        text=text,
        language=row.optional_text("language"),
        scenario=row.optional_text("scenario"),
        labels=tuple(label.strip() for label in listed if label.strip()),
    )
