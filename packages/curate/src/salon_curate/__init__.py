"""Build image data sets with judges: stages over shards, selections, audits, releases.

    dataset = DataSet.create(Path("birds"))
    import_pictures(dataset, Path("pictures"))
    run(dataset, [look])                                            # resumes; the same bytes on every engine
    select(dataset, [look], {"sharp": "sharpness >= 80"}).kept      # a threshold is free to move

How it works, step by step: ``docs/curate.md``. The construction of benchmarks is :mod:`salon_curate.construction`.

Nothing is imported before it is asked for (PEP 562).
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_curate.clips import watch
    from salon_curate.dataset import DataSet, Picture
    from salon_curate.drift import drift
    from salon_curate.engine import embedded, inline
    from salon_curate.errors import RefusedReleaseError, StageError
    from salon_curate.importing import import_pictures
    from salon_curate.judging import Ask, judge_stage
    from salon_curate.lineage import why
    from salon_curate.measures import fields, look
    from salon_curate.pipeline import read_pipeline
    from salon_curate.planning import plan
    from salon_curate.running import run, status, verify
    from salon_curate.selection import diff, read_columns, save_selection, select, sweep
    from salon_curate.stages import DataSetStage, Stage, dataset_stage, stage

_BY_MODULE = {
    "clips": ("watch",),
    "dataset": ("DataSet", "Picture"),
    "drift": ("drift",),
    "engine": ("embedded", "inline"),
    "errors": ("RefusedReleaseError", "StageError"),
    "importing": ("import_pictures",),
    "judging": ("Ask", "judge_stage"),
    "lineage": ("why",),
    "measures": ("fields", "look"),
    "pipeline": ("read_pipeline",),
    "planning": ("plan",),
    "running": ("run", "status", "verify"),
    "selection": ("diff", "save_selection", "select", "sweep", "read_columns"),
    "stages": ("DataSetStage", "Stage", "dataset_stage", "stage"),
}
__all__ = [
    "Ask",
    "DataSet",
    "DataSetStage",
    "Picture",
    "RefusedReleaseError",
    "Stage",
    "StageError",
    "dataset_stage",
    "diff",
    "drift",
    "embedded",
    "fields",
    "import_pictures",
    "inline",
    "judge_stage",
    "look",
    "plan",
    "read_columns",
    "read_pipeline",
    "run",
    "save_selection",
    "select",
    "stage",
    "status",
    "sweep",
    "verify",
    "watch",
    "why",
]
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
