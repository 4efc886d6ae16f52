"""List the curves of a log by chart, with their order and titles."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from salon_train.report.history import HELD_OUT, MONITOR

MOST_LINES: Final = 10
"""Names in one chart; further ones are in the table of last numbers, and in JSON."""
_SHORT: Final = {
    "Irrational Element Interaction": "Interaction",
    "Abnormal Human Anatomy": "Human",
    "Abnormal Animal Anatomy": "Animal",
    "Abnormal Object Morphology": "Object",
}
"""The four main labels of MagicMirror, as the paper's tables shorten them."""
_VERDICTS: Final = ("normal", "artifact", "matches", "differs", "unreadable")
_COLOURS: Final = {
    "normal": 0, "artifact": 1, "matches": 0, "differs": 1, "unreadable": 5,
    "Interaction": 2, "Human": 3, "Animal": 4, "Object": 7, "all groups": 6, "aligned": 0, "misaligned": 1,
}  # fmt: skip
"""Words that have one colour in all charts."""


@dataclass(frozen=True, slots=True)
class CurveGroup:
    """Curves of one chart.

    Attributes:
        heading: of the charts that stand together.
        title: of the chart.
        names: of its curves, each with what it is called there.
        share: the values are parts of 1.
        quiet: when all values are 0, one sentence says so in place of the chart.
        left_out: curves for which there was no room.
    """

    heading: str
    title: str
    names: dict[str, str]
    share: bool = False
    quiet: bool = False
    left_out: int = 0


def curve_groups(names: Collection[str]) -> list[CurveGroup]:
    """Return the charts for some curves; those that no chart knows are left out.

    Args:
        names: of all curves of one stage, over all runs, in their order.

    Example:
        >>> groups = curve_groups(["loss", "rewards/l1/mean", "held_out/f1_macro", "held_out/f1/L2: Abnormal Human Anatomy"])
        >>> [(group.title, *group.names.values()) for group in groups]
        [('F1', 'macro'), ('F1 by label', 'Human'), ('Mean of the reward l1', 'l1'), ('Loss', 'loss')]
    """
    return [group for group in _all(names) if group.names]


def label_text(name: str) -> str:
    """Return a label without its level, shortened where the paper does; a bucket is named by its label.

    Example:
        >>> label_text("L2: Abnormal Human Anatomy"), label_text("normal"), label_text("L3: Missing Limb")
        ('Human', 'normal', 'L3: Missing Limb')
    """
    return _SHORT.get(name.removeprefix("L2: "), name)


def colours(labels: Collection[str]) -> list[int]:
    """Return the colour of each label of a chart, 0 to 7; verdicts and main labels have fixed ones.

    Example:
        >>> colours(["normal", "own", "unreadable"]), colours(["macro", "micro"])
        ([0, 1, 5], [0, 1])
    """
    used = {_COLOURS[label] for label in labels if label in _COLOURS}
    free = [colour for colour in range(8) if colour not in used] or list(range(8))
    others = [label for label in labels if label not in _COLOURS]
    return [_COLOURS[label] if label in _COLOURS else free[others.index(label) % len(free)] for label in labels]


