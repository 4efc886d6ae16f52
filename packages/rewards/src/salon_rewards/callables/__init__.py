"""Rewards as trainers call them, ``(completions, **columns) -> list[float | None]``; one idea per module.

levels        FormatReward, L1Reward, L2Reward, L3Reward        MagicMirror, level by level
magicmirror   MagicMirrorTotal, MagicMirrorJudged               … and as one weighted sum, with consistency
consistency   ConsistencyReward                                 asks a judge whether reasoning and answer agree
think         ThinkReward                                       one block of reasoning, then an answer
json_format   JsonReward                                        the answer follows its grammar
verdict       VerdictReward                                     R³: the verdict is right
reward        RewardFunction, RuleReward, AskingReward          what they all are
"""
