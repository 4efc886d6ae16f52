"""The pages of ``salon view`` as HTML: runs, cases, one picture, boards."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import polars as pl
from markupsafe import Markup

from salon_bench.report.gallery import value_text
from salon_bench.runs.status import RunState, RunStatus
from salon_bench.viewer.cases import CASE, UNSCORED, CaseFilter, choices, filtered, last, run_cases
from salon_bench.viewer.store_tables import StoreTables
from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.templates import page_template
from salon_taxonomy.errors import InputError

_HERE: Final = "salon_bench.viewer"
ON_A_PAGE: Final = 60
MOST_RUNS: Final = 8
_MOST_RAW: Final = 20_000
"""Characters of a reply on its page."""
Query = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class CaseColumn:
    """A model in a run, beside others."""

    run_id: str
    model: str


def shell(title: str, body: str, *, crumbs: Sequence[tuple[str, str]] = (), live: bool = False) -> str:
    """Return a whole page around its body.

    Args:
        title: of the window and the page.
        body: HTML.
        crumbs: names and addresses of the pages above it.
        live: whether the page asks for itself again every two seconds.
    """
    html: str = page_template(_HERE, "shell.html.jinja").render(title=title, body=Markup(body), crumbs=crumbs, live=live)  # noqa: S704 - made by templates
    return html


def runs_page(tables: StoreTables) -> str:
    """Return the page of all runs: state, cost and progress of each."""
    runs = [run for run in tables.runs() if run.part_of is None]
    rows = [
        {
            "id": run.run_id,
            "address": address("run", run=[run.run_id]),
            "suite": run.suite,
            "model": run.subject_model or numbers.MISSING,
            "judge": run.judge or numbers.MISSING,
            "state": run.state.value,
            "done": run.cases_done,
            "total": run.cases_total,
            "progress": _progress(run),
            "calls": numbers.count(run.calls),
            "cost": numbers.MISSING if run.cost_usd is None else f"${run.cost_usd:,.2f}",
            "started": "" if run.started_at is None else f"{run.started_at:%Y-%m-%d %H:%M}",
        }
        for run in runs
    ]
    body = page_template(_HERE, "runs.html.jinja").render(runs=rows, boards=_boards(tables), store=str(tables.store))
    return shell("Runs", body, live=any(run.state == RunState.RUNNING for run in runs))


def _progress(run: RunStatus) -> str:
    if run.cases_total is None:
        return "" if run.cases_done is None else f"{run.cases_done:,}"
    waiting = f" + {run.waiting:,} replies" if run.waiting else ""
    return f"{run.cases_done or 0:,} of {run.cases_total:,}{waiting}"


def cases_page(tables: StoreTables, query: Query) -> str:
    """Return the page of the cases of one or several runs that pass the filter.

    Raises:
        InputError: no run or an unknown one is named, or the filter is wrong.
        QueryError: the filter's SQL is wrong.
    """
    run_ids = list(dict.fromkeys(query.get("run", ())))
    known = {run.run_id: run for run in tables.runs()}
    if not run_ids or len(run_ids) > MOST_RUNS:
        raise InputError(f"name one to {MOST_RUNS} runs", source="address", column="run", value=len(run_ids))
    for run_id in run_ids:
        if run_id not in known:
            raise InputError("there is no run", source="address", column="run", value=run_id, found=list(known)[:20])
    wanted = CaseFilter.read(query)
    every = run_cases(tables, [part for run_id in run_ids for part in known[run_id].parts or (run_id,)])
    problem = ""
    try:
        cases = filtered(tables, every, wanted)
    except InputError as error:
        if not wanted.where:
            raise
        cases, problem = every.clear(), str(error)
    beside = last(query, "beside") == "1"
    groups = cases.select("prompt_id").unique(maintain_order=True) if beside else cases
    page, pages = _page(query, groups.height)
    chosen = groups.slice(page * ON_A_PAGE, ON_A_PAGE)
    on_page = cases.join(chosen, on="prompt_id", how="semi", maintain_order="left") if beside else chosen
    columns = _columns(on_page) if beside else []
    same = {name: list(values) for name, values in query.items() if name != "page"}
    running = any(known[run_id].state == RunState.RUNNING for run_id in run_ids)
    body = page_template(_HERE, "cases.html.jinja").render(
        runs=[_run_line(known[run_id]) for run_id in run_ids],
        run_ids=run_ids,
        wanted=wanted,
        unscored=UNSCORED,
        choices=choices(every),
        value_text=value_text,
        problem=problem,
        counts=f"{cases.height:,} of {numbers.counted(every.height, 'case')}",
        cards=[] if beside else [_card(row, same) for row in on_page.iter_rows(named=True)],
        columns=_column_names(columns),
        rows=_rows(on_page, columns, same) if beside else [],
        beside=beside,
        pages=pages,
        page=page + 1,
        before=address("run", **{**same, "page": [str(page)]}) if page else "",
        after=address("run", **{**same, "page": [str(page + 2)]}) if page + 1 < pages else "",
        toggle=address("run", **{**same, "beside": ["" if beside else "1"]}),
        clear=address("run", run=run_ids),
    )
    return shell(" · ".join(run_ids), body, crumbs=[("Runs", ".")], live=running)


def _page(query: Query, count: int) -> tuple[int, int]:
    """Return the number of the page from 0, and how many there are."""
    text = last(query, "page") or "1"
    pages = max(1, -(-count // ON_A_PAGE))
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise InputError("is no number of a page", source="address", column="page", value=text[:40])
    return min(max(int(text), 1), pages) - 1, pages


def _run_line(run: RunStatus) -> str:
    judge = run.judge or "no judge"
    return f"{run.run_id}: {run.suite}, judged by {judge}, {run.state.value}, {_progress(run) or 'no cases'}"


def _rows(cases: pl.DataFrame, columns: Sequence[CaseColumn], same: Query) -> list[dict[str, Any]]:
    """Return a row for each prompt, with the cards of each column."""
    column_numbers = {(column.run_id, column.model): number for number, column in enumerate(columns)}
    rows: dict[str, dict[str, Any]] = {}
    for case in cases.iter_rows(named=True):
        row = rows.setdefault(
            case["prompt_id"], {"prompt": case["prompt_id"], "text": case["text"] or "", "cells": [[] for _ in columns]}
        )
        row["cells"][column_numbers[case["run_id"], case["subject_model"]]].append(_card(case, same))
    return list(rows.values())


def _columns(cases: pl.DataFrame) -> list[CaseColumn]:
    names = cases.select("run_id", "subject_model").unique().sort("subject_model", "run_id")
    return [CaseColumn(run_id, model) for run_id, model in names.iter_rows()]


def _column_names(columns: Sequence[CaseColumn]) -> list[str]:
    models = [column.model for column in columns]
    return [column.model if models.count(column.model) == 1 else f"{column.model} · {column.run_id}" for column in columns]


def _card(case: Mapping[str, Any], same: Query) -> dict[str, Any]:
    named = {name: [case[name]] for name in CASE if case[name] is not None}
    filters = {f"f_{name}": list(values) for name, values in same.items() if name != "run"}
    return {
        "address": address("case", **{**filters, **named, "runs": list(same.get("run", ()))}),
        "picture": "" if case["generation_id"] is None else address("picture", id=[case["generation_id"]], size=["small"]),
        "model": case["subject_model"],
        "prompt": case["prompt_id"],
        "text": case["text"] or "",
        "sample": case["sample"],
        "chips": [_chip(chip) for chip in case["chips"]],
        "labels": case["labels"] or [],
        "differs": case["differs"],
    }


def _chip(chip: Mapping[str, Any]) -> dict[str, Any]:
    value, reason = chip["value"], chip["reason"]
    kind = "missing" if value is None else "yes" if value == 1 else "no" if value == 0 else "number"
    text = "–" if value is None else value_text(value)
    return {
        "kind": kind,
        "text": text,
        "name": chip["dimension"],
        "title": f"{chip['task']}: {chip['dimension']}: {reason or text}",
    }


def case_page(tables: StoreTables, query: Query) -> str:
    """Return the page of one picture: its prompt, its questions with their replies, and the verdicts of other runs.

    Raises:
        InputError: the address names no case of the run.
    """
    named = {name: last(query, name) or None for name in CASE}
    if named["run_id"] is None or named["prompt_id"] is None:
        raise InputError("names no case", source="address", column="run_id and prompt_id")
    cases = run_cases(tables, [str(named["run_id"])])
    condition = pl.lit(value=True)
    for name, value in named.items():
        condition &= pl.col(name).eq_missing(pl.lit(value, pl.String))
    mine = cases.filter(condition)
    if not mine.height:
        raise InputError("the run has no such case", source="address", value=named["prompt_id"])
    case = mine.row(0, named=True)
    generation = case["generation_id"]
    about = pl.col("generation_id").eq_missing(pl.lit(generation, pl.String))
    others = (
        tables.rows("scores", about & (pl.col("prompt_id") == case["prompt_id"])) if generation is not None else mine.clear()
    )
    calls = tables.rows(
        "judge_calls", (pl.col("run_id") == case["run_id"]) & (about if generation is not None else pl.lit(value=False))
    )
    labels = tables.rows("assessments", about) if generation is not None else pl.DataFrame()
    beside = _neighbours(tables, query, case)
    body = page_template(_HERE, "case.html.jinja").render(
        case=case,
        picture="" if generation is None else address("picture", id=[generation], size=["large"]),
        chips=[_chip(chip) for chip in case["chips"]],
        calls=[_call(call) for call in calls.sort("step", "attempt", "call_id").iter_rows(named=True)],
        verdicts=_verdicts(others) if generation is not None else [],
        labels=[row for row in labels.iter_rows(named=True) if row["present"]],
        before=beside[0],
        after=beside[1],
    )
    back = address("run", **{**_filters(query), "run": _runs(query, case)})
    return shell(f"{case['subject_model']}: {case['prompt_id']}", body, crumbs=[("Runs", "."), (str(case["run_id"]), back)])


def _neighbours(tables: StoreTables, query: Query, case: Mapping[str, Any]) -> tuple[str, str]:
    """Return the addresses of the case before and the one after, in the order of the page that led here."""
    runs, same = _runs(query, case), _filters(query)
    cases = filtered(tables, run_cases(tables, runs), CaseFilter.read(same))
    condition = pl.lit(value=True)
    for name in CASE:
        condition &= pl.col(name).eq_missing(pl.lit(case[name], pl.String))
    rows = cases.select(condition.arg_true().alias("row"))["row"]
    if not rows.len():
        return "", ""
    number = int(rows[0])
    around = [cases.row(other, named=True) if 0 <= other < cases.height else None for other in (number - 1, number + 1)]
    before, after = ("" if row is None else _card(row, {**same, "run": runs})["address"] for row in around)
    return before, after


def _filters(query: Query) -> dict[str, list[str]]:
    """Return the filter of the page that led to a case."""
    return {name.removeprefix("f_"): list(values) for name, values in query.items() if name.startswith("f_")}


def _runs(query: Query, case: Mapping[str, Any]) -> list[str]:
    """Return the runs of the page that led to a case."""
    return list(query.get("runs") or [case["run_id"]])[:MOST_RUNS]


def _verdicts(scores: pl.DataFrame) -> list[dict[str, Any]]:
    """Return for each question the verdicts of every judge in every run; questions with different verdicts first."""
    rows = []
    for (task, dimension), group in scores.sort("task", "dimension", "judge", "run_id").group_by(
        "task", "dimension", maintain_order=True
    ):
        says = [
            {
                "judge": f"{row['judge']} {row['judge_version'] or ''}".strip(),
                "run": row["run_id"],
                "text": "–" if row["value"] is None else value_text(row["value"]),
                "reason": row["unscored_reason"] or "",
            }
            for row in group.iter_rows(named=True)
        ]
        rows.append({"task": task, "dimension": dimension, "says": says, "differs": group["value"].drop_nulls().n_unique() > 1})
    return sorted(rows, key=lambda row: not row["differs"])


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    text = call["response_text"] or ""
    tokens = [call["prompt_tokens"], call["completion_tokens"]]
    facts = [
        f"attempt {call['attempt']}" if call["attempt"] > 1 else "",
        "" if call["status"] == "ok" else str(call["status"]),
        call["parse_status"] or "",
        "from the cache" if call["cached"] else "",
        "" if call["latency_ms"] is None else f"{call['latency_ms'] / 1000:.2f} s",
        "" if None in tokens else f"{tokens[0]:,} + {tokens[1]:,} tokens",
        "" if call["cost_usd"] is None else f"${call['cost_usd']:.4f}",
        call["error"] or "",
    ]
    cut = len(text) - _MOST_RAW
    return {
        "step": call["step"] or "question",
        "judge": call["judge"],
        "facts": " · ".join(filter(None, facts)),
        "text": text[:_MOST_RAW],
        "cut": f"… {cut:,} more characters are in the table judge_calls." if cut > 0 else "",
    }


def _boards(tables: StoreTables) -> list[dict[str, str]]:
    boards = tables.rows("leaderboards", pl.lit(value=True))
    counts = boards.group_by("leaderboard_id", "board", "group", maintain_order=True).len() if boards.height else pl.DataFrame()
    return [
        {
            "name": board if group is None else f"{board}: {group}",
            "models": numbers.counted(count, "model"),
            "address": address("board", id=[leaderboard_id], **({} if group is None else {"group": [group]})),
        }
        for leaderboard_id, board, group, count in counts.iter_rows()
    ]


def board_page(tables: StoreTables, query: Query) -> str:
    """Return the page of a leaderboard.

    Raises:
        InputError: the store has no such board.
    """
    identifier, group = (last(query, name) or None for name in ("id", "group"))
    of = pl.col("leaderboard_id").eq_missing(pl.lit(identifier, pl.String)) & pl.col("group").eq_missing(
        pl.lit(group, pl.String)
    )
    board = tables.rows("leaderboards", of).sort("rating", descending=True, nulls_last=True)
    if not board.height:
        raise InputError("there is no board", source="address", value=identifier)
    rated = [PlotRow(*row) for row in board.select("model", "rating", "ci_low", "ci_high").iter_rows()]
    first = board.row(0, named=True)
    rows = [
        (*numbers.rating_cells(row), numbers.count(row["matches"]), numbers.share(row["win_rate"]))
        for row in board.iter_rows(named=True)
    ]
    body = page_template(_HERE, "board.html.jinja").render(
        plot=ForestPlot("Elo", rated, description=first["ci_method"] or "").html(),
        rows=rows,
        about=f"{first['solver'] or ''} {first['ci_method'] or 'no intervals'}".strip(),
        confidence=f"{100 * (first['confidence'] or 0.95):.4g}% interval",
    )
    return shell(str(first["board"]), body, crumbs=[("Runs", ".")])


def address(page: str, /, **query: Iterable[str]) -> str:
    """Return a relative address with its query; empty values are left out.

    Example:
        >>> address("run", run=["a b"], task=[""], model=["x", "y"])
        'run?run=a+b&model=x&model=y'
    """
    pairs = [(name, value) for name, values in query.items() for value in values if value not in ("", None)]
    return f"{page}?{urlencode(pairs)}" if pairs else page


def problem(text: str) -> str:
    """Return the body of a page that reports a problem."""
    html: str = page_template(_HERE, "problem.html.jinja").render(text=text)
    return html


def no_picture(why: str) -> str:
    """Return an SVG in place of a missing picture, with the reason in words."""
    html: str = page_template(_HERE, "no_picture.svg.jinja").render(why=why)
    return html
