"""The pages of ``salon view`` as HTML: runs, cases, one picture, boards."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import polars as pl
from markupsafe import Markup

from salon_bench.report.gallery import value_text
from salon_bench.runs.status import RunState, RunStatus
from salon_bench.runs.view import RESCORED
from salon_bench.viewer.cases import CASE, UNSCORED, CaseFilter, choices, filtered, last, run_cases
from salon_bench.viewer.store_tables import StoreTables
from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.templates import page_template
from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible

_HERE: Final = "salon_bench.viewer"
ON_A_PAGE: Final = 60
MOST_RUNS: Final = 8
_MOST_CARDS: Final = 600
"""Cards side by side on one page, about."""
_MOST_IN_A_CELL: Final = 12
_MOST_CHIPS: Final = 40
_MOST_ROWS: Final = 500
"""Verdicts, labels and replies on the page of a case, of each."""
_MOST_TEXT: Final = 400
"""Characters of a prompt on a card."""
_MOST_RAW: Final = 20_000
"""Characters of a reply, or of a prompt, on its page."""
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
    body = page_template(_HERE, "runs.html.jinja").render(
        runs=rows, boards=_boards(tables), store=str(tables.store), visible=visible
    )
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
    known = {run.run_id: run for run in tables.runs()}
    unseen = {visible(name): name for name in known}  # as the fields of a form hold it
    run_ids = list(dict.fromkeys(name if name in known else unseen.get(name, name) for name in query.get("run", ())))
    if not run_ids or len(run_ids) > MOST_RUNS:
        raise InputError(f"name one to {MOST_RUNS} runs", source="address", column="run", value=len(run_ids))
    for run_id in run_ids:
        if run_id not in known:
            raise InputError("there is no run", source="address", column="run", value=run_id, found=list(known)[:20])
    wanted = CaseFilter.read(query)
    every = run_cases(tables, _with_parts(known, run_ids))
    problem = ""
    try:
        cases = filtered(tables, every, wanted)
    except InputError as error:
        if not wanted.where:
            raise
        cases, problem = every.clear(), str(error)
    beside = last(query, "beside") == "1"
    groups = cases.select("prompt_id").unique(maintain_order=True) if beside else cases
    on_a_page = max(1, min(ON_A_PAGE, _MOST_CARDS * groups.height // max(1, cases.height)))
    page, pages = _page(query, groups.height, on_a_page)
    chosen = groups.slice(page * on_a_page, on_a_page)
    shown = cases.join(chosen, on="prompt_id", how="semi", maintain_order="left") if beside else chosen
    whole = {part: run_id for run_id in run_ids for part in known[run_id].parts}
    shown = shown.with_columns(column=pl.col("run_id").replace(whole))
    columns = _columns(shown) if beside else []
    same = {name: list(values) for name, values in query.items() if name != "page"} | {"run": run_ids}
    running = any(known[run_id].state == RunState.RUNNING for run_id in run_ids)
    offered = choices(every)
    body = page_template(_HERE, "cases.html.jinja").render(
        runs=[_run_line(known[run_id]) for run_id in run_ids],
        run_ids=run_ids,
        wanted=wanted,
        unscored=UNSCORED,
        choices=offered,
        verdicts=[(_verdict_name(value), value_text(value), count) for value, count in offered.verdicts],
        verdict=wanted.verdict if wanted.verdict in ("", UNSCORED) else _verdict_name(float(wanted.verdict)),
        visible=visible,
        problem=problem,
        counts=f"{cases.height:,} of {numbers.counted(every.height, 'case')}",
        cards=[] if beside else [_card(row, same) for row in shown.iter_rows(named=True)],
        columns=_column_names(columns),
        rows=_rows(shown, columns, same) if beside else [],
        beside=beside,
        pages=pages,
        page=page + 1,
        before=address("run", **{**same, "page": [str(page)]}) if page else "",
        after=address("run", **{**same, "page": [str(page + 2)]}) if page + 1 < pages else "",
        toggle=address("run", **{**same, "beside": ["" if beside else "1"]}),
        clear=address("run", run=run_ids),
    )
    return shell(" · ".join(run_ids), body, crumbs=[("Runs", ".")], live=running)


def _with_parts(known: Mapping[str, RunStatus], run_ids: Iterable[str]) -> list[str]:
    """Return the ids that rows of these runs have: of a run in shards, those of its shards."""
    return [part for run_id in run_ids for part in (known[run_id].parts if run_id in known else ()) or (run_id,)]


def _verdict_name(value: float) -> str:
    """Return a verdict as addresses have it, with all its digits."""
    return repr(value).removesuffix(".0")


def _page(query: Query, count: int, on_a_page: int) -> tuple[int, int]:
    """Return the number of the page from 0, and how many there are."""
    text = last(query, "page") or "1"
    pages = max(1, -(-count // on_a_page))
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise InputError("is no number of a page", source="address", column="page", value=text[:40])
    return min(max(int(text), 1), pages) - 1, pages


def _run_line(run: RunStatus) -> str:
    judge = run.judge or "no judge"
    return f"{run.run_id}: {run.suite}, judged by {judge}, {run.state.value}, {_progress(run) or 'no cases'}"


def _rows(cases: pl.DataFrame, columns: Sequence[CaseColumn], same: Query) -> list[dict[str, Any]]:
    """Return a row for each prompt, with the cards of each column."""
    place = {(column.run_id, column.model): number for number, column in enumerate(columns)}
    rows: dict[str, dict[str, Any]] = {}
    for case in cases.iter_rows(named=True):
        row = rows.setdefault(
            case["prompt_id"],
            {"prompt": case["prompt_id"], "text": _cut(case["text"]), "cells": [[] for _ in columns], "more": 0},
        )
        cell = row["cells"][place[case["column"], case["subject_model"]]]
        if len(cell) < _MOST_IN_A_CELL:
            cell.append(_card(case, same))
        else:
            row["more"] += 1
    return list(rows.values())


def _columns(cases: pl.DataFrame) -> list[CaseColumn]:
    names = cases.select("column", "subject_model").unique().sort("subject_model", "column")
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
        "text": _cut(case["text"]),
        "sample": case["sample"],
        **_chips(case),
        "differs": case["differs"],
    }


def _cut(text: str | None, most: int = _MOST_TEXT) -> str:
    return "" if text is None else text if len(text) <= most else f"{text[:most]}…"


def _chips(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chips of a case, and how many more of its verdicts and labels have none."""
    chips, labels = case["chips"], case["labels"] or []
    more = max(0, len(chips) - _MOST_CHIPS) + max(0, len(labels) - _MOST_CHIPS)
    return {"chips": [_chip(chip) for chip in chips[:_MOST_CHIPS]], "labels": labels[:_MOST_CHIPS], "more": more}


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
    asked = str(case["run_id"]).partition(RESCORED)[0]  # a rescored run has the replies of the first
    calls = tables.rows(
        "judge_calls",
        pl.col("run_id").is_in([case["run_id"], asked]) & (about if generation is not None else pl.lit(value=False)),
    )
    labels = tables.rows("assessments", about & pl.col("present")) if generation is not None else pl.DataFrame()
    rows = {"verdicts": others.height, "labels": labels.height, "replies": calls.height}
    beside = _neighbours(tables, query, case)
    body = page_template(_HERE, "case.html.jinja").render(
        text=_cut(case["text"], _MOST_RAW),
        picture="" if generation is None else address("picture", id=[generation], size=["large"]),
        chips=_chips(case)["chips"],
        calls=[_call(call) for call in calls.sort("step", "attempt", "call_id").head(_MOST_ROWS).iter_rows(named=True)],
        verdicts=_verdicts(others) if generation is not None else [],
        labels=[row | {"explanation": _cut(row["explanation"])} for row in labels.head(_MOST_ROWS).iter_rows(named=True)],
        cut=[f"the first {_MOST_ROWS} of {count:,} {name}" for name, count in rows.items() if count > _MOST_ROWS],
        before=beside[0],
        after=beside[1],
    )
    back = address("run", **{**_filters(query), "run": _runs(query, case)})
    return shell(f"{case['subject_model']}: {case['prompt_id']}", body, crumbs=[("Runs", "."), (str(case["run_id"]), back)])


def _neighbours(tables: StoreTables, query: Query, case: Mapping[str, Any]) -> tuple[str, str]:
    """Return the addresses of the case before and the one after, in the order of the page that led here."""
    runs, same = _runs(query, case), _filters(query)
    known = {run.run_id: run for run in tables.runs()}
    cases = filtered(tables, run_cases(tables, _with_parts(known, runs)), CaseFilter.read(same))
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
    rows.sort(key=lambda row: not row["differs"])
    before = itertools.accumulate((len(row["says"]) for row in rows), initial=0)
    return [row for row, count in zip(rows, before, strict=False) if count < _MOST_ROWS]


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
