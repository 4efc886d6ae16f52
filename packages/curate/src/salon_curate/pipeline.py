"""A pipeline in TOML: stages in order, and named selections.

judge = "judge.toml"             # of every stage below that names none

[[stage]]
use = "look"                     # a function declared with @stage; further keys: name, parameters

[[stage]]
ask = "quality"                                    # a judged stage; options = {…} go to the ask
judge = "vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000"
when = "sharpness >= 80"                           # only these rows …
explore = 0.02                                     # … and a random share of the others

[selection.default]
sharp = "sharpness >= 80"
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, validate_call

from salon_curate.asks import ASKS
from salon_curate.judging import judge_stage
from salon_curate.stages import Stage, stage_named
from salon_judges.asking.spending import RunLimits
from salon_judges.clients import open_judge
from salon_judges.clients.specification import read_settings
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Question, Reply
from salon_taxonomy.toml_files import read_toml

PIPELINE: Final = "pipeline.toml"
BUILT_IN: Final = {
    "look": "salon_curate.measures:look",
    "watch": "salon_curate.clips:watch",
    "cut": "salon_curate.cutting:cut",
    "edit": "salon_curate.edits:edit",
    "fields": "salon_curate.measures:fields",
    "duplicates": "salon_curate.duplicates_and_splits:duplicates",
    "stretches": "salon_curate.duplicates_and_splits:stretches",
    "split": "salon_curate.duplicates_and_splits:split",
}
"""Stages of Salon's own by the word in ``pipeline.toml``."""
LOOK: Final = '[[stage]]\nuse = "look"\n'


class StageTable(BaseModel):
    """One ``[[stage]]``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    use: str | None = None
    ask: str | None = None
    name: str | None = Field(default=None, pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    parameters: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    judge: str | None = None
    when: str | None = None
    explore: float = Field(default=0.0, ge=0, le=1)
    seed: int = Field(default=0, ge=0)
    re_asks: int = Field(default=1, ge=0)
    concurrency: int = Field(default=16, ge=1)
    prefix: str = Field(default="", pattern=r"^[A-Za-z0-9_]*$")


class PipelineFile(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    judge: str | None = None
    stage: list[StageTable] = Field(default_factory=list)
    selection: dict[str, dict[str, str]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline that was read: its stages, and its selections as name → conditions."""

    stages: tuple[Stage, ...]
    selections: Mapping[str, Mapping[str, str]]


def judge_line(specification: str | None) -> str:
    """Return the line that names the judge of all stages; empty for None.

    Raises:
        InputError: there is no such kind of judge, or its file cannot be read.
    """
    if specification is None:
        return ""
    read_settings(specification)
    return f"judge = {json.dumps(specification, ensure_ascii=False)}\n\n"


class ClosedJudge:
    """A judge that is named but not opened: enough to find parts, not to ask."""

    def __init__(self, name: str, version: str) -> None:
        self.name, self.version = name, version

    async def ask(self, question: Question) -> Reply:
        """Refuse: a command that only reads asks nothing."""
        raise InputError("the judge is not open", value=self.name, hint="Ask through salon curate run.")


def read_pipeline(
    path: Path,
    *,
    environment: Mapping[str, str],
    limits: RunLimits | None = None,
    asks: bool = False,
    now: tuple[str, str] | None = None,
) -> Pipeline:
    """Read a pipeline.

    Args:
        path: the TOML file.
        environment: where secrets of judges are found.
        limits: of each judged stage in this run.
        asks: the judges will be asked; False reads a pipeline although a judge's secret is missing.
        now: ``(stage, judge)``: this stage asks that judge instead of the file's.

    Raises:
        InputError: the file cannot be read, has an unknown key, or names an unknown stage, ask, judge or option.
    """
    if not path.exists():
        raise InputError("there is no pipeline", source=path, hint="salon curate init writes one.")
    values = read_toml(path)
    try:
        document = PipelineFile.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise InputError(
            f"{fault['msg']}, got", source=path, key=".".join(map(str, fault["loc"])), value=fault["input"]
        ) from error
    try:
        stages = tuple(_stage(table, environment, limits, document.judge, asks, now) for table in document.stage)
    except InputError as error:
        raise error.at(source=path) from error
    return Pipeline(stages, document.selection)


def _refuse_unused(table: StageTable) -> None:
    """Refuse a key that would be ignored."""
    set_fields = table.model_fields_set
    if table.use is not None:
        unused, why = set_fields - {"use", "name", "parameters"}, "a stage with `use`"
    else:
        unused, why = set_fields & {"parameters"}, "a stage with `ask`; its settings are `options`"
        if table.when is None and not unused:
            unused, why = set_fields & {"explore"}, "a stage without `when`, which asks about all rows"
        if not table.explore and not unused:
            unused, why = set_fields & {"seed"}, "a stage without `explore`"
    if unused:
        key = sorted(unused)[0]
        raise InputError(f"has no effect on {why}:", key=key, value=table.name or table.use or table.ask, hint="Leave it out.")


def _stage(
    table: StageTable,
    environment: Mapping[str, str],
    limits: RunLimits | None,
    judge: str | None,
    asks: bool,
    now: tuple[str, str] | None,
) -> Stage:
    if (table.use is None) == (table.ask is None):
        raise InputError("a stage has either use or ask", key="stage", value=table.name)
    _refuse_unused(table)
    try:
        digest("stage", {"parameters": table.parameters, "options": table.options})
    except (TypeError, ValueError) as error:
        raise InputError(f"must be texts, finite numbers, lists and tables ({error}):", key="stage",
                         value=table.name or table.use or table.ask) from error  # fmt: skip
    if table.use is not None:
        where = BUILT_IN.get(table.use, table.use)
        stage = stage_named(where, table.name, table.parameters)
        stage.check_parameters()
        return stage
    if table.ask not in ASKS:
        raise InputError("unknown ask", key="ask", value=table.ask, allowed=ASKS)
    specification = table.judge or judge
    if specification is None:
        raise InputError("a judged stage needs a judge", key="judge", value=table.ask,
                         hint='Add judge = "KIND:MODEL@URL", in the first line of the file for all stages.')  # fmt: skip
    try:
        asked = validate_call(config=ConfigDict(strict=True))(ASKS[str(table.ask)])(**table.options)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, ("options", *fault["loc"])))
        raise InputError(f"does not take these options ({fault['msg']}):", key=where, value=table.ask) from error
    if now is not None and now[0] == (table.name or f"{table.prefix}{asked.name}"):
        specification = now[1]
    try:
        opened: Judge = open_judge(specification, environment)
    except InputError:
        if asks:
            raise
        settings = read_settings(specification)
        opened = ClosedJudge(settings.title, settings.version)
    return judge_stage(
        asked, opened, name=table.name, when=table.when, explore=table.explore, seed=table.seed, re_asks=table.re_asks,
        concurrency=table.concurrency, prefix=table.prefix, limits=limits,
    )  # fmt: skip
