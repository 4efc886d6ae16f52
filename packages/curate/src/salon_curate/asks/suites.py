"""The questions of an installed suite as an ask."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from salon_curate.asks.ask import PictureAsk, plain_name
from salon_curate.judging import Examination
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.extras import extra
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import Prompt, Score
from salon_taxonomy.verdict import Reason, Unscored


def suite(name: str, dimensions: Sequence[str], facts: Mapping[str, str] | None = None) -> PictureAsk:
    """Return the ask that examines each picture as a suite does: one column ``<suite>_<dimension>`` for each dimension.

    Args:
        name: of an installed suite that examines one picture at a time (magicbench, prism, magicdata), or a suite's file.
        dimensions: of the suite's scores; one that the suite does not score is null with the reason.
        facts: the suite's fact → the column that contains it, or ``=value`` for all rows: ``{"track": "=style"}``.

    Raises:
        InputError: there is no such suite, no dimension is named; when asked: the suite needs a fact that is not given.
    """
    if not dimensions:
        raise InputError("name the suite's dimensions", column="dimensions", value=list(dimensions))
    suites = extra("salon_bench.suites", "suites", "salon-curate")
    named = suites.suite_named(name)
    fact_columns = dict(facts or {})
    columns = tuple(column for column in fact_columns.values() if not column.startswith("="))
    prefix = plain_name(named.name)
    targets = {dimension: f"{prefix}_{plain_name(dimension)}" for dimension in dimensions}

    def walk(row: Mapping[str, Any], image: Media) -> Examination:
        prompt = Prompt(prompt_id=row["key"], suite=named.name, text=row["prompt"] or "-")
        known = {fact: column[1:] if column.startswith("=") else row[column] for fact, column in fact_columns.items()}
        case = suites.Case(row["key"], named.name, "curate", prompt, facts=known)
        case = replace(case, media=(image,), generation_ids=(row["key"],), context=suites.RunContext("curate", "judge", "1"))
        try:
            records = yield from named.examine(case)
        except KeyError as error:
            if error.args[0] in known:
                raise
            hint = f'options = {{ facts = {{ {error.args[0]} = "COLUMN" }} }}, or "=value" for all rows'
            raise InputError(
                "the suite needs the fact", source=named.name, value=error.args[0], found=known, hint=hint
            ) from error
        values: dict[str, Any] = {
            targets[dimension]: Unscored(Reason.NOT_REPORTED, f"the suite has no score of {dimension}")
            for dimension in dimensions
        }
        for record in records:
            if isinstance(record, Score) and record.dimension in targets:
                missing = Unscored(Reason(record.unscored_reason or Reason.NOT_REPORTED), f"{record.dimension} has no score")
                values[targets[record.dimension]] = missing if record.value is None else record.value
        return values

    options: dict[str, Any] = {
        "suite": named.name,
        "version": named.version,
        "dimensions": list(dimensions),
        "facts": fact_columns,
    }
    version = digest("curate ask", options)
    return PictureAsk(prefix, version, ("prompt", *columns), dict.fromkeys(targets.values(), pl.Float64), walk)
