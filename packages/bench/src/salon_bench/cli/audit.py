"""``salon bench audit``: ask judges and scorers about pairs that people have answered, and say how far to trust them."""

from pathlib import Path
from typing import Any

import rich_click as click

from salon_bench.cli.options import opened, work_options
from salon_console.file_options import InputPath, OutputPath
from salon_console.options import FORMAT, STORE, confidence_option, output_option
from salon_console.table_files import RESULT_ENDINGS, VALUE_ENDINGS
from salon_taxonomy.store_address import StoreAddress


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("judges", metavar="JUDGE...", nargs=-1, required=True)
@click.option("--pairs", type=InputPath(tables=True), required=True, help="The pairs, with what people chose.")
@click.option("--limit", type=click.IntRange(1), help="So many pairs, drawn with --seed. Default: all.")
@click.option("--seed", type=int, default=0, show_default=True, help="Draws the pairs of --limit.")
@click.option("--by", metavar="COLUMN", help="Also split by a column, such as category.")
@click.option(
    "--wrong",
    type=OutputPath(endings=(*VALUE_ENDINGS, ".html")),
    help="Write the pairs where people chose otherwise; .html: with pictures and the judges' words.",
)
@confidence_option()
@STORE
@work_options
@output_option(RESULT_ENDINGS)
@FORMAT
def audit(
    judges: tuple[str, ...],
    pairs: Path,
    limit: int | None,
    seed: int,
    by: str | None,
    wrong: Path | None,
    confidence: float,
    store: StoreAddress,
    output: Path | None,
    form: str,
    **work: Any,
) -> None:
    """Ask judges and scorers about pairs that people have answered: accuracy, position bias, missing verdicts, cost.

    JUDGE is as for `salon bench run --judge`; a scorer is scorer:SPEC. A judge sees every pair in both orders; of a scorer's
    two numbers the higher one wins. A judge whose TOML file has top_logprobs under [decoding] gives chances, too: Brier
    score, ECE and a calibration curve. PAIRS has one row per pair: battle_id, prompt, picture_a, picture_b (beside the file),
    winner (what people chose: model_a, model_b, tie, both_good, both_bad) and, where known, source (the picture before an
    edit), prompt_id, category. The same command continues where it stopped; every reply is kept in the store.

    \b
    Example:
      salon bench audit vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000 scorer:ocr --pairs pairs.csv --by category
      salon bench audit judge.toml --pairs pairs.csv --limit 200 --output audit.html --wrong wrong.csv
    """
    import polars as pl

    from salon_bench.analysis.pair_audit import (
        answered_pairs,
        call_costs,
        judged_pairs,
        missing_verdicts,
        said_about,
        verdict_chances,
    )
    from salon_bench.cli.run import judge_all, refuse_incomplete
    from salon_bench.report.run_page import run_page
    from salon_bench.runs.picture_digests import PictureDigests
    from salon_bench.runs.plan import SubjectModel, planned
    from salon_bench.runs.view import RunView
    from salon_bench.suites.contract.registry import suite_named
    from salon_console.numbers import frame_cells
    from salon_console.table_files import write_table
    from salon_judges.clients.specification import read_settings
    from salon_ranking.agreement import audit_judges, read_pairs
    from salon_ranking.agreement.pair_sets import form_of
    from salon_ranking.cli.audit import audit_tables
    from salon_ranking.cli.other_table import OtherTable, show_table
    from salon_ranking.report.audit_page import audit_page
    from salon_taxonomy.errors import InputError
    from salon_taxonomy.whole_files import write_whole

    every = read_pairs(pairs)
    people, digests, plans = answered_pairs(every, by), PictureDigests(store), []
    left_open = every["battle_id"].n_unique() - people["battle_id"].n_unique()
    if left_open:
        click.echo(
            f"{left_open:,} of the pairs have no winner yet: they are asked about, and count once people answered.", err=True
        )
    for spec in judges:
        settings = read_settings(spec)
        judge = opened(settings, work)
        suite = suite_named("pair-scores" if getattr(settings, "kind", None) == "scorer" else "pairs")
        subjects, saved = [SubjectModel(pairs.stem, pairs)], settings.model_dump(mode="json")
        plan = planned(suite, subjects, judge, judge_settings=saved, prompts=pairs, seed=seed, limit=limit, digests=digests)
        if not {item.prompt.prompt_id for item in plan.prompts} & {*people["battle_id"]}:
            raise InputError("people answered about none of the pairs that --limit draws", source="--limit", value=limit)
        plans.append((plan, judge, None))
    reports = judge_all(plans, store, work=work)
    refuse_incomplete(plans, reports, store, allowed=work["allow_incomplete"])
    views = [RunView(store, report["run_id"]) for report in reports]
    scores, calls = pl.concat([view.scores for view in views]), pl.concat([view.calls for view in views])
    chances = verdict_chances(scores, calls)
    table = judged_pairs(people, scores, chances)
    chance = "chance_of_a" if chances.height else None
    result = audit_judges(table, split=by, chance_of_a=chance, confidence=confidence, source=str(pairs))
    if wrong is not None and wrong.suffix.lower() == ".html":
        order = result.wrong.select("battle_id").unique(maintain_order=True)
        remarks = said_about(order.join(table, on="battle_id", how="left", maintain_order="left"))
        title = f"Where people chose otherwise: {pairs.name}"
        write_whole(wrong, run_page(store, [view.run_id for view in views], only=remarks, title=title))
    elif wrong is not None:
        write_table(wrong, lambda: frame_cells(result.wrong), result.wrong)
    further = audit_tables(result, table, form_of(pairs))
    further["cost"] = call_costs(calls)
    reasons = tuple(missing_verdicts(scores))
    charts = {**result.view().makers(), ".html": lambda: audit_page(result, further, reasons)}
    show_table(OtherTable(result.header, result.table, {}, further, charts, result.cells, reasons), form, output)
