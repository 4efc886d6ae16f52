"""Pictures and videos from elsewhere: folders, manifests, webdataset archives, Parquet and Arrow files with bytes.

Every reader yields :class:`~salon_curate.dataset.Picture`. A file that cannot be read becomes a row with a problem; a table,
archive or key that is wrong is refused by name, and the data set stays as it was.
"""

import json
import tarfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from salon_console.table_rows import TABLE_ENDINGS, table_rows
from salon_curate.dataset import SHARD_ROWS, DataSet, Picture, RowSource, checked_key, read_rows
from salon_judges.media.video_container import VIDEO_ENDINGS
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_taxonomy.errors import IncompleteError, InputError, missing_path
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.verdict import Unscored
from salon_taxonomy.visible_text import visible

_PICTURE_ENDINGS: Final = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif")
_MEDIA_ENDINGS: Final = (*_PICTURE_ENDINGS, *VIDEO_ENDINGS.values())
_MOST_BYTES: Final = 128 << 20
_BLOCK: Final = 512
_LONGEST_CAPTION: Final = 1 << 20
_ROWS_AT_ONCE: Final = 256
_KEYS: Final = ("key", "id", "__key__", "prompt_id", "idx")
_IMAGES: Final = ("image", "images", "file", "file_name", "path", "image_path", "picture", "video", "video_path")
_PROMPTS: Final = ("prompt", "caption", "text", "original_prompt", "prompt_t2i")


@dataclass(frozen=True, slots=True)
class Columns:
    """What a table calls its columns; None looks for the usual names."""

    key: str | None = None
    image: str | None = None
    prompt: str | None = None
    edited: str | None = None


FORMATS: Final[Mapping[str, Columns]] = {
    "any": Columns(),
    "r3": Columns(key="idx", image="bad_image", prompt="original_prompt"),
    "magicdata": Columns(key="images", image="images", prompt=None),
    "artifact-bench": Columns(),
    "cuts": Columns(),
}
"""Released formats by name. A row of Artifact-Bench names videos; each becomes one row. ``cuts`` is a data set of ours, whose
stage ``cut`` has cut videos into clips."""


def import_pictures(
    dataset: DataSet,
    source: Path,
    *,
    pictures: Path | None = None,
    layout: str = "any",
    columns: Columns = FORMATS["any"],
    licence: str = "unknown",
    shard_rows: int = SHARD_ROWS,
) -> RowSource:
    """Add the pictures and videos of a folder, a manifest, an archive or a table to a data set.

    Args:
        dataset: gets new shards at its end.
        source: a folder of pictures or videos, each with its prompt in the file of its name that ends in .txt, if there is one;
            a ``.tar``; a table (``.csv``, ``.jsonl``, ``.json``, ``.parquet``, ``.arrow``)
            with their bytes or their names.
        pictures: the folder that the names in a table refer to; default: the table's own folder.
        layout: a released layout of :data:`FORMATS`.
        columns: what the table calls its columns, where they are not those of the layout.
        licence: of the pictures, for the data set card.
        shard_rows: pictures in a shard at most.

    Raises:
        InputError: the source cannot be read, an argument has no effect on it, a key is wrong or occurs twice, a name leads out
            of its folder.
        StorageError: a shard cannot be written.
    """
    if layout not in FORMATS:
        raise InputError("unknown layout", column="layout", value=layout, allowed=FORMATS)
    if not source.exists():
        raise missing_path(source, "file or folder")
    arrow = sorted(source.glob("data-*.arrow")) if source.is_dir() else []  # what datasets' save_to_disk writes
    if pictures is not None and not pictures.is_dir():
        raise missing_path(pictures, "folder of pictures")
    kind = _kind(source, layout, arrow)
    _refuse_unused(kind, {"pictures": pictures, "key": columns.key, "image": columns.image, "prompt": columns.prompt,
                          "edited": columns.edited}, layout)  # fmt: skip
    known = FORMATS[layout]
    columns = Columns(columns.key or known.key, columns.image or known.image, columns.prompt or known.prompt, columns.edited)
    root = pictures or (source if source.is_dir() else source.parent)
    named = pictures is not None
    left_out: list[str] = []
    if kind == "cuts":
        picture_rows = clips_of(source, left_out)
    elif kind == "artifact-bench":
        picture_rows = _questioned_videos(source, root)
    elif kind == "arrow":
        picture_rows = (picture for file in arrow for picture in _table(file, root, columns, f"{file.stem}-", named))
    elif kind == "folder":
        picture_rows = _folder(source, left_out)
    elif kind == "webdataset":
        picture_rows = _archive(source)
    else:
        picture_rows = _table(source, root, columns, needs_names=named)
    name = source.resolve().name if source.is_dir() else source.name
    return dataset.add(picture_rows, name, kind, licence, shard_rows, left_out)


