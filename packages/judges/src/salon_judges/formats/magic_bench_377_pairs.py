"""Battles that a file of prompts lists in its column ``battles``: two models, and the numbers of their pictures."""

from typing import Any, NamedTuple, Self

from salon_console.table_rows import TableRow

_LONGEST_NAME = 400
_LARGEST_SAMPLE = 10**9
_MODELS = ("model_a", "model_b")
_SAMPLES = ("sample_a", "sample_b")
_HINT = 'A battle is {"model_a": "x", "sample_a": 0, "model_b": "y", "sample_b": 0}.'


class Pair(NamedTuple):
    """Two pictures for one prompt; ``model_a`` comes before ``model_b`` in alphabetical order."""

    model_a: str
    sample_a: int
    model_b: str
    sample_b: int

    @classmethod
    def of(cls, model: str, sample: int, other: str, other_sample: int) -> Self:
        """Return the pair in its one order.

        Example:
            >>> Pair.of("y", 0, "x", 2)
            Pair(model_a='x', sample_a=2, model_b='y', sample_b=0)
        """
        return cls(model, sample, other, other_sample) if model < other else cls(other, other_sample, model, sample)


def listed_battles(row: TableRow) -> list[Pair] | None:
    """Return the cell ``battles`` of a row, or None.

    Raises:
        InputError: when it holds anything but battles.
    """
    cell = row.cells.get("battles")
    if cell is None or cell == "":
        return None
    if not isinstance(cell, list):
        raise row.problem("must be a list of battles, not", "battles", value=type(cell).__name__, hint=_HINT)
    return [_battle(row, each) for each in cell]


def _battle(row: TableRow, battle: Any) -> Pair:
    if not isinstance(battle, dict):
        raise row.problem("is no battle:", "battles", value=type(battle).__name__, hint=_HINT)
    names = [battle.get(key) for key in _MODELS]
    samples = [battle.get(key, 0) for key in _SAMPLES]
    for key, name in zip(_MODELS, names, strict=True):
        if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
            raise row.problem(f"{key} must be a name, not", "battles", value=str(name)[:80], hint=_HINT)
    for key, sample in zip(_SAMPLES, samples, strict=True):
        if not isinstance(sample, int) or isinstance(sample, bool) or not 0 <= sample < _LARGEST_SAMPLE:
            raise row.problem(f"{key} must be a whole number from 0, not", "battles", value=str(sample)[:80], hint=_HINT)
    if names[0] == names[1]:
        raise row.problem("a model cannot meet itself:", "battles", value=names[0])
    return Pair.of(str(names[0]), int(samples[0]), str(names[1]), int(samples[1]))
