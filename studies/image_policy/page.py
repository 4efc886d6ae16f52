"""Report the image policy's study: the table of arms, and one HTML page with curves and pictures, without network."""

import base64
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, Final

from salon_train.demo.shapes import HELD_OUT, LEARNED, teach
from salon_train.image_policy.training import diversity
from salon_train.over_seeds import SeedMean, curve_over_seeds
from studies.image_policy.study import ImageStudySettings, PolicyArm, PolicyPoint, PolicyResult

if TYPE_CHECKING:
    from salon_console.page import Fragment, Table

WORDS: Final = {
    PolicyArm.START: "start: imitation of a teacher who errs",
    PolicyArm.CPS: "Flow-GRPO, coefficients-preserving",
    PolicyArm.SDE: "Flow-GRPO, SDE",
    PolicyArm.CPS_WITHOUT_KL: "Flow-GRPO, coefficients-preserving, without KL",
    PolicyArm.SHUFFLED: "control: shuffled rewards",
    PolicyArm.IMITATION: "control: longer imitation",
    PolicyArm.BEST: "rival: imitating the best of each group",
    PolicyArm.DPO: "Diffusion-DPO on votes",
    PolicyArm.DPO_SHUFFLED: "control: Diffusion-DPO on exchanged pairs",
}
"""What charts call the arms."""
COLUMNS: Final = (
    *("Arm", "Obedience, learned", "Obedience, held out", "Diversity, learned", "Diversity, held out"),
    *("Gain, learned", "Gain, held out", "Seconds"),
)
"""Headings of :func:`arm_rows`."""
CAPTION: Final = (
    "Means over seeds at the last step; in brackets the lowest and the highest seed. Gains are of obedience since the start, "
    "with 95% intervals by Student's t over seeds. Seconds of one processor."
)
"""How to read :func:`arm_rows`."""
_CURVES: Final = {
    "learned": "Obedience, prompts with a reward",
    "held_out": "Obedience, prompts held out",
    "diversity": "Diversity, prompts with a reward",
    "held_out_diversity": "Diversity, prompts held out",
    "reward": "Mean reward while learning",
}


def arm_rows(results: Sequence[PolicyResult]) -> list[list[str]]:
    """Return a row for each arm that was run."""
    rows = []
    for arm in WORDS:
        ran = [each for each in results if each.arm is arm]
        if ran:
            numbers = [[getattr(each.points[-1], metric) for each in ran] for metric in list(_CURVES)[:4]]
            gains = [str(_gain(ran, metric)) for metric in ("learned", "held_out")]
            rows.append(
                [arm.value, *(_ranged(values) for values in numbers), *gains, f"{mean(each.cpu_s for each in ran):.0f}"]
            )
    return rows


def _gain(ran: Sequence[PolicyResult], metric: str) -> SeedMean:
    """Return the rise of an arm since the start; of no seed for the start itself."""
    rises = [
        getattr(each.points[-1], metric) - getattr(each.points[0], metric) for each in ran if each.arm is not PolicyArm.START
    ]
    return SeedMean.of(rises, differences=True)


def _ranged(values: Sequence[float]) -> str:
    middle = f"{mean(values):.3f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.3f} to {max(values):.3f})"


def image_study_page(results: Sequence[PolicyResult], settings: ImageStudySettings, folder: Path) -> str:
    """Return the page.

    Args:
        results: of one study.
        settings: that it was run with.
        folder: of the study; the pictures of its first seed are embedded.
    """
    from salon_console.page import PageSection, Table, render_page

    seeds = sorted({each.seed for each in results})
    reward = settings.reward
    facts = [
        ("Seeds", ", ".join(map(str, seeds))),
        ("Teacher", f"{settings.start.lessons:,} pictures, {settings.start.wrong:.0%} of them wrong"),
        ("Prompts", f"{len(LEARNED)} with a reward, {len(HELD_OUT)} held out: {', '.join(HELD_OUT)}"),
        ("Learning", f"{reward.steps} steps of {reward.group} pictures for each prompt, KL weight {reward.kl:g}"),
        ("Votes", f"{settings.votes.count:,} pairs of the start's pictures, one vote each; β {settings.preferences.beta:g}"),
        ("Sampling", f"{reward.ways} steps, chance in {reward.window} of them; level {reward.level:g}"),
        ("Diversity of right pictures", f"{diversity(*teach(1024, seed=0, wrong=0.0)):.3f}, of a teacher who never errs"),
        ("Measured on", f"{settings.per_prompt} pictures of each prompt, drawn without chance after the first noise"),
    ]
    lead = (
        "A small rectified flow learns to draw what its prompt says: one shape in one colour. Its reward measures pixels and "
        "is paid through the same adapter as any reward of pictures. Obedience is the share of pictures with the right shape "
        "in the right colour and nothing else; diversity is the mean difference between two pictures of a prompt. Compare "
        "every rise with the controls, the prompts without a reward, and the diversity that it cost."
    )
    curves = tuple(
        curve_over_seeds(points, words, learning="learning", share=metric in ("learned", "held_out"))
        for metric, words in _CURVES.items()
        if (points := _points(results, metric))
    )
    sections = [
        PageSection("Arms", (Table(COLUMNS, arm_rows(results), frozenset(COLUMNS[1:]), CAPTION), _named(results))),
        *([PageSection("Curves", curves)] if curves else ()),
        PageSection(f"Pictures of seed {seeds[0]}", tuple(_sheets(results, folder / f"seed-{seeds[0]}", seeds[0]))),
    ]
    return render_page("An image policy learns from a reward", lead=lead, facts=facts, sections=sections)


def _named(results: Sequence[PolicyResult]) -> "Table":
    from salon_console.page import Table

    return Table(("Arm", "Learns from"), [[arm, words] for arm, words in WORDS.items() if any(r.arm is arm for r in results)])


def _points(results: Sequence[PolicyResult], metric: str) -> list[dict[str, Any]]:
    return [
        {"arm": WORDS[each.arm], "seed": str(each.seed), "step": point.step, "value": round(value, 4)}
        for each in results
        if each.arm is not PolicyArm.START
        for point in each.points
        if (value := _number(point, metric)) is not None
    ]


def _number(point: PolicyPoint, metric: str) -> float | None:
    number: float | None = getattr(point, metric)
    return number


def _sheets(results: Sequence[PolicyResult], folder: Path, seed: int) -> "list[str | Fragment]":
    from salon_console.page import Fragment
    from salon_console.templates import page_template

    template = page_template("salon_train.report", "sheet.html.jinja")
    blocks: list[str | Fragment] = [
        "Four pictures of each prompt, all from the same noise; the four prompts on the right are held out. Prompts from the "
        f"left: {', '.join(LEARNED)}; then {', '.join(HELD_OUT)}."
    ]
    for arm, words in WORDS.items():
        if any(each.arm is arm and each.seed == seed for each in results):
            encoded = base64.b64encode((folder / f"{arm}.png").read_bytes()).decode()
            blocks.append(Fragment(template.render(words=words, encoded=encoded)))
    return blocks
