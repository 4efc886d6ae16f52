"""Releases: the kept pictures as files, with a card, a manifest and a Merkle root.

    releases/v1/
      data/train-00000-of-00003.parquet     image {bytes, path}, key, prompt, chosen columns: what `datasets` reads
      data/train-00000.tar                  or webdataset
      manifest.json                         files with SHA-256, Merkle root, sources, stages, conditions, audit
      croissant.json                        Croissant 1.0 metadata
      README.md                             the data set card, which hubs show

A release is refused below the audit's promised precision, and where an audit is of other conditions, pictures or judges.
"""

import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, Field, ValidationError

from salon_curate.dataset import BYTES_COLUMNS, DataSet, checked_name, read_checked, read_rows
from salon_curate.errors import RefusedReleaseError
from salon_curate.files import is_video, media_ending, publish, publish_text
from salon_curate.judging import JudgedStage
from salon_curate.selection import (
    predicate,
    problem_columns,
    read_columns,
    readable_condition,
    saved_predicates,
    select,
    state_of,
)
from salon_curate.stages import Stage, expected_parts
from salon_taxonomy.croissant import croissant
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

RELEASE_MANIFEST: Final = "manifest.json"
"""Lies in every release and nowhere else in a data set's folder."""
_DOCUMENTS: Final = ("README.md", "croissant.json")
"""What a release has beside its data files and its manifest."""
_SPLIT: Final = re.compile(r"\w+(\.\w+)*")
"""Names of splits that `datasets` takes; with a dash between, data/train-* would be the files of train-more, too."""
_PLACE: Final = "place in the shard"
"""Of a sample in a webdataset archive: part of its key, so that no two splits share one."""
_RELEASED: Final = ("key", "image", "prompt", "source")
"""Columns of every release; one of edits has ``edited`` beside them."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release that was written: its folder, pictures per split, and the Merkle root of its data files."""

    folder: Path
    pictures: Mapping[str, int]
    merkle_root: str


def release(
    dataset: DataSet,
    stages: Sequence[Stage],
    selection: str,
    version: str,
    *,
    columns: Sequence[str] = (),
    audit: str | None = None,
    min_precision: float | None = None,
    split: str | None = None,
    form: Literal["datasets", "webdataset"] = "datasets",
) -> Release:
    """Write the kept pictures as a release.

    Args:
        selection: of a saved selection.
        version: of the release, a folder below ``releases/``.
        columns: of stages that are released beside key, picture and prompt.
        audit: whose result goes onto the card; it must be of the same conditions.
        min_precision: the lower bound of the audit's precision must be at least this.
        split: the column of the splits; None: all is ``train``.
        form: Parquet as ``datasets`` reads it, or webdataset archives.

    Raises:
        RefusedReleaseError: the audit's lower bound is too low, or the audit is missing although a precision is demanded.
        InputError: an unknown selection, audit or column, an audit of other conditions, pictures or judges, a split that is no
            plain name, a shard that has changed, or a version that exists.
        StorageError: a file cannot be written.
    """
    folder = dataset.folder / "releases" / checked_name(version, "releases")
    if (folder / RELEASE_MANIFEST).exists():
        raise InputError("there is a release of this version", source=folder, hint="Choose another version.")
    predicates = saved_predicates(dataset, selection)
    checked = _audit_gate(dataset, stages, audit, predicates, min_precision)
    dataset.refuse_changed()
    mask = select(dataset, stages, predicates, selection, copies=False).mask
    _refuse_problems(dataset, stages, mask)
    beside = _released_columns(dataset, stages, columns, split)
    names = ["train"] if split is None else _split_names(beside.filter(mask)[split])
    shutil.rmtree(folder, ignore_errors=True)  # of a release that was interrupted; the card names files by a pattern
    counts = dict.fromkeys(names, 0)
    files: dict[str, str] = {}
    films = False
    for name, number, part in _pieces(dataset, mask, beside, split, names):
        if form == "datasets":
            path = f"data/{name}-{number:05d}-of-{len(dataset.shards):05d}.parquet"
            publish(folder / path, partial(_parquet, part))
            films = films or any(map(is_video, part["image"]))
        else:
            path = f"data/{name}-{number:05d}.tar"
            publish(folder / path, partial(_archive, part, number))
        files[path] = file_sha256(folder / path)
        counts[name] += len(part)
    root = merkle_root(files)
    manifest = {
        "name": dataset.name, "version": version, "pictures": counts, "selection": selection, "predicates": predicates,
        "files": files, "merkle_root": root, "sources": [asdict(each) for each in dataset.sources], "audit": checked,
        "stages": [_stage_of(each) for each in stages],
        "parts": {name: [part.path for part in parts] for name, parts in expected_parts(dataset, stages).items()},
        "shards": {shard.name: shard.sha256 for shard in dataset.shards},
    }  # fmt: skip
    features = _features(folder / next(iter(files))) if form == "datasets" and files and not films else []
    publish_text(folder / "README.md", card(manifest, dataset.rows, features))
    described = croissant(
        dataset.name,
        version,
        f"{sum(counts.values())} pictures; Merkle root {root}",
        licences=sorted({each.licence for each in dataset.sources}),
        files=files,
        columns=_plain_columns(folder / next(iter(files))) if form == "datasets" and files else None,
    )
    publish_text(folder / "croissant.json", json.dumps(described, indent=1, ensure_ascii=False) + "\n")
    manifest["documents"] = {name: file_sha256(folder / name) for name in _DOCUMENTS}
    publish_text(folder / RELEASE_MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False, default=str) + "\n")
    return Release(folder, counts, root)


