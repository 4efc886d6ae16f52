"""Magic-Bench-377: what can a generator do, how good are its pictures, and whose do judges prefer? Test points, marks, battles.

* :data:`suite` (``magic-bench-377``) checks the prompt's test points and marks every picture in three dimensions;
* :data:`battles` (``magic-bench-377-battles``) compares two models' pictures, each pair in both orders; :data:`battles_strict`
  and :data:`battles_each` treat contradicting orders differently (:class:`OrderRule`);
* :func:`read_prompts` reads your copy of the prompts;
* :func:`draft` draws battles instead of taking all.

Source, licence, known flaws and deviations: the README beside this file.
"""

from salon_bench.suites.magic_bench_377.battles_suite import MagicBench377Battles, combined
from salon_bench.suites.magic_bench_377.pairing import DrawnBattles, Pair, draft, save_draft
from salon_bench.suites.magic_bench_377.questions import MarkDimension, OrderRule
from salon_bench.suites.magic_bench_377.suite import MagicBench377
from salon_judges.formats.magic_bench_377_prompts import read_prompts

suite = MagicBench377()
"""The entry point ``magic-bench-377`` of the group ``salon.suites``."""
battles = MagicBench377Battles()
"""The entry point ``magic-bench-377-battles``: contradicting orders are a tie."""
battles_strict = MagicBench377Battles(OrderRule.UNSCORED)
"""The entry point ``magic-bench-377-battles-strict``: contradicting orders are no verdict."""
battles_each = MagicBench377Battles(OrderRule.EACH)
"""The entry point ``magic-bench-377-battles-each``: each order is a battle of weight ½."""
chinese = MagicBench377("zh")
"""The entry point ``magic-bench-377-zh``: the Chinese prompts."""
battles_chinese = MagicBench377Battles(language="zh")
"""The entry point ``magic-bench-377-battles-zh``."""
battles_strict_chinese = MagicBench377Battles(OrderRule.UNSCORED, "zh")
"""The entry point ``magic-bench-377-battles-strict-zh``."""
battles_each_chinese = MagicBench377Battles(OrderRule.EACH, "zh")
"""The entry point ``magic-bench-377-battles-each-zh``."""

__all__ = [
    "DrawnBattles",
    "MagicBench377",
    "MagicBench377Battles",
    "MarkDimension",
    "OrderRule",
    "Pair",
    "battles",
    "battles_chinese",
    "battles_each",
    "battles_each_chinese",
    "battles_strict",
    "battles_strict_chinese",
    "chinese",
    "combined",
    "draft",
    "read_prompts",
    "save_draft",
    "suite",
]