def _kind(source: Path, layout: str, arrow: Sequence[Path]) -> str:
    if layout in ("artifact-bench", "cuts"):
        return layout
    if source.is_dir():
        return "arrow" if arrow else "folder"
    return {".tar": "webdataset", ".parquet": "parquet"}.get(source.suffix, "manifest")


_USED: Final[Mapping[str, Collection[str]]] = {"folder": (), "webdataset": (), "cuts": (), "artifact-bench": ("pictures",)}
"""The arguments with an effect, of the kinds of sources that are no tables."""


def _refuse_unused(kind: str, options: Mapping[str, object], layout: str) -> None:
    """Refuse a layout or an argument that would be ignored."""
    used = _USED.get(kind)
    if used is None:
        return
    if layout not in ("any", kind):
        raise InputError(f"is a layout of tables, and the source is a {kind}:", column="layout", value=layout,
                         hint="Leave --layout out, or name the table.")  # fmt: skip
    for name, value in options.items():
        if value is not None and name not in used:
            raise InputError(
                f"has no effect on a source of kind {kind}:", column=name, value=value, hint=f"Leave --{name} out."
            )


def _folder(folder: Path, left_out: list[str]) -> Iterator[Picture]:
    """Yield the pictures and videos of a folder; a file whose name cannot be a key is left out, and named."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _MEDIA_ENDINGS)
    for row, path in enumerate(files, 1):
        name = path.relative_to(folder).as_posix()
        try:
            key = checked_key(name, source=str(folder), row=row)
        except InputError:
            left_out.append(visible(name))
            continue
        yield _picture_of_file(path, folder, key, _caption(path.with_suffix(".txt"), folder), {}, row)


def _caption(path: Path, folder: Path) -> str | None:
    """Return the text of the file of a picture's name that ends in .txt, where there is one."""
    content = read_inside(path, folder, _LONGEST_CAPTION) if path.is_file() else b""
    return None if isinstance(content, Unscored) else content.decode("utf-8", "replace").strip() or None


def _questioned_videos(source: Path, root: Path) -> Iterator[Picture]:
    """Yield every video that Artifact-Bench's questions name, each once, with what the questions say of it."""
    from salon_judges.formats.artifact_bench import LETTERS, QuestionTask, read_rows

    rows = read_rows(source)
    if rows.left_out:
        raise rows.left_out[0].error
    known: dict[str, dict[str, Any]] = {}
    for row in rows:
        for video in row.videos:
            facts = known.setdefault(video, {"questions": []})
            facts["questions"].append(row.prompt_id)
            if row.task is QuestionTask.RVAC:
                facts["generated"] = row.answer == "yes"
            elif row.task is QuestionTask.AID:
                facts["artifacts"] = [leaf for letter, leaf in zip(LETTERS, row.leaves, strict=False) if letter in row.answer]
    for number, (video, facts) in enumerate(known.items(), 1):
        yield _picture_of_file(root / video, root, checked_key(video, source=str(source), row=number), None, facts, number)


