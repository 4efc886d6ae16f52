"""The human experts' row of the published table, to stand beside a judge's (paper 001, Table 2)."""

from functools import cache

from salon_bench.suites.artifact_bench.rows import Level, Task

_TABLE, _ROW = "001:2", "Human Expert"
_COUNTS = "001:3"


@cache
def human_baseline() -> dict[tuple[Task, Level], tuple[float, int]]:
    """Percent of right answers as printed, and the number of questions, for each task and level of the released benchmark.

    Example:
        >>> human_baseline()[Task.AID, Level.L3]
        (77.4, 53)
    """
    from salon_bench.published import load

    row = load(_TABLE).filter(model=_ROW).row(0, named=True)
    counts = {(each["task"], each["level"]): int(each["questions"]) for each in load(_COUNTS).iter_rows(named=True)}
    return {
        (task, level): (float(row[f"{task}.level{level.value[1:]}"]), counts[task.value.upper(), level.value])
        for task in Task
        for level in Level
    }


@cache
def human_total() -> float:
    """``Total`` of the human experts, in percent, as printed."""
    from salon_bench.published import load

    return float(load(_TABLE).filter(model=_ROW)["total"].item())
