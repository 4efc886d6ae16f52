"""One or several training runs as one HTML page that works without a network and runs no script.

Runs stand side by side: one chart holds all of them, on one axis. Words of logs, models and folders are text of strangers; the
templates escape them, and what acts unseen is made visible.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import jinja2

from salon_bench.report.gallery import plain
from salon_ranking.report.page import Block, Fragment, Section, Table, render_page
from salon_train.report import line_chart
from salon_train.report.curve_table import CurveGroup, curve_groups
from salon_train.report.folders import STAGES, Run, StageRun
from salon_train.report.history import HELD_OUT, MONITOR, History, last_value
from salon_train.report.line_chart import Level, Line, LineChart, Upright, value_text
from salon_train.report.samples import Sample, read_samples
from salon_train.report.settings import is_usual, setting_text, settings_of
from salon_train.report.thresholds import drawn_levels, thresholds_of

_MOST_WARNINGS: Final = 60
_MOST_UPRIGHTS: Final = 12
_LONGEST_TEXT: Final = 3000
_LEAD: Final = (
    "What was trained, how it went, and what it wrote. A rising reward is no evidence that a model gets better: look at F1 on "
    "held-out pictures, at the share of answers that say normal, and at their lengths."
)


def training_page(runs: Sequence[Run], *, title: str = "") -> str:
    """The page.

    Args:
        runs: as :func:`~.folders.read_runs` has them.
        title: its heading; empty: the runs' names.

    Raises:
        InputError: as :func:`~.samples.read_samples` and :func:`~.thresholds.thresholds_of`.
    """
    names = ", ".join(plain(run.name) for run in runs)
    sections = [
        Section("In short", tuple(_in_short(runs))),
        Section("Settings", tuple(_settings(runs))),
        *(Section(f"{heading} ({stage})", tuple(_curves(runs, stage))) for stage, heading in STAGES.items() if _of(runs, stage)),
    ]
    samples = list(_samples(runs))
    if samples:
        sections.append(Section("What the policy wrote", tuple(samples)))
    sections.append(Section("Last numbers", tuple(_last_numbers(runs))))
    facts = [("Run" if len(runs) == 1 else plain(run.name), plain(str(run.folder))) for run in runs]
    return render_page(plain(title) or f"Training: {names}", lead=_LEAD, facts=facts, sections=sections)


def _of(runs: Sequence[Run], stage: str) -> list[tuple[int, Run, StageRun]]:
    """The runs that have a stage, with their places."""
    return [(place, run, run.stages[stage]) for place, run in enumerate(runs) if stage in run.stages]


def _name(runs: Sequence[Run], run: Run, stage: str) -> str:
    return f"{plain(run.name)}, {stage}" if len(runs) > 1 else stage


def _in_short(runs: Sequence[Run]) -> Iterator[Block]:
    standing = []
    for run in runs:
        for stage, of in run.stages.items():
            history = of.history
            more = [moment.words for moment in history.moments if moment.words != history.sentence]
            more += [_spent(history)] if history.seconds else []
            more += [f"Line {number:,} of its log was cut off, and is left out." for number in history.torn]
            more += [f"F1 macro on held-out pictures: {first} → {last}." for first, last in _held_out(history)]
            standing.append(
                {
                    "name": f"{plain(run.name)}: {stage}" if len(runs) > 1 else stage,
                    "state": str(history.state),
                    "words": plain(history.sentence),
                    "more": [plain(words) for words in more],
                }
            )
    yield _fragment("standing", standing)
    warned = [(run, stage, each) for run in runs for stage, of in run.stages.items() for each in of.history.warned]
    if not warned:
        if any(name.startswith(MONITOR) for run in runs for of in run.stages.values() for name in of.history.curves):
            yield "No monitor warned."
        return
    rows = [
        [
            _name(runs, run, stage),
            f"{each.step:,}",
            plain(each.monitor),
            plain(each.verdict),
            value_text(each.value),
            value_text(each.threshold),
            plain(each.detail),
        ]
        for run, stage, each in warned[:_MOST_WARNINGS]
    ]
    more = f"; the first {_MOST_WARNINGS} of {len(warned):,}" if len(warned) > _MOST_WARNINGS else ""
    columns = ("Stage", "Step", "Monitor", "Says", "Number", "Threshold", "Detail")
    yield Table(columns, rows, frozenset({"Step", "Number", "Threshold"}), f"What the monitors warned of, as it began{more}")


def _held_out(history: History) -> Iterator[tuple[str, str]]:
    known = [value for _, value in sorted(history.curves.get(f"{HELD_OUT}f1_macro", {}).items()) if value is not None]
    if len(known) > 1:
        yield value_text(known[0]), value_text(known[-1])


def _spent(history: History) -> str:
    minutes, seconds = divmod(round(history.seconds), 60)
    hours, minutes = divmod(minutes, 60)
    spent = f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    return f"It took {spent}."


def _settings(runs: Sequence[Run]) -> Iterator[Block]:
    told = [settings_of(run) for run in runs]
    if not any(told):
        yield "The folders do not say what the runs were told."
        return
    keys = sorted({key for settings in told for key in settings})
    names = tuple(plain(run.name) for run in runs) if len(runs) > 1 else ("Value",)

    def row(key: str) -> list[str]:
        return [plain(key), *(plain(setting_text(each[key])) if key in each else "not told" for each in told)]

    other = [key for key in keys if len({setting_text(each[key]) if key in each else "" for each in told}) > 1]
    changed = [key for key in keys if key not in other and not all(is_usual(key, each[key]) for each in told if key in each)]
    usual = [key for key in keys if key not in other and key not in changed]
    columns = ("Setting", *(f"{name} " if name == "Setting" else name for name in names))
    if len(runs) > 1:
        if other:
            yield Table(columns, [row(key) for key in other], caption="Settings that differ between these runs")
        else:
            yield "These runs were told the same."
    if changed:
        caption = "Settings that are not the usual ones" + (", the same in all runs" if len(runs) > 1 else "")
        yield Table(columns, [row(key) for key in changed], caption=caption)
    if usual:
        yield _fragment("folded", f"{len(usual)} settings as usual", columns, [row(key) for key in usual])


def _curves(runs: Sequence[Run], stage: str) -> Iterator[Block]:
    present = _of(runs, stage)
    histories = [of.history for _, _, of in present]
    names = list(dict.fromkeys(name for history in histories for name in history.curves))
    reach = max(history.step for history in histories)
    uprights = [
        Upright(moment.step, "ended" if moment.what == "ended" else "resumed", _whose(runs, run, moment.words))
        for _, run, of in present
        for moment in of.history.moments
    ]
    if uprights:
        words = "; ".join(upright.label.rstrip(".") for upright in uprights[:_MOST_UPRIGHTS])
        more = f"; and {len(uprights) - _MOST_UPRIGHTS} more" if len(uprights) > _MOST_UPRIGHTS else ""
        yield f"Upright lines: {plain(words.splitlines()[0] if words else '')}{more}."
    heading, charts, quiet, said = "", [], [], False
    for group in curve_groups(names):
        if group.heading != heading:
            if charts or quiet:
                yield _fragment("curves", heading, charts, quiet)
            heading, charts, quiet = group.heading, [], []
        values = [value for history in histories for name in group.names for value in history.curves.get(name, {}).values()]
        known = [value for value in values if value is not None]
        if not known:
            quiet.append(f"{plain(group.title)}: no number yet.")
        elif group.quiet and not any(known):
            quiet.append(f"{plain(group.title)}: 0 throughout.")
        else:
            charts.append(line_chart.drawn(_chart(runs, present, group, reach, uprights)))
        said = True
    if charts or quiet:
        yield _fragment("curves", heading, charts, quiet)
    if not said:
        yield "Nothing was measured yet."


def _whose(runs: Sequence[Run], run: Run, words: str) -> str:
    first = words.splitlines()[0] if words else ""
    return f"{run.name}: {first}" if len(runs) > 1 else first


def _chart(
    runs: Sequence[Run],
    present: Sequence[tuple[int, Run, StageRun]],
    group: CurveGroup,
    reach: int,
    uprights: Sequence[Upright],
) -> LineChart:
    """One group of curves: of one name, runs have colours; of several, names have colours and runs have dashes."""
    lines = []
    several = len(runs) > 1
    for place, run, of in present:
        for number, (name, called) in enumerate(group.names.items()):
            curve = of.history.curves.get(name)
            if curve:
                label = called if not several else run.name if len(group.names) == 1 else f"{called}, {run.name}"
                colour, dash = (place, 0) if len(group.names) == 1 else (number, place + number // 8)
                alarms = of.history.alarms.get(name.removeprefix(MONITOR), {}) if name.startswith(MONITOR) else {}
                lines.append(Line(label, curve, colour, dash, alarms))
    levels: list[Level] = []
    if group.heading == "Monitors":
        (monitor,) = group.names.values()
        for _, run, of in present:
            held = thresholds_of(of).get(monitor)
            for kind, value in [] if held is None else drawn_levels(monitor, held):
                level = Level(value, kind, f"{'warns at' if kind == 'warn' else 'stops at'} {value_text(value)}")
                if level not in levels:
                    levels.append(level)
    left_out = f"{group.left_out} more stand under the last numbers." if group.left_out else ""
    return LineChart(group.title, lines, levels, uprights, (0, max(1, reach)), left_out)


def _samples(runs: Sequence[Run]) -> Iterator[Block]:
    for run in runs:
        for stage, of in run.stages.items():
            samples = read_samples(of.folder)
            steps = sorted({sample.step for sample in samples})
            for step in steps:
                cards = [_card(sample) for sample in samples if sample.step == step]
                yield _fragment("written", f"{_name(runs, run, stage)}: before step {step + 1:,}", cards)


def _card(sample: Sample) -> dict[str, Any]:
    cut = len(sample.text) - _LONGEST_TEXT
    return {
        "bucket": plain(sample.bucket),
        "reward": value_text(sample.reward),
        "tokens": sample.tokens,
        "text": plain(sample.text[:_LONGEST_TEXT]),
        "cut": f"… {cut:,} more characters" if cut > 0 else "",
        "truth": plain(sample.truth[:_LONGEST_TEXT]),
        "rewards": [(plain(name), value_text(value)) for name, value in sample.rewards.items()],
    }


def _last_numbers(runs: Sequence[Run]) -> Iterable[Block]:
    """For each stage: what every curve began and ended with."""
    for stage, heading in STAGES.items():
        present = _of(runs, stage)
        names = list(dict.fromkeys(name for _, _, of in present for name in of.history.curves))
        if not names:
            continue
        names.sort(key=lambda name: (not name.startswith(HELD_OUT), "reward" not in name, name.startswith(MONITOR)))
        columns = ["Number"]
        for _, run, _ in present:
            before = f"{plain(run.name)}: " if len(runs) > 1 else ""
            columns += [f"{before}first", f"{before}last"]
        if len(runs) == 1:
            columns += ["lowest", "highest"]
        rows = []
        for name in names:
            cells = [plain(name)]
            for _, _, of in present:
                known = [value for _, value in sorted(of.history.curves.get(name, {}).items()) if value is not None]
                cells += [value_text(known[0] if known else None), value_text(last_value(of.history.curves.get(name, {})))]
                if len(runs) == 1:
                    cells += [value_text(min(known, default=None)), value_text(max(known, default=None))]
            rows.append(cells)
        yield Table(tuple(columns), rows, frozenset(columns[1:]), f"{heading}: every number of the log")


def _fragment(macro: str, *values: object) -> Fragment:
    html = getattr(_template().module, macro)(*values)
    return Fragment(str(html), style=line_chart.style())


@cache
def _template() -> jinja2.Template:
    text = files("salon_train.report").joinpath("report.html.jinja").read_text(encoding="utf-8")
    return jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    ).from_string(text)
