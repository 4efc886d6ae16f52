"""One or several training runs as one HTML page that works without a network and runs no script.

Runs stand side by side: one chart holds all of them, on one axis. Words of logs, models and folders are text of strangers; the
templates escape them, and what acts unseen is made visible.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from salon_console.line_chart import Curve, LegendEntry, LineChart, Threshold, Upright, shown, value_text
from salon_console.page import Block, Fragment, PageSection, Table, render_page
from salon_console.templates import page_template, read_text
from salon_train.report.curve_table import CurveGroup, colours, curve_groups
from salon_train.report.folders import STAGES, ReportedRun, StageRun
from salon_train.report.history import HELD_OUT, MONITOR, History, last_value
from salon_train.report.samples import Sample, read_samples
from salon_train.report.settings import is_usual, says, setting_text, settings_of
from salon_train.report.thresholds import drawn_levels, thresholds_of

_MOST_WARNINGS: Final = 60
_MOST_UPRIGHTS: Final = 12
_MOST_REWARDS: Final = 20
_LONGEST_TEXT: Final = 3000
_LONGEST_SENTENCE: Final = 1000
_LEAD: Final = (
    "What was trained, how it went, and what it wrote. A rising reward is no evidence that a model gets better: look at F1 on "
    "held-out pictures, at the share of answers that say normal, and at their lengths."
)
_LEAD_OF_PICTURES: Final = (
    "What was trained, how it went, and what it drew. A rising reward is no evidence that pictures get better: look at the "
    "prompts held out, at the pictures themselves, and at how much two of one prompt still differ."
)


def training_page(runs: Sequence[ReportedRun], *, title: str = "") -> str:
    """Return the page.

    Args:
        runs: as :func:`~.folders.read_runs` has them.
        title: its heading; empty: the runs' names.

    Raises:
        InputError: as :func:`~.samples.read_samples` and :func:`~.thresholds.thresholds_of`.
    """
    names = ", ".join(shown(run.name) for run in runs)
    sections = [
        PageSection("In short", tuple(_in_short(runs))),
        PageSection("Settings", tuple(_settings(runs))),
        *(
            PageSection(f"{heading} ({stage})", tuple(_curves(runs, stage)))
            for stage, heading in STAGES.items()
            if _of(runs, stage)
        ),
    ]
    if drawn := list(_pictures(runs)):
        sections.append(PageSection("What the policy drew", tuple(drawn)))
    samples = list(_samples(runs))
    if samples:
        sections.append(PageSection("What the policy wrote", tuple(samples)))
    sections.append(PageSection("Last numbers", tuple(_last_numbers(runs))))
    facts = [("Folder" if len(runs) == 1 else shown(run.name), shown(str(run.folder), _LONGEST_SENTENCE)) for run in runs]
    lead = _LEAD_OF_PICTURES if all(run.stages.keys() == {"image"} for run in runs) else _LEAD
    return render_page(shown(title) or f"Training: {names}", lead=lead, facts=facts, sections=sections)


def _of(runs: Sequence[ReportedRun], stage: str) -> list[tuple[int, ReportedRun, StageRun]]:
    """Return the runs that have a stage, with their places."""
    return [(place, run, run.stages[stage]) for place, run in enumerate(runs) if stage in run.stages]


def _name(runs: Sequence[ReportedRun], run: ReportedRun, stage: str) -> str:
    return f"{shown(run.name)}, {stage}" if len(runs) > 1 else stage


def _in_short(runs: Sequence[ReportedRun]) -> Iterator[Block]:
    standing = []
    for run in runs:
        for stage, of in run.stages.items():
            history = of.history
            more = [f"F1 macro on held-out pictures: {first} → {last}." for first, last in _held_out(history)]
            more += [moment.words for moment in history.moments if moment.words != history.sentence]
            more += [_spent(history)] if history.seconds else []
            more += [f"Line {number:,} of its log was cut off, and is left out." for number in history.torn]
            standing.append(
                {
                    "name": f"{shown(run.name)}: {stage}" if len(runs) > 1 else stage,
                    "state": str(history.state),
                    "words": shown(history.sentence, _LONGEST_SENTENCE),
                    "more": [shown(words, _LONGEST_SENTENCE) for words in more],
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
            shown(each.monitor),
            shown(each.verdict),
            value_text(each.value),
            value_text(each.threshold),
            shown(each.detail, _LONGEST_SENTENCE),
        ]
        for run, stage, each in warned[:_MOST_WARNINGS]
    ]
    cut = f"; the first {_MOST_WARNINGS} of {len(warned):,}" if len(warned) > _MOST_WARNINGS else ""
    columns = ("Stage", "Step", "Monitor", "Says", "Number", "Threshold", "Detail")
    yield Table(columns, rows, frozenset({"Step", "Number", "Threshold"}), f"What the monitors warned of, as it began{cut}")


def _held_out(history: History) -> Iterator[tuple[str, str]]:
    known = [value for _, value in sorted(history.curves.get(f"{HELD_OUT}f1_macro", {}).items()) if value is not None]
    if len(known) > 1:
        yield value_text(known[0]), value_text(known[-1])


def _spent(history: History) -> str:
    minutes, seconds = divmod(round(history.seconds), 60)
    hours, minutes = divmod(minutes, 60)
    spent = f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    return f"It took {spent}."


def _settings(runs: Sequence[ReportedRun]) -> Iterator[Block]:
    told = [settings_of(run) for run in runs]
    if not any(told):
        yield "The folders do not say what the runs were told."
        return
    keys = sorted({key for settings in told for key in settings})

    def row(key: str, of: Sequence[Mapping[str, object]]) -> list[str]:
        return [shown(key), *(shown(setting_text(each[key]), _LONGEST_SENTENCE) if key in each else "missing" for each in of)]

    other = [key for key in keys if _differs(key, runs, told)]
    changed = [key for key in keys if key not in other and not all(is_usual(key, each[key]) for each in told if key in each)]
    usual = [key for key in keys if key not in other and key not in changed]
    if len(runs) > 1 and other:
        columns = ("Setting", *(f"{shown(run.name)} " for run in runs))  # the space: a run may be called Setting
        yield Table(columns, [row(key, told) for key in other], caption="Settings that differ between these runs")
    elif len(runs) > 1:
        yield "These runs have the same settings."
    columns = ("Setting", "Value")
    if changed:
        caption = "Settings that are not the usual ones" + (", the same in all runs" if len(runs) > 1 else "")
        yield Table(columns, [row(key, [_known(key, told)]) for key in changed], caption=caption)
    if usual:
        yield _fragment("folded", f"{len(usual)} settings as usual", columns, [row(key, [_known(key, told)]) for key in usual])


def _differs(key: str, runs: Sequence[ReportedRun], told: Sequence[Mapping[str, object]]) -> bool:
    """Return whether the settings of the runs differ; a missing setting differs from any other."""
    texts = [setting_text(each[key]) if key in each else None for each in told]
    return len({text for run, text in zip(runs, texts, strict=True) if text is not None or says(run, key)}) > 1


def _known(key: str, told: Sequence[Mapping[str, object]]) -> Mapping[str, object]:
    """Return the settings of the first run that was told this one."""
    return next(each for each in told if key in each)


def _curves(runs: Sequence[ReportedRun], stage: str) -> Iterator[Block]:
    present = _of(runs, stage)
    histories = [of.history for _, _, of in present]
    names = list(dict.fromkeys(name for history in histories for name in history.curves))
    reach = max(history.step for history in histories)
    uprights = [
        Upright(moment.step, "ended" if moment.what == "ended" else "resumed", _whose(runs, run, moment.words))
        for _, run, of in present
        for moment in of.history.moments
    ]
    across = "Across: optimizer steps done."
    if uprights:
        words = "; ".join(shown(upright.label.rstrip("."), 240) for upright in uprights[:_MOST_UPRIGHTS])
        more = f"; and {len(uprights) - _MOST_UPRIGHTS} more" if len(uprights) > _MOST_UPRIGHTS else ""
        across += f" Upright lines: {words}{more}."
    yield across
    heading, measured = "", False
    charts: list[dict[str, Any]] = []
    quiet: list[str] = []
    for group in curve_groups(names):
        if group.heading != heading:
            if charts or quiet:
                yield _fragment("curves", heading, charts, quiet)
            heading, charts, quiet = group.heading, [], []
        values = [value for history in histories for name in group.names for value in history.curves.get(name, {}).values()]
        known = [value for value in values if value is not None]
        if not known:
            quiet.append(f"{shown(group.title)}: no number yet.")
        elif group.quiet and not any(known):
            quiet.append(f"{shown(group.title)}: 0 throughout.")
        else:
            chart = _chart(runs, present, group, reach, uprights)
            note = f"{group.left_out} more stand under the last numbers." if group.left_out else ""
            charts.append({"title": chart.title, "note": note, "drawing": chart.html(), "numbers": chart.table()})
        measured = True
    if charts or quiet:
        yield _fragment("curves", heading, charts, quiet)
    if not measured:
        yield "Nothing was measured yet."


def _whose(runs: Sequence[ReportedRun], run: ReportedRun, words: str) -> str:
    first = words.splitlines()[0] if words else ""
    return f"{run.name}: {first}" if len(runs) > 1 else first


def _chart(
    runs: Sequence[ReportedRun],
    present: Sequence[tuple[int, ReportedRun, StageRun]],
    group: CurveGroup,
    reach: int,
    uprights: Sequence[Upright],
) -> LineChart:
    """Return one group of curves: of one name, runs have colours; of several, names have colours and runs have dashes."""
    several, one = len(runs) > 1, len(group.names) == 1
    colour_of = dict(zip(group.names, colours(group.names.values()), strict=True))
    lines = []
    for run_number, run, of in present:
        for number, (name, called) in enumerate(group.names.items()):
            if curve := of.history.curves.get(name):
                label = called if not several else run.name if one else f"{called}, {run.name}"
                raised = of.history.alarms.get(name.removeprefix(MONITOR), {}) if name.startswith(MONITOR) else {}
                alarms = {float(step): kind for step, kind in raised.items()}
                points = {float(step): value for step, value in curve.items()}
                lines.append(
                    Curve(
                        label,
                        points,
                        run_number if one else colour_of[name],
                        0 if one else run_number + number // 8,
                        alarms,
                    )
                )
    keys = (
        []
        if one
        else [LegendEntry(called, colour_of[name], number // 8) for number, (name, called) in enumerate(group.names.items())]
    )
    if several:
        keys += [
            LegendEntry(run.name, run_number, 0) if one else LegendEntry(run.name, None, run_number)
            for run_number, run, _ in present
        ]
    levels: list[Threshold] = []
    if group.heading == "Monitors":
        (monitor,) = group.names.values()
        held = [thresholds_of(of).get(monitor) for _, _, of in present]
        drawn = (Threshold(value, kind) for each in held if each for kind, value in drawn_levels(monitor, each))
        levels = list(dict.fromkeys(drawn))
    return LineChart(group.title, lines, keys, levels, uprights, (0, max(1, reach)))


def _pictures(runs: Sequence[ReportedRun]) -> Iterator[Block]:
    """Show the first, a middle and the last sheet of each run's pictures."""
    template = page_template("salon_train.report", "sheet.html.jinja")
    for _, run, of in _of(runs, "image"):
        sheets = sorted((of.folder / "pictures").glob("step-*.png"))
        for path in dict.fromkeys(sheets[place] for place in (0, len(sheets) // 2, -1) if sheets):
            words = f"{_name(runs, run, 'image')}: step {int(path.stem.removeprefix('step-')):,}"
            encoded = base64.b64encode(path.read_bytes()).decode()
            yield Fragment(str(template.render(words=words, encoded=encoded)))


def _samples(runs: Sequence[ReportedRun]) -> Iterator[Block]:
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
        "bucket": shown(sample.bucket),
        "reward": value_text(sample.reward),
        "tokens": sample.tokens,
        "text": shown(sample.text[:_LONGEST_TEXT], _LONGEST_TEXT),
        "cut": f"… {cut:,} more characters" if cut > 0 else "",
        "truth": shown(sample.truth, _LONGEST_TEXT),
        "rewards": [(shown(name), value_text(value)) for name, value in list(sample.rewards.items())[:_MOST_REWARDS]],
    }


def _last_numbers(runs: Sequence[ReportedRun]) -> Iterable[Block]:
    """For each stage: what every curve began and ended with."""
    for stage, heading in STAGES.items():
        present = _of(runs, stage)
        names = list(dict.fromkeys(name for _, _, of in present for name in of.history.curves))
        if not names:
            continue
        names.sort(key=lambda name: (not name.startswith(HELD_OUT), "reward" not in name, name.startswith(MONITOR)))
        columns = ["Number"]
        for _, run, _ in present:
            before = f"{shown(run.name)}: " if len(runs) > 1 else ""
            columns += [f"{before}first", f"{before}last"]
        if len(runs) == 1:
            columns += ["lowest", "highest"]
        rows = []
        for name in names:
            cells = [shown(name)]
            for _, _, of in present:
                known = [value for _, value in sorted(of.history.curves.get(name, {}).items()) if value is not None]
                cells += [value_text(known[0] if known else None), value_text(last_value(of.history.curves.get(name, {})))]
                if len(runs) == 1:
                    cells += [value_text(min(known, default=None)), value_text(max(known, default=None))]
            rows.append(cells)
        yield Table(tuple(columns), rows, frozenset(columns[1:]), f"{heading}: every number of the log")


def _fragment(macro: str, *values: object) -> Fragment:
    html = getattr(page_template("salon_train.report", "report.html.jinja").module, macro)(*values)
    return Fragment(str(html), style=read_text("salon_train.report", "report.css"))
