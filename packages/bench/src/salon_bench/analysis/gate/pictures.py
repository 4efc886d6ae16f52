"""The pictures of a build: those that a run judged, or those of a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from salon_bench.runs.judged_files import JudgedFile, folders_of
from salon_bench.runs.picture_digests import PictureDigests
from salon_bench.runs.score_rows import located_run
from salon_bench.runs.view import RunView
from salon_console.numbers import counted
from salon_console.table_rows import TABLE_ENDINGS
from salon_judges.formats.generations import Generated, read_own_names
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.visible_text import visible

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
    """Return the pictures of a build: those in a folder, or those that a run judged.

    Args:
        source: a folder, a run's id, or a table of scores, which names no pictures.
        scores: of the run.
        store: of the run.

    Raises:
        InputError: the folder has no pictures, or two files of one sample of a prompt.
    """
    if Path(source).is_dir():
        return _of_folder(Path(source))
    return BuildPictures() if source.lower().endswith(TABLE_ENDINGS) else _of_run(RunView(*located_run(source, store)), scores)


def refuse_other_prompts(base: str, new: str, store: StoreAddress) -> None:
    """Refuse two runs whose prompts have other texts under the same ids; of folders and tables no texts are known.

    Args:
        base, new: runs' ids, folders, or tables of scores.
        store: of the runs.

    Raises:
        InputError: a prompt id means two texts.
    """
    if any(Path(source).is_dir() or source.lower().endswith(TABLE_ENDINGS) for source in (base, new)):
        return
    texts = [RunView(*located_run(source, store)).prompts for source in (base, new)]
    other = sorted(name for name in texts[0].keys() & texts[1].keys() if texts[0][name] != texts[1][name])
    if other:
        hint = f"In {base}: {visible(texts[0][other[0]])!r}. Both builds need the same prompts."
        problem = f"has other texts of {counted(len(other), 'prompt')}, such as of {visible(other[0])}:"
        raise InputError(problem, source=new, value=texts[1][other[0]], hint=hint)


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
