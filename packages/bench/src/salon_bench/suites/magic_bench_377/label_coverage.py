"""How often a file of prompts uses each label, beside the shares of Magic-Bench-377 (MEF, Table 2)."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from salon_bench.suites.contract.suite import SuitePrompt
from salon_judges.formats.magic_bench_377_labels import (
    capability,
    counted_as,
    points,
    scenario,
    scenarios,
    target_shares,
    taxonomy,
)

if TYPE_CHECKING:
    import polars as pl

PROMPTS: Final = 377
"""Prompts of the benchmark."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Labels of a set of prompts.

    Attributes:
        prompts: how many there are.
        table: one row per label: ``kind`` (scenario, capability, test point), ``label``, ``prompts`` (how many have it),
            ``share`` and ``target`` (percent of all prompts; target null where Table 2 prints none), ``difference``
            (percentage points), ``change`` (prompts to give the label, or, negative, to take it from, until the share rounds to
            the printed whole percent; 0: it does).
        chi_square: Pearson's statistic of the scenarios against their targets, 4 degrees of freedom.
        p_value: of that statistic, were prompts drawn at random with the target's shares. A benchmark is written, not drawn:
            a small value says that the shares differ, a large one proves nothing.
        labels_per_prompt: how many prompts have 1, 2, 3 and 4 capability labels.
        languages: how many prompts are in each language.
    """

    prompts: int
    table: "pl.DataFrame"
    chi_square: float
    p_value: float
    labels_per_prompt: dict[int, int]
    languages: dict[str, int]

    @property
    def off(self) -> int:
        """Labels whose share does not round to the printed one."""
        return int((self.table["change"].fill_null(0) != 0).sum())

    @property
    def unused(self) -> tuple[str, ...]:
        """Labels that no prompt has, in the table's order: ``scenario Film``."""
        return tuple(f"{row['kind']} {row['label']}" for row in self.table.iter_rows(named=True) if not row["prompts"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for people."""
        targets = self.table["target"].count()
        labels = ", ".join(f"{count} with {number}" for number, count in sorted(self.labels_per_prompt.items()))
        spoken = ", ".join(f"{count} {language}" for language, count in sorted(self.languages.items()))
        size = "" if self.prompts == PROMPTS else f" The benchmark has {PROMPTS}."
        return (
            f"{self.prompts} prompts ({spoken}); capability labels: {labels}.{size}",
            f"{self.off} of {targets} labels are off the printed share; scenarios: chi-square {self.chi_square:.2f}, "
            f"4 degrees of freedom, p {self.p_value:.3g}.",
            f"{self.table.height - len(self.unused)} of {self.table.height} labels occur.",
        )


def coverage(prompts: Sequence[SuitePrompt]) -> Coverage:
    """Count the labels of prompts. A test point counts as its capability, and a capability once for each prompt.

    Args:
        prompts: at least one, as :func:`~salon_judges.formats.magic_bench_377_prompts.read_prompts` returns them.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from salon_judges.formats.magic_bench_377_prompts import read_prompts
        >>> path = Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("prompt,labels,scenario\\nSilk.,Texture; Style,Art\\nA duel.,Style,Film\\n")
        >>> found = coverage(read_prompts(path))
        >>> found.table.row(0), found.table.row(1)[:5]
        (('scenario', 'Film', 1, 50.0, 20, 30.0, -1), ('scenario', 'Art', 1, 50.0, 21))
    """
    import polars as pl

    labels = [{counted_as(found).id for name in item.prompt.labels if (found := capability(name))} for item in prompts]
    work = Counter(found.id for item in prompts if (found := scenario(item.prompt.scenario or "")))
    capabilities = Counter(label for each in labels for label in each)
    checks: list[Any] = [item.facts["test_points"] for item in prompts]
    checked = Counter(point for each in checks for point, _ in each)
    items = [label.id for label in taxonomy().tier("item")]
    rows = [
        *(_row("scenario", each, work[each], len(prompts)) for each in scenarios()),
        *(_row("capability", each, capabilities[each], len(prompts)) for each in items),
        *(_row("test point", each, checked[each], len(prompts), target=False) for each in points()),
    ]
    columns = {"kind": pl.String, "label": pl.String, "prompts": pl.Int64, "share": pl.Float64, "target": pl.Int64}
    table = pl.DataFrame(rows, schema={**columns, "difference": pl.Float64, "change": pl.Int64}, orient="row")
    statistic = _chi_square(work, len(prompts))
    return Coverage(
        prompts=len(prompts),
        table=table,
        chi_square=statistic,
        p_value=math.exp(-statistic / 2.0) * (1.0 + statistic / 2.0),  # chi-square's tail with 4 degrees of freedom
        labels_per_prompt=dict(Counter(len(item.prompt.labels) for item in prompts)),
        languages=dict(Counter(item.prompt.language or "?" for item in prompts)),
    )


def _row(kind: str, label: str, count: int, prompts: int, *, target: bool = True) -> tuple[object, ...]:
    wanted = target_shares().get(label) if target else None
    share = 100.0 * count / prompts
    name = next(each.name for each in taxonomy().walk(label))
    if wanted is None:
        return kind, name, count, share, None, None, None
    return kind, name, count, share, wanted, share - wanted, change(count, wanted, prompts)


def change(count: int, target: int, prompts: int) -> int:
    """Return the fewest prompts to add (negative: remove) so that a label's share rounds to ``target`` percent.

    Where so few prompts can show no such share, the nearest count is good.

    Example:
        >>> change(4, 4, 377), change(13, 4, 377), change(16, 4, 377), change(17, 4, 377)
        (10, 1, 0, -1)
    """
    exact = target * prompts / 100.0
    low, high = math.ceil(exact - prompts / 200.0), math.floor(exact + prompts / 200.0)
    if low > high:  # no count has such a share
        low = high = round(exact)
    return max(low - count, 0) - max(count - high, 0)


def _chi_square(counted: Counter[str], prompts: int) -> float:
    expected = {label: target_shares()[label] * prompts / 100.0 for label in scenarios()}
    return sum((counted[label] - wanted) ** 2 / wanted for label, wanted in expected.items())
