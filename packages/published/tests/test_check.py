"""What the papers' tables say about themselves: the recomputations that must hold, and the findings, all explained."""

import re
from collections import Counter
from pathlib import Path

import pytest

from salon_published import MatchWithPrinted, check, tables
from salon_published.check import CellCheck
from salon_published.rules import RULES

REPORT = check()


def results(table: str, rule: str, column: str = "") -> list[CellCheck]:
    return [r for r in REPORT.results if r.table == table and r.rule == rule and r.column.startswith(column)]


def agreements(found: list[CellCheck]) -> Counter[MatchWithPrinted]:
    return Counter(result.agreement for result in found)


def test_the_two_judges_of_prism_agree_to_the_printed_digit() -> None:
    found = {result.column: result.recomputed.plain for result in REPORT.results if result.table == "prism:3"}
    tracks = ["imagination", "entity", "text_rendering", "style", "affection", "composition", "long_text"]
    values = [(f"{found[f'{t}.spearman']:.3f}", f"{found[f'{t}.kendall']:.3f}") for t in tracks]
    assert values == [
        ("0.861", "0.720"),
        ("0.872", "0.704"),
        ("0.978", "0.903"),
        ("0.973", "0.888"),
        ("0.872", "0.739"),
        ("0.935", "0.806"),
        ("0.982", "0.947"),
    ]


def test_every_total_of_artifact_bench_is_the_share_of_all_questions_answered_right() -> None:
    assert agreements(results("artifact-bench:2", "pooled_accuracy")) == {MatchWithPrinted.EXACT: 20}


def test_the_macro_averages_of_magicmirror_are_means_over_labels() -> None:
    assert agreements(results("magicmirror:1", "mean", "macro.")) == {MatchWithPrinted.EXACT: 24}
    assert agreements(results("magicmirror:4", "mean", "macro.")) == {MatchWithPrinted.EXACT: 15}


def test_the_micro_averages_of_the_trained_assessor_come_out_of_rates_and_supports() -> None:
    own = [r for rule in ("micro_precision", "micro_recall", "micro_f1") for r in results("magicmirror:1", rule)]
    assert agreements([r for r in own if r.key == "MagicAssessor-7B"]) == {MatchWithPrinted.EXACT: 3}
    ablations = [r for rule in ("micro_precision", "micro_recall", "micro_f1") for r in results("magicmirror:4", rule)]
    assert agreements(ablations) == {MatchWithPrinted.EXACT: 15}


def test_micro_averages_of_other_assessors_are_close_and_listed_where_they_differ() -> None:
    own = [r for rule in ("micro_precision", "micro_recall", "micro_f1") for r in results("magicmirror:1", rule)]
    gaps = {(r.key, r.column): abs((r.recomputed.plain or 0) - float(r.printed)) for r in own}
    assert agreements(own) == {MatchWithPrinted.EXACT: 8, MatchWithPrinted.DISAGREES: 16}
    assert sum(gap <= 0.00035 for gap in gaps.values()) == 18
    assert max(gaps, key=lambda place: gaps[place]) == ("Gemini2.5-flash", "micro.precision")


def test_both_elo_boards_correlate_with_the_third_party_board_as_stated() -> None:
    found = {result.inputs: result for result in results("mef:6", "pearson_r")}
    public = found["magic_bench_377_public, artificial_analysis"]
    expert = found["magic_bench_377_expert, artificial_analysis"]
    assert (round(public.recomputed.plain or 0, 3), round(expert.recomputed.plain or 0, 3)) == (0.796, 0.751)
    assert {public.agreement, expert.agreement} == {MatchWithPrinted.EXACT}


def test_magicbench_scores_are_shares_of_the_images_behind_the_finer_table() -> None:
    assert agreements(results("magicmirror:3", "possible_share")) == {MatchWithPrinted.CONSISTENT: 28}
    assert agreements(results("magicmirror:3", "pooled_share", "object"))[MatchWithPrinted.DISAGREES] == 0


def test_magicbench_human_and_animal_scores_are_never_above_the_finer_table() -> None:
    found = results("magicmirror:3", "pooled_share", "human") + results("magicmirror:3", "pooled_share", "animal")
    assert all(float(r.printed) <= (r.recomputed.plain or 0) + 0.005 for r in found)


def test_the_human_row_of_artifact_bench_averages_over_questions() -> None:
    assert {(r.key, r.column) for r in REPORT.findings if r.table == "artifact-bench:2"} == {
        ("Human Expert", "rvac.average"),
        ("Human Expert", "pvrc.average"),
        ("Human Expert", "aid.average"),
    }