def _refuse_problems(dataset: DataSet, stages: Sequence[Stage], mask: "NDArray[np.bool_]") -> None:
    """Refuse to release a row that has no picture, as a selection of such rows keeps."""
    import polars as pl

    rows = read_columns(dataset, stages, problem_columns(stages), copies=False).filter(pl.Series(mask)).collect()
    broken = rows.filter(~predicate(readable_condition(stages)).expression)
    if len(broken):
        problem = next(reason for reason in broken.row(0)[1:] if reason is not None)
        hint = "Leave such rows out of the selection: --where 'problem IS NULL'"
        raise InputError(f"{len(broken):,} rows of the selection cannot be read ({problem}), the first is",
                         source=dataset.folder, column="key", value=broken["key"][0], hint=hint)  # fmt: skip


def _released_columns(dataset: DataSet, stages: Sequence[Stage], columns: Sequence[str], split: str | None) -> "pl.DataFrame":
    """Return ``key``, the columns of stages that are released, and the split of every row."""
    import polars as pl

    wanted = [*columns, *([split] if split else [])]
    for column in wanted:
        if column in _RELEASED or wanted.count(column) > 1:
            raise InputError("the column is released anyway, or named twice:", column="column", value=column)
    beside = read_columns(dataset, stages, wanted, copies=False).collect()
    if split is None:
        return beside
    if beside.schema[split] != pl.String:
        raise InputError("has no names of splits:", column="split", value=split, hint="Run the stage `split`: --split split")
    return beside.with_columns(pl.col(split).fill_null("none"))


def _split_names(splits: "pl.Series") -> list[str]:
    names: list[str] = splits.unique().sort().to_list()
    for name in names:
        if not _SPLIT.fullmatch(name):
            hint = "Use letters, digits and underscores, as the stage `split` does."
            raise InputError("has no names of splits:", column=splits.name, value=name, hint=hint)
    return names


def _pieces(
    dataset: DataSet, mask: "NDArray[np.bool_]", beside: "pl.DataFrame", split: str | None, names: Sequence[str]
) -> "Iterator[tuple[str, int, pl.DataFrame]]":
    """Yield ``(split, number of the shard, kept rows)`` of each file to write, with pictures of unchanged shards."""
    import polars as pl

    start, edits = 0, _has_edits(dataset)
    for number, shard in enumerate(dataset.shards):
        kept = pl.Series(mask[start : start + shard.rows])
        own = beside.slice(start, shard.rows).filter(kept)
        start += shard.rows
        if own.is_empty():
            continue
        columns = [*_RELEASED, *(["edited"] if edits else [])]
        pictures = read_checked(dataset.shard_path(shard.name), shard.sha256, columns).filter(kept)
        if not pictures.drop_in_place("key").equals(own["key"]):
            raise InputError("has other keys than its copies", source=dataset.shard_path(shard.name))
        frame = pl.concat([own.drop(split) if split else own, pictures], how="horizontal").with_row_index(_PLACE)
        for name in names:
            part = frame.filter(own[split] == name) if split else frame
            if not part.is_empty():
                yield name, number, part


def _has_edits(dataset: DataSet) -> bool:
    """Return whether a row is an edit, so that the pictures that were edited are released as well."""
    for shard in dataset.shards:
        with suppress(InputError):  # a shard from before there were edits; one that is missing is named when it is released
            if read_rows(dataset.shard_path(shard.name), ["edited"])["edited"].null_count() < shard.rows:
                return True
    return False


