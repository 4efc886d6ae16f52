"""A model's answers about held-out rows: asked greedily, gathered from every process, written as JSON Lines.

A rising reward is no evidence: a policy can learn to please the reward while its answers get worse. What is measured here
asks neither rewards nor judges.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from salon_taxonomy.whole_files import write_whole
from salon_train.configuration.schema import EvaluationSection
from salon_train.run.greedy import GreedyAnswer, answers
from salon_train.run.processes import Processes
from salon_train.run.stage import Measure


class _Identified(Protocol):
    @property
    def example_id(self) -> str: ...


RowT = TypeVar("RowT", bound=_Identified)


@dataclass(frozen=True, slots=True)
class HeldOut(ABC, Generic[RowT]):
    """Answers about held-out rows; a stage's own subclass adds its metrics.

    Attributes:
        rows: what the model was asked about.
        texts: the raw answers, in the same order; one that is cut off counts as it is.
        tokens: of each answer.
    """

    rows: tuple[RowT, ...]
    texts: tuple[str, ...]
    tokens: tuple[int, ...]

    @abstractmethod
    def metrics(self) -> Mapping[str, float | None]:
        """Return the numbers that are logged during training; None where one is undefined."""

    def write(self, path: Path) -> None:
        """Write the answers as JSON Lines: ``id`` and ``response``, as ``salon bench assessor evaluate`` reads them.

        Raises:
            InputError: the file cannot be written.
        """
        lines = [
            json.dumps({"id": row.example_id, "response": text}, ensure_ascii=False) + "\n"
            for row, text in zip(self.rows, self.texts, strict=True)
        ]
        write_whole(path, "".join(lines))


_Answers = TypeVar("_Answers", bound=HeldOut[Any])


def ask_about(
    kind: type[_Answers],
    rows: Sequence[RowT],
    asked: Callable[[RowT], tuple[str, Any]],
    settings: EvaluationSection,
    model: Any,
    processor: Any,
    *,
    compute: Callable[[], AbstractContextManager[Any]] = nullcontext,
    progressed: Callable[[int], None] = lambda _: None,
) -> _Answers:
    """Ask a model about held-out rows, greedily (:func:`salon_train.run.greedy.answers`).

    Args:
        kind: of the answers.
        rows: in order.
        asked: gives the question and the picture (PIL) of a row.
        settings: pictures at once, and tokens of an answer.
        model: any that generates.
        processor: of the model.
        compute: makes the context in which the model runs (autocast).
        progressed: called with the number of rows of each batch.
    """
    answered: list[GreedyAnswer] = []
    for start in range(0, len(rows), settings.batch):
        some = [asked(row) for row in rows[start : start + settings.batch]]
        answered += answers(model, processor, some, batch=settings.batch, longest=settings.longest, compute=compute)
        progressed(len(some))
    return kind(tuple(rows), tuple(each.text for each in answered), tuple(each.tokens for each in answered))


def measure_of(
    kind: type[_Answers], rows: Sequence[RowT], asked: Callable[[RowT], tuple[str, Any]], settings: EvaluationSection
) -> Measure | None:
    """Return the evaluation during training, in which every process asks about its share; None without held-out rows."""

    def measured(
        model: Any, processor: Any, compute: Callable[[], AbstractContextManager[Any]], processes: Processes
    ) -> _Answers:
        own = ask_about(kind, processes.share(rows), asked, settings, model, processor, compute=compute)
        pairs = processes.collected(list(zip(own.texts, own.tokens, strict=True)), len(rows))
        return kind(tuple(rows), tuple(text for text, _ in pairs), tuple(tokens for _, tokens in pairs))

    return measured if rows else None
