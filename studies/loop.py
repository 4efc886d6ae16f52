"""The closed loop over seeds and numbers of votes: ``python -m studies.loop FOLDER``.

Each number of votes is a study of :mod:`salon_train.demo.loop` in ``FOLDER/votes-N``, at the steps of ``--quick``. Then the arm
``grpo`` is run again from the same weights and draws, with the monitors of pictures beside it: at which step does one warn, and
at which has the truth of a step's pictures fallen by a tenth of what it was in the first ten steps?
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import torch

from salon_console.output import as_json, print_parts
from salon_console.table_files import Table
from salon_rewards.monitors import AnswerForm, StepBatch
from salon_taxonomy.whole_files import write_whole
from salon_train.demo.loop import QUICK, TRUTH, LoopArm, LoopSettings, adapted, learner_of, run_loop
from salon_train.image_policy.picture_monitors import BASELINE, WINDOW, PictureBatch, PictureBoard
from salon_train.over_seeds import SeedMean
from salon_train.run.own_loop import one_thread

FALL: Final = 0.1
"""Of the truth of the first steps: the promise is that a monitor warns before."""


def watched(folder: Path, seed: int, settings: LoopSettings) -> dict[str, Any]:
    """Run ``grpo`` of a finished seed again, and return the truth by step and the first alarm of each monitor."""
    numbers = folder / f"seed-{seed}" / "watched.json"
    if numbers.exists():
        found: dict[str, Any] = json.loads(numbers.read_text(encoding="utf-8"))
        return found
    truth, board = adapted(TRUTH), PictureBoard()
    by_step: list[float] = []
    alarms: dict[str, int] = {}

    def seen(pictures: torch.Tensor, prompts: Any, rewards: torch.Tensor, step: int) -> None:
        by_step.append(float(np.mean(truth(pictures, prompts, [{}] * len(prompts))[0]["avg"])))
        numbers = StepBatch(step, AnswerForm.MAGICMIRROR, (), tuple(rewards.tolist()))
        for alarm in board.look(PictureBatch(pictures.numpy(), prompts, numbers)).alarms:
            alarms.setdefault(alarm.name, step)

    with one_thread():
        learner, steps = learner_of(folder / f"seed-{seed}", LoopArm.GRPO, seed, settings, drawn=seen)
        for step in range(steps):
            learner.step(step)
    found = {"truth": by_step, "alarms": alarms}
    write_whole(numbers, as_json(found) + "\n")
    return found


def fell_at(truth: list[float]) -> int | None:
    """Return the first step after which five steps' mean truth is a tenth below that of the first ten; None if it never is."""
    first = np.mean(truth[:BASELINE])
    for step in range(WINDOW, len(truth) + 1):
        if np.mean(truth[step - WINDOW : step]) < (1 - FALL) * first:
            return step - 1
    return None


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--votes", "counts", multiple=True, type=click.IntRange(1), default=(200, 1000, 5000), show_default=True)
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="From 0.")
@click.option("--bias", type=float, default=8.0, show_default=True, help="Of the mean rater to ink; the spread is half of it.")
@click.option("--kl", type=float, default=0.03, show_default=True, help="Weight of the divergence from the base in Flow-GRPO.")
def main(folder: Path, counts: tuple[int, ...], seeds: int, bias: float, kl: float) -> None:
    """Run the loop for each number of votes and seed; the same command continues."""
    rows, told, heard = [], [], []
    for count in counts:
        raters = replace(QUICK.raters, bias=bias, spread=bias / 2)
        settings = replace(QUICK, votes=count, raters=raters, reward=replace(QUICK.reward, kl=kl))
        own = folder / f"votes-{count}"
        found = [run_loop(own, seed=seed, settings=settings, tell=lambda said: None) for seed in range(seeds)]
        for arm in LoopArm:
            gains = [next(row["gain"][0] for row in one["arms"] if row["arm"] == arm) for one in found]
            wins = [next(row["rating"] for row in one["arms"] if row["arm"] == arm) for one in found]
            over = SeedMean.of(gains, differences=True).text("+.3f")
            elo = ", ".join(f"{each:.0f}" for each in wins)
            rows.append({"votes": count, "arm": arm.value, "gain": over, "by seed": _signed(gains), "Elo": elo})
        for scorer in ("reward model", "truth", "mean rater"):
            for prompts in ("learned", "held_out"):
                right = [
                    next(r["accuracy"][0] for r in one["accuracy"] if (r["scorer"], r["prompts"]) == (scorer, prompts))
                    for one in found
                ]
                told.append({"votes": count, "scorer": scorer, "prompts": prompts, "accuracy": SeedMean.of(right)})
        for seed in range(seeds):
            seen = watched(own, seed, settings)
            first = min(seen["alarms"].items(), key=lambda each: each[1], default=(None, None))
            heard.append(
                {
                    "votes": count,
                    "seed": seed,
                    "truth_fell_at": fell_at(seen["truth"]),
                    "first_alarm_at": first[1],
                    "monitor": first[0],
                }
            )
    print_parts("Arms, means over seeds", _table(rows), "Accuracy on fresh votes", _table(told), "Monitors", _table(heard))


def _table(rows: list[dict[str, Any]]) -> Table:
    return Table(tuple(rows[0]), [["" if value is None else str(value) for value in row.values()] for row in rows])


def _signed(values: list[float]) -> str:
    return ", ".join(f"{value:+.3f}" for value in values)


if __name__ == "__main__":
    main()
