"""Runs as plain values for programs: ``salon train report --format json``."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from salon_train.report.folders import ReportedRun, StageRun
from salon_train.report.samples import read_samples
from salon_train.report.settings import is_usual, settings_of
from salon_train.report.thresholds import thresholds_of


def summary(runs: Sequence[ReportedRun]) -> dict[str, Any]:
    """Return all that the page shows, and every number of every curve; a threshold that is never reached is null.

    Raises:
        InputError: as :func:`~.samples.read_samples` and :func:`~.thresholds.thresholds_of`.
    """
    return {"runs": [_run(run) for run in runs]}


def _run(run: ReportedRun) -> dict[str, Any]:
    settings = settings_of(run)
    return {
        "name": run.name,
        "folder": str(run.folder),
        "changed_settings": {key: value for key, value in settings.items() if not is_usual(key, value)},
        "stages": [_stage(stage) for stage in run.stages.values()],
    }


def _stage(stage: StageRun) -> dict[str, Any]:
    history = stage.history
    return {
        "stage": history.stage,
        "state": str(history.state),
        "sentence": history.sentence,
        "reason": history.reason or None,
        "step": history.step,
        "steps": history.steps,
        "at": None if history.at is None else history.at.isoformat(),
        "seconds": round(history.seconds, 3),
        "moments": [asdict(each) for each in history.moments],
        "warned": [asdict(each) for each in history.warned],
        "thresholds": {
            name: {"warn": held.warn, "stop": held.stop if math.isfinite(held.stop) else None}
            for name, held in thresholds_of(stage).items()
        },
        "cut_off_lines": history.torn,
        "curves": {name: [[step, value] for step, value in sorted(curve.items())] for name, curve in history.curves.items()},
        "samples": [
            {
                "step": each.step,
                "bucket": each.bucket,
                "completion": each.text,
                "truth": each.truth,
                "reward": each.reward,
                "rewards": dict(each.rewards),
                "completion_tokens": each.tokens,
            }
            for each in read_samples(stage.folder)
        ],
    }
