"""Hold two builds against each other, wherever their scores and pictures are: runs, tables, folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from salon_bench.analysis.gate.gate import Gate, gate
from salon_bench.analysis.gate.history import gate_rows
from salon_bench.analysis.gate.measuring import Measured, measured
from salon_bench.analysis.gate.pictures import BuildPictures, pictures_of, refuse_other_prompts
from salon_bench.analysis.gate.plan import GatePlan
from salon_bench.analysis.gate.speed import picture_seconds, speed
from salon_bench.runs.score_rows import frame_of, is_same_source, read_scores
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    from salon_ranking.options import Progress


@dataclass(frozen=True, eq=False, slots=True)
class HeldBuilds:
    """Two builds held against each other.

    Attributes:
        gate: the answer.
        base, new: their pictures, as far as they were looked for.
        speed: of :func:`~salon_bench.analysis.gate.speed.speed`.
        rows: the gate's, for the table ``gates`` of a result store.
        remarks: sentences about measures of sets that the sets are too small for, and about pictures without a value.
    """

    gate: Gate
    base: BuildPictures
    new: BuildPictures
    speed: pl.DataFrame
    rows: pl.DataFrame
    remarks: Sequence[str]


def hold_builds(
    base: str,
    new: str,
    plan: GatePlan,
    store: StoreAddress,
    *,
    battles: pl.DataFrame | None = None,
    shows_pictures: bool = False,
    progress: "Progress | None" = None,
) -> HeldBuilds:
    """Hold the build ``new`` against ``base``.

    Args:
        base, new: runs' ids, tables of scores, or folders of pictures named by prompt; a run of another store is STORE#RUN.
        plan: measures, margins and the level.
        store: of the runs; features are kept in its cache.
        battles: between the two, for the measure ``preferred``, whose models are called as the files, folders or models of the
            builds, or base and new.
        shows_pictures: look for the pictures of runs also where no measure needs them.
        progress: called with the pictures that are done and their number.

    Raises:
        InputError: the two are one, cannot be compared, or lack what the plan names.

    Example:
        >>> import tempfile
        >>> common = {"run_id": "r", "suite": "s", "task": "t", "dimension": "beauty", "subject_model": "m", "judge": "j"}
        >>> common |= {"judge_version": "1", "generation_id": "g"}
        >>> table = str(Path(tempfile.mkdtemp()) / "base.csv")
        >>> scores = pl.DataFrame([{**common, "prompt_id": f"p{k}", "value": k % 3} for k in range(60)])
        >>> scores.write_csv(table), scores.write_csv(table.replace("base", "new"))
        (None, None)
        >>> hold_builds(table, table.replace("base", "new"), GatePlan({}, margin=0.5), "results").gate.passed
        True
    """
    if is_same_source(base, new, store):
        raise InputError("BASE and NEW are one and the same", value=new)
    names = (base, new)
    sides = [frame_of([]) if Path(each).is_dir() else read_scores([each], store) for each in names]
    refuse_other_prompts(base, new, store)
    files = [BuildPictures(), BuildPictures()]
    # the files of a folder name its prompts, and a prompt without a battle is missing
    if plan.of_pictures or shows_pictures or (battles is not None and any(Path(each).is_dir() for each in names)):
        files = [pictures_of(each, side, store) for each, side in zip(names, sides, strict=True)]
    pictures = None
    if plan.of_pictures:
        for name, side in zip(names, files, strict=True):
            if not side.files:
                hint = "Give runs, or folders of pictures."
                raise InputError("has no pictures, which measures with a limit need", source=name, hint=hint)
        pictures = measured(files[0].files, files[1].files, plan, names=names, store=store, progress=progress)
    result = gate(
        sides[0],
        sides[1],
        plan,
        names=names,
        pictures=pictures,
        battles=battles,
        models=None if battles is None else _models(battles, names, sides),
        prompts={file.prompt_id for side in files for file in side.files},
    )
    times = [picture_seconds(each, side, store) for each, side in zip(names, sides, strict=True)]
    faster = speed(times[0], times[1], plan.level)
    inputs = [*([] if pictures is None else pictures.tables), *([] if battles is None else [battles])]
    rows = gate_rows(result, sides[0], sides[1], plan, further=inputs, faster=next(iter(faster["faster"].to_list()), None))
    return HeldBuilds(result, files[0], files[1], faster, rows, [] if pictures is None else _remarks(pictures))


def _remarks(pictures: Measured) -> list[str]:
    small = [] if pictures.sets.is_empty() else pictures.sets.drop_nulls("reason").select("measure", "reason").rows()
    lost = [] if pictures.against.is_empty() else pictures.against.drop_nulls("reason").sort("prompt_id").rows(named=True)
    of_prompts = {row["prompt_id"]: visible(f"{row['prompt_id']}: {row['detail'] or row['reason']}") for row in lost}
    more = f" (and {len(of_prompts) - 1:,} more prompts)" if len(of_prompts) > 1 else ""
    return [f"{name}: {reason}." for name, reason in small] + [f"{text}{more}." for text in [*of_prompts.values()][:1]]


def _models(battles: pl.DataFrame, names: tuple[str, str], sides: Sequence[pl.DataFrame]) -> tuple[str, str]:
    """Return what battles call the base and the new build: the name of the file or folder, its model's, or base and new."""
    called = [
        [name, Path(name).name, Path(name).stem, *side["subject_model"].unique().sort(), word]
        for name, side, word in zip(names, sides, ("base", "new"), strict=True)
    ]
    there = {*battles["model_a"]} | {*battles["model_b"]}
    for pair in product(*called):
        if {*pair} == there and pair[0] != pair[1]:
            return pair[0], pair[1]
    hint = "Call them as the files, folders or models of BASE and NEW, or base and new."
    raise InputError("the battles are not between the two builds:", source="--battles", value=sorted(there), hint=hint)
