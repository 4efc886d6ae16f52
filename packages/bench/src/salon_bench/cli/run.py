"""``salon bench run``, ``resume`` and ``rescore``: start or continue runs, and report."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import rich_click as click

from salon_bench.cli.options import GENERATIONS, limits_of, opened, pace_of, watching, work_options
from salon_console.file_options import InputPath
from salon_console.options import FORMAT, OUTPUT, STOPPED_BY, STORE, command_state
from salon_console.output import MISSING, as_json, cells, deliver, print_parts
from salon_console.table_files import Table
from salon_taxonomy.errors import IncompleteError, InputError
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Reason

if TYPE_CHECKING:
    from salon_bench.runs.plan import LoadedPlan, RunPlan
    from salon_bench.suites.contract.suite import Suite
    from salon_judges.asking.spending import Spending
    from salon_taxonomy.protocols import Judge

    JudgedPlan: TypeAlias = tuple[LoadedPlan, Judge, Judge | None]

_HELP = {"help_option_names": ["-h", "--help"]}


@click.command("run", context_settings=_HELP)
@click.argument("suite_name", metavar="SUITE")
@click.option("--model", "names", multiple=True, required=True, help="The model under test; repeat for a comparison.")
@GENERATIONS
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="SPEC",
    help="KIND:MODEL@URL or a TOML file; several: a panel. STEP=SPEC: the judge of one step of the suite.",
)
@click.option(
    "--scorer",
    "scorers",
    multiple=True,
    metavar="[STEP=]SPEC",
    help="For the suite scorer and for suite files that ask for a score: MODULE:FUNCTION, ./FILE.py:FUNCTION or an installed "
    "scorer; the same as --judge scorer:SPEC, or for one question --judge STEP=scorer:SPEC.",
)
@click.option("--prompts", type=InputPath(), help="Your copy of the suite's prompts. Default: the suite's own.")
@click.option("--limit", type=click.IntRange(1), help="So many prompts, drawn with the seed. Default: all.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Draws the prompts of --limit, and the replies of --repeat."
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Ask every question N times, independently; each draw is a run of its own. Needs a temperature above 0.",
)
@click.option("--shard", metavar="K/N", help="Only the K-th of N shares of the prompts, a run of its own: one per machine.")
@click.option(
    "--re-asks",
    type=click.IntRange(0, 20),
    default=1,
    show_default=True,
    help="How often an unreadable reply is asked for again.",
)
@click.option("--extractor", metavar="SPEC", help="A model that restates replies which still cannot be read.")
@STORE
@work_options
@OUTPUT
@FORMAT
def run(
    suite_name: str,
    names: tuple[str, ...],
    sources: tuple[Path, ...],
    judges: tuple[str, ...],
    scorers: tuple[str, ...],
    prompts: Path | None,
    limit: int | None,
    seed: int,
    repeat: int,
    shard: str | None,
    re_asks: int,
    extractor: str | None,
    store: StoreAddress,
    output: Path | None,
    form: str,
    **work: Any,
) -> None:
    """Judge the pictures of a model with SUITE; every reply is on the disk before it counts.

    SUITE is the name of an installed suite (`salon bench list`) or a file: ./suite.toml declares questions and answers,
    ./suite.py defines a suite in Python.

    The same command means the same run: a finished run is shown, a stopped one continues. With several --judge or --scorer
    each is a run of its own, and a further run holds what the panel says.

    Each draw of --repeat is a run of its own, too: the first is the run without it, the others ask the same questions with
    decoding seeds of their own. Without --limit and --repeat, --seed changes nothing.

    Several machines judge one suite with --shard 1/8 to 8/8 into one store; every prompt is in one share. Leaderboards count
    the shards as one run once all are finished; `salon bench runs` shows its name, which reports and comparisons take.

    Exits with 0 only when every case has its rows (see --allow-incomplete).

    \b
    Example:
      salon bench run prism --model our-model --generations pictures/ --judge vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000
      salon bench run magicbench --model a --generations a/ --judge judge.toml --limit 50 --max-cost 2.50
      salon bench run ./posters.toml --model a --generations a/ --judge judge.toml
      salon bench run magic-bench-377 --model a --generations a/ --model b --generations b.csv --judge judge.toml
      salon bench run scorer --model a --generations a/ --prompts prompts.csv --scorer ./metrics.py:clip_score
    """
    from salon_bench.runs.picture_digests import PictureDigests
    from salon_bench.runs.plan import SubjectModel, planned
    from salon_bench.suites.contract.registry import suite_named
    from salon_judges.clients.specification import read_judges, read_settings

    judges += tuple(re.sub(r"^([a-z0-9_-]+=)?", r"\1scorer:", each, count=1) for each in scorers)
    if not judges:
        raise click.UsageError(
            "name a judge: --judge vllm:MODEL@localhost:8000, --judge judge.toml, or --judge pixels: for drawn pictures; "
            "or --scorer SPEC with the suite scorer"
        )
    if len(names) != len(sources):
        raise click.UsageError(f"{len(names)} --model but {len(sources)} --generations: give one for each, in the same order")
    suite = suite_named(suite_name)
    models = [SubjectModel(name, source) for name, source in zip(names, sources, strict=True)]
    second = None if extractor is None else read_settings(extractor)
    plans, digests = [], PictureDigests(store)
    for draw, settings in product(range(repeat), read_judges(judges)):
        judge = opened(settings, work)
        helper = None if second is None else opened(second, work)
        planned_run = planned(
            suite,
            models,
            judge,
            judge_settings=settings.model_dump(mode="json"),
            prompts=prompts,
            seed=seed,
            limit=limit,
            draw=draw,
            shard=_shard(shard),
            re_asks=re_asks,
            extractor=helper,
            extractor_settings=None if second is None else second.model_dump(mode="json"),
            digests=digests,
        )
        plans.append((planned_run, judge, helper))
    reports = judge_all(plans, store, work=work)
    if len(reports) == len(plans) > repeat and all(report["complete"] for report in reports):
        for draw in range(repeat):
            panel = [each for each, _, _ in plans if each.plan.draw == draw]
            reports += [_panel(panel, suite, store)]
    _show(reports, form, output)
    refuse_incomplete(plans, reports, store, allowed=work["allow_incomplete"])


def _shard(text: str | None) -> tuple[int, int] | None:
    """Read ``K/N``."""
    if text is None:
        return None
    part, _, count = text.partition("/")
    if not (part.isdecimal() and count.isdecimal()):
        raise click.BadParameter(f"{text!r} is not K/N, such as 3/8", param_hint="--shard")
    return int(part), int(count)


@click.command("resume", context_settings=_HELP)
@click.argument("run_id", metavar="RUN")
@STORE
@work_options
@OUTPUT
@FORMAT
def resume_(run_id: str, store: StoreAddress, output: Path | None, form: str, **work: Any) -> None:
    """Continue a RUN that was stopped or killed: stored replies are read, the others are asked for.

    \b
    Example:
      salon bench runs
      salon bench resume prism-our-model-qwen-1a2b3c4d
    """
    from salon_bench.runs.view import RunView, refuse_another_run, refuse_another_suite
    from salon_judges.clients.specification import restore_settings

    view = RunView(store, run_id)
    plan = view.plan
    refuse_another_suite(run_id, plan, view.suite)
    judge = opened(restore_settings(plan.judge_settings), work)
    helper = None
    if plan.extractor_settings is not None:
        helper = opened(restore_settings(plan.extractor_settings), work)
    again = view.planned(judge, helper)
    refuse_another_run(run_id, plan, again.plan)
    plans = [(again, judge, helper)]
    reports = judge_all(plans, store, work=work)
    _show(reports, form, output)
    refuse_incomplete(plans, reports, store, allowed=work["allow_incomplete"])


@click.command("rescore", context_settings=_HELP)
@click.argument("run_id", metavar="RUN")
@STORE
@OUTPUT
@FORMAT
def rescore_(run_id: str, store: StoreAddress, output: Path | None, form: str) -> None:
    """Read the stored replies of a RUN again with the suite as it is installed now; no judge is asked.

    Writes a run of its own, RUN+rescore-VERSION, and says what changed. Questions that the suite now asks differently have
    no reply: they are unscored and counted.

    \b
    Example:
      salon bench rescore prism-our-model-qwen-1a2b3c4d
    """
    import asyncio

    from salon_bench.cli.reporting import announce_continues, report_of
    from salon_bench.runs.checkpoint import fold_apart
    from salon_bench.runs.rescore import changes, rescore
    from salon_bench.runs.session import FinishedError
    from salon_bench.runs.view import RunView
    from salon_judges.clients.wrapping import AbsentJudge

    view = RunView(store, run_id)
    plan = view.plan
    helper = None if plan.extractor_alone is None else AbsentJudge("extractor", plan.extractor_alone)
    again = view.planned(AbsentJudge(plan.judge, plan.judge_alone), helper)
    try:
        done = asyncio.run(rescore(again, run_id, store, fold=fold_apart))
        new_id, outcome, changed = done.run_id, done.outcome, done.changes
    except FinishedError as error:
        new_id, outcome = error.status.run_id, None
        changed = changes(view.scores, RunView(store, new_id).scores)
        announce_continues(error.status)
    counts = {name: getattr(changed, name) for name in type(changed).__slots__}
    _show([{**report_of(again.suite, store, new_id, outcome), "rescored": run_id, "changes": counts}], form, output)
    if form == "table":
        click.echo(f"Against {run_id}: {changed}")


# ------------------------------------------------------------------------------------------------------------- one start


def _refuse_twins(plans: "Sequence[RunPlan]") -> None:
    """Refuse a panel that tables cannot tell apart.

    Two judges of one version are one run and would only agree with themselves; the rows of two of one name would be mixed.
    """
    hint = "A panel needs judges of different models or settings; two models of one name need names of their own."
    run_ids = Counter(plan.run_id for plan in plans)
    twice = next((run_id for run_id, count in run_ids.items() if count > 1), None)
    if twice is not None:
        raise InputError("the same judge was named twice", source="--judge", value=twice, hint=hint)
    alike = next((name for (name, _), count in Counter((plan.judge, plan.draw) for plan in plans).items() if count > 1), None)
    if alike is not None:
        hint = 'Give one a name: name = "…" in a TOML file for --judge (of a scorer: kind = "scorer", scorer = "…").'
        raise InputError("two judges of a panel have the name", source="--judge", value=alike, hint=hint)


def judge_all(plans: "Sequence[JudgedPlan]", store: StoreAddress, *, work: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Start or continue the runs, one after the other until one is stopped, and return their reports.

    They share the limits of the command.

    Raises:
        InputError: two of them have one name in tables; or as of a run.
    """
    from salon_judges.asking.spending import Spending

    _refuse_twins([each.plan for each, _, _ in plans])
    spending = Spending(limits_of(work))
    reports: list[dict[str, Any]] = []
    for plan, judge, helper in plans:
        if STOPPED_BY not in command_state() and spending.refusal() is None:
            reports.append(_judged(plan, judge, helper, store, work=work, spending=spending))
    return reports


