"""Prompts composed from pools: fifty for each track, the same in both languages (PRISM-Bench, section 3.1 and appendix C.1).

The paper has a language model join what was drawn; here a sentence for each track does, so composing is offline, seeded and
deterministic, and the id of a translation is that of its prompt with ``-zh`` behind it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from salon_curate.construction.prism_prompts.draws import Draws
from salon_curate.construction.prism_prompts.pools import Entry, in_language
from salon_curate.construction.prism_prompts.recipes import RECIPES
from salon_judges.formats.prism_tracks import Language, Track
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError, member_of

PER_TRACK = 50
"""Composed prompts of each track in the paper."""
_TRIES = 1000


@dataclass(frozen=True, slots=True)
class PrismPrompt:
    """One prompt.

    Attributes:
        prompt_id: track, number and digest of the English text; a translation's has the same and ends in ``-zh``.
        text: the generator's prompt.
        track: whose prompt it is.
        language: of the text.
    """

    prompt_id: str
    text: str
    track: Track
    language: Language

    def as_row(self) -> dict[str, str]:
        """Return the row of a prompt file."""
        names = {"track": str(self.track), "language": str(self.language), "source": "composed"}
        return {"prompt_id": self.prompt_id, "prompt": self.text, **names}


def compose(
    language: Language | str = Language.ENGLISH,
    *,
    seed: int = 0,
    per_track: int = PER_TRACK,
    tracks: Iterable[Track] = tuple(Track),
) -> list[PrismPrompt]:
    """Compose the prompts, track by track; no two of a track are the same.

    Args:
        language: of the texts; the draws are the same for both.
        seed: another seed draws other prompts.
        per_track: how many; the paper has 50.
        tracks: which.

    Raises:
        InputError: an unknown language, a seed below 0, a number below 1, or more prompts than the pools have to give.

    Example:
        >>> english, chinese = compose("en", per_track=1), compose("zh", per_track=1)
        >>> [each.prompt_id + "-zh" for each in english] == [each.prompt_id for each in chinese]
        True
        >>> english[3].text, chinese[3].text
        ('A crowded railway station in winter, in the style of Impressionism.', '印象派风格：冬日拥挤的火车站。')
    """
    chosen = member_of(Language, language, "language")
    if seed < 0:
        raise InputError("the seed must be 0 or more, not", value=seed)
    if per_track < 1:
        raise InputError("at least one prompt per track, not", value=per_track)
    return [
        PrismPrompt(_id(track, number, entry, chosen), in_language(entry, chosen), track, chosen)
        for track in tracks
        for number, entry in enumerate(_entries(track, seed, per_track), 1)
    ]


def _id(track: Track, number: int, entry: Entry, language: Language) -> str:
    return f"{track}-{number:03d}-{digest('prism prompt', entry[0], length=6)}{language.id_ending}"


def _entries(track: Track, seed: int, number: int) -> Iterator[Entry]:
    """Yield different prompts of one track, in both languages."""
    seen: set[str] = set()
    for entry_number in range(number):
        for attempt in range(_TRIES):
            entry = RECIPES[track](entry_number, Draws(f"{seed}/{track}/{entry_number}/{attempt}"))
            if entry[0] not in seen:
                break
        else:
            hint = "Ask for fewer, or compose with several seeds."
            raise InputError(
                f"after {len(seen)} different prompts the pools of {track} give no new one; wanted", value=number, hint=hint
            )
        seen.add(entry[0])
        yield entry
