"""Salon's rewards as verl takes them: a function for one completion, or for a batch (its ``batch`` reward manager).

A file of one's own names it, and ``reward.custom_reward_function.path`` and ``.name`` name the file (older releases:
``custom_reward_function.path``):

    compute_score = VerlScore(make_reward("magicmirror"))

verl calls ``compute_score(data_source=…, solution_str=…, ground_truth=…, extra_info=…)``, in batches
``compute_score(data_sources=…, solution_strs=…, ground_truths=…, extra_infos=…)``, and takes a number or a mapping with
``score``; every other key of the mapping becomes a metric. It knows no missing reward: each abstention is paid
``abstained`` and counted in the metric of that name. In a batch a whole group abstains together, so that equal values cancel
out in GRPO's advantages; one by one they do not, so rewards that can abstain belong into batches. Since verl 0.9 the reward
loop asks one by one whatever manager is chosen; watch the metric there. Tried with verl 0.9.1 (both managers).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from salon_rewards.adapters.blocking import called
from salon_rewards.callables.reward import RewardFunction
from salon_taxonomy.errors import InputError


@dataclass(frozen=True)
class _ForVerl:
    """What both adapters have in common; the attributes stand there."""

    reward: RewardFunction
    truth: str = "truth"
    abstained: float = 0.0

    @property
    def __name__(self) -> str:
        """What the reward is called."""
        return self.reward.__name__


@dataclass(frozen=True)
class VerlScore(_ForVerl):
    r"""A reward for verl's ``custom_reward_function``, one completion at a time.

    Attributes:
        reward: any of Salon's.
        truth: the column that verl's ``ground_truth`` becomes.
        abstained: what is paid where the reward abstains.

    Example:
        >>> from salon_rewards import make_reward
        >>> compute_score = VerlScore(make_reward("magicmirror"))
        >>> normal = '{"Whether Normal": true}'
        >>> compute_score("magicdata", "<think>Fine.</think>\\boxed{" + normal + "}", normal)
        {'score': 12.0, 'abstained': 0.0}
    """

    def __call__(
        self,
        data_source: object,
        solution_str: str,
        ground_truth: object,
        extra_info: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> dict[str, float]:
        """Return the score of one completion; ``extra_info`` becomes columns, ``settings`` are passed on."""
        batch = VerlBatchScore(self.reward, self.truth, self.abstained)
        return batch([data_source], [solution_str], [ground_truth], [extra_info], **settings)[0]


@dataclass(frozen=True)
class VerlBatchScore(_ForVerl):
    r"""A reward for verl's ``batch`` reward manager.

    The completions of a prompt are identified by ``extra_info["index"]``, which verl's data sets have, and may stand apart.

    Attributes:
        reward: any of Salon's.
        truth: the column that verl's ``ground_truths`` become.
        abstained: what is paid where the reward abstains.

    Example:
        >>> from salon_rewards import make_reward
        >>> compute_score = VerlBatchScore(make_reward("think"))
        >>> compute_score(["r3"] * 2, ["<think>Two.</think>No.", "No."], [None] * 2, [{"index": 0}] * 2)
        [{'score': 1.0, 'abstained': 0.0}, {'score': 0.0, 'abstained': 0.0}]
    """

    def __call__(
        self,
        data_sources: Sequence[object],
        solution_strs: Sequence[str],
        ground_truths: Sequence[object],
        extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
        **settings: Any,
    ) -> list[dict[str, float]]:
        """Return the score of every completion, in order.

        Raises:
            InputError: when the lists differ in length.
        """
        count = len(solution_strs)
        infos = [dict(info or {}) for info in (extra_infos if extra_infos is not None else [None] * count)]
        for name, values in (("data_sources", data_sources), ("ground_truths", ground_truths), ("extra_infos", infos)):
            if len(values) != count:
                raise InputError(f"needs {count} values, one for each completion, not", column=name, value=len(values))
        # Groups are neighbours for the reward; verl balances batches by length and may have torn them apart.
        order = sorted(range(count), key=lambda row: str(infos[row].get("index", "")))
        keys = sorted({key for info in infos for key in info} - {self.truth})
        columns: dict[str, Any] = {key: [infos[row].get(key) for row in order] for key in keys}
        if "index" in columns:
            columns.setdefault("group_id", columns["index"])
        columns |= {self.truth: [ground_truths[row] for row in order], "data_source": [data_sources[row] for row in order]}
        paid = called(self.reward, [solution_strs[row] for row in order], **settings | columns)
        scores: list[dict[str, float]] = [{}] * count
        for row, reward in zip(order, paid, strict=True):
            scores[row] = {"score": self.abstained if reward is None else reward, "abstained": float(reward is None)}
        return scores
