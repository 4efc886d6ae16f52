"""A reward that abstains for a group moves nobody: TRL's own sums and advantages, with Salon's trainer around them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from salon_train.configuration import read_configuration

OWN = '''
def second(completions, **_):
    """0, 1, 0, 1, …"""
    return [float(place % 2) for place in range(len(completions))]


def first(completions, **_):
    """1, 0, 1, 0, …"""
    return [float(place % 2 == 0) for place in range(len(completions))]


def not_the_first_group(completions, **_):
    """Abstains for the first two; pays the others 3, 0, 3, 0, …"""
    return [None, None, *(3.0 * (place % 2 == 0) for place in range(2, len(completions)))]


def loses_the_third(completions, **_):
    """The third completion is lost; pays the others 5."""
    return [None if place == 2 else 5.0 for place in range(len(completions))]
'''
SETTINGS = """
[grpo]
steps = 1
batch = 16
generations = 2
longest = 4
[degeneration]
invalid_answers = 0
[log]
completions = 0
"""

EACH = 0.5**0.5
"""What the two of a group are apart from their mean, over their spread, whatever they were paid."""


@pytest.fixture
def advantages(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[float]]:
    """The advantages that TRL computes for one batch of eight groups of two, by the rewards' names."""
    from salon_train.assessor import train_grpo
    from salon_train.trl.grpo import PolicyTrainer

    (training_ground / "abstaining_rewards.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(training_ground))

    def of(*names: str) -> list[float]:
        seen: list[Any] = []
        made = PolicyTrainer._generate_and_score_completions

        def spy(self: Any, inputs: Any) -> Any:
            output = made(self, inputs)
            seen.append(output["advantages"].tolist())
            raise KeyboardInterrupt  # this is all that there is to see

        monkeypatch.setattr(PolicyTrainer, "_generate_and_score_completions", spy)
        run = f"abstaining-{'-'.join(names)}"
        file = written(run, more=SETTINGS)
        rewards = [{"name": f"abstaining_rewards:{name}"} for name in names]
        with pytest.raises(KeyboardInterrupt):
            train_grpo(read_configuration(file, changes={"reward": rewards, "evaluation.at_start": False}))
        monkeypatch.setattr(PolicyTrainer, "_generate_and_score_completions", made)
        return list(seen[0])

    return of


@pytest.mark.usefixtures("one_thread")
def test_a_reward_that_abstains_for_a_group_leaves_its_advantages_to_the_other_rewards(
    advantages: Callable[..., list[float]],
) -> None:
    assert advantages("second", "not_the_first_group") == pytest.approx([-EACH, EACH] + [EACH, -EACH] * 7, abs=1e-3)


@pytest.mark.usefixtures("one_thread")
def test_a_group_that_no_reward_scores_has_no_advantages_and_moves_no_other_group(
    advantages: Callable[..., list[float]],
) -> None:
    alone = advantages("not_the_first_group")
    assert alone[:2] == [0.0, 0.0]
    assert alone[2:] == pytest.approx([EACH, -EACH] * 7, abs=1e-3)


@pytest.mark.usefixtures("one_thread")
def test_a_lost_completion_is_not_paid_less_than_the_others_of_its_group(advantages: Callable[..., list[float]]) -> None:
    """By itself TRL counts the lone None as 0 of 5, and the third, which is the better one of its group, would look worse."""
    assert advantages("first", "loses_the_third") == pytest.approx([EACH, -EACH] * 8, abs=1e-3)
