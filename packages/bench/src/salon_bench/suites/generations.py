"""Which picture was made for which prompt: a folder of files named by prompt, or a table of paths.

    pictures/0001.png, pictures/0002.1.webp     a folder: <prompt_id>[.<sample>].<extension>
    generations.csv|jsonl|parquet               a table: prompt_id, path, and if wanted model, sample

Nothing is opened here: a file that is no picture is found when its case is prepared (``salon_bench.media``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from salon_taxonomy.errors import InputError

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif")
"""Extensions of the files that count in a folder; others are left out and counted."""
VIDEO_SUFFIXES = (".mp4", ".mov", ".mkv", ".webm", ".avi")
"""The same for videos."""


@dataclass(frozen=True, slots=True)
class Generated:
    """One file that a model made.

    Attributes:
        prompt_id: the prompt it was made for.
        model: who made it.
        sample: which of several for the same prompt and model, from 0.
        path: where the file lies.
        root: the folder it must not lead out of.
    """

    prompt_id: str
    model: str
    sample: int
    path: Path
    root: Path


class Generations:
    """The files of one or several models, by prompt.

    Attributes:
        models: whose files they are, in the order given.
        left_out: files of the folders that are no pictures or belong to no prompt, for the report.
    """

    def __init__(self, files: Iterable[Generated], *, left_out: Sequence[Path] = ()) -> None:
        self._files: dict[tuple[str, str], list[Generated]] = {}
        self.models: tuple[str, ...] = ()
        self.left_out = tuple(left_out)
        for file in files:
            if file.model not in self.models:
                self.models += (file.model,)
            self._files.setdefault((file.prompt_id, file.model), []).append(file)
        for key, found in self._files.items():
            found.sort(key=lambda each: each.sample)
            for one, other in pairwise(found):
                if one.sample == other.sample:
                    raise InputError("two files for one prompt, model and sample", source=other.path, value=list(key))

    def of(self, prompt_id: str, model: str) -> tuple[Generated, ...]:
        """The files for one prompt, by sample; empty when there is none."""
        return tuple(self._files.get((prompt_id, model), ()))

    def __len__(self) -> int:
        """How many files."""
        return sum(map(len, self._files.values()))
