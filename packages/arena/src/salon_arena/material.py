"""Read prompts, the pictures or videos of one folder per model, and pairs whose winner is known."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final, cast

import polars as pl
from pydantic import ValidationError

from salon_arena.blind import BlindMedia
from salon_console.table_rows import BadRow, TableRow, UsableRows, read_each, table_rows, unique_rows
from salon_judges.formats.generation_tables import located
from salon_judges.formats.generations import PICTURE_SUFFIXES, VIDEO_SUFFIXES, Generated, read_generations
from salon_judges.formats.suite_prompt import SuitePrompt
from salon_ranking.scheduling import Inventory
from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.errors import InputError, missing_path
from salon_taxonomy.records import MediaRole, Prompt, Winner
from salon_taxonomy.verdict import Unscored

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
        files: the pictures or videos, by model, prompt and sample.
        kind: ``picture`` or ``video``.
        remarks: sentences about rows and files that were left out.
        test_points: by prompt, what is to be checked, by the name of the test point (MEF, appendix D).
        beside: by prompt, a file that is shown beside those of the models: the source of an edit.
    """

    prompts: Mapping[str, Prompt]
    files: tuple[Generated, ...]
    kind: str = "picture"
    remarks: tuple[str, ...] = ()
    test_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    beside: Mapping[str, Generated] = field(default_factory=dict)

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in ascending order."""
        return tuple(sorted({file.model for file in self.files}))

    @cached_property
    def inventory(self) -> Inventory:
        """The pictures as the scheduler takes them; a sample's id is its place in ``files``."""
        frame = pl.DataFrame(
            {
                "model": [file.model for file in self.files],
                "prompt_id": [file.prompt_id for file in self.files],
                "generation_id": [str(place) for place in range(len(self.files))],
            }
        )
        return Inventory.from_frame(frame)


