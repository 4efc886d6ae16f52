"""The gallery of one suite as a fragment of a page: pictures, verdicts, replies, and filters in plain JavaScript.

All words of prompts, models, judges and replies are text of strangers. They are escaped by the template, control characters
are made visible, and the page runs no script but its own, named by its hash.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from salon_bench.report.gathering import Card, PromptGroup, RunColumn, ShownReply, SuiteGallery
from salon_bench.report.thumbnails import Thumbnail
from salon_console.numbers import counted
from salon_console.page import Fragment
from salon_console.templates import page_template, read_text
from salon_taxonomy.visible_text import visible

_HERE: Final = "salon_bench.report"


def plain(text: str) -> str:
    """Return the text as a page shows it; a script of the page compares it."""
    return visible(text, prose=True)


def value_text(value: float) -> str:
    """Return a number of a card with at most four digits after the point.

    Example:
        >>> value_text(8.0), value_text(0.33333333)
        ('8', '0.3333')
    """
    return f"{value:.4f}".rstrip("0").rstrip(".")


def column_names(columns: Iterable[RunColumn]) -> list[str]:
    """Return the name of each column: its model, with judge or run where models repeat."""
    listed = list(columns)
    names = [each.model for each in listed]
    for more in (
        [f"{each.model} · {each.judge}" for each in listed],
        [f"{each.model} · {each.judge} · {each.run.run_id}" for each in listed],
    ):
        twice = {name for name, count in Counter(names).items() if count > 1}
        names = [longer if name in twice else name for name, longer in zip(names, more, strict=True)]
    return [plain(name) for name in names]


def gallery_fragment(gallery: SuiteGallery) -> Fragment:
    """Return the HTML of a gallery, with the style and the script that all galleries of a page share."""
    names = column_names(gallery.columns)
    cards = [card for prompt in gallery.prompts for card in prompt.cards]
    labels = Counter(name for card in cards for name in {plain(label.name) for label in card.labels})
    reasons = Counter(reason for card in cards for reason in _reasons(card))
    html = page_template(_HERE, "gallery.html.jinja").render(
        suite=plain(gallery.suite),
        columns=names,
        notes=list(_notes(gallery)),
        labels=sorted(labels.items()),
        reasons=sorted(reasons.items()),
        unscored=sum(bool(_reasons(card)) for card in cards),
        dimensions=_dimensions(cards),
        prompts=[_prompt(prompt, names) for prompt in gallery.prompts],
    )
    return Fragment(html, style=read_text(_HERE, "gallery.css"), script=read_text(_HERE, "gallery.js"))


def _notes(gallery: SuiteGallery) -> Iterable[str]:
    if gallery.left_out:
        yield f"{counted(gallery.left_out, 'more picture')} not shown (--pictures)."
    if gallery.elsewhere:
        yield f"{_replies(gallery.elsewhere)} about several pictures at once (or none) on no card; see the table judge_calls."
    if len({(each.judge, each.judge_version) for each in gallery.columns}) > 1:
        yield "Judge versions differ between these runs: what parts them may be the judges, not the models."


def _prompt(prompt: PromptGroup, names: list[str]) -> dict[str, Any]:
    tasks = plain(", ".join(prompt.tasks))
    cells = [
        {
            "column": column,
            "cards": [
                _card(card, prompt, name, several_tasks=len(prompt.tasks) > 1) for card in prompt.cards if card.column == column
            ],
        }
        for column, name in enumerate(names)
    ]
    text = "(the store holds no text of this prompt)" if prompt.text is None else plain(prompt.text)
    return {
        "id": plain(prompt.prompt_id),
        "tasks": tasks,
        "text": text,
        "remark": plain(prompt.remark),
        "cells": cells,
        "wide": any(card.names for card in prompt.cards),
    }


def _card(card: Card, prompt: PromptGroup, name: str, *, several_tasks: bool) -> dict[str, Any]:
    numbers = [
        {
            "name": plain(f"{each.task}: {each.dimension}" if several_tasks else each.dimension),
            "value": None if each.value is None else value_text(each.value),
            "reason": None if each.reason is None else plain(each.reason),
        }
        for each in card.numbers
    ]
    who = f"{name}, sample {card.sample}" if card.sample else name
    who += f", turn {card.turn}" if card.turn else ""
    return {
        "pictures": [
            {
                "name": plain(card.names[place]) if card.names else "",
                **(
                    {"url": picture.url, "width": picture.width, "height": picture.height}
                    if isinstance(picture, Thumbnail)
                    else {"url": None, "missing": plain(picture.why)}
                ),
            }
            for place, picture in enumerate(card.pictures)
        ],
        "title": f"{who}: picture for {plain(prompt.prompt_id)}",
        "who": who,
        "numbers": numbers,
        "labels": [
            {"name": plain(each.name), "explanation": each.explanation and plain(each.explanation)} for each in card.labels
        ],
        "replies_title": _replies(len(card.replies)),
        "replies": [_reply(each) for each in card.replies],
        "labels_json": json.dumps(sorted({plain(each.name) for each in card.labels})),
        "reasons_json": json.dumps(_reasons(card)),
        "scores_json": json.dumps([[plain(each.dimension), each.value] for each in card.numbers if each.value is not None]),
    }


def _reply(reply: ShownReply) -> dict[str, Any]:
    facts = [reply.step, f"attempt {reply.attempt}" if reply.attempt > 1 else "", "" if reply.status == "ok" else reply.status]
    facts += [reply.parse_status or "", reply.error or ""]
    return {
        "about": plain(" · ".join(filter(None, facts))),
        "text": plain(reply.text) if reply.text else "",
        "cut": f"… {reply.cut:,} more characters are in the store." if reply.cut else "",
    }


def _replies(number: int) -> str:
    return f"{number:,} {'reply' if number == 1 else 'replies'}"


def _reasons(card: Card) -> list[str]:
    return sorted({plain(each.reason) for each in card.numbers if each.reason is not None})


def _dimensions(cards: Iterable[Card]) -> list[tuple[str, str, str]]:
    """Return every dimension that has a score, with its lowest and highest."""
    values_of: dict[str, list[float]] = {}
    for card in cards:
        for number in card.numbers:
            if number.value is not None:
                values_of.setdefault(plain(number.dimension), []).append(number.value)
    return [(name, value_text(min(values)), value_text(max(values))) for name, values in sorted(values_of.items())]
