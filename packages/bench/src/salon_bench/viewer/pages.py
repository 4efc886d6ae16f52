"""The pages of a store as HTML: runs, cases, one picture, boards."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import polars as pl

from salon_bench.report.gallery import value_text
from salon_bench.runs.judged_files import given_files
from salon_bench.runs.status import RunState, RunStatus
from salon_bench.runs.view import RESCORED
from salon_bench.viewer.cases import CASE, PEOPLE, UNSCORED, CaseFilter, Choices, choices, filtered, run_cases
from salon_bench.viewer.rendering import (
    HERE,
    MOST_CHIPS,
    MOST_RAW,
    ON_A_PAGE,
    Checkbox,
    Query,
    Select,
    address,
    card_page,
    chip,
    cut,
    filters,
    last,
    one_page,
    page_number,
    picture,
    prefixed,
    shell,
)
from salon_bench.viewer.store_tables import StoreTables
from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.templates import page_template
from salon_taxonomy.enums import MediaKind, MediaRole
from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible

MOST_RUNS: Final = 8
_MOST_CARDS: Final = 600
"""Cards side by side on one page, about."""
_MOST_IN_A_CELL: Final = 12
_NO_CASES: Final = "There is no verdict about a single picture yet; `salon store sql` reads what else the store has of the run."
_MOST_GIVEN: Final = 12
_Given: TypeAlias = Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]]
_MOST_ROWS: Final = 500
"""Verdicts, labels and replies on the page of a case, of each."""


@dataclass(frozen=True, slots=True)
class CaseColumn:
    """A model in a run, beside others."""

    run_id: str
    model: str


def runs_page(tables: StoreTables) -> str:
    """Return the page of all runs: state, cost and progress of each."""
    runs = [run for run in tables.runs() if run.part_of is None]
    rows = [
        {
            "id": run.run_id,
            "address": address("run", run=[run.run_id]),
            "suite": run.suite,
            "model": ", ".join(run.models) or numbers.MISSING,
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
    is_table = [run.state is RunState.IMPORTED and run.subject_model is None for run in runs]  # of many models
    battles = tables.count("battles")
    people = {"label": tables.count("assessments"), "rating": tables.count("ratings")}
    body = page_template(HERE, "runs.html.jinja").render(
        runs=[row for row, published in zip(rows, is_table, strict=True) if not published],
        published=[row for row, published in zip(rows, is_table, strict=True) if published],
        boards=_boards(tables),
        battles=numbers.counted(battles, "battle") if battles else "",
        people=" and ".join(numbers.counted(count, name) for name, count in people.items() if count),
        store=str(tables.store),
        visible=visible,
        counted=numbers.counted,
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
    page, pages = page_number(query, groups.height, on_a_page)
    chosen = groups.slice(page * on_a_page, on_a_page)
    page_cases = cases.join(chosen, on="prompt_id", how="semi", maintain_order="left") if beside else chosen
    whole = {part: run_id for run_id in run_ids for part in known[run_id].parts}
    page_cases = page_cases.with_columns(column=pl.col("run_id").replace(whole))
    columns = _columns(page_cases) if beside else []
    files = _given(tables, page_cases)
    same = {name: list(values) for name, values in query.items() if name != "page"} | {"run": run_ids}
    offered = choices(every)
    body = card_page(
        "run",
        same=same,
        fixed={"run": run_ids, "beside": ["1"] if beside else []},
        about=[*(_run_line(known[run_id]) for run_id in run_ids), *(() if every.height else (_NO_CASES,))],
        selects=_selects(offered, wanted),
        checks=_checks(offered, wanted),
        where=("Scores WHERE", "value < 0.5 AND dimension = 'subject'"),
        search="Prompt",
        problem=problem,
        counts=f"{cases.height:,} of {numbers.counted(every.height, 'case')}",
        page=page,
        pages=pages,
        cards=[] if beside else [_card(row, same, files) for row in page_cases.iter_rows(named=True)],
        beside={"columns": _column_names(columns), "rows": _rows(page_cases, columns, same, files)} if beside else None,
        toggle=(address("run", **{**same, "beside": ["" if beside else "1"]}), "one by one" if beside else "side by side"),
    )
    running = any(known[run_id].state == RunState.RUNNING for run_id in run_ids)
    return shell(" · ".join(run_ids), body, crumbs=[("Runs", ".")], live=running)


def _selects(offered: Choices, wanted: CaseFilter) -> list[Select]:
    """Return the filters with values; those without a choice are left out."""

    def named(label: str, name: str, values: Sequence[tuple[str, int]], chosen: str, least: int = 2) -> list[Select]:
        return [Select(label, name, [(value, value, count) for value, count in values], chosen)] if len(values) >= least else []

    verdicts = [(_verdict_name(value), value_text(value), count) for value, count in offered.verdicts]
    verdict = wanted.verdict if wanted.verdict in ("", UNSCORED) else _verdict_name(float(wanted.verdict))
    return [
        *named("Model", "model", offered.models, wanted.model[0] if len(wanted.model) == 1 else ""),
        *named("Category", "task", offered.tasks, wanted.task),
        *named("Question", "question", offered.questions, wanted.question),
        Select("Verdict", "verdict", [*verdicts, (UNSCORED, UNSCORED, None)], verdict),
        *named("Missing because", "reason", offered.reasons, wanted.reason, 1),
        *named("Label", "label", offered.labels, wanted.label, 1),
    ]


def _checks(offered: Choices, wanted: CaseFilter) -> list[Checkbox]:
    checks = [
        Checkbox("judges differ", "differs", "1", offered.differing, wanted.differs),
        Checkbox("scored by people", "people", "1", offered.people, wanted.people),
        Checkbox("people and judges differ", "disagree", "1", offered.disagreeing, wanted.disagree),
    ]
    return [check for check in checks if check.count or check.chosen]


def _with_parts(known: Mapping[str, RunStatus], run_ids: Iterable[str]) -> list[str]:
    """Return the ids that rows of these runs have: of a run in shards, those of its shards."""
    return [part for run_id in run_ids for part in (known[run_id].parts if run_id in known else ()) or (run_id,)]


def _verdict_name(value: float) -> str:
    """Return a verdict as addresses have it, with all its digits."""
    return repr(value).removesuffix(".0")


def _run_line(run: RunStatus) -> str:
    judge = run.judge or "no judge"
    return f"{run.run_id}: {run.suite}, judged by {judge}, {run.state.value}, {_progress(run) or 'no cases'}"


def _rows(cases: pl.DataFrame, columns: Sequence[CaseColumn], same: Query, files: _Given) -> list[dict[str, Any]]:
    """Return a row for each prompt, with the cards of each column."""
    position = {(column.run_id, column.model): number for number, column in enumerate(columns)}
    rows: dict[str, dict[str, Any]] = {}
    for case in cases.iter_rows(named=True):
        row = rows.setdefault(
            case["prompt_id"],
            {"prompt": case["prompt_id"], "text": cut(case["text"]), "cells": [[] for _ in columns], "more": 0},
        )
        cell = row["cells"][position[case["column"], case["subject_model"]]]
        if len(cell) < _MOST_IN_A_CELL:
            cell.append(_card(case, same, files, prompt=False))
        else:
            row["more"] += 1
    return list(rows.values())


def _columns(cases: pl.DataFrame) -> list[CaseColumn]:
    names = cases.select("column", "subject_model").unique().sort("subject_model", "column")
    return [CaseColumn(run_id, model) for run_id, model in names.iter_rows()]


def _column_names(columns: Sequence[CaseColumn]) -> list[str]:
    models = [column.model for column in columns]
    return [column.model if models.count(column.model) == 1 else f"{column.model} · {column.run_id}" for column in columns]


def _card(case: Mapping[str, Any], same: Query, files: _Given, *, prompt: bool = True) -> dict[str, Any]:
    which = [f"{name} {case[name]}" for name in ("sample", "turn") if case[name]]
    names = [case["subject_model"], *which, case["prompt_id"] if prompt else ""]
    beside = [
        picture(row["generation_id"], "small", role) for role, row in files.get(case["generation_id"], ())[:_MOST_GIVEN] if row
    ]
    judged = [] if case["sample"] is None else [picture(case["generation_id"], "small", "result" if beside else "")]
    marks = {"judges differ": case["differs"], "people and judges differ": case["disagree"]}
    return {
        "address": _case_address(case, same),
        "pictures": [*beside, *judged],
        "names": [name for name in names if name],
        "text": cut(case["text"]) if prompt else "",
        **_chips(case),
        "differs": [words for words, holds in marks.items() if holds],
    }


def _case_address(case: Mapping[str, Any], same: Query) -> str:
    named = {name: [case[name]] for name in CASE if case[name] is not None}
    of = {name: values for name, values in same.items() if name != "run"}
    return address("case", **{**prefixed(of), **named, "runs": list(same.get("run", ()))})


def _chips(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chips of a case, and how many more of its verdicts and labels have none."""
    chips, labels = case["chips"], case["labels"] or []
    more = max(0, len(chips) - MOST_CHIPS) + max(0, len(labels) - MOST_CHIPS)
    return {"chips": [_chip(verdict) for verdict in chips[:MOST_CHIPS]], "labels": labels[:MOST_CHIPS], "more": more}