def read_material(folder: Path, prompts: Path, *, compared: bool = True) -> Material:
    """Read the prompts and find the pictures or videos of every model.

    Each sub-folder of ``folder`` is a model; its files are matched to prompts by the rules of
    :func:`salon_judges.formats.generations.read_generations`: ``<prompt_id>.png``, ``<prompt_id>.<sample>.png`` or
    ``<prompt_id>/<sample>.png``, or the same with ``.mp4``, ``.webm``, ``.mov``, ``.mkv``, ``.avi``. No file is opened.

    Args:
        folder: one sub-folder for each model.
        prompts: a table (``.jsonl``, ``.json``, ``.csv``, ``.parquet``) with ``prompt_id`` and ``prompt`` (or ``text``),
            and if wanted ``language`` (BCP 47), ``scenario``, ``labels`` and ``test_points`` (lists, or texts with semicolons).
            A test point is ``name: what to check``, such as ``Quantity: three cats``. Or the released prompts of MagicBench
            (``prompt_t2i``, ``subject``, ``class``, ``detail_class``) or of Magic-Bench-377 (``Prompt_text_en``, …; English):
            :mod:`salon_judges.formats` says what files are called.
        compared: whether models are shown beside each other; False: one model is enough, and one file of a prompt.

    Raises:
        InputError: the folder or file cannot be read, a model has no file for a prompt, no two models have files for one
            prompt although they are compared, or some files are pictures and others videos.

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
    rows = _read_prompts(prompts)
    known = {prompt.prompt_id: prompt for prompt, _ in rows}
    points = {prompt.prompt_id: checks for prompt, checks in rows if checks}
    if not folder.is_dir():
        raise missing_path(folder, "folder", meaning="Give a folder with one sub-folder for each model.")
    models = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if len(models) < (fewest := 2 if compared else 1):
        names = [entry.name for entry in models]
        hint = "Put the pictures of each model into a sub-folder of its own."
        raise InputError(
            f"a {'battle needs two models' if compared else 'task needs a model'}; sub-folders here:",
            source=folder,
            value=len(names),
            found=names,
            hint=hint,
        )
    files: list[Generated] = []
    left_out = 0
    for model in models:
        if len(model.name) > _LONGEST_NAME:
            raise InputError(f"a model's name has more than {_LONGEST_NAME} characters", source=model)
        if without_surrogates(model.name) != model.name:
            raise InputError("the name of a model's folder is not UTF-8:", source=folder, value=ascii(model.name))
        one = read_generations(model, model.name, known, suffixes=PICTURE_SUFFIXES + VIDEO_SUFFIXES)
        left_out += len(one.left_out)
        for prompt_id in known:
            files += {file.sample: file for file in one.of(prompt_id, model.name)}.values()  # the last turn of a conversation
    per_prompt: dict[str, set[str]] = {}
    for file in files:
        per_prompt.setdefault(file.prompt_id, set()).add(file.model)
    if compared and all(len(names) == 1 for names in per_prompt.values()):
        raise InputError("no prompt has pictures of two models", source=folder, hint="Pictures are matched by prompt_id.")
    unused = sum(len(per_prompt.get(prompt_id, ())) < fewest for prompt_id in known)
    remarks = [*rows.remarks()]
    remarks += [f"{left_out:,} files that belong to no prompt are left out."] if left_out else []
    missing = "pictures of fewer than two models" if compared else "no picture"
    remarks += [f"{unused:,} of {len(known):,} prompts have {missing} and are not shown."] if unused else []
    kinds = {file.path.name.lower().endswith(VIDEO_SUFFIXES) for file in files}
    if len(kinds) == 2:
        raise InputError("holds pictures and videos; an arena shows one or the other", source=folder)
    return Material(known, tuple(files), "video" if kinds == {True} else "picture", tuple(remarks), points)


def shown_beside(material: Material, reference: str, prompts: Path | None = None) -> Material:
    """Return the material with a file beside the others' of each prompt, to be looked at and not compared.

    Args:
        material: what is compared.
        reference: a model of the material, whose files these are; else a column of the prompts with their paths.
        prompts: the table; paths start in its folder and stay in it.

    Raises:
        InputError: there is no such model or column, a prompt of two others has no file of it, several, a damaged one or one of
            the other kind, or no prompt has two others.
    """
    own: dict[str, list[Generated]] = {}
    if reference in material.models:
        for file in material.files:
            if file.model == reference:
                own.setdefault(file.prompt_id, []).append(file)
    else:
        own = {} if prompts is None else _beside_of_rows(material, reference, prompts)
        if not own:
            hint = "Or name a column of the prompts that has the path of a file for each."
            raise InputError("the reference is no model of the folder:", value=reference, allowed=material.models, hint=hint)
    files = tuple(file for file in material.files if file.model != reference)
    others: dict[str, set[str]] = {}
    for file in files:
        others.setdefault(file.prompt_id, set()).add(file.model)
    compared, blind = [prompt_id for prompt_id, models in others.items() if len(models) > 1], BlindMedia()
    if not compared:
        raise InputError("no prompt has pictures of two models beside the reference", value=reference)
    for prompt_id in compared:
        if len(own.get(prompt_id, ())) != 1:
            problem = f"the reference {reference} needs one file of each prompt, and has {len(own.get(prompt_id, ()))} of"
            raise InputError(problem, value=prompt_id)
        prepared = blind.prepared(own[prompt_id])  # without its source no pair of the prompt could be shown
        if isinstance(prepared, Unscored):
            raise InputError(f"the reference cannot be shown: {prepared.detail}", source=own[prompt_id][0].path)
    return replace(material, files=files, beside={prompt_id: own[prompt_id][0] for prompt_id in compared})


def _beside_of_rows(material: Material, column: str, prompts: Path) -> dict[str, list[Generated]]:
    """Return the file that a column names for each prompt; nothing where no row has the column."""
    own: dict[str, list[Generated]] = {}
    suffixes = VIDEO_SUFFIXES if material.kind == "video" else PICTURE_SUFFIXES
    for row in table_rows(prompts):
        prompt_id = str(row.cells.get("prompt_id", ""))
        if row.cells.get(column) is None or prompt_id not in material.prompts:
            continue
        text = row.text(column)
        path, root = located(text, prompts, row.number, column)
        if path.suffix.lower() not in suffixes:
            raise row.problem(f"is no {material.kind}, as the files beside it are:", column, value=text)
        own.setdefault(prompt_id, []).append(Generated(prompt_id, column, 0, path, root, role=MediaRole.SOURCE))
    return own


@dataclass(frozen=True, slots=True)
class KnownPair:
    """Two files of one prompt, and what people are known to answer.

    Attributes:
        a: the file of model a.
        b: the file of model b.
        winner: ``model_a``, ``model_b``, ``both_good``, ``both_bad`` or ``tie`` (any of the two ties).
    """

    a: Generated
    b: Generated
    winner: Winner

    @property
    def pair(self) -> str:
        """The same text for the same two files, whichever is a."""
        return pair_key(self.a, self.b)


def pair_key(one: Generated, other: Generated) -> str:
    """Return the key of two files, independent of their order.

    Example:
        >>> from pathlib import Path
        >>> a, b = (Generated("cat", model, 0, Path(), Path()) for model in ("x", "y"))
        >>> pair_key(a, b) == pair_key(b, a)
        True
    """
    named = sorted((file.model, str(file.sample)) for file in (one, other))
    return "\x1f".join([one.prompt_id, *named[0], *named[1]])


def read_pairs(path: Path, material: Material) -> tuple[tuple[Generated, Generated], ...]:
    """Read the only pairs that are to be shown, each once.

    Args:
        path: a table as of :func:`read_known_pairs`, without ``winner``. Where it has a column ``drawn``, as ``salon votes
            draw`` writes it, rows in which that is false are left out.
        material: the files that the rows name.

    Raises:
        InputError: there is no pair, a column is missing, ``drawn`` is neither true nor false, or a row names a file that is
            not in ``material``.
    """
    pairs: dict[str, tuple[Generated, Generated]] = {}
    for _, pair in _pairs(path, material, _is_drawn):
        pairs.setdefault(pair_key(*pair), pair)
    return tuple(pairs.values())


def read_files(path: Path, material: Material) -> tuple[Generated, ...]:
    """Read the only files that are to be shown, each once, in the order of ``material``.

    Args:
        path: a table with ``prompt_id`` and ``model``, and if wanted ``sample`` (0 when absent). Where it has a column
            ``drawn``, as ``salon results draw`` writes it, rows in which that is false are left out.
        material: the files that the rows name.

    Raises:
        InputError: as :func:`read_pairs`.
    """
    files = _by_name(material)
    chosen = {_file(row, files, "model", "sample") for row in table_rows(path) if _is_drawn(row)}
    if not chosen:
        raise InputError("there is no picture in the file", source=path)
    return tuple(file for file in material.files if file in chosen)


def read_known_pairs(path: Path, material: Material) -> tuple[KnownPair, ...]:
    """Read anchors, or the pairs of a qualification test, from a table.

    Args:
        path: ``.jsonl``, ``.json``, ``.csv`` or ``.parquet`` with ``prompt_id``, ``model_a``, ``model_b``, ``winner``, and if
            wanted ``sample_a`` and ``sample_b`` (0 when absent).
        material: the files that the rows name.

    Returns:
        The pairs, each once.

    Raises:
        InputError: there is no row, a column is missing, a row names a file that is not in ``material``, the two models of a
            row are one, or a winner is unknown or another one than that of the same pair before.
    """
    known: dict[str, KnownPair] = {}
    for row, pair in _pairs(path, material):
        this = KnownPair(*pair, Winner(row.text("winner", allowed=tuple(Winner))))
        before = known.setdefault(this.pair, this)
        if _winner_of(before) != _winner_of(this):
            raise row.problem("the same pair has another winner before:", "winner", value=this.winner.value)
    return tuple(known.values())


def _winner_of(known: KnownPair) -> Generated | Winner:
    """Return the file that wins, or the kind of tie."""
    return {Winner.MODEL_A: known.a, Winner.MODEL_B: known.b}.get(known.winner, known.winner)


def _pairs(
    path: Path, material: Material, wanted: Callable[[TableRow], bool] = lambda _: True
) -> list[tuple[TableRow, tuple[Generated, Generated]]]:
    """Return the wanted rows of a table, which name two files of one prompt, with the files."""
    files = _by_name(material)
    sides = (("model_a", "sample_a"), ("model_b", "sample_b"))
    pairs = []
    for row in table_rows(path):
        if wanted(row):
            one, other = (_file(row, files, *side) for side in sides)
            if one.model == other.model:  # no battle, and an answer that names no winner
                raise row.problem("the two models of a pair are one:", "model_b", value=other.model)
            pairs.append((row, (one, other)))
    if not pairs:
        raise InputError("there is no pair in the file", source=path)
    return pairs


def _by_name(material: Material) -> dict[tuple[str, str, int], Generated]:
    return {(file.prompt_id, file.model, file.sample): file for file in material.files}


def _file(row: TableRow, files: Mapping[tuple[str, str, int], Generated], model: str, sample: str) -> Generated:
    """Return the file that a row names by two columns and its prompt."""
    number, name = str(row.cells.get(sample) or 0), row.text(model)
    if not re.fullmatch("[0-9]{1,9}", number):
        raise row.problem("must be the number of a sample, from 0, not", sample, value=number[:80])
    file = files.get((row.text("prompt_id"), name, int(number)))
    if file is None:
        raise row.problem("has no file for this prompt and sample:", model, value=name)
    return file


def _is_drawn(row: TableRow) -> bool:
    drawn = str(row.cells.get("drawn", True)).lower()
    if drawn not in ("true", "false"):
        raise row.problem("is neither true nor false:", "drawn", value=drawn[:80])
    return drawn == "true"


def _read_prompts(path: Path) -> UsableRows[tuple[Prompt, Mapping[str, str]]]:
    """Read prompts with their test points from an own table or a released file; the columns say which."""
    from salon_judges.formats import magic_bench_377_prompts as magic_bench_377
    from salon_judges.formats import magicbench_prompts as magicbench

    columns = next((set(row[1]) for row in read_each(path, lambda row: row.cells) if not isinstance(row, BadRow)), set())
    if "prompt_t2i" in columns:
        return magicbench.read_prompts(path).map(lambda row: (row.prompt, {}))
    if columns & set(magic_bench_377.RELEASED_TEXTS.values()):
        return magic_bench_377.read_prompts(path).map(lambda row: (row.prompt, _released_points(row)))
    return unique_rows(path, _prompt_row, lambda row: row[0].prompt_id, "prompt_id", what="prompt")


def _released_points(prompt: SuitePrompt) -> dict[str, str]:
    from salon_judges.formats.magic_bench_377_labels import points

    listed = cast("list[list[str]]", prompt.facts["test_points"])
    return {points()[point].name: demand or points()[point].name for point, demand in listed}


def _prompt_row(row: TableRow) -> tuple[Prompt, Mapping[str, str]]:
    points: dict[str, str] = {}
    for text in _listed(row, "test_points"):
        name, _, check = (part.strip() for part in text.partition(":"))
        if not name or name in points:
            raise row.problem("each test point of a prompt needs a name of its own, not", "test_points", value=text)
        if len(name) > _LONGEST_NAME:
            problem = f"the name of a test point, before its colon, has more than {_LONGEST_NAME} characters:"
            raise row.problem(problem, "test_points", value=name[:80])
        points[name] = check or name
    return _prompt(row), points


def _listed(row: TableRow, column: str) -> list[str]:
    cell = row.cells.get(column) or []
    listed = cell.split(";") if isinstance(cell, str) else cell
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise row.problem("must be a list of texts, or one text with semicolons, not", column, value=str(cell)[:80])
    for text in listed:
        if without_surrogates(text) != text:
            raise row.problem("holds half a surrogate pair, which no encoding can carry:", column, value=text[:80])
    return [text.strip() for text in listed if text.strip()]


def _prompt(row: TableRow) -> Prompt:
    column = "prompt" if "prompt" in row.cells or "text" not in row.cells else "text"
    text, prompt_id = row.text(column), row.text("prompt_id")
    for name, value, longest in ((column, text, _LONGEST_PROMPT), ("prompt_id", prompt_id, _LONGEST_KEY)):
        if len(value) > longest:
            raise row.problem(f"has more than {longest} characters:", name, value=value[:80])
    words = {name: row.optional_text(name) for name in ("language", "scenario")}
    try:
        return Prompt(prompt_id=prompt_id, suite=SUITE, text=text, **words, labels=tuple(_listed(row, "labels")))
    except ValidationError as error:
        [wrong, *_] = error.errors()
        raise row.problem(f"{wrong['msg']}:", str(wrong["loc"][0]), value=wrong["input"]) from error
