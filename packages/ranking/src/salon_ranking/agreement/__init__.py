"""How far two orders, two raters or two rankings agree, and whether a difference is more than chance.

    spearman(x, y), kendall(x, y), pearson(x, y)             two lists of numbers
    cohen_kappa(first, second), fleiss_kappa(counts)         categories, beyond chance
    krippendorff_alpha(ratings, level="ordinal")             any number of raters, missing ratings
    paired_bootstrap(first, second), compare_all(scores)     a difference on the same items, with its interval
    rank_stability(scores, sizes=[200, 400])                 would fewer items rank alike?
    correlations, kappas, fleiss_counts, alpha               the same for polars frames
    label_statistics(frame, thing=…, rater=…, label=…)       all of them for one table of labels
    audit_judges(pairs)                                      how far to trust judges that compare pairs
    read_pairs(path, "mmrb2")                                released human preference pairs, in one form
    released_accuracy(pairs, "mmrb2")                        accuracy by the rule of that set, beside ours

A statistic that does not exist raises :class:`UndefinedError`; frames hold null and the reason. ``docs/agreement.md``.
"""

from salon_ranking.agreement.bootstrap import Difference, compare_all, paired_bootstrap
from salon_ranking.agreement.correlation import kendall, mid_ranks, pearson, spearman
from salon_ranking.agreement.errors import AgreementError, UndefinedError
from salon_ranking.agreement.frames import alpha, correlations, fleiss_counts, kappas
from salon_ranking.agreement.judge_audit import JudgeAudit, audit_judges, pairs_of_votes
from salon_ranking.agreement.kappa import cohen_kappa, fleiss_kappa, kappa_of_table
from salon_ranking.agreement.krippendorff import Alpha, alpha_of_ratings, krippendorff_alpha
from salon_ranking.agreement.labels import LabelStatistics, label_statistics
from salon_ranking.agreement.pair_sets import read_pairs
from salon_ranking.agreement.released_rules import released_accuracy
from salon_ranking.agreement.stability import SizeStability, Stability, rank_stability

__all__ = [
    "AgreementError",
    "Alpha",
    "Difference",
    "JudgeAudit",
    "LabelStatistics",
    "SizeStability",
    "Stability",
    "UndefinedError",
    "alpha",
    "alpha_of_ratings",
    "audit_judges",
    "cohen_kappa",
    "compare_all",
    "correlations",
    "fleiss_counts",
    "fleiss_kappa",
    "kappa_of_table",
    "kappas",
    "kendall",
    "krippendorff_alpha",
    "label_statistics",
    "mid_ranks",
    "paired_bootstrap",
    "pairs_of_votes",
    "pearson",
    "rank_stability",
    "read_pairs",
    "released_accuracy",
    "spearman",
]
