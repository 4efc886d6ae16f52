"""Write a study as one HTML page without network: what rose, and curves."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from salon_train.demo.experiment import Ablation, ArmNumbers
from salon_train.demo.recipe import QUICK, QUICK_WARNING, Recipe
from salon_train.demo.summary import end, rise
from salon_train.over_seeds import SeedMean, curve_over_seeds

if TYPE_CHECKING:
    from salon_console.page import Figure, PageSection, Table

CURVES: Final[Mapping[str, str]] = {
    "f1_macro": "Macro F1 of the four labels, held-out pictures",
    "f1_binary": "F1 of artifact or not, held-out pictures",
    "normal": "Share of answers that say normal",
    "invalid": "Share of answers that cannot be read",
    "rewards/magicmirror/mean": "Mean reward for the labels while learning",
}
"""What is drawn against steps."""


def study_page(measured: Sequence[ArmNumbers], recipe: Recipe, *, title: str) -> str:
    """Return the page.

    Args:
        measured: of one study; arms that were not run are left out.
        recipe: that it was run with.
        title: its heading.
    """
    from salon_console.page import PageSection, render_page

    seeds = sorted({each.seed for each in measured})
    arms = [arm for arm in Ablation if any(each.arm is arm and each.stage == "grpo" for each in measured)]
    facts = [
        ("Seeds", ", ".join(map(str, seeds))),
        ("Pictures", f"{recipe.pictures:,} to learn from, {recipe.held_out:,} held out, {recipe.shape.image_size} pixels"),
        ("Cold start", f"{recipe.sft_steps} steps of imitation, then {recipe.bias_steps} of a teacher who misses "
                       f"{recipe.teacher_misses:.0%} of all artifacts"),
        ("GRPO", f"{recipe.grpo_steps} steps, {recipe.prompts} pictures with {recipe.group} answers each"),
        ("Processor time", _minutes(measured)),
    ]  # fmt: skip
    sections = [
        *_kinds(measured, arms),
        PageSection(
            "Curves", tuple(_curve(measured, name, words) for name, words in CURVES.items() if _points(measured, name))
        ),
    ]
    sections.append(PageSection("Recipe", (_recipe(recipe),)))
    lead = (
        "A vision-language model with random weights learns to assess drawn pictures: first by imitation, then from "
        "rewards (GRPO). A rising reward proves nothing, so what counts here is F1 on pictures that it never learned from. "
        f"Each seed draws its own pictures, weights and answers; {_intervals(len(seeds))}"
    )
    if recipe == QUICK:
        lead = f"{QUICK_WARNING} {lead}"
    return render_page(title, lead=lead, facts=facts, sections=sections)


def _kinds(measured: Sequence[ArmNumbers], arms: Sequence[Ablation]) -> "list[PageSection]":
    from salon_console.page import PageSection

    told = {
        Ablation.FULL: (
            "GRPO after a biased cold start",
            "The cold start was taught last by a teacher that calls most artifacts normal. Rewards can bring out what the "
            "model sees and does not say; whether they did is in the table.",
        ),
        Ablation.IMPROVE: (
            "GRPO after the best cold start",
            "The cold start is as good as imitation made it on the same pictures, without any bias. What GRPO adds here it "
            "adds beyond imitation; whether it does is an open question, and this is the answer of these seeds.",
        ),
    }
    sections = []
    for arm, (heading, words) in told.items():
        if arm in arms:
            control = _control(measured) if arm is Ablation.IMPROVE else ()
            sections.append(PageSection(heading, (words, _rises(measured, arm), *control)))
    return sections


def _control(measured: Sequence[ArmNumbers]) -> tuple[str, ...]:
    """Return what imitation made of the same cold start in about the same time."""
    longer = end(measured, Ablation.SFT_MORE, "f1_macro")
    if not longer.seeds:
        return ()
    return (f"The control, imitation for about as long from the same cold start: macro F1 {longer}.",)


def _rises(measured: Sequence[ArmNumbers], arm: Ablation) -> "Table":
    from salon_console.page import Table
    from salon_train.demo.summary import starts

    rows = []
    metrics = {"f1_macro": "Macro F1", "f1_binary": "Binary F1", "normal": "Says normal", "invalid": "Cannot be read"}
    for metric, words in metrics.items():
        before = SeedMean.of(list(starts(measured, arm, metric).values()))
        rows.append([words, str(before), str(end(measured, arm, metric)), _signed(rise(measured, arm, metric))])
    columns = ("Held-out", "Cold start", "After GRPO", "Rise within seeds")
    seeds = rise(measured, arm).seeds
    caption = "Means over seeds with 95% intervals." if seeds > 1 else "One seed, so without intervals."
    return Table(columns, rows, frozenset(columns[1:]), caption)


def _intervals(seeds: int) -> str:
    return "intervals are 95% over seeds (Student's t)." if seeds > 1 else "one seed has no interval."


def _points(measured: Sequence[ArmNumbers], name: str) -> list[dict[str, Any]]:
    points = []
    for arm in measured:
        if arm.stage != "grpo":
            continue
        value = arm.learned.get(name) if name.startswith("rewards/") else arm.numbers.get(name)
        if value is not None:
            points.append({"arm": str(arm.arm), "seed": str(arm.seed), "step": arm.step, "value": round(value, 4)})
    return points


def _curve(measured: Sequence[ArmNumbers], name: str, words: str) -> "Figure":
    share = not name.startswith("rewards/")
    caption = "" if share else " Samplers show other pictures, so their rewards cannot be held against each other."
    return curve_over_seeds(_points(measured, name), words, learning="GRPO", share=share, caption=caption)


def _recipe(recipe: Recipe) -> "Table":
    from salon_console.page import Table

    values = {name: value for name, value in asdict(recipe).items() if name != "shape"}
    values |= {f"shape.{name}": value for name, value in asdict(recipe.shape).items()}
    return Table(("Setting", "Value"), [[name, f"{value:g}"] for name, value in values.items()], frozenset({"Value"}))


def _minutes(measured: Sequence[ArmNumbers]) -> str:
    spent = [each.cpu_s for each in measured if each.cpu_s is not None]
    return f"{sum(spent) / 60:.1f} minutes of training" if spent else "not measured"


def _signed(estimate: SeedMean) -> str:
    return estimate.text("+.3f")
