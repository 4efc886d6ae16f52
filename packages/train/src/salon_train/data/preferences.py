"""Read preference data: the pairs of ``salon votes pairs``, or any table with a prompt, a chosen and a rejected picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from salon_console.table_rows import TableRow, table_rows
from salon_ranking.preferences import comparable_text
from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.picture_decoding import DEFAULT_LIMITS, decode
from salon_taxonomy.verdict import Unscored

if TYPE_CHECKING:
    from PIL.Image import Image

SPLITS: Final = ("train", "test")
SIDES: Final = ("chosen", "rejected")
_MOST_VOTES: Final = 1e12
_VOTES: Final = ("votes_chosen", "votes_rejected", "ties")


@dataclass(frozen=True, slots=True)
class Preference:
    """One pair of pictures.

    Attributes:
        prompt: its text.
        chosen, rejected: the files.
        votes: for the chosen, for the rejected, for neither.
        split: ``train`` or ``test``.
    """

    prompt: str
    chosen: Path
    rejected: Path
    votes: tuple[float, float, float]
    split: str


def read_preferences(file: Path) -> list[Preference]:
    """Return the pairs of a table.

    Args:
        file: CSV, JSON, JSON Lines or Parquet with ``prompt``, ``chosen`` and ``rejected``, whose relative paths start in its
            folder; where there are no ``votes_chosen``, ``votes_rejected`` and ``ties``, each row is one vote, and where there
            is no ``split``, all learn.

    Raises:
        InputError: a cell is missing or wrong, a file is not there, no pair is to learn from, or a prompt (case, spaces and
            Unicode form aside) or two pictures are in both splits.
    """
    pairs = [_preference(row, file.parent) for row in table_rows(file)]
    learned, tested = ([pair for pair in pairs if pair.split == split] for split in SPLITS)
    if not learned:
        raise InputError("no pair is to learn from", source=file, column="split")
    prompts = {comparable_text(pair.prompt) for pair in learned}
    pictures = {frozenset((pair.chosen, pair.rejected)) for pair in learned}
    for pair in tested:
        if comparable_text(pair.prompt) in prompts:
            hint = "`salon votes pairs` splits by prompt."
            raise InputError("a prompt is in both splits:", source=file, column="prompt", value=pair.prompt, hint=hint)
        if frozenset((pair.chosen, pair.rejected)) in pictures:
            raise InputError("two pictures are in both splits:", source=file, column="chosen", value=str(pair.chosen))
    return pairs


def _preference(row: TableRow, folder: Path) -> Preference:
    prompt, names = row.text("prompt"), [row.text(side) for side in SIDES]
    files = [folder / name for name in names]
    for side, name, path in zip(SIDES, names, files, strict=True):
        if not path.is_file():
            raise row.problem("there is no such file:", side, value=name)
    if files[0] == files[1]:
        raise row.problem("is the picture that was chosen:", "rejected", value=names[1])
    chosen, rejected, ties = (_count(row, name) for name in _VOTES) if _VOTES[0] in row.cells else (1.0, 0.0, 0.0)
    if not chosen + rejected + ties > 0.0:
        raise row.problem("a pair needs votes, not", _VOTES[0], value=row.cells.get(_VOTES[0]))
    split = row.text("split", allowed=SPLITS) if "split" in row.cells else SPLITS[0]
    return Preference(prompt, files[0], files[1], (chosen, rejected, ties), split)


def _count(row: TableRow, name: str) -> float:
    value = row.cells.get(name)
    try:
        number = float(str(value or 0.0))
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= _MOST_VOTES:
        raise row.problem(f"must be a number of votes, at most {_MOST_VOTES:g}, not", name, value=value)
    return number


def picture(path: Path) -> "Image":
    """Return a picture as judges see it: upright, opaque, sRGB.

    Raises:
        InputError: the file is no picture.
    """
    content = read_inside(path.absolute(), Path(path.absolute().anchor), DEFAULT_LIMITS.most_bytes)
    decoded = content if isinstance(content, Unscored) else decode(content)
    if isinstance(decoded, Unscored):
        raise InputError(f"cannot be used as a picture ({decoded.detail})", source=path)
    return decoded.image.convert("RGB")