def _judged(
    planned: "LoadedPlan",
    judge: "Judge",
    extractor: "Judge | None",
    store: StoreAddress,
    *,
    work: Mapping[str, Any],
    spending: "Spending",
) -> dict[str, Any]:
    """Start or continue the run, and report; a finished one is reported as it is.

    What it spends is added to ``spending``, whose limits it keeps.
    """
    import asyncio

    from salon_bench.cli.reporting import MOST_NAMED, announce_continues, announce_start, problem_of, report_of, shortened
    from salon_bench.runs.checkpoint import fold_apart
    from salon_bench.runs.session import FinishedError
    from salon_bench.runs.suite_runner import execute
    from salon_judges.clients.wrapping import remarks_of

    for words in planned.plan.left_out:
        click.echo(words, err=True)
    left_out = planned.generations.left_out
    if left_out:
        click.echo(f"{len(left_out)} files belong to no prompt and are left out.", err=True)

    unreadable: list[str] = []

    with watching(work, planned.plan.judge) as watcher:
        job = execute(
            planned,
            judge,
            store,
            extractor=extractor,
            limits=spending.left(),
            pace=pace_of(judge, work),
            keep_lost=work["allow_incomplete"],
            watcher=watcher,
            fold=fold_apart,
            on_start=announce_start,
            on_result=lambda result: unreadable.extend(problem_of(result) if len(unreadable) <= MOST_NAMED else ()),
        )
        try:
            outcome = asyncio.run(job)
            spending.add(outcome.progress)
        except FinishedError as error:
            announce_continues(error.status)
            outcome = None
        except asyncio.CancelledError:
            raise IncompleteError(
                f"stopped at once; continue with: salon bench resume {planned.plan.run_id} --store {store}"
            ) from None
    for words in (*remarks_of(judge), *shortened(unreadable)):
        click.echo(words, err=True)
    if planned.plan.whole_id is not None:
        click.echo(f"When all shards are finished: salon results report {planned.plan.whole_id} --store {store}", err=True)
    return report_of(planned.suite, store, planned.plan.run_id, outcome)


