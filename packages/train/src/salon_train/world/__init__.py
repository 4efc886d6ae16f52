"""The drawn world: procedural pictures with exact truth, to learn from and to test with.

draw_examples                 pictures with PNG bytes, labels, prompt and reasoning
Difficulty                    how hard they are to judge: seven knobs
Balance, BALANCES             how often what is planted
KINDS, Kind, Subject          everything that can be planted, with its label and sentence
REASONS, SOUND, consistent    the small language of the reasoning, and a judge of it
"""

from salon_train.world.balance import BALANCES, Balance
from salon_train.world.difficulty import Difficulty
from salon_train.world.drawing import draw_examples
from salon_train.world.kinds import KINDS, SOUND, Kind, Subject
from salon_train.world.reasons import REASONS, consistent

__all__ = ["BALANCES", "KINDS", "REASONS", "SOUND", "Balance", "Difficulty", "Kind", "Subject", "consistent", "draw_examples"]