def clips_of(films: Path, left_out: list[str]) -> Iterator[Picture]:
    """Yield the clips that the stage ``cut`` made of the videos of a data set, with where each comes from in ``meta``.

    Args:
        films: the data set's folder.
        left_out: gets the keys of videos without clips.

    Raises:
        InputError: it is no data set, or its pipeline has no stage ``cut``.
        IncompleteError: the stage has not finished.
    """
    from salon_curate.cutting import cut
    from salon_curate.pipeline import PIPELINE, read_pipeline
    from salon_curate.stages import expected_parts

    dataset, stages = DataSet.open(films), read_pipeline(films / PIPELINE, environment={}).stages
    cutting = next((each for each in stages if each.where == cut.where), None)
    if cutting is None:
        hint = f'Add [[stage]] use = "cut" behind "watch", and run: salon curate run {films}'
        raise InputError("no stage of the pipeline cuts videos", source=films / PIPELINE, hint=hint)
    parts = expected_parts(dataset, stages)[cutting.name]
    if not all((films / part.path).exists() for part in parts):
        raise IncompleteError(f"{films}: the stage {cutting.name!r} has not finished: salon curate run {films}")
    return _clips(dataset, [films / part.path for part in parts], left_out)


def _clips(dataset: DataSet, parts: Sequence[Path], left_out: list[str]) -> Iterator[Picture]:
    row = 0
    for shard, part in zip(dataset.shards, parts, strict=True):
        for number in range(shard.rows):
            [(key, clips, ends)] = read_rows(part, ["key", "clips", "clip_ends"], number, 1).iter_rows()
            [(sha256, prompt)] = read_rows(dataset.shard_path(shard.name), ["sha256", "prompt"], number, 1).iter_rows()
            if clips is None:
                left_out.append(key)
                continue
            for position, clip in enumerate(clips):
                row += 1
                name = checked_key(f"{key}#{position + 1}", source=dataset.name, row=row)
                about = {"film": key, "film_sha256": sha256, "from_s": ends[position], "to_s": ends[position + 1]}
                yield Picture(name, clip, prompt, None, about, row)


def _picture_of_file(path: Path, root: Path, key: str, prompt: str | None, meta: dict[str, Any], row: int) -> Picture:
    is_named_video = path.suffix.lower() in VIDEO_ENDINGS.values()
    content = read_inside(path, root, DEFAULT_VIDEO_LIMITS.most_bytes if is_named_video else _MOST_BYTES)
    if isinstance(content, Unscored):
        return Picture(key, None, prompt, content.detail, meta, row)
    return Picture(key, content, prompt, None, meta, row)


