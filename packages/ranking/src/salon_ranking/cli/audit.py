"""``salon votes audit``: how far to trust a judge that compares pairs, held against people."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath, OutputPath
from salon_console.options import output_option
from salon_console.table_files import RESULT_ENDINGS, VALUE_ENDINGS
from salon_ranking.cli.output import CONFIDENCE, FORMAT, HELP

if TYPE_CHECKING:
    import polars as pl

    from salon_ranking.agreement.judge_audit import JudgeAudit


@click.command(context_settings=HELP)
@click.argument("pairs", metavar="PAIRS", type=InputPath(tables=True))
@click.option("--judged", type=InputPath(tables=True), help="The verdicts or scores, where PAIRS has none.")
@click.option("--by", metavar="COLUMN", help="Also split by a column, such as category.")
@click.option("--chance-of-a", metavar="COLUMN", help="The judge's chance that model_a is better, 0 to 1.")
@click.option("--wrong", type=OutputPath(endings=VALUE_ENDINGS), help="Write the pairs where people chose otherwise.")
@CONFIDENCE
@output_option(RESULT_ENDINGS)
@FORMAT
def audit(
    pairs: Path,
    judged: Path | None,
    by: str | None,
    chance_of_a: str | None,
    wrong: Path | None,
    confidence: float,
    output: Path | None,
    format_: str,
) -> None:
    """Audit judges that compare pairs: accuracy against people, missing verdicts, position bias, calibration.

    PAIRS has one row per pair and judge: battle_id, winner (what people chose: model_a, model_b, tie, both_good, both_bad),
    verdict (the judge's; empty: missing) and, where known, judge, side_a_shown (left: the judge saw model_a first), prompt_id.
    In place of verdict, score_a and score_b of a scorer. Or PAIRS are votes of people and --judged the judges' verdicts, both
    as `salon votes rank` reads them. Or PAIRS is the file of a released set, known by its columns (GenAI-Bench, MMRB2,
    ImageRewardDB, MJ-Bench, VideoGen-RewardBench, EditReward-Bench, HPDv2, Pick-a-Pic), and the accuracy by its own rule is
    printed too; --judged then has battle_id with verdict (or score_a, score_b, or side_a_shown with a judge's reply or chat
    messages), or picture with score.

    \b
    Example:
      salon votes audit pairs.csv --by category --wrong wrong.csv
      salon votes audit votes.csv --judged verdicts.parquet --output audit.html
      salon votes audit results/image_generation/gpt4o/pairwise.jsonl
      salon votes audit test.json --judged rewards.csv
    """
    from salon_console.numbers import frame_cells
    from salon_console.table_files import write_table
    from salon_ranking.agreement.errors import AgreementError
    from salon_ranking.agreement.judge_audit import audit_judges, pairs_of_votes
    from salon_ranking.agreement.pair_sets import form_of, is_table_of_votes, read_pairs
    from salon_ranking.battles import Battles
    from salon_ranking.cli.other_table import OtherTable, show_table
    from salon_ranking.files import read_table
    from salon_ranking.report.audit_page import audit_page

    form = form_of(pairs)
    if form != "plain" or (judged is not None and not is_table_of_votes(judged)):
        remarks: list[str] = []
        table = read_pairs(pairs, form, judged=judged, remarks=remarks)
        for remark in remarks:
            click.echo(remark, err=True)
    elif judged is not None:
        people, verdicts = Battles.read(pairs, ids=None), Battles.read(judged, ids=None, no_winner="leave_out")
        table = pairs_of_votes(people, verdicts, chance_of_a=chance_of_a)
        for remark in (*people.remarks, *verdicts.remarks):
            click.echo(remark, err=True)
    else:
        table = read_table(pairs, "battles", AgreementError)
    result = audit_judges(table, split=by, chance_of_a=chance_of_a, confidence=confidence, source=str(pairs))
    if wrong is not None:
        write_table(wrong, lambda: frame_cells(result.wrong), result.wrong)
    further = audit_tables(result, table, form)
    charts = {**result.view().makers(), ".html": lambda: audit_page(result, further)}
    show_table(OtherTable(result.header, result.table, further=further, charts=charts, cells=result.cells), format_, output)


def audit_tables(result: "JudgeAudit", pairs: "pl.DataFrame", form: str) -> "dict[str, pl.DataFrame]":
    """Return the tables that follow an audit: judges among each other, calibration, the rules of the released set ``form``."""
    from salon_ranking.agreement.released_rules import released_accuracy

    tables = {name: frame for name in ("differences", "agreement", "calibration") if (frame := getattr(result, name)).height}
    if form != "plain":
        released = released_accuracy(pairs, form, confidence=result.confidence, source=result.source)
        tables["released_rule"] = released.drop("why")
        tables["why_it_differs"] = released.select("rule", "why").unique(maintain_order=True)
    return tables
