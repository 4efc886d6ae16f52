"""Rewards as trainers call them, ``(completions, **columns) -> list[float | None]``; one module per paper.

reward         RewardFunction, RuleReward, AskingReward      the protocol, and the two bases
magicmirror    FormatReward, L1Reward, L2Reward, L3Reward    MagicMirror, level by level
               MagicMirrorTotal, MagicMirrorJudged           the same as one weighted sum, with consistency
               ConsistencyReward                             asks a judge whether reasoning and answer agree
r3             ThinkReward, JsonReward, VerdictReward        R³-Refiner: form of reasoning and answer, verdict
               RectificationReward                           the picture that the instruction led to
               ReasoningReward, HierarchicalReward           stage I, and both stages together
prism          JudgedScoreReward                             a judge's score by a rubric
penalties      LengthPenalty, RepetitionPenalty              penalties for length and repetition
"""