def _chip(verdict: Mapping[str, Any]) -> dict[str, Any]:
    chip_values = chip(verdict["dimension"], verdict["value"])
    if verdict["graded"] and verdict["value"] is not None:
        chip_values["kind"] = "number"
    return chip_values | {"title": f"{verdict['task']}: {verdict['dimension']}: {verdict['reason'] or chip_values['text']}"}


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
    ratings = tables.rows("ratings", about) if generation is not None else pl.DataFrame()
    rows = {"verdicts": others.height + ratings.height, "labels": labels.height, "replies": calls.height}
    beside = _neighbours(tables, query, case)
    body = one_page(
        kind="Case",
        heading="Prompt",
        details="Replies as they came",
        text=cut(case["text"], MOST_RAW) or "(the store has no text of this prompt)",
        pictures=_pictures(tables, case),
        chips=_chips(case)["chips"],
        calls=[_call(call) for call in calls.sort("step", "attempt", "call_id").head(_MOST_ROWS).iter_rows(named=True)],
        verdicts=_verdicts(others, ratings, case["disagree"]) if generation is not None else [],
        labels=[row | {"explanation": cut(row["explanation"])} for row in labels.head(_MOST_ROWS).iter_rows(named=True)],
        cut=[f"the first {_MOST_ROWS} of {count:,} {name}" for name, count in rows.items() if count > _MOST_ROWS],
        before=beside[0],
        after=beside[1],
    )
    back = address("run", **{**filters(query), "run": _runs(query, case)})
    return shell(f"{case['subject_model']}: {case['prompt_id']}", body, crumbs=[("Runs", "."), (str(case["run_id"]), back)])