def refuse_incomplete(
    plans: "Sequence[JudgedPlan]", reports: Sequence[Mapping[str, Any]], store: StoreAddress, *, allowed: bool
) -> None:
    """Leave with an error when work is left that may not be, or when runs were not begun.

    Raises:
        IncompleteError: says what is left, and which command continues it.
    """
    from salon_bench.cli.reporting import lost

    for report in reports:
        if not report["complete"]:
            left = report["stopped"] or lost(report["progress"] or {})
            hint = f"Continue with: salon bench resume {report['run_id']} --store {store}"
            if allowed:
                click.echo(f"Work is left: {left}. {hint}", err=True)
            else:
                raise IncompleteError(f"work is left: {left}\n{hint}")
    waiting = [plan.plan.run_id for plan, _, _ in plans[len(reports) :]]
    if waiting:
        left = f"not begun: {', '.join(waiting)}\nThe same command again begins them."
        if not allowed or not reports or STOPPED_BY in command_state():
            raise IncompleteError(f"work is left: {left}")
        click.echo(f"Work is left: {left}", err=True)


def _panel(plans: "Sequence[LoadedPlan]", suite: "Suite", store: StoreAddress) -> dict[str, Any]:
    """Combine the finished runs of several judges, and report."""
    from salon_bench.analysis.panel import judge_together
    from salon_bench.cli.reporting import report_of

    panel = judge_together([each.plan for each in plans], store)
    labels = [{name: getattr(each, name) for name in type(each).__slots__} for each in panel.labels]
    return {**report_of(suite, store, panel.run_id, None), "agreement": panel.agreement, "label_agreement": labels}