def merkle_root(files: Mapping[str, str]) -> str:
    """Return the root of the hash tree over files in the order of their paths, 64 hex digits.

    A leaf is SHA-256 of a zero byte, the path, a zero byte and the file's digest; a node of a one byte and its two children;
    an odd node moves up unchanged (as RFC 6962).

    Example:
        >>> merkle_root({"a": "00" * 32, "b": "11" * 32}) == merkle_root({"b": "11" * 32, "a": "00" * 32})
        True
    """
    level = [
        hashlib.sha256(b"\0" + path.encode() + b"\0" + bytes.fromhex(value)).digest() for path, value in sorted(files.items())
    ]
    while len(level) > 1:
        paired = [hashlib.sha256(b"\1" + one + other).digest() for one, other in zip(level[::2], level[1::2], strict=False)]
        level = paired + ([level[-1]] if len(level) % 2 else [])
    return level[0].hex() if level else hashlib.sha256(b"").hexdigest()


_NUMBERS: Final = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
_KINDS: Final = {"String": "string", "Boolean": "bool"} | {name: name.lower() for name in _NUMBERS}
"""What ``datasets`` calls the types of polars."""
_Sha256: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Files(BaseModel):
    """What a release's manifest says of its files."""

    files: dict[Annotated[str, Field(pattern=r"^data/[^/\\\x00]+$")], _Sha256]
    merkle_root: str
    documents: dict[Literal["README.md", "croissant.json"], _Sha256]


def verify_release(folder: Path) -> list[str]:
    """Return what differs between a release and its manifest, a sentence each; an empty list when nothing does.

    Raises:
        InputError: there is no release in the folder, or its manifest is damaged.
    """
    try:
        manifest = _Files.model_validate_json((folder / RELEASE_MANIFEST).read_bytes())
    except FileNotFoundError as error:
        raise InputError("is no release", source=folder) from error
    except ValidationError as error:
        raise InputError("the manifest of the release is damaged", source=folder / RELEASE_MANIFEST) from error
    wrong = []
    for path, value in (*manifest.files.items(), *manifest.documents.items()):
        if not (folder / path).is_file():
            wrong.append(f"{visible(path)}: is missing")
        elif file_sha256(folder / path) != value:
            wrong.append(f"{visible(path)}: has changed")
    there = sorted(
        path.relative_to(folder).as_posix() for path in (folder / "data").rglob("*") if path.is_symlink() or not path.is_dir()
    )
    wrong += [f"{visible(path)}: is not of this release" for path in there if path not in manifest.files]
    if merkle_root(manifest.files) != manifest.merkle_root:
        wrong.append(f"{RELEASE_MANIFEST}: the Merkle root is not that of its files")
    return wrong


def card(manifest: Mapping[str, Any], candidates: int, features: Sequence[str] = ()) -> str:
    """Return the data set card in Markdown, with the metadata that data set hubs read at its top: ``features`` among it."""
    licences = ", ".join(sorted({each["licence"] for each in manifest["sources"]})).lower()
    kept = sum(manifest["pictures"].values())
    lines = ["---", f"pretty_name: {json.dumps(manifest['name'])}", f"license: {json.dumps(licences)}", "configs:",
             "- config_name: default", "  data_files:"]  # fmt: skip
    lines += [
        f"  - {{split: {json.dumps(name)}, path: data/{name}-*}}" for name, count in manifest["pictures"].items() if count
    ]
    lines += [*features, "---", "", f"# {_plain(manifest['name'])} {manifest['version']}", ""]
    lines += [f"{kept:,} of {candidates:,} pictures. Merkle root of the data files: `{manifest['merkle_root']}`.", ""]
    lines += ["## Sources", "", "| source | kind | pictures | unreadable | licence |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {_plain(s['name'])} | {s['kind']} | {s['rows']:,} | {s['problems']:,} | {_plain(s['licence'])} |"
        for s in manifest["sources"]
    ]
    lines += ["", "## How pictures were kept", "", "Every condition holds:", ""]
    lines += [f"- {_plain(name)}: `{visible(sql)}`" for name, sql in manifest["predicates"].items()]
    lines += ["", "| stage | version | judge | asked when |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {s['stage']} | {s['version']} | {_plain(s.get('judge', '–'))} | {_plain(s.get('when') or 'always')} |"
        for s in manifest["stages"]
    ]
    lines += ["", "## Audit by people", ""]
    audit = manifest["audit"]
    if audit is None:
        lines.append("None: the conditions were not compared with the judgement of people.")
    else:
        for name in ("precision", "negative_value", "recall", "agreement"):
            estimate = audit[name]
            text = "unknown" if estimate["value"] is None else (
                f"{estimate['value']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]")  # fmt: skip
            lines.append(f"- {name.replace('_', ' ')}: {text}")
        kappa = "unknown" if audit["kappa"] is None else f"{audit['kappa']:.3f}"
        lines.append(f"- pictures rated: {audit['rated']:,}; κ of two raters: {kappa}")
        lines += ["", "Intervals: 95%, Jeffreys' posterior in each stratum, weighted to the whole data set."]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Return a name for a line or cell of Markdown: one line, no cell's end."""
    return visible(text).replace("|", "\\|")


