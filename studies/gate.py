"""Does the gate err as seldom as it says, and does it catch a generator that slips more often? By simulated and drawn builds.

kinds   plans of four kinds of measure, from pilots of 1,000 prompts; then builds that are equal, and worse by the margin
drawn   a generator of scenes, quantised: noise on every pixel, one object wrong in one picture more of ten
"""

import argparse
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

import click
import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_bench.analysis.gate import GatePlan, MeasureRule, gate
from salon_bench.analysis.gate.planning import plan_gate
from salon_synthetic import Colour, Scene, drawn, findings, generate, imagine, perceive, read_prompt
from salon_synthetic.scenes.vocabulary import CANVAS
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

Floats: TypeAlias = NDArray[np.float64]
Draw: TypeAlias = Callable[[np.random.Generator, int, float], tuple[Floats, Floats]]
"""Draws base and new, of shape (prompts, seeds), for so many prompts; the new one is worse by so much."""
PILOT: Final = 1_000
MARGIN: Final = 0.02
"""Of the share of pictures that are right."""
NOISE: Final = 3.0
"""Standard deviation of a colour channel."""


def _share(random: np.random.Generator, prompts: int, worse: float) -> tuple[Floats, Floats]:
    """Yes and no: 5% of prompts fall and 5% rise."""
    chance = random.random((prompts, 1))
    fell, rose = chance < 0.05 + worse, chance > 0.95
    base = np.where(fell, 1.0, np.where(rose, 0.0, random.random((prompts, 1)) < 0.7))
    return base, np.where(fell, 0.0, np.where(rose, 1.0, base))


def _mean(random: np.random.Generator, prompts: int, worse: float) -> tuple[Floats, Floats]:
    """Marks, of which prompts have their own levels."""
    base = random.normal(5.0, 2.0, (prompts, 1))
    return base, base + random.normal(-worse, 1.0, (prompts, 1))


def _battles(random: np.random.Generator, prompts: int, worse: float) -> tuple[Floats, Floats]:
    """Won, tied, lost: 30% are won, and as many lost."""
    chance = random.random((prompts, 1))
    return np.zeros((prompts, 1)), np.where(chance < 0.3 + worse / 2, -1.0, np.where(chance > 0.7 + worse / 2, 1.0, 0.0))


def _seeds(random: np.random.Generator, prompts: int, worse: float) -> tuple[Floats, Floats]:
    """Four seeds of each prompt, whose changes have something in common."""
    base = random.normal(5.0, 2.0, (prompts, 4))
    return base, base + random.normal(-worse, 0.5, (prompts, 1)) + random.normal(0.0, 1.0, (prompts, 4))


KINDS: Final[dict[str, tuple[Draw, float]]] = {
    "share": (_share, 0.05),
    "mean": (_mean, 0.2),
    "battles": (_battles, 0.15),
    "mean of 4 seeds": (_seeds, 0.2),
}
"""What draws each kind of measure, and its margin."""


def scores(values: Floats) -> pl.DataFrame:
    """Return rows of scores, for values of shape (prompts, seeds)."""
    same = {
        "suite": "study",
        "task": "study",
        "dimension": "measure",
        "subject_model": "build",
        "judge": "j",
        "judge_version": "1",
    }
    prompts = np.repeat(np.arange(len(values)), values.shape[1])
    columns = {"prompt_id": [f"p{number}" for number in prompts], "value": values.ravel()}
    return pl.DataFrame(columns).with_columns(
        generation_id=pl.lit(None, pl.String), **{name: pl.lit(value) for name, value in same.items()}
    )


def errors(kind: str, studies: int, power: float = 0.8) -> dict[str, float]:
    """Return the prompts and power that a plan promises, and how often equal builds and ones worse by the margin pass."""
    draw, margin = KINDS[kind]
    base, new = draw(np.random.default_rng(0), PILOT, 0.0)
    [*_, row] = plan_gate(scores(base), scores(new), [("measure", MeasureRule(margin))], power=power).table.rows(named=True)
    plan = GatePlan({}, margin)
    passed = {}
    for name, worse in (("equal", 0.0), ("worse", margin)):
        builds = [draw(np.random.default_rng([seed, 1]), row["prompts"], worse) for seed in range(studies)]
        passed[name] = sum(gate(scores(one), scores(other), plan).passed for one, other in builds) / studies
    return {"margin": margin, "prompts": row["prompts"], "power": row["power"], **passed}


