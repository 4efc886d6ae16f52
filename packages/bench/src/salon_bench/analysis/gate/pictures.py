"""The pictures of a build: those that a run judged, or those of a folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from salon_bench.runs.judged_files import JudgedFile, folders_of
from salon_bench.runs.picture_digests import PictureDigests
from salon_bench.runs.score_rows import located_run
from salon_bench.runs.view import RunView
from salon_console.table_rows import TABLE_ENDINGS
from salon_judges.formats.generation_tables import read_table
from salon_judges.formats.generations import MANIFEST, PICTURE_SUFFIXES, VIDEO_SUFFIXES
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class BuildPictures:
    """Which files a build made, by prompt and sample.

    Attributes:
        files: by prompt and number of the sample.
        folders: where relative paths may start.
        texts: of the prompts, as far as known.
    """

    files: Mapping[tuple[str, int], JudgedFile] = field(default_factory=dict)
    folders: Sequence[Path] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def of(self, prompt_id: str) -> list[JudgedFile]:
        """Return the files of a prompt, by sample."""
        return [file for (name, _), file in self.files.items() if name == prompt_id]


def pictures_of(source: str, scores: "pl.DataFrame", store: StoreAddress) -> BuildPictures:
    """Return the pictures of a build: those of a folder, or those that the rows of a run are about; none for a table.

    Args:
        source: a folder, a run's id, or a table of scores.
        scores: of the run.
        store: of the run.

    Raises:
        InputError: the folder has no pictures, or two files of one sample of a prompt.
    """
    if Path(source).is_dir():
        return _of_folder(Path(source))
    return BuildPictures() if source.lower().endswith(TABLE_ENDINGS) else _of_run(RunView(*located_run(source, store)), scores)


def _of_run(view: RunView, scores: "pl.DataFrame") -> BuildPictures:
    import polars as pl

    ids = scores["generation_id"].drop_nulls().unique()
    rows = view.read("generations").filter(pl.col("generation_id").is_in(ids.implode()))
    known = rows.select("prompt_id", "sample", "uri", "sha256").unique().collect().sort("prompt_id", "sample").rows()
    files = {(prompt_id, sample): JudgedFile(uri, sha256) for prompt_id, sample, uri, sha256 in known}
    return BuildPictures(files, folders_of(view.generation_folders), view.prompts)


def _of_folder(folder: Path) -> BuildPictures:
    if (folder / MANIFEST).is_file():
        found = [(row.prompt_id, row.sample, row.path) for row in read_table(folder / MANIFEST)]
    else:
        found = [*_named(folder)]
    if not found:
        hint = "Name files <prompt_id>.png, <prompt_id>.<sample>.png or <prompt_id>/<sample>.png."
        raise InputError("the folder has no pictures", source=folder, hint=hint)
    paths: dict[tuple[str, int], Path] = {}
    for prompt_id, sample, path in found:
        if (prompt_id, sample) in paths:
            problem = f"two files for sample {sample} of one prompt, this and"
            raise InputError(problem, source=path, value=str(paths[prompt_id, sample]))
        paths[prompt_id, sample] = path.absolute()
    ordered = sorted(paths)
    digests = PictureDigests().of([paths[key] for key in ordered])
    files = {key: JudgedFile(str(paths[key]), digest) for key, digest in zip(ordered, digests, strict=True)}
    return BuildPictures(files, [folder])


def _named(folder: Path) -> Iterator[tuple[str, int, Path]]:
    """Yield prompt, sample and path of every picture of a folder, by the files' names."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            for inner in sorted(path.iterdir()):
                if _is_shown(inner) and _is_number(inner.stem):
                    yield path.name, int(inner.stem), inner
        elif _is_shown(path):
            head, dot, tail = path.stem.rpartition(".")
            yield (head, int(tail), path) if dot and _is_number(tail) else (path.stem, 0, path)


def _is_shown(path: Path) -> bool:
    return path.suffix.lower() in PICTURE_SUFFIXES + VIDEO_SUFFIXES and not path.is_dir()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
