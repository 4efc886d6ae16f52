"""What the rewards by rule cost for 100,000 different completions, beside a plain regular expression with ``json.loads``.

Run with ``python benchmarks/bench_rewards.py [completions]``. The completions are drawn: reasoning of 20 to 139 words, two
in three right about normal or not, one in ten broken in some way (no box, cut off, an unknown label, no reasoning). The
plain reading computes format, L1, L2, L3 and the total; Salon's compositions compute that and more, on each completion's one
parse. Contenders take turns; the median of five is printed, in
seconds of CPU time, as other work on the machine does not count in it.
"""

import gc
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from random import Random

from salon_rewards import Part, compose, make_reward
from salon_rewards.batch import _labels, _said_before
from salon_taxonomy.answers import MAGICMIRROR_MENU, Artifact, MagicMirrorAnswer, magicmirror_json, render_magicmirror

LEVELS = ["format", "l1", "l2", "l3", "magicmirror"]
ALL = [*LEVELS, "think", "repetition", "length"]
WORDS = [
    "the",
    "hand",
    "holds",
    "a",
    "cup",
    "and",
    "each",
    "finger",
    "bends",
    "as",
    "it",
    "should",
    "but",
    "the",
    "shadow",
    "of",
    "the",
    "table",
    "falls",
    "towards",
    "the",
    "window",
    "while",
    "her",
    "left",
    "foot",
    "seems",
    "to",
    "pass",
    "through",
    "the",
    "carpet",
    "beside",
    "an",
    "animal",
    "whose",
    "ears",
    "are",
    "of",
    "equal",
    "size",
]
ROUNDS = 5


def drawn(random: Random) -> MagicMirrorAnswer:
    """Draw a label set: normal in four of ten, else one or two kinds of artifact."""
    if random.random() < 0.4:
        return MagicMirrorAnswer(True)
    kinds = random.sample(list(MAGICMIRROR_MENU), random.choice([1, 1, 1, 2]))
    cases = {kind: MAGICMIRROR_MENU[kind] for kind in kinds}
    return MagicMirrorAnswer(
        False,
        tuple(Artifact(kind, tuple(random.sample(of, min(len(of), random.choice([1, 1, 2]))))) for kind, of in cases.items()),
    )


def completions(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Completions, all different, and the truth of each as JSON."""
    random = Random(seed)
    texts, truths = [], []
    for _ in range(count):
        truth = drawn(random)
        text = render_magicmirror(truth if random.random() < 0.4 else drawn(random), thought(random))
        if random.random() < 0.1:
            text = random.choice(
                [text.replace("\\boxed", ""), text[: random.randrange(len(text))], text.replace("L2", "L4"), text[-80:]]
            )
        texts.append(text)
        truths.append(magicmirror_json(truth))
    return texts, truths


def thought(random: Random) -> str:
    """A few sentences."""
    words = random.choices(WORDS, k=random.randrange(20, 140))
    return " ".join(word.capitalize() + "," if random.random() < 0.08 else word for word in words) + "."


BOX = re.compile(r"</think>.*\\boxed\{(.*)\}", re.DOTALL)


def plain(texts: Sequence[str], truths: Sequence[str]) -> list[float]:
    """The reading that one writes in an afternoon: the same totals wherever the completion is well formed."""
    totals = []
    for text, truth in zip(texts, truths, strict=True):
        found = BOX.search(text)
        try:
            given = json.loads(found[1]) if found else None
        except ValueError:
            given = None
        totals.append(_plain_total(given, json.loads(truth)))
    return totals


def _plain_total(given: object, truth: dict[str, object]) -> float:
    if not isinstance(given, dict) or not isinstance(given.get("Whether Normal"), bool):
        return 0.0
    labels, true = given.get("Type of Deformity") or {}, truth.get("Type of Deformity") or {}
    for kind, cases in labels.items():
        if kind not in MAGICMIRROR_MENU or (MAGICMIRROR_MENU[kind] and not set(cases) <= set(MAGICMIRROR_MENU[kind])):
            return 0.0
    if given["Whether Normal"] != truth["Whether Normal"]:
        return 8.0
    if truth["Whether Normal"]:
        return 12.0
    kinds = _score(set(true), set(labels))
    shared = [kind for kind in true if kind in labels and MAGICMIRROR_MENU[kind]]
    cases = _score({(k, c) for k in shared for c in true[k]}, {(k, c) for k in shared for c in labels[k]})
    return 12.0 + 2 * kinds + (cases if kinds > 0 else 0.0)


def _score(true: set, given: set) -> float:
    correct, wrong = len(true & given), len(true ^ given)
    return 1.0 if correct and not wrong else round(min(max(0.6 * correct - 0.3 * wrong, 0.0), 1.0), 9)


def together(names: Sequence[str]) -> Callable[[Sequence[str], Sequence[str]], list[float | None]]:
    """Rewards in one composition."""
    composed = compose([Part(make_reward(name)) for name in names])
    return lambda texts, truths: composed(texts, truth=truths)


def one_by_one(names: Sequence[str]) -> Callable[[Sequence[str], Sequence[str]], None]:
    """Call each reward by itself with 512 completions, as a trainer with a list of rewards does."""
    rewards = [make_reward(name) for name in names]

    def call(texts: Sequence[str], truths: Sequence[str]) -> None:
        for start in range(0, len(texts), 512):
            for reward in rewards:
                reward(texts[start : start + 512], truth=truths[start : start + 512])

    return call


def main() -> None:
    """Print a line for each contender."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    texts, truths = completions(count)
    contenders = {
        "plain regex + json: 5 numbers": plain,
        f"composed: {', '.join(LEVELS)}": together(LEVELS),
        f"composed: all but repetition ({len(ALL) - 1})": together([name for name in ALL if name != "repetition"]),
        f"composed: all {len(ALL)} (+ think, repetition, length)": together(ALL),
        f"all {len(ALL)}, one by one, 512 at a time": one_by_one(ALL),
    }
    agree = sum(
        abs(a - b) < 1e-9 for a, b in zip(plain(texts, truths), make_reward("magicmirror")(texts, truth=truths), strict=True)
    )
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, contender in contenders.items():
            _said_before.cache_clear()
            _labels.cache_clear()
            gc.collect()
            began = time.process_time()
            contender(texts, truths)
            seconds[name].append(time.process_time() - began)
    print(f"{count:,} completions, {len(set(texts)):,} different, {sum(map(len, texts)) / count:.0f} characters each")
    print(f"the plain reading and Salon agree on {agree:,} totals")
    for name, runs in seconds.items():
        print(f"{statistics.median(runs):7.2f} s of CPU  (least {min(runs):.2f})  {name}")


if __name__ == "__main__":
    main()