def test_stated_rank_correlations_need_a_tie_to_be_broken() -> None:
    found = [*results("r3:6", "spearman_rho"), *results("r3:6", "kendall_tau")]
    assert [(r.printed, r.agreement) for r in found] == [
        ("0.800", MatchWithPrinted.WITHIN_ROUNDING),
        ("0.667", MatchWithPrinted.WITHIN_ROUNDING),
    ]


def test_both_rankings_of_evaluators_are_the_order_of_their_scores() -> None:
    assert agreements(results("r3:8", "rank")) == {MatchWithPrinted.EXACT: 18}


def test_how_many_cells_agree_is_known() -> None:
    """Pinned so that a change of a cell or a rule cannot pass unseen; docs/published.md says the same."""
    counts = {str(agreement): REPORT.count(agreement) for agreement in MatchWithPrinted}
    assert counts == {"exact": 1053, "within rounding": 58, "consistent": 190, "disagrees": 99}


def test_every_finding_has_a_likely_reason() -> None:
    assert [(r.table, r.key, r.column) for r in REPORT.findings if not r.reason] == []


def test_no_reason_outlives_its_disagreement() -> None:
    reasons = {result.reason for result in REPORT.findings}
    entries = [entry for each in tables() for entry in (*each.spec.check, *each.spec.statement)]
    own = [finding.reason for each in tables() for entry in each.spec.check for finding in entry.finding]
    assert {reason for reason in (*(entry.reason for entry in entries), *own) if reason} == reasons - {None}


def test_cells_that_are_called_derived_are_those_that_a_rule_makes() -> None:
    made = {(r.table, r.key, r.column) for r in REPORT.results if RULES[r.rule].derives and not r.key.startswith("(text")}
    assert made == {(each.id, each.names[row], column) for each in tables() for row, column in each.derived()}


def test_one_table_can_be_checked_alone() -> None:
    assert check("artifact-bench:2").results == tuple(result for result in REPORT.results if result.table == "artifact-bench:2")


def test_the_summary_adds_up_to_the_results() -> None:
    summary = REPORT.summary()
    assert sum(line.cells for line in summary) == len(REPORT.results) == REPORT.frame().height
    assert all(line.cells == line.exact + line.within_rounding + line.consistent + line.disagrees for line in summary)
    assert sum(line.disagrees for line in summary) == len(REPORT.findings)


@pytest.mark.parametrize(
    ("table", "key", "column", "text"),
    [
        ("magicmirror:5", "L2: Other Irrationalities", "total", "28"),
        ("artifact-bench:2", "Human Expert", "rvac.average", "92.77"),
        ("mef:5", "Reve Image 1.0", "aesthetic_design.rank", "12 …"),
        ("mef:5", "Ideogram 3.0", "film.rank", "none (over 11, under 9)"),
        ("mef:4", "GPT-4o", "overall.rank", "1 … 2"),
    ],
)
def test_a_recomputed_value_is_shown_with_one_digit_more_or_as_a_range(table: str, key: str, column: str, text: str) -> None:
    (found,) = {r.recomputed_text() for r in REPORT.results if (r.table, r.key, r.column) == (table, key, column)}
    assert found == text


def test_the_manual_lists_as_many_findings_per_table_as_the_check_makes() -> None:
    manual = (Path(__file__).parents[3] / "docs" / "published.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([a-z0-9-]+:\w+) \| (\d+) \|", manual, re.MULTILINE)
    assert {table: int(count) for table, count in listed} == Counter(finding.table for finding in REPORT.findings)


def test_the_docs_tell_the_findings_about_assessors_as_the_check_does() -> None:
    found = check("magicmirror:1").findings
    apart: dict[str, int] = {}
    for each in found:
        difference = abs(float(each.printed) - each.recomputed.plain) * 10_000
        apart[each.key] = max(apart.get(each.key, 0), int(difference + 0.5))
    groups = {size: sorted(name for name in apart if apart[name] == size) for size in set(apart.values())}
    assert {size: names for size, names in groups.items() if size > 3} == {
        44: ["Gemini2.5-flash"],
        10: ["Gemini2.5-pro"],
        11: ["Qwen2.5-VL-32B"],
    }
    small = sorted(name for name in apart if apart[name] <= 3)
    assert (len(found), small) == (16, ["GPT-4o", "InternVL3-8B", "Qwen2.5-VL-7B"])
    docs = Path(__file__).parents[3] / "docs"
    for page in ("published.md", "assessors.md"):
        text = " ".join((docs / page).read_text("utf-8").split())
        for words in (
            "six assessors",
            "44 in the fourth digit for Gemini2.5-flash" if page == "assessors.md" else "by up to 44 for Gemini2.5-flash",
            "by 10 for Gemini2.5-pro, by 11 for Qwen2.5-VL-32B",
            "GPT-4o, InternVL3-8B and Qwen2.5-VL-7B",
        ):
            assert words in text, (page, words)
