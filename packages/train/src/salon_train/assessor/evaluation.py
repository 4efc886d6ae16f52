"""How good an assessor is on held-out pictures, in the assessor's own metrics, during training and after it.

A rising reward is no evidence: a policy can learn to please the reward while its F1 falls. So what is reported is F1 by
people's labels, how often the model says *normal*, how long its answers are, and how many cannot be read.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_taxonomy.answers import MagicMirrorAnswer, Outcome, Parsed, parse_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.training_example import TrainingExample
from salon_train.assessor import rows as data_rows
from salon_train.configuration.schema import DataSection

if TYPE_CHECKING:
    from salon_bench.suites.assessors import Evaluation


@dataclass(frozen=True, slots=True)
class HeldOut:
    """An assessor's answers about held-out pictures.

    Attributes:
        examples: the pictures.
        texts: the raw answers, in the same order.
        tokens: of each answer.
    """

    examples: tuple[TrainingExample, ...]
    texts: tuple[str, ...]
    tokens: tuple[int, ...]

    @property
    def outcomes(self) -> list[Outcome[MagicMirrorAnswer]]:
        """The answers, read."""
        return [parse_magicmirror(text) for text in self.texts]

    def evaluation(self, *, replicates: int = 0, seed: int = 0) -> "Evaluation":
        """Precision, recall and F1 of every label; with intervals when there are replicates."""
        from salon_bench.suites.assessors import evaluate

        return evaluate([example.truth for example in self.examples], self.outcomes, replicates=replicates, seed=seed)

    def metrics(self) -> dict[str, float | None]:
        """The numbers that are followed while training goes on; None where one is undefined.

        ``f1_macro`` and ``f1_micro`` are over the four main L2 labels, ``f1_binary`` is artifact or not; ``normal`` and
        ``invalid`` are shares of the answers, ``length_…`` mean tokens by what was said.
        """
        rows = self.evaluation().table.to_dicts()
        by_name = {(row["level"], row["label"]): row for row in rows}
        numbers: dict[str, float | None] = {
            "f1_macro": by_name["L2", "macro"]["f1"],
            "f1_micro": by_name["L2", "micro"]["f1"],
            "f1_binary": by_name["artifact", "artifact"]["f1"],
        }
        numbers |= {
            f"f1/{row['label']}": row["f1"]
            for row in rows
            if row["level"] == "L2" and row["support"] and row["flagged"] is not None
        }
        lengths: dict[str, list[int]] = defaultdict(list)
        for outcome, tokens in zip(self.outcomes, self.tokens, strict=True):
            lengths[_verdict(outcome)].append(tokens)
        count = len(self.texts)
        numbers["normal"] = len(lengths["normal"]) / count
        numbers["invalid"] = len(lengths["invalid"]) / count
        numbers |= {f"length_{verdict}": sum(tokens) / len(tokens) for verdict, tokens in sorted(lengths.items()) if tokens}
        return numbers

    def write(self, path: Path) -> None:
        """Write the answers as JSON Lines: ``id`` and ``response``, as ``salon bench assessor evaluate`` reads them.

        Raises:
            InputError: the file cannot be written.
        """
        rows = (
            json.dumps({"id": example.example_id, "response": text}, ensure_ascii=False)
            for example, text in zip(self.examples, self.texts, strict=True)
        )
        try:
            path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", source=path) from error


def held_out_answers(
    model: Any,
    processor: Any,
    examples: Sequence[TrainingExample],
    *,
    data: DataSection,
    batch: int,
    longest: int,
    compute: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> HeldOut:
    """Ask a model about held-out pictures, greedily; see :func:`salon_train.run.greedy.answers`."""
    from salon_train.run.greedy import Answer, answers, picture_of

    given: list[Answer] = []
    for start in range(0, len(examples), batch):
        some = examples[start : start + batch]
        asked = [(data_rows.question(example, data), picture_of(example)) for example in some]
        given += answers(model, processor, asked, batch=batch, longest=longest, compute=compute)
    return HeldOut(tuple(examples), tuple(each.text for each in given), tuple(each.tokens for each in given))


def shown_first(metrics: Mapping[str, float | None]) -> dict[str, float | None]:
    """The few numbers that fit on a line."""
    return {name: metrics[name] for name in ("f1_macro", "f1_binary", "normal", "invalid")}


def _verdict(outcome: Outcome[MagicMirrorAnswer]) -> str:
    if not isinstance(outcome, Parsed):
        return "invalid"
    return "normal" if outcome.answer.normal else "artifact"
