"""Drawn pictures with planted artifacts and exact labels.

    draw_examples                        procedural pictures: PNG bytes, labels, prompt, reasoning
    Difficulty                           how hard they are to judge: seven knobs
    Balance, BALANCES                    how often what is planted
    KINDS, Kind                          everything that can be planted, with its label and its sentence
    REASONS, SOUND, consistent           the small language of the reasoning, and a judge of it
    write_examples                       a folder in MagicData340K's schema

Nothing is imported before it is asked for (PEP 562).
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_synthetic.artifacts.balance import BALANCES, Balance
    from salon_synthetic.artifacts.difficulty import Difficulty
    from salon_synthetic.artifacts.drawing import draw_examples
    from salon_synthetic.artifacts.example_folder import write_examples
    from salon_synthetic.artifacts.kinds import KINDS, SOUND, Kind, Subject
    from salon_synthetic.artifacts.reasons import REASONS, consistent

__all__ = [
    "BALANCES",
    "KINDS",
    "REASONS",
    "SOUND",
    "Balance",
    "Difficulty",
    "Kind",
    "Subject",
    "consistent",
    "draw_examples",
    "write_examples",
]

_BY_MODULE = {
    "balance": ["BALANCES", "Balance"],
    "difficulty": ["Difficulty"],
    "drawing": ["draw_examples"],
    "example_folder": ["write_examples"],
    "kinds": ["KINDS", "SOUND", "Kind", "Subject"],
    "reasons": ["REASONS", "consistent"],
}

__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
