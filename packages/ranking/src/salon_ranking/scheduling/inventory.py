"""What there is to show: the samples that each model made for each prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.errors import BattleError, OptionError
from salon_ranking.files import Frame, as_lazy
from salon_ranking.options import Range, checked

_MOST_ENTRIES = 1 << 30
_ROW = "__row"


@dataclass(frozen=True, eq=False)
class Inventory:
    """Samples by model and prompt. Build with :meth:`from_frame` or :meth:`full`.

    Attributes:
        models: names in ascending order.
        start: the entries of model ``m`` are ``start[m]:start[m + 1]``, shape (models + 1,).
        prompt: the prompt of each entry, an index into ``prompts``, ascending within a model.
        samples: how many samples each entry has, at least 1.
        prompts: prompt ids in ascending order.
        generations: ids of the samples, entry after entry; None when they have no ids.
    """

    models: tuple[str, ...]
    start: NDArray[np.uint64]
    prompt: NDArray[np.uint32]
    samples: NDArray[np.uint32]
    prompts: pl.Series
    generations: pl.Series | None

    @classmethod
    @checked
    def full(
        cls, models: Sequence[str], prompts: Sequence[str], samples: Annotated[int, Range(1, 2**32 - 1)] = 1
    ) -> "Inventory":
        """Return the inventory in which every model has ``samples`` samples for every prompt.

        Raises:
            OptionError: no prompts, or fewer than one sample.

        Example:
            >>> Inventory.full(["x", "y"], ["a cat", "a dog"], samples=4).samples.tolist()
            [4, 4, 4, 4]
        """
        names, known = tuple(sorted(set(models))), sorted(set(prompts))
        if not known:
            raise OptionError("there are no prompts")
        if samples < 1:
            raise OptionError("samples must be 1 or more, not", value=samples)
        _check_size(len(names) * len(known))
        return cls(
            names,
            np.arange(len(names) + 1, dtype=np.uint64) * len(known),
            np.tile(np.arange(len(known), dtype=np.uint32), len(names)),
            np.full(len(names) * len(known), samples, dtype=np.uint32),
            pl.Series("prompt_id", known, dtype=pl.String),
            None,
        )

    @classmethod
    def from_frame(cls, frame: Frame, source: str = "generations") -> "Inventory":
        """Return the rows of a table of generations: ``model``, ``prompt_id`` and, if there is one, ``generation_id``.

        The samples of a model for a prompt keep their order in the frame; ``sample`` of a planned battle counts from 0.

        Raises:
            BattleError: a column is missing, a name is null, or there are no rows.

        Example:
            >>> made = pl.DataFrame({"model": ["x", "y", "x"], "prompt_id": ["p", "p", "p"]})
            >>> Inventory.from_frame(made).samples.tolist()
            [2, 1]
        """
        lazy = as_lazy(frame, source)
        columns = lazy.collect_schema().names()
        for name in ("model", "prompt_id"):
            if name not in columns:
                raise BattleError("missing column", source=source, value=name, found=columns)
        wanted = ["model", "prompt_id", *(["generation_id"] if "generation_id" in columns else [])]
        rows = lazy.select(pl.col(wanted).cast(pl.String)).collect()
        for name in wanted:
            blank = rows[name].is_null() | (rows[name].str.strip_chars() == "")
            if blank.any():
                row = int(blank.arg_max() or 0)
                raise BattleError("is not given", source=source, row=row + 1, column=name, value=rows[name][row])
        if not rows.height:
            raise BattleError("there are no generations", source=source)
        _check_size(rows.height)
        ordered = rows.sort("model", "prompt_id", maintain_order=True)
        entries = ordered.group_by("model", "prompt_id", maintain_order=True).len()
        models, prompts = sorted(entries["model"].unique()), entries["prompt_id"].unique().sort()
        per_model = entries.group_by("model", maintain_order=True).len()["len"].to_numpy()
        numbers = pl.DataFrame({"prompt_id": prompts, _ROW: np.arange(len(prompts), dtype=np.uint32)})
        return cls(
            tuple(models),
            np.concatenate([[0], np.cumsum(per_model)]).astype(np.uint64),
            np.ascontiguousarray(entries.join(numbers, on="prompt_id", how="left", maintain_order="left")[_ROW].to_numpy()),
            entries["len"].to_numpy().astype(np.uint32),
            prompts,
            ordered["generation_id"] if "generation_id" in wanted else None,
        )

    @checked
    def among(self, models: Sequence[str]) -> "Inventory":
        """Return the same for ``models`` (ascending) alone; a model without samples has no entries."""
        number = {name: index for index, name in enumerate(self.models)}
        parts = [self._span(number.get(name)) for name in models]
        kept = np.concatenate([np.arange(start, stop) for start, stop in parts]) if parts else np.empty(0, dtype=np.int64)
        sizes = [stop - start for start, stop in parts]
        generations = self.generations
        if generations is not None:
            starts = np.concatenate([[0], np.cumsum(self.samples, dtype=np.int64)])
            rows = [np.arange(starts[start], starts[stop]) for start, stop in parts]
            generations = generations.gather(np.concatenate(rows)) if rows else generations.clear()
        return Inventory(
            tuple(models),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64),
            self.prompt[kept],
            self.samples[kept],
            self.prompts,
            generations,
        )

    def _span(self, model: int | None) -> tuple[int, int]:
        return (0, 0) if model is None else (int(self.start[model]), int(self.start[model + 1]))


def _check_size(entries: int) -> None:
    if entries > _MOST_ENTRIES:
        raise OptionError(f"more than {_MOST_ENTRIES:,} generations are too many to plan with:", value=entries)