# ---------------------------------------------------------------------------------------------------------------- output


def _show(reports: list[dict[str, Any]], form: str, output: Path | None) -> None:
    """Print every report; a file has the numbers of all runs and models as one table."""
    of_models = [(report["run_id"], each) for report in reports for each in report["models"]]
    values = [{"run_id": run_id, "model": each["model"], **row} for run_id, each in of_models for row in each["table"]]
    columns = tuple(dict.fromkeys(["run_id", "model", *(name for row in values for name in row)]))
    texts = [
        {"run_id": run_id, "model": each["model"], **dict(zip(row, line, strict=True))}
        for run_id, each in of_models
        for row, line in zip(each["table"], cells(each["table"]), strict=True)
    ]
    table = Table(columns, [[text.get(name, MISSING) for name in columns] for text in texts])
    deliver(table, values, form=form, output=output, show=lambda: _print(reports), json=lambda: as_json(reports))


def _print(reports: list[dict[str, Any]]) -> None:
    from salon_bench.cli.reporting import remark

    for report in reports:
        click.echo(f"Run {report['run_id']}")
        for model in report["models"]:
            numbers = Table(tuple(model["table"][0]) if model["table"] else (), cells(model["table"]))
            counted = f"\n{model['model']}: {model['scored']} rows scored, {model['unscored']} unscored"
            print_parts(counted, numbers, *model["notes"])
        for line in report.get("agreement", ()):
            click.echo(line["sentence"])
        if report.get("agreement") == []:
            click.echo("No two judges gave a verdict about the same thing: every number is one judge's alone.")
        if report["progress"]:
            click.echo(remark(report["progress"]), err=True)
            if set(report["progress"]["reasons"]) - {Reason.BAD_MEDIA}:
                click.echo("What the judge replied: `salon view STORE`, or `response_text` in the table judge_calls.", err=True)
