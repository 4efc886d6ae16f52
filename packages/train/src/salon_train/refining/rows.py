"""What a refiner learns from, ⟨P, I⁰, v⟩: the question about a picture, and the columns that rewards are given."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from salon_bench.suites.r3_bench.questions import templates


@dataclass(frozen=True, slots=True)
class RefinerRow:
    """One training input ⟨P, I⁰, v⟩ of paper 002, section 3.1.

    Attributes:
        example_id: unique; completions of one id are one group.
        prompt: P.
        picture: the file of I⁰.
        matches: v.
    """

    example_id: str
    prompt: str
    picture: Path
    matches: bool


def refining_dataset(rows: Sequence[RefinerRow]) -> Any:
    """Rows for TRL: the question, its picture, and the columns that rewards are given."""
    from datasets import Dataset, Image, List

    words = templates()
    columns: dict[str, list[Any]] = {
        "prompt": [[{"role": "user", "content": words.render("reflect", prompt=row.prompt)}] for row in rows],
        "images": [[str(row.picture)] for row in rows],
        "example_id": [row.example_id for row in rows],
        "text_prompt": [row.prompt for row in rows],
        "picture": [str(row.picture) for row in rows],
        "matches": [row.matches for row in rows],
        "bucket": ["aligned" if row.matches else "misaligned" for row in rows],
    }
    return Dataset.from_dict(columns).cast_column("images", List(Image()))
