"""Read preference data: the pairs of ``salon votes pairs``, any table with a prompt, a chosen and a rejected picture, or a
released set as its authors wrote it (HPDv3, Pick-a-Pic, ImageRewardDB and others)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_console.table_rows import TableRow, table_rows
from salon_ranking.agreement.pair_sets import form_of, read_pairs
from salon_ranking.near_prompts import comparable_text
from salon_taxonomy.digest import file_sha256
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
_OF_VIDEOS: Final = ("videogen-rewardbench", "videoreward")
_PICTURES_INSIDE: Final = {"pick-a-pic": (("image_0_uid", "jpg_0"), ("image_1_uid", "jpg_1"))}
"""The columns of a released set that hold a picture's name and its bytes."""


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """A picture that a table holds: its name, and the bytes of its file."""

    name: str
    content: bytes

    def __str__(self) -> str:
        """Return the name."""
        return self.name


@dataclass(frozen=True, slots=True)
class Preference:
    """One pair of pictures.

    Attributes:
        prompt: its text.
        chosen, rejected: the files, or what the table holds in their place.
        votes: for the chosen, for the rejected, for neither.
        split: ``train`` or ``test``.
    """

    prompt: str
    chosen: Path | EncodedPicture
    rejected: Path | EncodedPicture
    votes: tuple[float, float, float]
    split: str

    @property
    def identity(self) -> list[object]:
        """The values that a resumed run must find again: prompt, names of the pictures, votes and split."""
        return [self.prompt, str(self.chosen), str(self.rejected), *self.votes, self.split]

    @property
    def pictures(self) -> list[Path | bytes]:
        """The files of both pictures, or their bytes where the table holds them."""
        return [side.content if isinstance(side, EncodedPicture) else side for side in (self.chosen, self.rejected)]


def read_preferences(file: Path, remarks: list[str] | None = None) -> list[Preference]:
    """Return the pairs of a table.

    Args:
        file: CSV, JSON, JSON Lines or Parquet with ``prompt``, ``chosen`` and ``rejected``, whose relative paths start in its
            folder; where there are no ``votes_chosen``, ``votes_rejected`` and ``ties``, each row is one vote, where there is
            no ``split``, all learn, and where there are ``chosen_sha256`` and ``rejected_sha256``, files are compared with
            them. Or a released set that :func:`salon_ranking.agreement.read_pairs` knows by its columns: its ties are votes for
            neither, and all learn. Pictures inside a file (Pick-a-Pic's Parquet) are held in memory.
        remarks: leave out the rows of a released set that cannot be used, or whose pictures are not there, and append here how
            many and why; None: the first of them is an error. In a table of one's own it always is; of that how many pairs are
            edits is appended.

    Raises:
        InputError: a cell is missing or wrong, a file is not there, no pair is to learn from, or a prompt (case, spaces and
            Unicode form aside) or a picture is in both splits.
        AgreementError: a cell of a released set is wrong; with ``remarks``, all rows are.
    """
    first = next(table_rows(file), None)
    form = "plain" if first is None or SIDES[1] in first.cells else form_of(file)
    edits = 0
    if form == "plain":
        pairs = []
        for row in table_rows(file):
            pairs.append(_preference(row, file.parent))
            edits += bool(row.cells.get("source"))
    else:
        pairs = _released(file, form, remarks)
    if edits and remarks is not None:
        remarks.append(
            f"{edits:,} of {len(pairs):,} pairs of {file.name} are edits; what was edited (source) is not looked at."
        )
    learned, tested = ([pair for pair in pairs if pair.split == split] for split in SPLITS)
    if not learned:
        raise InputError("no pair is to learn from", source=file, column="split")
    prompts = {comparable_text(pair.prompt) for pair in learned}
    pictures = {_one(side) for pair in learned for side in (pair.chosen, pair.rejected)}
    for pair in tested:
        if comparable_text(pair.prompt) in prompts:
            hint = "`salon votes pairs` splits by prompt."
            raise InputError("a prompt is in both splits:", source=file, column="prompt", value=pair.prompt, hint=hint)
        for column, side in zip(SIDES, (pair.chosen, pair.rejected), strict=True):
            if _one(side) in pictures:
                raise InputError("a picture is in both splits:", source=file, column=column, value=str(side))
    return pairs


def _check_digest(row: TableRow, side: str, path: Path) -> None:
    """Refuse a file that has changed since people voted about it, where the table has its digest.

    Raises:
        InputError: it has, or it cannot be read.
    """
    noted = row.cells.get(f"{side}_sha256")
    if noted in (None, ""):
        return
    try:
        digest = file_sha256(path)
    except OSError as error:
        raise row.problem(f"cannot be read ({error.strerror}):", side, value=row.cells[side]) from error
    if digest != noted:
        hint = f"Put that picture back, or leave the row out; without the column {side}_sha256 nothing is compared."
        problem = f"is not the picture that was voted about, whose SHA-256 is {noted}:"
        raise row.problem(problem, side, value=row.cells[side], hint=hint)