def _archive(path: Path) -> Iterator[Picture]:
    """Yield the samples of a webdataset archive: consecutive members whose names agree up to the first dot."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 2 * _BLOCK))
        if size % _BLOCK or file.read().strip(b"\0"):
            raise InputError("the archive is cut off: it lacks its end", source=path, hint="Copy it again.")
    seen: set[str] = set()
    key = ""
    parts: dict[str, bytes] = {}
    row = 0
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                if not member.isfile():
                    if member.isdir():
                        continue
                    raise InputError("a member is no plain file:", source=path, value=member.name)
                if member.name.startswith("/") or ".." in Path(member.name).parts:
                    raise InputError("a name leads out of the archive:", source=path, value=member.name)
                folder, _, name = member.name.rpartition("/")
                stem, _, ending = name.partition(".")
                sample = f"{folder}/{stem}".lstrip("./")
                if sample != key:
                    if parts:
                        row += 1
                        yield _sample(key, parts, path, row)
                    if sample in seen:
                        hint = "Members of one sample must follow each other: tar --sort=name."
                        raise InputError("the members of samples are interleaved:", source=path, value=sample, hint=hint)
                    seen.add(sample)
                    key, parts = sample, {}
                if ending.lower() in parts:
                    raise InputError("two members of a sample have one name:", source=path, row=row + 1, value=member.name)
                if member.size > _MOST_BYTES or sum(map(len, parts.values())) > _MOST_BYTES:
                    problem = f"a sample has more than {_MOST_BYTES:,} bytes:"
                    raise InputError(problem, source=path, row=row + 1, value=member.name)
                content = archive.extractfile(member)
                parts[ending.lower()] = content.read() if content else b""
            _refuse_rest(path, archive.offset, size)
    except tarfile.TarError as error:
        raise InputError(f"the archive is damaged ({error})", source=path, hint="Copy it again.") from error
    if parts:
        yield _sample(key, parts, path, row + 1)


def _refuse_rest(path: Path, start: int, size: int) -> None:
    """Refuse an archive whose reader stopped before its end.

    It stops at a damaged header, and at the end of the first of two archives.
    """
    with path.open("rb") as file:
        file.seek(start)
        while block := file.read(1 << 20):
            if block.strip(b"\0"):
                problem = f"the archive is damaged, or two in one file: what follows byte {start:,} of {size:,} cannot be read"
                raise InputError(problem, source=path, hint="Copy it again; join archives with tar --concatenate.")


def _sample(key: str, parts: Mapping[str, bytes], path: Path, row: int) -> Picture:
    meta: dict[str, Any] = {}
    if "json" in parts:
        try:
            loaded = json.loads(parts["json"])
        except (ValueError, RecursionError) as error:
            raise InputError(f"the JSON of a sample cannot be read ({error}):", source=path, row=row, value=key) from error
        meta = loaded if isinstance(loaded, dict) else {"json": loaded}
    prompt = parts.get("txt", b"").decode("utf-8", "replace").strip() or None
    for name in _PROMPTS:
        if prompt is None:
            prompt = _text(meta.pop(name, None))
    images = [data for ending, data in parts.items() if f".{ending.rpartition('.')[2]}" in _MEDIA_ENDINGS]
    key = checked_key(key, source=str(path), row=row)
    if not images:
        return Picture(key, None, prompt, "the sample has no picture", meta, row)
    return Picture(key, images[0] or None, prompt, None if images[0] else "the file is empty", meta, row)


def _table(path: Path, root: Path, columns: Columns, prefix: str = "", needs_names: bool = False) -> Iterator[Picture]:
    """Yield the rows of a table whose picture column contains bytes, names, or the ``{bytes, path}`` of ``datasets``."""
    chosen = Columns()
    seen: dict[str, None] = {}  # rows of JSON Lines may have columns that others lack
    for row, values in _rows(path):
        if values.keys() - seen.keys():
            seen |= dict.fromkeys(values)
            chosen = Columns(
                chosen.key or _chosen(columns.key, _KEYS, seen),
                chosen.image or _chosen(columns.image, _IMAGES, seen),
                chosen.prompt or _chosen(columns.prompt, _PROMPTS, seen),
            )
        value = values.get(chosen.image or "")
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if needs_names and not isinstance(value, str | None):
            wrong = "the pictures are in the table, so a folder has no effect:"
            raise InputError(wrong, source=path, column=chosen.image, hint="Leave --pictures out.")
        if chosen.key and chosen.key != chosen.image:
            own = values.get(chosen.key)
        else:
            own = value if isinstance(value, str) else f"{prefix}{row:08d}"
        key = checked_key(own, source=str(path), row=row)
        prompt = None if chosen.prompt is None else _text(values.get(chosen.prompt))
        meta = {
            name: _without_bytes(given)
            for name, given in values.items()
            if name not in {chosen.key, chosen.image, chosen.prompt, columns.edited}
            and given is not None
            and not isinstance(given, bytes)
        }
        try:
            content, problem = _data_or_name(value)
        except InputError as error:
            raise error.at(source=path, row=row, column=chosen.image) from error
        picture = _with_file(Picture(key, None, prompt, problem, meta, row), content, root, path, chosen.image)
        if columns.edited is not None:
            picture = _with_edited(picture, values.get(columns.edited), root, path, columns.edited)
        yield picture
    for wanted in (columns.image, columns.key, columns.prompt, columns.edited):
        if seen and wanted is not None and wanted not in seen:
            raise InputError("the table lacks the column", source=path, value=wanted, found=seen)
    if seen and chosen.image is None:
        hint = "Say which it is: --image COLUMN."
        raise InputError("no column is known to contain the image", source=path, found=seen, hint=hint)


def _without_bytes(value: Any) -> Any:
    """Return a value without the bytes in it, such as those of the further pictures that ``datasets`` writes."""
    if isinstance(value, dict):
        return {name: _without_bytes(each) for name, each in value.items() if not isinstance(each, bytes)}
    if isinstance(value, list):
        return [_without_bytes(each) for each in value if not isinstance(each, bytes)]
    return value


def _with_file(picture: Picture, content: bytes | str | None, root: Path, table: Path, column: str | None) -> Picture:
    """Return a row with its file: bytes, or the bytes of a name below a folder."""
    if not isinstance(content, str):
        return replace(picture, image=content)
    if Path(content).is_absolute() or ".." in Path(content).parts:
        raise InputError("a name leads out of its folder:", source=table, row=picture.row, column=column, value=content)
    return _picture_of_file(root / content, root, picture.key, picture.prompt, picture.meta, picture.row)


def _with_edited(picture: Picture, value: object, root: Path, table: Path, column: str) -> Picture:
    """Return a row with the picture that was edited; one that is missing is a problem of the row."""
    try:
        content, problem = _data_or_name(value)
    except InputError as error:
        raise error.at(source=table, row=picture.row, column=column) from error
    source = _with_file(replace(picture, problem=problem), content, root, table, column)
    about = None if source.problem is None else f"the edited picture: {source.problem}"
    return replace(picture, edited=source.image, problem=picture.problem or about)


def _data_or_name(value: object) -> tuple[bytes | str | None, str | None]:
    """Return a cell's picture as bytes or as the name of its file; or None, and why it has none."""
    if isinstance(value, dict):
        if not {"bytes", "path"} & value.keys():
            raise InputError("must hold bytes or a name, not", value=f"an object of {sorted(value)}")
        value = value.get("bytes") or value.get("path")
    if value is None or value == "":
        return None, "the row has no picture"
    if value == b"":
        return None, "the file is empty"
    if isinstance(value, list):
        return None, f"the row has {len(value)} pictures, and one is read"
    if not isinstance(value, bytes | str):
        raise InputError("must hold bytes or a name, not", value=value)
    return value, None


