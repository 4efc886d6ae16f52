"""Different seeds give different draws in every generator of torch that we make."""

import ast
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch

from salon_train.demo import loop, words_study
from salon_train.image_policy import stage
from salon_train.seeds import generator_of, torch_seed
from studies.image_policy import study, votes

ROOT = Path(__file__).parents[3]
ALIKE = st.builds(lambda low, above: low + above * 2**32, st.integers(0, 9), st.integers(0, 2**12))
"""Numbers of which many have the same low 32 bits."""
NUMBERS = st.one_of(st.integers(-(2**70), 2**70), ALIKE)


def drawn(number: int) -> tuple[float, ...]:
    return tuple(torch.rand(4, generator=generator_of(number), dtype=torch.float64).tolist())


@given(st.sets(NUMBERS, min_size=2, max_size=8))
def test_different_seeds_draw_differently(numbers: set[int]) -> None:
    assert len({drawn(each) for each in numbers}) == len(numbers)


@given(NUMBERS)
def test_a_seed_draws_alike_each_time_and_fits_what_torch_reads(number: int) -> None:
    assert drawn(number) == drawn(number)
    assert 0 <= torch_seed(number) < 2**32


@given(st.integers(0, 2**32 - 1))
def test_a_number_of_32_bits_is_its_own_seed(number: int) -> None:
    assert torch_seed(number) == number


def test_measurements_votes_and_learning_have_noise_of_their_own() -> None:
    kinds = {
        "measurements": study._EVALUATION,
        "votes": votes._SEED,
        "loop, to learn from": loop._VOTES,
        "loop, to measure the reward model": loop._CHECK,
        "loop, by step": loop._MEASURE,
        "loop, last round": loop._ROUND,
    }
    assert stage._EVALUATION == words_study._EVALUATION == study._EVALUATION, "of runs that never meet"
    seeds = {name: {torch_seed(kind + number) for number in range(16)} for name, kind in kinds.items()}
    seeds["learning"] = {torch_seed(seed * 1_000_003 + step) for seed in range(4) for step in range(-1, 2000)}
    assert all(len(each) >= 16 for each in seeds.values())
    assert [pair for pair in combinations(seeds, 2) if seeds[pair[0]] & seeds[pair[1]]] == []


def test_no_generator_is_seeded_past_the_one_place() -> None:
    past = []
    for path in [*(ROOT / "packages/train/src").rglob("*.py"), *(ROOT / "studies").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "manual_seed":
                seed = node.args[0]
                if not (isinstance(seed, ast.Call) and isinstance(seed.func, ast.Name) and seed.func.id == "torch_seed"):
                    past.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert [each for each in past if not each.startswith("packages/train/src/salon_train/doctor.py")] == []
