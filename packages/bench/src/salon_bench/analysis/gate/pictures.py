"""The pictures of a build: those that a run judged, or those of a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from salon_bench.runs.judged_files import JudgedFile, folders_of
from salon_bench.runs.picture_digests import PictureDigests
from salon_bench.runs.score_rows import located_run
from salon_bench.runs.view import RunView
from salon_console.table_rows import TABLE_ENDINGS
from salon_judges.formats.generations import Generated, read_own_names
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class BuildPictures:
    """Which files a build made.

    Attributes:
        files: by prompt and sample, each with the digest of the bytes that count.
        texts: of the prompts, as far as known.
    """

    files: Sequence[Generated] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def of(self, prompt_id: str) -> list[JudgedFile]:
        """Return the files of a prompt, by sample."""
        own = [file for file in self.files if file.prompt_id == prompt_id]
        return [JudgedFile(str(file.path), file.sha256 or "") for file in own]


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
    known = rows.select("prompt_id", "model", "sample", "uri", "sha256").unique().collect().sort("prompt_id", "sample")
    bases = [Path.cwd(), *folders_of(view.generation_folders)]
    files = []
    for prompt_id, model, sample, uri, sha256 in known.iter_rows():
        path = next((base / uri for base in bases if (base / uri).is_file()), bases[0] / uri)
        files.append(Generated(prompt_id, model, sample, path, Path(path.anchor), sha256))
    return BuildPictures(files, view.prompts)


def _of_folder(folder: Path) -> BuildPictures:
    files = read_own_names(folder.absolute())
    digests = PictureDigests().of([file.path for file in files])
    return BuildPictures([replace(file, sha256=digest) for file, digest in zip(files, digests, strict=True)])
