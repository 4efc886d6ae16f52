"""The public surface, pinned: a name that appears in or vanishes from a package's table of contents is a decision.

After a decision: ``python tests/test_public_surface.py`` writes the new list.
"""

import importlib
import inspect
from pathlib import Path

MODULES = (
    "salon_arena",
    "salon_bench",
    "salon_curate",
    "salon_published",
    "salon_ranking",
    "salon_ranking.agreement",
    "salon_ranking.opinion",
    "salon_ranking.raters",
    "salon_ranking.scheduling",
    "salon_rewards",
    "salon_rewards.adapters",
    "salon_rewards.monitors",
    "salon_store",
    "salon_synthetic",
    "salon_synthetic.artifacts",
    "salon_taxonomy",
    "salon_taxonomy.answers",
    "salon_train",
)
PINNED = Path(__file__).with_name("public_surface.txt")


def surface() -> list[str]:
    """Every exported name as ``module.name``, in order."""
    return [f"{name}.{item}" for name in MODULES for item in sorted(importlib.import_module(name).__all__)]


def test_the_public_surface_is_the_pinned_one() -> None:
    assert surface() == PINNED.read_text(encoding="utf-8").splitlines()


def test_every_public_function_and_class_says_what_it_is() -> None:
    silent = []
    for name in surface():
        package, _, item = name.rpartition(".")
        value = getattr(importlib.import_module(package), item)
        if (inspect.isclass(value) or inspect.isfunction(value)) and not (value.__doc__ or "").strip():
            silent.append(name)
    assert silent == []


if __name__ == "__main__":
    PINNED.write_text("".join(f"{name}\n" for name in surface()), encoding="utf-8")
