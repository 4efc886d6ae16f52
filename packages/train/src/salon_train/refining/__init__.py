"""R³-Refiner: a policy learns to see what is wrong with a picture and to say how to mend it (paper 002, section 3.1).

    train_refiner, read_refiner_configuration     ``salon train refine CONFIG.toml``
    refine_policy, RefinerRow                     the same with your own model and rows
    PolicyVerifier, verdict_probabilities         how sure a policy is that a picture matches: R_rect's certainty
    QuestionVerifier, WatchedEditor               the alternative by questions; an editor that cannot end a run
    run_study, Arm                                ``salon train refine-demo``: Table 4, small

Nothing is imported before it is asked for (PEP 562).
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.refining.policy_verifier import PolicyVerifier, verdict_probabilities
    from salon_train.refining.question_verifier import QuestionVerifier
    from salon_train.refining.refinement import refine_policy
    from salon_train.refining.rows import RefinerRow
    from salon_train.refining.run import Refined, train_refiner
    from salon_train.refining.scene_evaluation import SceneEvaluation, evaluate_on_scenes
    from salon_train.refining.settings import RefinementSettings, RefinerConfiguration, read_refiner_configuration
    from salon_train.refining.small_scenes import draw_small_scenes
    from salon_train.refining.study import Arm, ArmResult, StudySettings, run_study
    from salon_train.refining.teacher import Habits, teacher_reply
    from salon_train.refining.tiny_refiner import tiny_policy
    from salon_train.refining.watched_editor import EditCounts, WatchedEditor

__all__ = [
    "Arm",
    "ArmResult",
    "EditCounts",
    "Habits",
    "PolicyVerifier",
    "QuestionVerifier",
    "Refined",
    "RefinementSettings",
    "RefinerConfiguration",
    "RefinerRow",
    "SceneEvaluation",
    "StudySettings",
    "WatchedEditor",
    "draw_small_scenes",
    "evaluate_on_scenes",
    "read_refiner_configuration",
    "refine_policy",
    "run_study",
    "teacher_reply",
    "tiny_policy",
    "train_refiner",
    "verdict_probabilities",
]

_BY_MODULE = {
    "policy_verifier": ("PolicyVerifier", "verdict_probabilities"),
    "question_verifier": ("QuestionVerifier",),
    "refinement": ("refine_policy",),
    "rows": ("RefinerRow",),
    "run": ("Refined", "train_refiner"),
    "scene_evaluation": ("SceneEvaluation", "evaluate_on_scenes"),
    "settings": ("RefinementSettings", "RefinerConfiguration", "read_refiner_configuration"),
    "small_scenes": ("draw_small_scenes",),
    "study": ("Arm", "ArmResult", "StudySettings", "run_study"),
    "teacher": ("Habits", "teacher_reply"),
    "tiny_refiner": ("tiny_policy",),
    "watched_editor": ("EditCounts", "WatchedEditor"),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