def _audit_gate(
    dataset: DataSet, stages: Sequence[Stage], audit: str | None, predicates: Mapping[str, str], min_precision: float | None
) -> dict[str, Any] | None:
    if audit is None:
        if min_precision is not None:
            raise RefusedReleaseError("a precision is demanded, but no audit is named. Name one: --audit NAME")
        return None
    path = dataset.folder / "audits" / checked_name(audit, "audits") / "result.json"
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = f"Score it: salon curate audit score {dataset.folder} {audit} ANSWERS"
        raise InputError("the audit has no result", source=path, value=audit, hint=hint) from error
    if result["predicates"] != dict(predicates):
        raise InputError("the audit is of other conditions than the selection", source=path, hint="Audit this selection.")
    if result["state"] != state_of(dataset, stages, predicates):
        problem = "a stage, a judge or the pictures that the conditions are about has changed since the audit"
        raise InputError(problem, source=path, hint="Audit the selection again, under another name.")
    low = result["precision"]["low"]
    if min_precision is not None and (low is None or low < min_precision):
        bound = "unknown" if low is None else f"{low:.4f}"
        raise RefusedReleaseError(
            f"audit {audit!r}: the lower 95% bound of the precision is {bound}, below the demanded {min_precision:g}. "
            "Tighten the conditions, or rate more pictures."
        )
    return result


def _stage_of(stage: Stage) -> dict[str, Any]:
    stage_facts: dict[str, Any] = {"stage": stage.name, "version": stage.version, "where": stage.where}
    stage_facts["parameters"] = dict(stage.parameters)
    if isinstance(stage, JudgedStage):
        stage_facts |= {"judge": stage.judge.name, "judge_version": stage.judge.version, "when": stage.when}
    return stage_facts


def _plain_columns(path: Path) -> dict[str, type]:
    """Return the columns of a released file whose values are texts, numbers, truths or pictures."""
    import polars as pl

    with path.open("rb") as file:  # of a path with brackets polars would make a pattern
        schema = pl.read_parquet_schema(file)
    plain = {
        name: bytes if name in BYTES_COLUMNS else str if dtype == pl.String else bool if dtype == pl.Boolean
        else float if dtype.is_float() else int if dtype.is_integer() else None
        for name, dtype in schema.items()
    }  # fmt: skip
    return {name: kind for name, kind in plain.items() if kind is not None}


def _features(path: Path) -> list[str]:
    """Return the lines of a card that tell ``datasets`` which columns are pictures; none where a column has another type."""
    import polars as pl

    lines = ["dataset_info:", "  features:"]
    with path.open("rb") as file:
        schema = pl.read_parquet_schema(file)
    for name, dtype in schema.items():
        of = dtype.inner if isinstance(dtype, pl.List) else dtype
        kind = "image" if name in BYTES_COLUMNS else _KINDS.get(str(of))
        if kind is None:
            return []
        lines += [f"  - name: {json.dumps(name)}", f"    {'dtype' if of is dtype else 'list'}: {kind}"]
    return lines


def _parquet(frame: "pl.DataFrame", path: Path) -> None:
    import polars as pl

    files = [
        pl.struct(pl.col(name).alias("bytes"), pl.col("key").alias("path")).alias(name)
        for name in BYTES_COLUMNS
        if name in frame.columns
    ]
    frame.drop(_PLACE).with_columns(files).write_parquet(path, compression="zstd", row_group_size=100)


def _archive(frame: "pl.DataFrame", shard: int, path: Path) -> None:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for row in frame.iter_rows(named=True):
            picture_bytes, number, edited = row.pop("image"), row.pop(_PLACE), row.pop("edited", None)
            text = json.dumps(row, ensure_ascii=False, default=str).encode()
            members = [("json", text), ("txt", (row["prompt"] or "").encode())]
            if picture_bytes is not None:
                members.insert(0, (media_ending(picture_bytes), picture_bytes))
            if edited is not None:
                members.append((f"edited.{media_ending(edited)}", edited))
            for ending, content in members:
                info = tarfile.TarInfo(f"{shard:05d}{number:06d}.{ending}")
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
