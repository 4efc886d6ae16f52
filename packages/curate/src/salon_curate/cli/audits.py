"""``salon curate audit | cascade``: whether people agree, and what a cheap judge loses."""

from dataclasses import asdict
from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, OUTPUT
from salon_console.output import as_json, deliver, print_json
from salon_console.table_files import Table
from salon_curate.cli.options import DATASET, SEED, as_cell, open_dataset, open_pipeline


@click.group()
def audit() -> None:
    """Let people check a sample of a selection, and carry the answer over to the whole data set.

    \b
    Example:
      salon curate audit sample birds --selection v1 --name first
      salon curate audit score birds first answers.csv
    """


@audit.command("sample")
@DATASET
@click.option("--selection", required=True, metavar="NAME", help="The saved selection to audit.")
@click.option("--name", required=True, help="Of the audit.")
@click.option("--per-stratum", type=click.IntRange(1), default=500, show_default=True, help="Pictures of each stratum.")
@click.option("--near", metavar="SQL", help="Pictures near a threshold: strata of their own.")
@SEED
@OUTPUT
@FORMAT
def audit_sample(
    dataset: Path,
    selection: str,
    name: str,
    per_stratum: int,
    near: str | None,
    seed: int,
    output: Path | None,
    form: str,
) -> None:
    """Draw the sample and write it for people.

    Written are a sheet to fill in and a folder for the arena. Raters do not see the decision.

    \b
    Example:
      salon curate audit sample birds --selection v1 --name first --per-stratum 500 --near "sharpness BETWEEN 70 AND 90"
      salon arena serve birds/audits/first/pictures --prompts birds/audits/first/prompts.jsonl --task checks
    """
    from salon_curate.audits import sample_audit

    opened = open_dataset(dataset)
    sampled = sample_audit(
        opened, open_pipeline(dataset).stages, selection, name, per_stratum=per_stratum, near=near, seed=seed,
    )  # fmt: skip
    deliver(
        Table(
            ("stratum", "in the data set", "in the sample"),
            [(name, as_cell(known), as_cell(drawn)) for name, (known, drawn) in sampled.strata.items()],
        ),
        [{"stratum": name, "pictures": known, "sampled": drawn} for name, (known, drawn) in sampled.strata.items()],
        form=form,
        output=output,
        further=[f"{sampled.pictures:,} pictures: {sampled.folder / 'sheet.csv'}"],
        json=lambda: as_json(asdict(sampled)),
    )


@audit.command("score")
@DATASET
@click.argument("name")
@click.argument("answers", type=InputPath())
@SEED
@OUTPUT
@FORMAT
def audit_score(dataset: Path, name: str, answers: Path, seed: int, output: Path | None, form: str) -> None:
    """Score ANSWERS about the audit NAME: precision, recall and agreement of the whole data set.

    ANSWERS is a CSV table (key, rater, accept), or the store that an arena exported to.

    \b
    Example:
      salon curate audit score birds first answers.csv
      salon curate audit score birds first results
    """
    from salon_curate.audits import score_audit

    scored = score_audit(open_dataset(dataset), name, answers, seed=seed)
    rows, values = [], []
    for label in ("precision", "negative_value", "recall", "agreement"):
        estimate = getattr(scored, label)
        interval = "–" if estimate.low is None else f"{estimate.low:.3f} to {estimate.high:.3f}"
        rows.append((label.replace("_", " "), as_cell(estimate.value), interval))
        values.append({"estimate": label, **asdict(estimate)})
    rated = f"{scored.rated:,} pictures rated, {scored.missing:,} missing; κ of two raters: {as_cell(scored.kappa)}"
    deliver(
        Table(("of the whole data set", "estimate", "95% interval (Jeffreys, by stratum)"), rows),
        values,
        form=form,
        output=output,
        further=[rated],
        json=lambda: as_json(asdict(scored)),
    )
    if scored.careless and form == "table":
        click.echo(f"accepted a blank picture: {', '.join(scored.careless)}", err=True)


@click.command()
@DATASET
@click.option("--stage", required=True, metavar="NAME", help="The expensive judge's stage, with `when` and `explore`.")
@click.option("--keeps", required=True, metavar="SQL", help="What the expensive judge keeps.")
@FORMAT
def cascade(dataset: Path, stage: str, keeps: str, form: str) -> None:
    """Bound what a stage's `when` loses: the share of the pictures it drops that the expensive judge would keep.

    \b
    Example:
      salon curate cascade birds --stage agreement --keeps agrees
    """
    from salon_curate.cascade import cascade_loss

    loss = cascade_loss(open_dataset(dataset), open_pipeline(dataset).stages, stage, {"keeps": keeps})
    if form == "json":
        print_json(asdict(loss))
    else:
        click.echo(
            f"{loss.kept_by_expensive:,} of {loss.explored:,} explored pictures are kept by the expensive judge; with "
            f"{loss.confidence:.0%} confidence at most {loss.upper:.4f} of the "
            f"{loss.dropped:,} dropped ones would be (Clopper–Pearson)"
        )
