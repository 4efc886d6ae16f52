"""Check prompts against a limit of tokens before training: TRL has no such limit for GRPO, and cuts nothing."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset

_MOST_KEPT = 20
MOST_COUNTED: Final = 64
"""Rows whose tokens are counted before training, spread evenly; counting all would open every picture."""


@dataclass(frozen=True, slots=True)
class TokenLengths:
    """Tokens of rows, pictures counted.

    Attributes:
        rows: how many were counted.
        longest: of all; 0 without rows.
        longest_row: the ``example_id`` of that row, or its number from 0 where it has none; None without rows.
        mean: of all; NaN without rows.
        limit: that they were held against; None: none.
        over: how many rows are longer.
        first_over: the first twenty of these, as ``longest_row``.
    """

    rows: int
    longest: int
    longest_row: str | None
    mean: float
    limit: int | None
    over: int
    first_over: tuple[str, ...]


def token_lengths(
    rows: Iterable[dict[str, Any]], processor: Any, *, limit: int | None = None, strict: bool = False
) -> TokenLengths:
    """Count the tokens of rows as the trainer will make them.

    Args:
        rows: of a data set that :func:`grpo_dataset` or :func:`sft_dataset` made; a completion is counted with its prompt.
        processor: a processor of transformers, which counts pictures too; or a tokenizer, which counts the texts alone.
        limit: at most so many.
        strict: a row over the limit is an error.

    Raises:
        InputError: with ``strict``, for the first row that is longer; and where the processor has no chat template.
    """
    lengths: list[int] = []
    names: list[str] = []
    for number, row in enumerate(rows):
        lengths.append(count_tokens(row, processor))
        names.append(str(row.get("example_id", number)))
        if strict and limit is not None and lengths[-1] > limit:
            hint = "Raise the limit, take a shorter wording, or show smaller pictures."
            problem = f"has {lengths[-1]} tokens; at most {limit} are allowed:"
            raise InputError(problem, row=number + 1, column="prompt", value=names[-1], hint=hint)
    over = [name for name, length in zip(names, lengths, strict=True) if limit is not None and length > limit]
    longest = max(lengths, default=0)
    mean = sum(lengths) / len(lengths) if lengths else float("nan")
    name = names[lengths.index(longest)] if names else None
    return TokenLengths(len(lengths), longest, name, mean, limit, len(over), tuple(over[:_MOST_KEPT]))


def count_tokens(row: dict[str, Any], processor: Any) -> int:
    """Return tokens of one row's prompt, and of its completion where it has one.

    Raises:
        InputError: the processor has no chat template.
    """
    messages = [*row["prompt"], *(row.get("completion") or ())]
    if getattr(processor, "chat_template", None) is None:
        raise InputError("the processor has no chat template", value=type(processor).__name__)
    options = {"add_generation_prompt": not row.get("completion"), "tokenize": True, "return_dict": True}
    if hasattr(processor, "image_processor"):
        from trl.data_utils import prepare_multimodal_messages

        encoded = processor.apply_chat_template(prepare_multimodal_messages(messages, images=row["images"]), **options)
    else:
        encoded = processor.apply_chat_template(messages, **options)
    tokens = encoded["input_ids"]
    return len(tokens[0]) if tokens and hasattr(tokens[0], "__len__") else len(tokens)


def check_lengths(processor: Any, rows: "Dataset", limit: int | None) -> int:
    """Check :data:`MOST_COUNTED` rows against a limit of tokens, pictures included; rows are never cut.

    Returns:
        The longest.

    Raises:
        InputError: for the first row that is longer, or whose picture cannot be read.
    """
    places = range(0, len(rows), max(1, -(-len(rows) // MOST_COUNTED)))
    return token_lengths((_row(rows, place) for place in places), processor, limit=limit, strict=True).longest


def _row(rows: "Dataset", number: int) -> dict[str, Any]:
    try:
        row: dict[str, Any] = rows[number]
    except (OSError, ValueError) as error:  # what PIL raises for a broken file
        name = rows.select_columns("example_id")[number]["example_id"] if "example_id" in rows.column_names else None
        raise InputError(f"the picture cannot be read ({error}):", row=number + 1, column="images", value=name) from error
    return row