def _one(side: Path | EncodedPicture) -> Path | EncodedPicture:
    """Return a picture under one name, however its path is written."""
    return side.resolve() if isinstance(side, Path) else side


def _preference(row: TableRow, folder: Path) -> Preference:
    prompt, names = row.text("prompt"), [row.text(side) for side in SIDES]
    files = [folder / name for name in names]
    for side, name, path in zip(SIDES, names, files, strict=True):
        if not path.is_file():
            raise row.problem("there is no such file:", side, value=name)
        _check_digest(row, side, path)
    if _one(files[0]) == _one(files[1]):
        raise row.problem("is the picture that was chosen:", "rejected", value=names[1])
    there = [name for name in _VOTES if name in row.cells]
    if there and _VOTES[0] not in there:
        hint = "A row has all of its votes, or none of these columns: then it is one vote."
        raise row.problem(f"is missing, and there is {there[0]}", _VOTES[0], hint=hint)
    chosen, rejected, ties = (_count(row, name) for name in _VOTES) if there else (1.0, 0.0, 0.0)
    if not chosen + rejected + ties > 0.0:
        raise row.problem("a pair needs votes, not", _VOTES[0], value=row.cells.get(_VOTES[0]))
    split = row.text("split", allowed=SPLITS) if "split" in row.cells else SPLITS[0]
    return Preference(prompt, files[0], files[1], (chosen, rejected, ties), split)


def _released(file: Path, form: str, remarks: list[str] | None) -> list[Preference]:
    """Return the pairs of a released set; with ``remarks``, those that can be used."""
    if form in _OF_VIDEOS:
        raise InputError("holds pairs of videos, and models learn from pictures here:", source=file, value=form)
    inside: dict[str, EncodedPicture] = {}
    columns = _PICTURES_INSIDE.get(form, ())
    for row in table_rows(file) if columns else ():
        for name, content in columns:
            if isinstance(row.cells.get(content), bytes):
                inside[str(row.cells[name])] = EncodedPicture(str(row.cells[name]), row.cells[content])
    pairs: list[Preference] = []
    without: list[InputError] = []
    for pair in read_pairs(file, form, remarks=remarks).iter_rows(named=True):
        try:
            pairs.append(_released_pair(pair, file, inside))
        except InputError as error:
            if remarks is None:
                raise
            without.append(error)
    if without and not pairs:
        raise without[0]
    if without and remarks is not None:
        whole = len(pairs) + len(without)
        remarks.append(f"{len(without):,} of {whole:,} pairs of {file.name} lack a picture and are left out: {without[0]}")
    return pairs


def _released_pair(pair: Mapping[str, Any], file: Path, inside: Mapping[str, EncodedPicture]) -> Preference:
    """Return a pair of a released set.

    Raises:
        InputError: a picture is missing, or both are one.
    """
    pictures: list[Path | EncodedPicture] = []
    for side in "ab":
        name = pair[f"picture_{side}"] or ""
        path = file.parent / name
        if name not in inside and not (name and path.is_file()):
            where = f"pair {pair['battle_id']}"
            raise InputError(f"{where} has no such picture:", source=file, column=f"picture_{side}", value=name)
        pictures.append(inside.get(name) or path)
    if pictures[0] == pictures[1]:
        raise InputError(f"pair {pair['battle_id']} has one picture twice:", source=file, value=str(pictures[0]))
    won = {"model_a": (1.0, 0.0, 0.0), "model_b": (0.0, 1.0, 0.0)}.get(pair["winner"], (0.0, 0.0, 1.0))
    if pair["votes_a"] is not None and pair["votes_a"] + pair["votes_b"]:
        won = (float(pair["votes_a"]), float(pair["votes_b"]), 0.0)
    if pair["winner"] == "model_b":
        pictures, won = pictures[::-1], (won[1], won[0], won[2])
    return Preference((pair["prompt"] or "").strip(), pictures[0], pictures[1], won, SPLITS[0])


def _count(row: TableRow, name: str) -> float:
    value = row.cells.get(name)
    try:
        number = float(str(value or 0.0))
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= _MOST_VOTES:
        raise row.problem(f"must be a number of votes, at most {_MOST_VOTES:g}, not", name, value=value)
    return number


def picture(source: Path | EncodedPicture) -> "Image":
    """Return a picture as judges see it: upright, opaque, sRGB.

    Raises:
        InputError: it is no picture.
    """
    if isinstance(source, EncodedPicture):
        content: bytes | Unscored = source.content
    else:
        content = read_inside(source.absolute(), Path(source.absolute().anchor), DEFAULT_LIMITS.most_bytes)
    decoded = content if isinstance(content, Unscored) else decode(content)
    if isinstance(decoded, Unscored):
        raise InputError(f"cannot be used as a picture ({decoded.detail})", source=str(source))
    return decoded.image.convert("RGB")