def _text(value: object) -> str | None:
    """Return a value as a prompt; lists and objects as JSON."""
    if value is None or isinstance(value, str):
        return value or None
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of a table with their numbers; an empty cell of a CSV file is null."""
    if path.suffix not in (*TABLE_ENDINGS, ".arrow"):
        allowed = [*TABLE_ENDINGS, ".arrow", ".tar", "a folder"]
        raise InputError("unknown kind of file", source=path, value=path.suffix, allowed=allowed)
    if path.suffix not in (".arrow", ".parquet"):
        for row in table_rows(path):
            empty = path.suffix == ".csv" and "" in row.cells.values()
            yield row.number, {name: cell or None for name, cell in row.cells.items()} if empty else row.cells
        return
    import polars as pl

    try:
        frame = pl.read_ipc_stream(path).lazy() if path.suffix == ".arrow" else pl.scan_parquet(path, glob=False)
        start = 0
        while len(batch := frame.slice(start, _ROWS_AT_ONCE).collect()):  # a stream of batches holds far more in memory
            yield from enumerate(batch.iter_rows(named=True), start + 1)
            start += len(batch)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"cannot be read ({str(error).partition(chr(10))[0]})", source=path) from error


def _chosen(wanted: str | None, usual: tuple[str, ...], names: Collection[str]) -> str | None:
    """Return the column that was named, or the first usual one; None where the table has none so far."""
    return next((name for name in ((wanted,) if wanted else usual) if name in names), None)
