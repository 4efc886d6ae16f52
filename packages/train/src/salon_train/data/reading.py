"""Files of MagicData340K's schema as training examples, with the reason for every row that is left out.

:func:`salon_bench.suites.assessors.magicdata_rows` reads the rows; here their pictures are found in a folder and opened.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from salon_bench.suites.assessors.magicdata import MagicDataRow, UnreadableRow, magicdata_rows
from salon_taxonomy.errors import InputError, missing_path
from salon_taxonomy.training_example import TrainingExample
from salon_train.data.pictures import Look, Seen, look_at

MOST_UNUSABLE = 1_000
"""Default number of unusable rows before reading stops."""
_MOST_KEPT = 20


class RowFault(StrEnum):
    """Why a row cannot be used."""

    ROW = "row"
    """A column is missing, or its value is not allowed; the labels cannot be read, for instance."""
    PICTURE = "picture"
    """The picture is not in the folder, or cannot be opened."""
    REPEATED = "repeated"
    """The same picture stood before, with the same labels."""
    CONTRADICTION = "contradiction"
    """The same picture stood before, with other labels; neither row is used."""


@dataclass(frozen=True, slots=True)
class UnusableRow:
    """A row that nothing can be learned from.

    Attributes:
        source: the file.
        number: 1-based, among the data rows.
        column: at fault; None when it is the row as a whole.
        value: the value of the column; None where it is empty.
        problem: what is wrong with it.
        fault: in which way.
        split: the part of the data set; None when not given.
    """

    source: Path
    number: int
    column: str | None
    value: object
    problem: str
    fault: RowFault
    split: str | None = None

    def __str__(self) -> str:
        """Return one line: where, what, and the value."""
        return str(InputError(self.problem, source=self.source, row=self.number, column=self.column, value=self.value))


@dataclass(frozen=True, slots=True)
class SplitExample:
    """An example, and where it came from.

    Attributes:
        example: to learn from; its id is the picture's path as the file has it.
        split: ``train``, ``test`` or ``cot``; None when not given.
        source: the file.
        number: of the row.
        sha256: of the picture's file; None where pictures were not opened.
    """

    example: TrainingExample
    split: str | None
    source: Path
    number: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ReadExamples:
    """What some files hold.

    Attributes:
        rows: the usable ones, in the order of the files.
        unusable: how many rows are not, by fault.
        first_unusable: the first twenty of them.
        shared: pictures that two splits share, by the pair; what the test part shares with others was seen in training.
    """

    rows: tuple[SplitExample, ...]
    unusable: Counter[RowFault] = field(default_factory=Counter)
    first_unusable: tuple[UnusableRow, ...] = ()
    shared: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def examples(self) -> list[TrainingExample]:
        """To learn from."""
        return [row.example for row in self.rows]


def example_rows(
    path: Path, pictures: Path | None = None, *, split: str | None = None, look: Look = Look.EXISTS
) -> Iterator[SplitExample | UnusableRow]:
    """Read one file row by row; memory does not grow with it.

    Args:
        path: JSON Lines, JSON, CSV or Parquet with ``images`` and ``response``; optional ``prompt``, ``split``,
            ``hard_positive``.
        pictures: the folder that the paths in the file start from; a picture outside of it is never opened. None: the
            file's own.
        split: which part the file is; None: what its rows or its name say.
        look: how closely the pictures are looked at.

    Raises:
        InputError: the file itself cannot be read on, or there is no such folder.

    Example:
        >>> import json, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "train.jsonl"
        >>> _ = path.write_text('{"images": "1.png", "response": {"Whether Normal": true}}\\n{"images": "2.png"}\\n')
        >>> first, second = example_rows(path, look=Look.NOT)
        >>> first.example.example_id, first.example.buckets, second.number, second.column, second.fault.value
        ('1.png', ('normal',), 2, 'response', 'row')
        >>> print(next(iter(example_rows(path))).problem)
        there is no such file:
    """
    folder = path.parent if pictures is None else pictures
    if not folder.is_dir():
        raise missing_path(folder, "folder of pictures")
    for number, row in enumerate(magicdata_rows(path, split=split), start=1):
        yield _unreadable(row) if isinstance(row, UnreadableRow) else _found(row, path, number, folder, look)


def read_examples(
    paths: Path | Iterable[Path],
    pictures: Path | None = None,
    *,
    split: str | None = None,
    look: Look = Look.EXISTS,
    most_unusable: int | None = MOST_UNUSABLE,
    strict: bool = False,
    watch: Callable[[int], None] | None = None,
) -> ReadExamples:
    """Read whole files, leave out what cannot be used, and count it.

    The same picture twice in one split is used once; with two truths, not at all. Where pictures are opened, copies under
    another name are found too. A chain-of-thought part may share pictures with the others; that is counted, not refused.

    Args:
        paths: the files.
        pictures: as for :func:`example_rows`.
        split: of all files.
        look: how closely the pictures are looked at.
        most_unusable: with more such rows, reading stops with an error; None: never.
        strict: the first one is an error.
        watch: called with the number of rows so far, after each.

    Raises:
        InputError: as for :func:`example_rows`; too many rows cannot be used; or no row can.
    """
    files = [paths] if isinstance(paths, Path) else list(paths)
    gathered = _Gathered(0 if strict else most_unusable)
    seen = 0
    for path in files:
        for row in example_rows(path, pictures, split=split, look=look):
            gathered.add(row)
            seen += 1
            if watch is not None:
                watch(seen)
    if not gathered.rows:
        first = f"\nThe first row that cannot be used: {gathered.first[0]}" if gathered.first else ""
        raise InputError(f"there is no usable row{first}", source=", ".join(map(str, files)))
    return gathered.result()


class _Gathered:
    """Usable rows, and what they were told apart by."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self.rows: dict[int, SplitExample] = {}
        self.first: list[UnusableRow] = []
        self._unusable = Counter[RowFault]()
        self._by_picture: dict[str, list[int]] = {}
        self._spoiled: set[str] = set()
        self._next = 0

    def add(self, row: SplitExample | UnusableRow) -> None:
        if isinstance(row, UnusableRow):
            self._refuse(row)
            return
        key = row.sha256 or _file_of(row.example)
        places = self._by_picture.setdefault(key, [])
        earlier = [self.rows[place] for place in places if place in self.rows]
        if key in self._spoiled or any(not _agree(other.example, row.example) for other in earlier):
            self._spoiled.add(key)
            for other in earlier:
                self._refuse(_repetition(other, row, RowFault.CONTRADICTION))
            for number in places:
                self.rows.pop(number, None)
            self._refuse(_repetition(row, earlier[0] if earlier else None, RowFault.CONTRADICTION))
            return
        again = next((other for other in earlier if other.split == row.split), None)
        if again is not None:
            self._refuse(_repetition(row, again, RowFault.REPEATED))
            return
        places.append(self._next)
        self.rows[self._next] = row
        self._next += 1

    def result(self) -> ReadExamples:
        shared = Counter[tuple[str, str]]()
        for places in self._by_picture.values():
            splits = sorted({str(self.rows[place].split) for place in places if place in self.rows})
            shared.update((one, other) for number, one in enumerate(splits) for other in splits[number + 1 :])
        return ReadExamples(tuple(self.rows.values()), self._unusable, tuple(self.first), shared)

    def _refuse(self, row: UnusableRow) -> None:
        self._unusable[row.fault] += 1
        self.first += [row] if len(self.first) < _MOST_KEPT else []
        if self._most is not None and self._unusable.total() > self._most:
            if not self._most:
                raise InputError(row.problem, source=row.source, row=row.number, column=row.column, value=row.value)
            hint = f"The first: {self.first[0]}"
            raise InputError(f"more than {self._most:,} rows cannot be used; reading stopped", source=row.source, hint=hint)


