"""Experiments that show whether training teaches anything: tiny models, drawn pictures, minutes on a CPU.

Recipe                  how large they are
run_seed                one seed from nothing to numbers
Ablation, ArmNumbers    what was left out, and the result
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.demo.experiment import Ablation, ArmNumbers, run_seed
    from salon_train.demo.recipe import Recipe

__all__ = ["Ablation", "ArmNumbers", "Recipe", "run_seed"]

_BY_MODULE = {"experiment": ("Ablation", "ArmNumbers", "run_seed"), "recipe": ("Recipe",)}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