def _given(tables: StoreTables, cases: pl.DataFrame) -> _Given:
    """Return, by picture, role and row of each file that questions showed beside it; without a row where that is unknown."""
    files = tables.rows("generations", pl.col("prompt_id").is_in(cases["prompt_id"].unique().implode()))
    if not files.filter(pl.col("model").is_in(list(MediaRole)) | pl.col("turn").is_not_null()).height:
        return {}
    known = {(row["prompt_id"], row["sha256"]): row for row in files.sort("generation_id").iter_rows(named=True)}
    runs = {name for run_id in cases["run_id"].unique() for name in (run_id, run_id.partition(RESCORED)[0])}
    about = pl.col("generation_id").is_in(cases["generation_id"].drop_nulls().unique().implode())
    calls = tables.rows("judge_calls", pl.col("run_id").is_in(runs) & about & pl.col("shown").is_not_null()).sort("call_id")
    prompts = dict(cases.select("generation_id", "prompt_id").iter_rows())
    by_picture: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
    for generation, text in calls.select("generation_id", "shown").iter_rows():
        rows = {each: known.get((prompts[generation], each[1]), {}) for each in given_files(text)}
        by_picture.setdefault(generation, {}).update(rows)
    return {name: [(role.replace("_", " "), row) for (role, _), row in rows.items()] for name, rows in by_picture.items()}


