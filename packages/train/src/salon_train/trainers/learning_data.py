"""Examples as the rows that TRL's trainers take: messages, pictures that are decoded when they are needed, and the truth.

TrainingExample ──► sft_dataset   prompt, completion, images
                └─► grpo_dataset  prompt, images, truth, example_id, bucket (the columns that rewards are given)
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_taxonomy.answers import magicmirror_json, render_magicmirror
from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import DataSection
from salon_train.data import TrainingExample

if TYPE_CHECKING:
    from datasets import Dataset

Row = dict[str, Any]


def read_examples(files: Sequence[str], section: DataSection, *, limit: int | None = None) -> list[TrainingExample]:
    """The examples of some files, in their order.

    Raises:
        InputError: for a row that cannot be used, a picture that is not there, two rows with one id, or no row at all.
    """
    from salon_bench.assessor.magicdata import UnreadableRow, magicdata_rows

    examples: list[TrainingExample] = []
    for file in files:
        folder = Path(section.pictures) if section.pictures else Path(file).parent
        for row in magicdata_rows(Path(file)):
            if isinstance(row, UnreadableRow):
                raise InputError(row.problem, source=file)
            examples.append(TrainingExample(row.image, folder / row.image, row.answer, row.prompt, row.reasoning))
            if limit is not None and len(examples) >= limit:
                return examples
    if not examples:
        raise InputError("there is no row to learn from", source=", ".join(files))
    return examples


def question_of(example: TrainingExample, question: str | None) -> str:
    """What the model is asked about one picture.

    Example:
        >>> from salon_taxonomy.answers import MagicMirrorAnswer
        >>> question_of(TrainingExample("1", b"", MagicMirrorAnswer(True), prompt="a cat"), "Asked for: {prompt}. Wrong?")
        'Asked for: a cat. Wrong?'
    """
    if question is not None:
        return question.replace("{prompt}", example.prompt or "")
    from salon_bench.suites.magicbench import MagicBench
    from salon_taxonomy.protocols import Media

    return MagicBench().questions.assessment(Media.from_bytes(b""), prompt=example.prompt or "").text


def answer_of(example: TrainingExample, *, reasoning: bool) -> str:
    """What the model should say about one picture."""
    return render_magicmirror(example.truth, (example.reasoning or "") if reasoning else None)


def sft_dataset(examples: Sequence[TrainingExample], section: DataSection) -> "Dataset":
    """Rows for the cold start: ``prompt``, ``completion``, ``images``."""
    return _dataset(
        [
            {
                "prompt": _asked(example, section),
                "completion": [{"role": "assistant", "content": answer_of(example, reasoning=section.reasoning)}],
                "images": [_picture(example)],
            }
            for example in examples
        ]
    )


def grpo_dataset(examples: Sequence[TrainingExample], section: DataSection) -> "Dataset":
    """Rows for GRPO: ``prompt``, ``images`` and what rewards are given: ``truth``, ``example_id``, ``bucket``."""
    return _dataset(
        [
            {
                "prompt": _asked(example, section),
                "images": [_picture(example)],
                "truth": magicmirror_json(example.truth),
                "example_id": example.example_id,
                "bucket": example.buckets[0],
            }
            for example in examples
        ]
    )


def check_lengths(processor: Any, rows: "Dataset", longest: int | None, *, key: str) -> None:
    """Hold every row's tokens, pictures counted, against a limit; nothing is ever cut.

    Raises:
        InputError: for the first row that is longer.
    """
    if longest is None:
        return
    for place in range(len(rows)):
        row = rows[place]
        tokens = count_tokens(processor, row)
        if tokens > longest:
            hint = "Raise the limit, shorten the question, or show smaller pictures (model.most_pixels)."
            raise InputError(f"has {tokens} tokens, more than", row=place + 1, key=key, value=longest, hint=hint)


def count_tokens(processor: Any, row: Row) -> int:
    """Tokens of a row's prompt and completion, pictures counted."""
    from trl.data_utils import prepare_multimodal_messages

    messages = prepare_multimodal_messages(row["prompt"] + row.get("completion", []), images=row["images"])
    made = processor.apply_chat_template(
        messages, add_generation_prompt="completion" not in row, tokenize=True, return_dict=True
    )
    return len(made["input_ids"][0])


def _asked(example: TrainingExample, section: DataSection) -> list[dict[str, str]]:
    return [{"role": "user", "content": question_of(example, section.question)}]


def _picture(example: TrainingExample) -> dict[str, Any]:
    if isinstance(example.image, bytes):
        return {"bytes": example.image, "path": None}
    return {"bytes": None, "path": str(example.image)}


def _dataset(rows: Sequence[Row]) -> "Dataset":
    from datasets import Dataset, Features, Image, List, Value

    message = {"role": Value("string"), "content": Value("string")}
    kinds = {"prompt": [message], "completion": [message], "images": List(Image(mode="RGB"))}
    features = Features({name: kinds.get(name, Value("string")) for name in rows[0]})
    return Dataset.from_list(list(rows), features=features)
