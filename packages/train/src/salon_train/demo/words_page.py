"""Report the results of learning to write words: a table of arms, and one self-contained HTML page."""

import base64
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, Final

from salon_train.demo.words import draw_words, word_sets
from salon_train.demo.words_study import REWARD, WordArm, WordResult, WordSettings
from salon_train.image_policy.training import diversity
from salon_train.over_seeds import SeedMean, curve_over_seeds

if TYPE_CHECKING:
    from salon_console.page import Fragment

WORDS: Final = {WordArm.OCR: "Flow-GRPO, rewarded by the reader", WordArm.SHUFFLED: "control: shuffled rewards"}
"""What charts call the arms."""
COLUMNS: Final = ("Arm", "Step", "Before", "After", "Gain", "At the last step", "Diversity", "Minutes")
"""Headings of :func:`word_rows`."""
CAPTION: Final = (
    "Before, after, gain: share of pictures of held-out words that are read exactly, at the start and at the step that other "
    "words chose; means over seeds with 95% intervals by Student's t. Diversity: mean difference between two pictures of a "
    "word, before → after. Minutes of one processor."
)
"""How to read :func:`word_rows`."""
_CURVES: Final = {
    "held_out": "Words held out that are read exactly",
    "reward": "Mean reward while learning",
    "diversity": "Difference between two pictures of a held-out word",
}


def word_rows(results: Sequence[WordResult]) -> list[list[str]]:
    """Return a row for each arm: what the reader made of words that were never learned from."""
    rows = []
    for arm in WORDS:
        ran = [each for each in results if each.arm is arm]
        before, after = [each.points[0] for each in ran], [each.chosen for each in ran]
        gains = [new.held_out - old.held_out for old, new in zip(before, after, strict=True)]
        rows.append(
            [
                arm.value,
                ", ".join(str(point.step) for point in after),
                str(SeedMean.of([point.held_out for point in before])),
                str(SeedMean.of([point.held_out for point in after])),
                SeedMean.of(gains, differences=True).text("+.3f"),
                str(SeedMean.of([each.points[-1].held_out for each in ran])),
                f"{mean(point.diversity for point in before):.3f} → {mean(point.diversity for point in after):.3f}",
                f"{mean(each.cpu_s for each in ran) / 60:.1f}",
            ]
        )
    return rows


def words_page(results: Sequence[WordResult], settings: WordSettings, folder: Path) -> str:
    """Return the page.

    Args:
        results: of all arms of at least one seed.
        settings: that they were run with.
        folder: of the study; the pictures of its first seed are embedded.
    """
    from salon_console.page import PageSection, Table, render_page

    seeds, reward = sorted({each.seed for each in results}), settings.reward
    right = [word for word in word_sets(0, choice=0, held_out=128)[2] for _ in range(2)]
    facts = [
        ("Seeds", ", ".join(map(str, seeds))),
        ("Teacher", f"{settings.start.lessons:,} pictures, {settings.start.wrong:.1%} of their letters wrong"),
        ("Reward", f"{REWARD}: 1 less the edit distance over the length"),
        (
            "Learning",
            f"{reward.steps} steps of {reward.prompts} words with {reward.group} pictures each, KL weight {reward.kl:g}",
        ),
        ("Never learned from", f"{settings.choice} words to choose the step, {settings.held_out} held out"),
        ("Diversity of a teacher who never errs", f"{diversity(draw_words(right, seed=0, wrong=0), right):.3f}"),
    ]
    lead = (
        "A small rectified flow writes three letters on 28 by 12 pixels. It was taught by pictures some of whose letters are "
        "wrong; then its only teacher is a text recogniser that reads what it wrote. Compare the rise with the control, and "
        "with the diversity that it cost."
    )
    first = [each for each in results if each.seed == seeds[0]]
    arms = {each.arm: (each.arm, each.chosen.step) for each in first if each.arm in WORDS}
    sheets = {"before": (WordArm.START, settings.start.steps)} | {f"after: {WORDS[arm]}": at for arm, at in arms.items()}
    pictures = tuple(_sheets(folder / f"seed-{seeds[0]}", sheets, seeds[0], settings))
    sections = [
        PageSection("Held-out words", (Table(COLUMNS, word_rows(results), frozenset(COLUMNS[1:]), CAPTION),)),
        PageSection(f"Before and after, seed {seeds[0]}", pictures),
        PageSection("By step", tuple(_curve(results, name, words) for name, words in _CURVES.items())),
    ]
    return render_page("A policy learns to write words", lead=lead, facts=facts, sections=sections)


def _curve(results: Sequence[WordResult], name: str, words: str) -> Any:
    points = [
        {"arm": WORDS[each.arm], "seed": str(each.seed), "step": point.step, "value": round(value, 4)}
        for each in results
        if each.arm in WORDS
        for point in each.points
        if (value := getattr(point, name)) is not None
    ]
    return curve_over_seeds(points, words, learning="Flow-GRPO", share=name != "diversity")


def _sheets(
    folder: Path, sheets: "dict[str, tuple[WordArm, int]]", seed: int, settings: WordSettings
) -> "list[str | Fragment]":
    from salon_console.page import Fragment
    from salon_console.templates import page_template

    *_, held_out = word_sets(seed, choice=settings.choice, held_out=settings.held_out)
    template = page_template("salon_train.report", "sheet.html.jinja")
    blocks: list[str | Fragment] = [
        f"{settings.pictures} pictures of each word, row by row, all from the same noise: {', '.join(held_out[:24])}."
    ]
    for words, (arm, step) in sheets.items():
        encoded = base64.b64encode((folder / f"{arm}-{step}.png").read_bytes()).decode()
        blocks.append(Fragment(template.render(words=words, encoded=encoded)))
    return blocks