def _pictures(tables: StoreTables, case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the questions of a case showed beside the picture that was judged, each with its role, and that picture."""
    if case["sample"] is None:
        return []
    own = tables.rows("generations", pl.col("generation_id") == case["generation_id"])
    is_video = MediaKind.VIDEO in own["kind"]
    judged = picture(case["generation_id"], "large", video=is_video) | {"alt": "The picture that was judged"}
    files = _given(tables, pl.DataFrame({name: [case[name]] for name in CASE})).get(case["generation_id"], [])[:_MOST_GIVEN]
    if not files:
        return [judged]
    beside = [
        picture(row.get("generation_id"), "large", name, video=row.get("kind") == MediaKind.VIDEO) | {"alt": f"The {name}"}
        for name, row in files
    ]
    return [*beside, judged | {"name": "result"}]


def _neighbours(tables: StoreTables, query: Query, case: Mapping[str, Any]) -> tuple[str, str]:
    """Return the addresses of the case before and the one after, in the order of the page that led here."""
    runs, same = _runs(query, case), filters(query)
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
    before, after = ("" if row is None else _case_address(row, {**same, "run": runs}) for row in around)
    return before, after


def _runs(query: Query, case: Mapping[str, Any]) -> list[str]:
    """Return the runs of the page that led to a case."""
    return list(query.get("runs") or [case["run_id"]])[:MOST_RUNS]


def _verdicts(scores: pl.DataFrame, ratings: pl.DataFrame, disagree: Sequence[str]) -> list[dict[str, Any]]:
    """Return for each question the verdicts of every judge in every run and of people; those that differ first.

    Args:
        scores: of one picture.
        ratings: of the same picture.
        disagree: questions in which people and judges see it differently.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in scores.with_columns(person=PEOPLE).sort("task", "dimension", "person", "judge", "run_id").iter_rows(named=True):
        groups.setdefault((row["task"], row["dimension"]), []).append(
            {
                "judge": f"{row['judge']} {row['judge_version'] or ''}".strip(),
                "run": row["run_id"],
                "value": None if row["person"] else row["value"],
                "text": "–" if row["value"] is None else value_text(row["value"]),
                "reason": row["unscored_reason"] or "",
                "person": row["person"],
            }
        )
    for row in ratings.sort("dimension", "rater_id", "rating_id").iter_rows(named=True) if ratings.height else ():
        reason = f"of {value_text(row['scale_min'])} to {value_text(row['scale_max'])}"
        rating = {"judge": row["rater_id"], "run": "", "value": None, "text": value_text(row["value"])}
        groups.setdefault(("rating", row["dimension"]), []).append(rating | {"reason": reason, "person": True})
    rows: list[dict[str, Any]] = []
    for (task, dimension), says in groups.items():
        judged = {one["value"] for one in says} - {None}
        rows.append({"task": task, "dimension": dimension, "says": says, "differs": len(judged) > 1 or dimension in disagree})
    rows.sort(key=lambda row: (not row["differs"], row["dimension"]))
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
    cut = len(text) - MOST_RAW
    return {
        "step": call["step"] or "question",
        "judge": call["judge"],
        "facts": " · ".join(filter(None, facts)),
        "text": text[:MOST_RAW],
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
    points = [PlotRow(*row) for row in board.select("model", "rating", "ci_low", "ci_high").iter_rows()]
    known, unknown = ([point for point in points if (point.low is None) is missing] for missing in (False, True))
    between = [PlotRow("No interval is known:", None)] if known and unknown else []
    first = board.row(0, named=True)
    battles = tables.rows("battles", pl.lit(value=True), "model_a", "model_b")
    fought = {*battles["model_a"], *battles["model_b"]}
    rows = [
        {
            "cells": (*numbers.rating_cells(row), numbers.count(row["matches"]), numbers.share(row["win_rate"])),
            "battles": address("battles", is_models=[row["model"]]) if row["model"] in fought else "",
        }
        for row in board.iter_rows(named=True)
    ]
    body = page_template(HERE, "board.html.jinja").render(
        plot=ForestPlot("Elo", [*known, *between, *unknown], description=first["ci_method"] or "").html(),
        rows=rows,
        about=f"Intervals: {first['ci_method'] or 'none'}.",
        confidence=f"{100 * (first['confidence'] or 0.95):.4g}% interval",
    )
    return shell(str(first["board"]), body, crumbs=[("Runs", ".")])