def _all(names: Collection[str]) -> Iterable[CurveGroup]:
    held = "Held-out pictures"
    f1 = {f"{HELD_OUT}f1_macro": "macro", f"{HELD_OUT}f1_micro": "micro", f"{HELD_OUT}f1_binary": "artifact or not"}
    verdicts = {f"{HELD_OUT}normal": "normal", f"{HELD_OUT}invalid": "unreadable"}
    yield _group(held, "F1", _present(names, f1), share=True)
    yield _group(held, "F1 by label", _begin(names, f"{HELD_OUT}f1/", label_text), share=True)
    yield _group(held, "Share of answers", _present(names, verdicts), share=True)
    yield _group(held, "Mean tokens of answers", _in_order(_begin(names, f"{HELD_OUT}length_", _verdict)))
    both = f"{HELD_OUT}reward"
    known = {*f1, *verdicts, *({both} if "reward" in names else ())}
    for name in _others(names, HELD_OUT, known, (f"{HELD_OUT}f1/", f"{HELD_OUT}length_")):
        yield _group(held, name.removeprefix(HELD_OUT), {name: name.removeprefix(HELD_OUT)})

    paid = "Rewards"
    if both in names and "reward" in names:  # of an image policy: does it rise on prompts that earn nothing, too?
        yield _group(paid, "Reward while learning and on prompts held out", {"reward": "learning", both: "held out"})
    else:
        yield _group(paid, "Reward, the weighted sum", _present(names, {"reward": "mean of completions"}))
    rewards = _begin(names, "rewards/")
    means = {name: called.removesuffix("/mean") for name, called in rewards.items() if called.endswith("/mean")}
    for name, reward in _some(means):
        yield _group(paid, f"Mean of the reward {reward}", {name: reward})
    abstained = {name: called.removesuffix("/abstained") for name, called in rewards.items() if called.endswith("/abstained")}
    yield _group(paid, "Share of completions that a reward abstained from", abstained, share=True, quiet=True)

    sampled = "Sampled completions"
    sampled_verdicts = _begin(names, "answers/", _verdict)
    shares = _in_order({name: called for name, called in sampled_verdicts.items() if not called.startswith("length_")})
    yield _group(sampled, "Share of completions by verdict", shares, share=True)
    lengths = {
        "completions/mean_length": "mean",
        "completions/min_length": "shortest",
        "completions/max_length": "longest",
    }
    yield _group(sampled, "Tokens of completions", _present(names, lengths))
    yield _group(sampled, "Mean tokens by verdict", _in_order(_begin(names, "answers/length_", _verdict)))
    cut = _present(names, {"completions/clipped_ratio": "cut off"})
    yield _group(sampled, "Share of completions cut off at the longest length", cut, share=True, quiet=True)
    equal = _present(names, {"frac_reward_zero_std": "all groups"})
    equal |= _begin(names, "groups/zero_variance/", label_text)  # a bucket is absent where the batch had none of it
    yield _group(sampled, "Share of groups whose rewards are all equal, by bucket", equal, share=True, quiet=True)

    drawn = "Sampled pictures"
    yield _group(drawn, "Mean difference between two pictures of a prompt", _present(names, {"diversity": "diversity"}))
    unscored = _present(names, {"unscored": "unscored"})
    yield _group(drawn, "Share of pictures without a reward", unscored, share=True, quiet=True)

    learning = "Optimizer"
    yield _group(learning, "Loss", _present(names, {"loss": "loss"}))
    yield _group(learning, "Learning rate", _present(names, {"learning_rate": "learning rate"}))
    yield _group(learning, "Norm of the gradient", _present(names, {"grad_norm": "norm"}))
    yield _group(learning, "Entropy of tokens", _present(names, {"entropy": "entropy"}))
    accuracy = _present(names, {"mean_token_accuracy": "tokens"})
    yield _group(learning, "Share of tokens that are predicted", accuracy, share=True)
    yield _group(learning, "Divergence from the first weights (KL)", _present(names, {"kl": "KL"}))
    clipped = _present(names, {"clip_ratio/region_mean": "clipped"})
    yield _group(learning, "Share of tokens whose probability ratio is clipped", clipped, share=True, quiet=True)
    ratio = _present(names, {"ratio_error": "largest"})
    yield _group(learning, "Distance of the density ratio from 1 when steps are learned from", ratio, quiet=True)
    for name, called in _some(_begin(names, "refiner/")):
        yield _group("Refiner", called, {name: called})
    for name, called in _some(_begin(names, MONITOR)):
        yield _group("Monitors", called, {name: called})


def _group(heading: str, title: str, names: dict[str, str], *, share: bool = False, quiet: bool = False) -> CurveGroup:
    kept = dict(list(names.items())[:MOST_LINES])
    return CurveGroup(heading, title, kept, share, quiet, len(names) - len(kept))


def _present(names: Collection[str], wanted: dict[str, str]) -> dict[str, str]:
    return {name: called for name, called in wanted.items() if name in names}


def _begin(names: Collection[str], prefix: str, called: Callable[[str], str] = str) -> dict[str, str]:
    return {name: called(name.removeprefix(prefix)) for name in names if name.startswith(prefix) and name != prefix}


def _verdict(called: str) -> str:
    return "unreadable" if called == "invalid" else called


def _in_order(curves: dict[str, str]) -> dict[str, str]:
    """Return verdicts as they are known, then others: logs name them as they first came up."""
    known = sorted(curves, key=lambda name: _VERDICTS.index(curves[name]) if curves[name] in _VERDICTS else len(_VERDICTS))
    return {name: curves[name] for name in known}


def _some(curves: dict[str, str]) -> list[tuple[str, str]]:
    """So many that a page of theirs can be read."""
    return list(curves.items())[: 2 * MOST_LINES]


def _others(names: Collection[str], prefix: str, known: Collection[str], families: tuple[str, ...]) -> list[str]:
    """Return numbers of an evaluation that only this run has; at most a few."""
    others = [name for name in names if name.startswith(prefix) and name not in known and not name.startswith(families)]
    return others[:MOST_LINES]
