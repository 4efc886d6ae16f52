r"""Pictures to a folder: in any number of processes, and a second call continues where a killed one stopped.

    FOLDER/settings.json     what was asked for; another call must ask for the same
    FOLDER/pictures/         one PNG file a picture
    FOLDER/examples.jsonl    one row a picture, in MagicData340K's schema; it is there only when all its pictures are
    FOLDER/unfinished/       rows of finished chunks; gone at the end

The bytes of every file depend on the settings alone, not on the number of processes or of interruptions.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, Protocol

from salon_taxonomy.answers import magicmirror_json
from salon_taxonomy.errors import InputError, cannot_write
from salon_taxonomy.training_example import TrainingExample
from salon_taxonomy.whole_files import write_whole

CHUNK: Final = 500
"""Pictures that one process draws in one go; at most so many are drawn again after an interruption, per process."""
_ROWS: Final = "examples.jsonl"
_SETTINGS: Final = "settings.json"

Watch = Callable[[int, int], object]
"""Called with how many pictures are done and how many there will be."""


class PictureSource(Protocol):
    """Draws pictures by number; must be picklable when several processes draw."""

    def __call__(self, count: int, *, start: int) -> Iterator[TrainingExample]:
        """``count`` pictures from number ``start`` on."""


def write_examples(
    folder: Path,
    source: PictureSource,
    count: int,
    *,
    settings: Mapping[str, Any],
    workers: int = 1,
    watch: Watch | None = None,
) -> int:
    """Write pictures and their rows; a folder that holds fewer of the same settings is completed.

    Args:
        folder: a new or empty one, or one that an earlier call began.
        source: draws them, for instance ``functools.partial(draw_examples, seed=7)``.
        count: how many there shall be in the end.
        settings: what the pictures depend on besides their number; JSON values.
        workers: processes; the files do not depend on it.
        watch: told after every chunk.

    Returns:
        how many pictures were drawn by this call.

    Raises:
        InputError: the folder holds something else, pictures of other settings, or more than ``count``; it cannot be
            written; a number is out of its range.

    Example:
        >>> import tempfile
        >>> from functools import partial
        >>> from salon_synthetic.artifacts import draw_examples
        >>> folder = Path(tempfile.mkdtemp()) / "drawn"
        >>> write_examples(folder, partial(draw_examples, seed=7), 3, settings={"seed": 7})
        3
        >>> write_examples(folder, partial(draw_examples, seed=7), 5, settings={"seed": 7})
        2
    """
    for column, value, low in (("count", count, 0), ("workers", workers, 1)):
        if value < low:
            raise InputError(f"must be at least {low}", column=column, value=value)
    try:
        done = _opened(folder, settings, count)
        chunks = [range(first, min(first + CHUNK, count)) for first in range(done, count, CHUNK)]
        waiting = [chunk for chunk in chunks if not _rows_of(folder, chunk).is_file()]
        finished = count - sum(map(len, waiting))
        if watch:
            watch(finished, count)
        for chunk in _written(folder, source, waiting, workers):
            finished += len(chunk)
            if watch:
                watch(finished, count)
        _join(folder, chunks)
    except OSError as error:
        raise cannot_write(error, folder) from error
    return sum(map(len, waiting))


def _opened(folder: Path, settings: Mapping[str, Any], count: int) -> int:
    """Prepare the folder; how many rows of the same settings it holds."""
    wanted = json.dumps(settings, indent=2, sort_keys=True) + "\n"
    file = folder / _SETTINGS
    if file.is_file():
        if file.read_text(encoding="utf-8") != wanted:
            hint = "Take another folder, or the settings that it was begun with."
            raise InputError("holds pictures of other settings", source=folder, hint=hint)
    elif folder.is_dir() and any(folder.iterdir()):
        raise InputError("is not empty", source=folder, hint="Take a new folder.")
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    write_whole(file, wanted, flushed=True)
    rows = folder / _ROWS
    done = 0
    if rows.is_file():
        with rows.open("rb") as lines:
            done = sum(1 for _ in lines)
    if done > count:
        raise InputError(f"holds {done} pictures, more than", source=folder, value=count)
    (folder / "unfinished").mkdir(exist_ok=True)
    return done


def _written(folder: Path, source: PictureSource, waiting: list[range], workers: int) -> Iterator[range]:
    if workers == 1 or len(waiting) < 2:
        for chunk in waiting:
            _write_chunk(folder, source, chunk)
            yield chunk
        return
    with ProcessPoolExecutor(min(workers, len(waiting)), mp_context=get_context("spawn")) as pool:
        work = {pool.submit(_write_chunk, folder, source, chunk): chunk for chunk in waiting}
        try:
            for future in as_completed(work):
                future.result()
                yield work[future]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _write_chunk(folder: Path, source: PictureSource, chunk: range) -> None:
    """Draw some pictures; their rows are there only when all of them are."""
    lines = []
    for example in source(len(chunk), start=chunk.start):
        name = f"pictures/{example.example_id}.png"
        image = example.image if isinstance(example.image, bytes) else example.image.read_bytes()
        (folder / name).write_bytes(image)
        lines.append(json.dumps(row_of(example, name), ensure_ascii=False) + "\n")
    write_whole(_rows_of(folder, chunk), "".join(lines), flushed=True)


def row_of(example: TrainingExample, image: str) -> dict[str, Any]:
    """Return a row in MagicData340K's schema, with columns of our own for the identifier, the reasoning and hard positives.

    Example:
        >>> from salon_synthetic.artifacts import draw_examples
        >>> row = row_of(next(draw_examples(1, seed=7, balance="even")), "pictures/a.png")
        >>> list(row)
        ['images', 'prompt', 'response', 'example_id', 'reasoning', 'hard_positive']
    """
    return {
        "images": image,
        "prompt": example.prompt,
        "response": magicmirror_json(example.truth),
        "example_id": example.example_id,
        "reasoning": example.reasoning,
        "hard_positive": example.hard_positive,
    }


def _join(folder: Path, chunks: list[range]) -> None:
    """Join the chunk files into ``examples.jsonl``; delete ``unfinished/``."""
    rows = folder / _ROWS
    if chunks or not rows.is_file():
        old = rows.read_text(encoding="utf-8") if rows.is_file() else ""
        parts = (_rows_of(folder, chunk).read_text(encoding="utf-8") for chunk in chunks)
        write_whole(rows, "".join([old, *parts]), flushed=True)
    for left in (folder / "unfinished").iterdir():
        left.unlink()
    (folder / "unfinished").rmdir()


def _rows_of(folder: Path, chunk: range) -> Path:
    return folder / "unfinished" / f"{chunk.start:09}-{chunk.stop:09}.jsonl"
