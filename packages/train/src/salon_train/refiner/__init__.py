"""Train R³-Refiner: a policy that finds what is wrong with a picture and instructs an editor (R³-Bench, section 3.1).

    train_refiner, read_refiner_configuration     ``salon train refiner CONFIG.toml``
    train_warm_up, Lesson                         SFT on a teacher's replies before it
    PolicyVerifier, verdict_probabilities         the policy's certainty that a picture matches, for R_rect
    QuestionVerifier, CachingEditor               the alternative by questions; an editor that cannot end a run

Nothing is imported before its first use (PEP 562).
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.refiner.rewards import CachingEditor, EditCounts
    from salon_train.refiner.rows import Lesson, RefinerRow
    from salon_train.refiner.settings import RefinementSettings, RefinerConfiguration, read_refiner_configuration
    from salon_train.refiner.small_scenes import draw_small_scenes
    from salon_train.refiner.stage import train_refiner, train_warm_up
    from salon_train.refiner.teacher import Habits, build_tiny_policy, teacher_reply
    from salon_train.refiner.verifiers import PolicyVerifier, QuestionVerifier, verdict_probabilities

__all__ = [
    "CachingEditor",
    "EditCounts",
    "Habits",
    "Lesson",
    "PolicyVerifier",
    "QuestionVerifier",
    "RefinementSettings",
    "RefinerConfiguration",
    "RefinerRow",
    "build_tiny_policy",
    "draw_small_scenes",
    "read_refiner_configuration",
    "teacher_reply",
    "train_refiner",
    "train_warm_up",
    "verdict_probabilities",
]

_BY_MODULE = {
    "rewards": (
        "CachingEditor",
        "EditCounts",
    ),
    "rows": (
        "Lesson",
        "RefinerRow",
    ),
    "settings": (
        "RefinementSettings",
        "RefinerConfiguration",
        "read_refiner_configuration",
    ),
    "small_scenes": ("draw_small_scenes",),
    "stage": (
        "train_refiner",
        "train_warm_up",
    ),
    "teacher": (
        "Habits",
        "build_tiny_policy",
        "teacher_reply",
    ),
    "verifiers": (
        "PolicyVerifier",
        "QuestionVerifier",
        "verdict_probabilities",
    ),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
