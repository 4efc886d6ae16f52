"""How a prompt of each track is drawn from its pools: the recipes of PRISM-Bench, appendix C.1.

A recipe is given the prompt's number within the track and its draws, and returns the prompt in both languages. What the
paper spreads evenly (two prompts for each of 25 styles, one to three entities, emotions of every strength) follows from
the number; everything else is drawn.
"""

from collections.abc import Callable, Mapping
from itertools import chain
from types import MappingProxyType

from salon_curate.construction.prism_prompts.draws import Draws
from salon_curate.construction.prism_prompts.pools import Entry, pool, pools, sentence, things
from salon_judges.formats.prism_tracks import Track


def imagination(number: int, draws: Draws) -> Entry:
    """Return one idea, or every other time two of different categories, in a setting."""
    first, second = draws.sample(pools("imagination", "ideas"), 2)
    parts = {"idea": draws.pick(first), "other": draws.pick(second), "setting": _drawn("imagination", "settings", draws)}
    return _capital(_filled(sentence("imagination", "two" if number % 2 else "one"), parts))


def entity(number: int, draws: Draws) -> Entry:
    """Return one, two or three entities of different kinds, in turn, in a scene."""
    kinds = draws.sample(pools("entity", "kinds"), 3)
    parts = {place: draws.pick(kind) for place, kind in zip("abc", kinds, strict=True)}
    parts["scene"] = _drawn("entity", "scenes", draws)
    return _capital(_filled(sentence("entity", ("one", "two", "three")[number % 3]), parts))


def text_rendering(number: int, draws: Draws) -> Entry:
    """Return a word, a phrase, a sentence or a slogan of several, in turn; its lettering, surface, view and light."""
    lengths = pools("text", "contents")
    parts = {
        "content": draws.pick(lengths[number % len(lengths)]),
        "lettering": _drawn("text", "letterings", draws),
        "surface": _drawn("text", "surfaces", draws),
        "view": _drawn("text", "views", draws),
        "light": _drawn("text", "lights", draws),
    }
    return _filled(sentence("text", "one"), parts)


def style(number: int, draws: Draws) -> Entry:
    """Return every one of the 25 styles in turn, with a subject."""
    styles = tuple(chain.from_iterable(pools("style", "styles")))
    parts = {"style": styles[number % len(styles)], "subject": _drawn("style", "subjects", draws)}
    return _filled(sentence("style", "one"), parts)


def affection(number: int, draws: Draws) -> Entry:
    """Return every one of the 24 emotions in turn: eight primary ones, each with its milder and its stronger form."""
    emotions = pool("affection", "pools", "emotions")
    names = {"subject": "subjects", "place": "places", "means": "means"}
    parts = {part: _drawn("affection", name, draws) for part, name in names.items()}
    return _capital(_filled(sentence("affection", "one"), {**parts, "emotion": emotions[number % len(emotions)]}))


def composition(number: int, draws: Draws) -> Entry:
    """Return three kinds of things with number, size and colour, where they stand to each other, and what happens to them."""
    parts = {place: _thing(thing, draws) for place, thing in zip("abc", draws.sample(things(), 3), strict=True)}
    relation = _filled(_drawn("composition", "relations", draws), parts)
    further = _filled(_drawn("composition", "further", draws), parts)
    rest = {"place": _drawn("composition", "places", draws), "interaction": _drawn("composition", "interactions", draws)}
    return _filled(sentence("composition", "one"), {**rest, "relation": relation, "further": further})


def long_text(number: int, draws: Draws) -> Entry:
    """Return a scene of ten sentences' worth of particulars."""
    left, right = draws.sample(pool("long", "pools", "sides"), 2)
    plural = {"light": "lights", "foreground": "foregrounds", "background": "backgrounds", "clothes": "clothes"}
    plural |= {"subject": "subjects", "action": "actions", "setting": "settings"}
    plural |= {"weather": "weathers", "detail": "details", "mood": "moods"}
    parts = {part: _drawn("long", name, draws) for part, name in plural.items()}
    return _filled(sentence("long", "one"), {**parts, "left": left, "right": right})


RECIPES: Mapping[Track, Callable[[int, Draws], Entry]] = MappingProxyType(
    {
        Track.IMAGINATION: imagination,
        Track.ENTITY: entity,
        Track.TEXT_RENDERING: text_rendering,
        Track.STYLE: style,
        Track.AFFECTION: affection,
        Track.COMPOSITION: composition,
        Track.LONG_TEXT: long_text,
    }
)
"""The recipe of each track."""


def _drawn(table: str, name: str, draws: Draws) -> Entry:
    return draws.pick(pool(table, "pools", name))


def _thing(entity: Mapping[str, str], draws: Draws) -> Entry:
    """So many things of one size and colour: "three small red cups"."""
    count, size, colour = (_drawn("composition", name, draws) for name in ("counts", "sizes", "colours"))
    name = (entity["one"] if count[0] == "one" else entity["many"], entity["zh"])
    measure = ("", entity["measure"])
    parts = {"count": count, "size": size, "colour": colour, "name": name, "measure": measure}
    return _filled(sentence("composition", "thing"), parts)


def _filled(sentences: Entry, parts: Mapping[str, Entry]) -> Entry:
    """Return both sentences with their places filled."""
    english, chinese = (
        text.format(**{place: entry[side] for place, entry in parts.items()}) for side, text in enumerate(sentences)
    )
    return english, chinese


def _capital(entry: Entry) -> Entry:
    return entry[0][:1].upper() + entry[0][1:], entry[1]