def pictures(prompts: int, seed: int = 0) -> pl.DataFrame:
    """Draw pictures of prompts with four builds, and judge each from its pixels.

    Returns:
        A row per prompt: ``prompt_id``, and for each build (``base``; ``noise`` alone; ``quantised``; ``better``, which mends
        half of the pictures) 1 where nothing is wrong with the picture, else 0.
    """
    random = np.random.default_rng(seed)
    rows = []
    for number, item in enumerate(islice(generate(-(-prompts // 8), seed=seed), prompts)):
        scene = imagine(item.prompt, seed=seed)
        slipped = _slipped(scene, random) if random.random() < 0.1 else scene
        mended = imagine(item.prompt, seed=seed, slips=0.0) if random.random() < 0.5 else scene
        noise = random.normal(0.0, NOISE, (CANVAS, CANVAS, 3))
        noisy = {name: _picture(np.asarray(drawn(shown)) + noise) for name, shown in (("noise", scene), ("quantised", slipped))}
        builds = {"base": drawn(scene), **noisy, "better": drawn(mended)}
        claims = read_prompt(item.prompt) or ()
        right = {name: float(not findings(claims, perceive(picture))) for name, picture in builds.items()}
        rows.append({"prompt_id": f"p{number}", **right})
    return pl.DataFrame(rows)


def _picture(pixels: Floats) -> "Image":
    from PIL import Image

    return Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))


def _slipped(scene: Scene, random: np.random.Generator) -> Scene:
    """Return the scene with one object in another colour."""
    if not scene.items:
        return scene
    place = int(random.integers(len(scene.items)))
    item = scene.items[place]
    colour = list(Colour)[(list(Colour).index(item.colour) + int(random.integers(1, len(Colour)))) % len(Colour)]
    items = [item.model_copy(update={"colour": colour}) if at == place else each for at, each in enumerate(scene.items)]
    return scene.model_copy(update={"items": tuple(items)})


def caught(judged: pl.DataFrame, draws: int, prompts: int = 200) -> pl.DataFrame:
    """Hold each build against the base, over prompts that are drawn again each time.

    Args:
        judged: from :func:`pictures`.
        draws: how many times.
        prompts: of a draw.

    Returns:
        A row per build: the shares of draws in which it ``passes``, and in which it has each verdict.
    """
    rows = []
    for build in judged.columns[1:]:
        samples = [judged.sample(prompts, seed=seed) for seed in range(draws)]
        gates = [gate(_scores_of(sample, "base"), _scores_of(sample, build), GatePlan({}, MARGIN)) for sample in samples]
        verdicts = [found.table["verdict"][0] for found in gates]
        alone = {name: verdicts.count(name) / draws for name in ("better", "not worse", "cannot say", "worse")}
        rows.append({"build": build, "passes": sum(found.passed for found in gates) / draws, **alone})
    return pl.DataFrame(rows)


def refusal(judged: pl.DataFrame) -> str:
    """Return how a build is refused that lacks the files of every second prompt."""
    rows = _scores_of(judged, "base")
    try:
        gate(rows, rows.gather_every(2), GatePlan({}, MARGIN), names=("base", "half"))
    except InputError as error:
        return str(error)
    return "not refused"


def _scores_of(judged: pl.DataFrame, build: str) -> pl.DataFrame:
    return scores(judged[build].to_numpy()[:, None]).with_columns(judged["prompt_id"])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--pictures", type=int, default=1_000)
    wanted = parser.parse_args()
    click.echo("kind, margin, prompts, power promised, equal builds pass, builds worse by the margin pass")
    for kind in KINDS:
        found = errors(kind, wanted.studies)
        shares = ", ".join(f"{found[name]:.1%}" for name in ("power", "equal", "worse"))
        click.echo(f"{kind}, {found['margin']:g}, {found['prompts']}, {shares}")
    judged = pictures(wanted.pictures)
    click.echo(", ".join(f"{build}: {np.mean(judged[build].to_numpy()):.1%} of pictures right" for build in judged.columns[1:]))
    click.echo("of 100 draws of 200 prompts: build; passes, better, not worse, cannot say, worse")
    for build, *of_draws in caught(judged, 100).iter_rows():
        click.echo(f"{build}, {', '.join(f'{share:.0%}' for share in of_draws)}")
    click.echo(refusal(judged))


if __name__ == "__main__":
    main()