def _file_of(example: TrainingExample) -> str:
    """Return the place of a picture: in folders of their own, two files may have pictures of one name."""
    return example.example_id if isinstance(example.image, bytes) else str(example.image.absolute())


def _agree(one: TrainingExample, other: TrainingExample) -> bool:
    """Return whether two truths are the same labels, in whatever order."""
    first, second = ({l2: frozenset(l3) for l2, l3 in each.truth.labels.items()} for each in (one, other))
    return one.truth.normal == other.truth.normal and first == second


def _repetition(row: SplitExample, other: SplitExample | None, fault: RowFault) -> UnusableRow:
    where = "before" if other is None else f"in row {other.number} of {other.source.name}"
    same = "with other labels" if fault is RowFault.CONTRADICTION else "with the same labels"
    problem = f"the picture also stands {where}, {same}:"
    return UnusableRow(row.source, row.number, "images", row.example.example_id, problem, fault, row.split)


def _unreadable(row: UnreadableRow) -> UnusableRow:
    problem = row.problem.partition(": ")[2] or row.problem
    return UnusableRow(row.source, row.number, row.column, row.value, problem, RowFault.ROW, row.split)


def _found(row: MagicDataRow, source: Path, number: int, folder: Path, look: Look) -> SplitExample | UnusableRow:
    picture = look_at(row.image, folder, look)
    if not isinstance(picture, Seen):
        return UnusableRow(source, number, "images", row.image, f"{picture}:", RowFault.PICTURE, row.split)
    example = TrainingExample(row.image, picture.path, row.answer, row.prompt, row.reasoning, row.hard_positive)
    return SplitExample(example, row.split, source, number, picture.sha256)
