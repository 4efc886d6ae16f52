"""Data to learn from: annotated pictures, how they are read and counted, and how they become chat messages.

One picture with its truth is a ``salon_taxonomy.training_example.TrainingExample``.

read_examples              files of MagicData340K's schema, what cannot be used reported row by row
example_rows               the same as a stream
count                      counts of buckets and labels beside MagicMirror's Table 5
Wording, asked, answered   what is asked about an example and what should be answered, as chat messages
sft_dataset, grpo_dataset  what TRL's trainers take
token_lengths              prompts held against a limit of tokens
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.data.conversion import grpo_dataset, sft_dataset
    from salon_train.data.counts import DataCounts, count, published_counts
    from salon_train.data.lengths import TokenLengths, count_tokens, token_lengths
    from salon_train.data.pictures import Look
    from salon_train.data.question import Wording, answered, asked, question_of
    from salon_train.data.reading import (
        ReadExamples,
        RowFault,
        SplitExample,
        UnusableRow,
        example_rows,
        read_examples,
    )

__all__ = [
    "DataCounts",
    "Look",
    "ReadExamples",
    "RowFault",
    "SplitExample",
    "TokenLengths",
    "UnusableRow",
    "Wording",
    "answered",
    "asked",
    "count",
    "count_tokens",
    "example_rows",
    "grpo_dataset",
    "published_counts",
    "question_of",
    "read_examples",
    "sft_dataset",
    "token_lengths",
]

_BY_MODULE = {
    "conversion": ["grpo_dataset", "sft_dataset"],
    "counts": ["DataCounts", "count", "published_counts"],
    "lengths": ["TokenLengths", "count_tokens", "token_lengths"],
    "pictures": ["Look"],
    "question": ["Wording", "answered", "asked", "question_of"],
    "reading": ["RowFault", "ReadExamples", "SplitExample", "UnusableRow", "example_rows", "read_examples"],
}

__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
