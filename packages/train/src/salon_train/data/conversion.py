"""Examples as the data sets that TRL's trainers take; pictures stay on the disk until a batch needs them.

sft_dataset    prompt, completion, images
grpo_dataset   prompt, images, truth
both           example_id, bucket, buckets, hard_positive (for the sampler, and for rewards)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from salon_judges.media import PicturePolicy, prepare_bytes, prepare_picture
from salon_taxonomy.answers import magicmirror_json
from salon_taxonomy.errors import InputError, cannot_write
from salon_taxonomy.training_example import TrainingExample
from salon_taxonomy.verdict import Unscored
from salon_train.data.pictures import check_format
from salon_train.data.question import Wording, answered, asked

if TYPE_CHECKING:
    from datasets import Dataset

Row = dict[str, Any]
_BATCH = 4096
_FINGERPRINT = "salon"  # the folder is empty: nothing old can be mistaken for these rows


@contextmanager
def folder_beside(output: Path) -> Iterator[Path]:
    """Yield a temporary folder beside an output, so that what is moved to its place is whole or absent.

    Raises:
        InputError: the folder cannot be written.
    """
    try:
        output.absolute().parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=output.absolute().parent, prefix=f".{output.name}-") as folder:
            yield Path(folder)
    except OSError as error:
        raise cannot_write(error, output) from error


def sft_dataset(
    examples: Sequence[TrainingExample],
    *,
    wording: Wording | str = Wording.FULL,
    reasoning: bool = True,
    only_reasoned: bool = False,
    longest_side: int | None = None,
    folder: Path | None = None,
) -> "Dataset":
    """Return prompt and completion for supervised fine-tuning, conversational, with images.

    Args:
        examples: at least one.
        wording: of the question.
        reasoning: write reasoning into the completion (see :func:`salon_train.data.answered`).
        only_reasoned: leave out examples without reasoning, as the paper's cold start does.
        longest_side: make larger pictures smaller, turn them upright, bring them to sRGB, and keep them in the data set;
            None: the data set names the files as they are.
        folder: an empty one, on whose disk the rows are kept, so that memory does not grow with them; None: in memory.

    Raises:
        InputError: there is no example, a reasoning that cannot be written, or (with ``longest_side``) a picture that cannot
            be opened.

    Example:
        >>> from salon_synthetic.artifacts import draw_examples
        >>> data = sft_dataset(list(draw_examples(2, seed=1)), wording="bare")
        >>> data.column_names[:3], data[0]["images"][0].size, data[0]["prompt"][0]["content"]
        (['prompt', 'completion', 'images'], (64, 64), 'What is wrong here?')
    """
    chosen = [example for example in examples if not only_reasoned or example.reasoning is not None]

    def row(example: TrainingExample) -> Row:
        completion = answered(example, reasoning=reasoning)
        return {"prompt": asked(example, wording), "completion": completion, "images": _images(example, longest_side)}

    nothing = "there is no example with reasoning" if only_reasoned and examples else "there is no example"
    return _dataset(chosen, row, nothing, folder)


def grpo_dataset(
    examples: Sequence[TrainingExample],
    *,
    wording: Wording | str = Wording.FULL,
    longest_side: int | None = None,
    folder: Path | None = None,
) -> "Dataset":
    """Return prompts for GRPO, conversational, with images and what rewards are given: ``truth`` is the labels as JSON text.

    Args:
        examples: at least one.
        wording: of the question.
        longest_side: as for :func:`sft_dataset`.
        folder: as for :func:`sft_dataset`.

    Raises:
        InputError: there is no example, or (with ``longest_side``) a picture that cannot be opened.

    Example:
        >>> from salon_synthetic.artifacts import draw_examples
        >>> data = grpo_dataset(list(draw_examples(2, seed=1)), wording="short", longest_side=32)
        >>> data.column_names
        ['prompt', 'images', 'truth', 'example_id', 'bucket', 'buckets', 'hard_positive']
        >>> data[1]["images"][0].size
        (32, 32)
    """

    def row(example: TrainingExample) -> Row:
        truth = magicmirror_json(example.truth)
        return {"prompt": asked(example, wording), "images": _images(example, longest_side), "truth": truth}

    return _dataset(examples, row, "there is no example", folder)


def _dataset(
    examples: Sequence[TrainingExample], row: Callable[[TrainingExample], Row], nothing: str, folder: Path | None
) -> "Dataset":
    from datasets import Dataset, concatenate_datasets
    from datasets.exceptions import DatasetGenerationError

    if not examples:
        raise InputError(nothing)

    def rows() -> Iterator[Row]:
        return (row(example) | _about(example) for example in examples)

    features = _features(next(rows()))
    if folder is None:
        remaining, batches = rows(), []
        while batch := list(islice(remaining, _BATCH)):
            batches.append(Dataset.from_list(batch, features=features))
        return concatenate_datasets(batches)
    try:
        return Dataset.from_generator(rows, features=features, cache_dir=str(folder), fingerprint=_FINGERPRINT)
    except DatasetGenerationError as error:
        if isinstance(error.__cause__, InputError):
            raise error.__cause__ from None
        raise


def _features(row: Row) -> Any:
    from datasets import Features, Image, List, Value

    message = List({"role": Value("string"), "content": Value("string")})
    kinds: dict[str, Any] = {
        "prompt": message,
        "completion": message,
        "images": List(Image(mode="RGB")),
        "buckets": List(Value("string")),
        "hard_positive": Value("bool"),
    }
    return Features({name: kinds.get(name, Value("string")) for name in row})


def _about(example: TrainingExample) -> Row:
    return {
        "example_id": example.example_id,
        "bucket": example.buckets[0],
        "buckets": list(example.buckets),
        "hard_positive": example.hard_positive,
    }


def _images(example: TrainingExample, longest_side: int | None) -> list[Row]:
    if longest_side is None:
        check_format(example.image)
        if isinstance(example.image, bytes):
            return [{"bytes": example.image, "path": None}]
        return [{"bytes": None, "path": str(example.image.absolute())}]
    policy = PicturePolicy(longest_side=longest_side)
    if isinstance(example.image, bytes):
        ready = prepare_bytes(example.image, policy)
    else:
        ready = prepare_picture(example.image, policy, _folder_of(example.image))
    if isinstance(ready, Unscored):
        raise InputError(f"the picture cannot be used ({ready.detail}):", column="images", value=example.example_id)
    return [{"bytes": ready.media.data, "path": None}]


def _folder_of(path: Path) -> Path:
    """Return where a picture lies, links followed: the reader has made sure that it is in the folder of pictures."""
    return path.resolve().parent
