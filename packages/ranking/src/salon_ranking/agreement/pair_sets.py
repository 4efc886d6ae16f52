"""Read released sets of human preference pairs, unchanged, in one plain form; ``docs/agreement.md`` describes the form.

Cells are checked one by one, since released files nest lists in rows: a wrong one names file, row, column, value and what is
allowed, and costs its row alone where the caller asks for remarks.
Rows of a set without released sides (rankings), or whose better picture is nearly always the first (MJ-Bench), get
their sides by a fixed draw from prompt and pictures.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from salon_console.table_rows import BadRow, UsableRows, read_each
from salon_ranking.agreement.errors import AgreementError
from salon_ranking.agreement.pair_judgements import CHOSEN, TURNED, with_judgements
from salon_ranking.agreement.pair_rows import (
    JUDGED,
    PLAIN,
    Cells,
    PairRow,
    is_unicode,
    json_content,
    numbers_of,
    refuse_first,
    refuse_missing,
    refuse_nested,
)
from salon_ranking.errors import OptionError
from salon_ranking.files import read_table, reading, scan
from salon_taxonomy.enums import Winner
from salon_taxonomy.errors import InputError

_A, _B, _TIE = Winner.MODEL_A.value, Winner.MODEL_B.value, Winner.TIE.value
_GENAI_BENCH: Final = {
    "leftvote": _A,
    "rightvote": _B,
    "tievote": Winner.BOTH_GOOD.value,
    "bothbad_vote": Winner.BOTH_BAD.value,
    **{f"[[A{more}B]]": _A for more in (">", ">>")},
    **{f"[[B{more}A]]": _B for more in (">", ">>")},
    "[[A=B=Good]]": Winner.BOTH_GOOD.value,
    "[[A=B=Bad]]": Winner.BOTH_BAD.value,
    "[[A=B]]": _TIE,
}
_MIDDLE_VOTE: Final = 3.5
"""Between 3, slightly for B, and 4, slightly for A (MMRB2)."""
_MOST_VOTE: Final = 6
_MOST_COUNT: Final = 2**31
_LONGEST_HEADER: Final = 1 << 16
_LINES: Final = (".jsonl", ".ndjson")
_FIRST_ROWS: Final = 20
"""Rows by whose keys a form is known: the first of all may be the bad one."""
_ASPECTS: Final = ("VQ", "MQ", "TA", "Overall")
_HAS_LABEL: Final = dict.fromkeys(("True", "true", "1", "1.0"), "yes") | dict.fromkeys(("False", "false", "0", "0.0"), "")
_MJ_PICTURES: Final = (("image0", "image1"), ("image_0_path", "image_1_path"), ("sharp_image", "motion_blur_image"))


def _genai_bench(row: PairRow) -> Iterator[Cells]:
    prompt = row.text_or_none("instruct_prompt") or row.text_or_none("prompt")
    votes = dict(list(_GENAI_BENCH.items())[:4])
    reply = row.cells["model_vote"]
    yield {
        "battle_id": row.text("idx"),
        "prompt_id": prompt or row.text("idx"),
        "prompt": prompt,
        "winner": row.word("human_vote", votes),
        "judge": Path(row.source).absolute().parent.name or "judge",
        "verdict": _GENAI_BENCH.get(reply.strip()) if isinstance(reply, str) else None,
        "side_a_shown": "left",
    }


def _mmrb2(row: PairRow) -> Iterator[Cells]:
    winner, annotations = row.word("chosen", CHOSEN), row.cells.get("human_annotations")
    votes: Cells = {}
    if isinstance(annotations, list):
        if not annotations or not all(type(vote) is int and 1 <= vote <= _MOST_VOTE for vote in annotations):
            raise row.wrong("human_annotations", ["votes from 1 to 6"])
        if (sum(annotations) / len(annotations) > _MIDDLE_VOTE) != (winner == _A):
            raise row.wrong("human_annotations", ["a mean above 3.5 where chosen is A"], "is not what chosen says:")
        for_a = sum(vote > _MIDDLE_VOTE for vote in annotations)
        votes = {"votes_a": for_a, "votes_b": len(annotations) - for_a}
    elif annotations is not None and not isinstance(annotations, Mapping):  # reasoning has grades of single answers
        raise row.wrong("human_annotations", ["votes from 1 to 6"])
    prompt, source = row.contents("prompt_content") if row.cells.get("prompt_content") is not None else (None, None)
    category = row.text("prompt_source")
    of_prompt = row.part("prompt_metadata").text_or_none("id")
    answers = {side: row.part(f"response_{side}") for side in "ab"}
    yield {
        "battle_id": row.text("id"),
        "prompt_id": None if of_prompt is None else f"{category}:{of_prompt}",
        "prompt": prompt,
        **{f"model_{side}": answer.text("model_name") for side, answer in answers.items()},
        **{f"picture_{side}": answer.contents("response_content")[1] for side, answer in answers.items()},
        "source": source,
        "winner": winner,
        **votes,
        "category": category,
    }


def _ranked(row: PairRow, name: str, pictures: str, ranks: str, *, fewest: int = 2) -> Iterator[Cells]:
    """Yield all pairs of one prompt's pictures; rank 1 is the best, and equal ranks are a tie."""
    names, places = row.items(pictures), row.items(ranks)
    if len(names) < fewest or not all(is_unicode(picture) for picture in names):
        raise row.wrong(pictures, ["two or more names"])
    if len(places) != len(names) or not all(type(place) in (int, float) and abs(place) < math.inf for place in places):
        raise row.wrong(ranks, ["one number per picture"])
    for first, second in combinations(range(len(names)), 2):
        gap = places[first] - places[second]
        yield _by_draw(
            {
                "battle_id": f"{name}:{first}-{second}",
                "prompt_id": name,
                "prompt": row.text("prompt"),
                "picture_a": names[first],
                "picture_b": names[second],
                "winner": _A if gap < 0 else _B if gap > 0 else _TIE,
            }
        )


def _imagerewarddb(row: PairRow) -> Iterator[Cells]:
    return _ranked(row, row.text("id"), "generations", "ranking")


def _hpdv2(row: PairRow) -> Iterator[Cells]:
    return _ranked(row, str(row.number), "image_path", "rank")


def _imagerewarddb_metadata(row: PairRow) -> Iterator[Cells]:
    return _ranked(row, row.text("prompt_id"), "image_path", "rank", fewest=1)


def _hpdv3(row: PairRow) -> Iterator[Cells]:
    counts = row.cells.get("choice_dist")
    votes: Cells = {}
    if counts not in (None, [], "null"):
        if len(row.items("choice_dist")) != 2 or not all(type(count) is int and 0 <= count < _MOST_COUNT for count in counts):
            raise row.wrong("choice_dist", ["two whole numbers of votes", "null"])
        votes = {"votes_a": max(counts), "votes_b": min(counts)}  # as the authors' loader sorts them
    yield _by_draw(
        {
            "battle_id": str(row.number),
            "prompt_id": row.text("prompt"),
            "prompt": row.text("prompt"),
            "model_a": row.text_or_none("model1"),
            "model_b": row.text_or_none("model2"),
            "picture_a": row.text("path1"),
            "picture_b": row.text("path2"),
            "winner": _TIE if votes and votes["votes_a"] == votes["votes_b"] else _A,
            **votes,
        }
    )


def _by_draw(cells: Cells) -> Cells:
    """Return the pair with its sides drawn from prompt and pictures, in whichever order these were."""
    pictures = [cells["picture_a"], cells["picture_b"]]
    content = "\x1f".join((cells["prompt"], *sorted(pictures)))
    wanted = max(pictures) if hashlib.sha256(content.encode()).digest()[0] % 2 else min(pictures)
    if cells["picture_a"] == wanted:
        return cells
    other = {"_a": "_b", "_b": "_a"}
    turned = {name[:-2] + other[name[-2:]] if name[-2:] in other else name: value for name, value in cells.items()}
    return {**turned, "winner": TURNED.get(cells["winner"], cells["winner"])}


def _mj_bench(row: PairRow) -> Iterator[Cells]:
    names = next((names for names in _MJ_PICTURES if names[0] in row.cells), _MJ_PICTURES[0])
    path, has_scores = Path(row.source).absolute(), "score_0" in row.cells
    category = path.stem.rstrip("0123456789.") if has_scores else path.parent.name  # results: blur0.0.json
    scores: Cells = {}
    if has_scores:
        scores = {"judge": path.parent.name or "judge"}
        scores |= {f"score_{side}": row.number_or_none(f"score_{number}") for number, side in enumerate("ab")}
    pictures = [row.text(name) for name in names]
    if pictures[0] == pictures[1]:  # of two folders, which the file does not name
        pictures = [f"{name}/{picture}" for name, picture in zip(names, pictures, strict=True)]
    yield _by_draw(
        {
            "battle_id": f"{category}:{row.text('id')}",
            "prompt_id": row.text("caption"),
            "prompt": row.text("caption"),
            "picture_a": pictures[0],
            "picture_b": pictures[1],
            "winner": row.word("label", {"0": _A, "1": _B}),
            "category": category,
            **scores,
        }
    )


def _videogen_rewardbench(row: PairRow) -> Iterator[Cells]:
    for aspect in (aspect for aspect in _ASPECTS if aspect in row.cells):
        scores = {f"score_{side.lower()}": f"reward_{aspect}_{side}" for side in "AB"}
        yield {
            "battle_id": f"{row.number}:{aspect}",
            "prompt_id": row.text("prompt"),
            "prompt": row.text("prompt"),
            "model_a": row.text_or_none("A_model"),
            "model_b": row.text_or_none("B_model"),
            "picture_a": row.text("path_A"),
            "picture_b": row.text("path_B"),
            "winner": row.word(aspect, {"A": _A, "B": _B, "same": _TIE}),
            "category": aspect,
            **{ours: row.number_or_none(name) for ours, name in scores.items() if name in row.cells},
        }


def _editreward_bench(row: PairRow) -> Iterator[Cells]:
    ways = row.word("dataset", {f"{count}pair": f"{count}pair" for count in (2, 3, 4)})
    first, second, sides = "A", "B", "AvsB"
    if ways != "2pair":
        names = [f"{one}vs{other}" for one, other in combinations("ABCD"[: int(ways[0])], 2)]
        sides = row.word("comparison_type", {name: name for name in names})
        first, second = sides.split("vs")
    ties = dict.fromkeys(("A=B", "A=B=Good", "A=B=Bad"), _TIE) if ways == "2pair" else {}
    name = row.text("id")
    yield {
        "battle_id": f"{ways}:{name}:{sides}",
        "prompt_id": f"{ways}:{name.split('_')[0] if '_' in name else name[:10]}",
        "prompt": row.text("instruction"),
        "model_a": row.text_or_none("model_1"),
        "model_b": row.text_or_none("model_2"),
        "picture_a": row.text_or_none("candidate_1"),
        "picture_b": row.text_or_none("candidate_2"),
        "source": row.text_or_none("source_image"),
        "winner": row.word("ranking", {f"{first}>{second}": _A, f"{second}>{first}": _B, **ties}),
        "category": ways,
    }


def _pick_a_pic(row: PairRow) -> Iterator[Cells]:
    if row.word("has_label", _HAS_LABEL):
        yield {
            "battle_id": row.text_or_none("ranking_id") or str(row.number),
            "prompt_id": row.text("caption"),
            "prompt": row.text("caption"),
            "model_a": row.text_or_none("model_0"),
            "model_b": row.text_or_none("model_1"),
            "picture_a": row.text("image_0_uid"),
            "picture_b": row.text("image_1_uid"),
            "winner": row.word("label_0", {"1": _A, "1.0": _A, "0.5": _TIE, "0": _B, "0.0": _B}),
        }


@dataclass(frozen=True)
class _Form:
    """The columns that a released set needs and may have, and the pairs of one of its rows.

    Where it has a row for each picture, ``grouped`` names the columns that become lists; the others are one prompt's.
    """

    pairs: Callable[[PairRow], Iterator[Cells]]
    needs: tuple[str, ...]
    has: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()


_VIDEO_COLUMNS: Final = ("prompt", "path_A", "path_B")
_FORMS: Final[Mapping[str, _Form]] = MappingProxyType(
    {
        "mmrb2": _Form(
            _mmrb2,
            ("id", "chosen", "response_a", "response_b", "prompt_source", "prompt_metadata"),
            ("human_annotations", "prompt_content"),
        ),
        "imagerewarddb": _Form(_imagerewarddb, ("id", "prompt", "generations", "ranking")),
        "mj-bench": _Form(
            _mj_bench, ("id", "caption", "label"), ("score_0", "score_1", *(name for two in _MJ_PICTURES for name in two))
        ),
        "videogen-rewardbench": _Form(
            _videogen_rewardbench,
            (*_VIDEO_COLUMNS, "A_model", "B_model", *_ASPECTS),
            tuple(f"reward_{aspect}_{side}" for aspect in _ASPECTS for side in "AB"),
        ),
        "videoreward": _Form(_videogen_rewardbench, (*_VIDEO_COLUMNS, *_ASPECTS[:3]), ("A_model", "B_model")),
        "editreward-bench": _Form(
            _editreward_bench,
            ("id", "dataset", "instruction", "ranking"),
            ("comparison_type", "model_1", "model_2", "candidate_1", "candidate_2", "source_image"),
        ),
        "imagerewarddb-metadata": _Form(
            _imagerewarddb_metadata, ("prompt_id", "prompt", "image_path", "rank"), grouped=("image_path", "rank")
        ),
        "hpdv3": _Form(_hpdv3, ("prompt", "path1", "path2"), ("choice_dist", "model1", "model2")),
        "hpdv2": _Form(_hpdv2, ("prompt", "image_path", "rank")),
        "pick-a-pic": _Form(
            _pick_a_pic,
            ("caption", "image_0_uid", "image_1_uid", "label_0", "has_label"),
            ("ranking_id", "model_0", "model_1"),
        ),
        "genai-bench": _Form(_genai_bench, ("idx", "human_vote", "model_vote"), ("prompt", "instruct_prompt")),
    }
)
FORMS: Final = ("plain", *_FORMS)
"""The forms that :func:`read_pairs` reads."""


def form_of(path: str | Path) -> str:
    """Return the form of a file of pairs by its columns: that of a released set, else ``plain``.

    Raises:
        AgreementError: the file cannot be read.
    """
    columns = _columns(path)
    if "battle_id" in columns:
        return "plain"
    return next((name for name, form in _FORMS.items() if {*form.needs} <= columns), "plain")


def is_table_of_votes(path: str | Path) -> bool:
    """Return whether a file has battles as ``salon votes rank`` reads them: a ``winner``, and no verdicts or scores beside it.

    Raises:
        AgreementError: the file cannot be read.
    """
    columns = _columns(path)
    return "winner" in columns and "verdict" not in columns and not {"score_a", "score_b"} <= columns


def _columns(path: str | Path) -> set[str]:
    """Return the columns of a table, or the keys of the first objects of a JSON or JSON Lines file."""
    if isinstance(path, str | Path) and Path(path).suffix.lower() in (".json", *_LINES) and Path(path).is_file():
        if Path(path).suffix.lower() == ".json":
            rows: Iterator[Any] = iter(_objects(Path(path)))
        else:
            rows = (row.cells for row in _each_line(Path(path)) if isinstance(row, PairRow))
        return {name for row in islice(rows, _FIRST_ROWS) if isinstance(row, Mapping) for name in row}
    with reading(str(path), AgreementError):
        return {*scan(path, "battles", AgreementError).collect_schema().names()}


def read_pairs(
    path: str | Path, form: str | None = None, *, judged: str | Path | None = None, remarks: list[str] | None = None
) -> pl.DataFrame:
    """Return human preference pairs in the plain form, from a file as its authors released it.

    The columns (``docs/agreement.md``) are null where a set does not have them; those of judges come where it has verdicts or
    scores, and ``clear`` ("4 of 5", how many people chose the same) where it has votes. Read by their documented columns alone,
    as their files are on hubs: videogen-rewardbench, videoreward, editreward-bench,
    imagerewarddb-metadata, hpdv2, hpdv3 and pick-a-pic.

    - ``mmrb2``: a file of pairs, also after its authors' script added ``prompt_content``. A vote of 4–6 is for A.
    - ``imagerewarddb``: ``test.json``; all pairs of one prompt's pictures, equal ranks being ties.
    - ``imagerewarddb-metadata``: ``metadata-train.parquet`` or a part's JSON, with a row for each picture; likewise.
    - ``hpdv3``: ``all.json``, ``train.json`` or ``test.json``; ``path1`` is the preferred picture, ``choice_dist`` the votes.
    - ``mj-bench``: pairs (``image0``, ``image1``), or a scorer's results, judged by the name of their folder.
    - ``videogen-rewardbench``: the CSV, or ``out_pair.csv`` with rewards; a row for each of its four questions (``category``).
    - ``videoreward``: the CSV that VideoAlign trains on; likewise, of three questions and without models.
    - ``editreward-bench``: the hub's table; ``category`` is 2pair, 3pair or 4pair, ``prompt_id`` the group.
    - ``hpdv2``: ``test.json`` with ``image_path`` and ``rank``, the best having the lowest rank.
    - ``pick-a-pic``: the hub's table; rows without a label are left out, as its authors' loader does.
    - ``genai-bench``: a judge's ``pairwise.jsonl``; of rows with one ``idx`` the first counts. What is no verdict is missing.
    - ``plain``: a table of the plain form, in which only ``battle_id`` must be; ``winner`` is null where people did not answer.

    Args:
        path: the file; a table (CSV, JSON, JSON Lines, Parquet), or a folder of Parquet files as a hub has them.
        form: one of ``FORMS``; None: by its columns (:func:`form_of`).
        judged: verdicts of judges about these pairs, where they are a file of their own: a table with ``battle_id`` and
            ``verdict`` or ``score_a`` and ``score_b``; or with ``picture`` and ``score``; both may have ``judge``, the first
            ``side_a_shown``. In place of ``verdict`` a judge's ``reply``, or ``messages`` of which the assistant's last
            counts: the JSON object of ``parse_pair_verdict``; what cannot be read is missing. For ``mmrb2`` also its own JSON
            of judgements. A pair that it does not name is not judged.

    Raises:
        OptionError: the form is unknown.
        AgreementError: a file cannot be read, a column is missing, a cell is wrong, or verdicts are about none of the pairs.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> row = {"id": "p", "prompt": "a cat", "generations": ["x", "y", "z"], "ranking": [1, 2, 2]}
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "test.json")
        ...     _ = path.write_text(str([row]).replace("'", '"'))
        ...     pairs = read_pairs(path, "imagerewarddb")
        >>> pairs.select("battle_id", "picture_a", "picture_b", "winner").rows()
        [('p:0-1', 'y', 'x', 'model_b'), ('p:0-2', 'z', 'x', 'model_b'), ('p:1-2', 'y', 'z', 'tie')]
    """
    form = form_of(path) if form is None else form
    if form not in FORMS:
        raise OptionError("unknown form of pairs", value=form, allowed=FORMS)
    if form == "plain":
        pairs = _typed(read_table(path, "battles", AgreementError), str(path))
    else:
        layout = _FORMS[form]
        rows = _usable(path, layout, remarks)
        judges = {name: kind for name, kind in JUDGED.items() if any(name in cells for cells in rows)}
        pairs = pl.DataFrame(rows, schema={**PLAIN, **judges})
    if form == "genai-bench":
        pairs = pairs.unique("battle_id", keep="first", maintain_order=True)
    if not pairs.height:
        raise AgreementError("there are no pairs", source=path)
    if "clear" not in pairs.columns and pairs["votes_a"].count():
        votes = (pl.col("votes_a"), pl.col("votes_b"))
        pairs = pairs.with_columns(clear=pl.format("{} of {}", pl.max_horizontal(*votes), votes[0] + votes[1]))
    return pairs if judged is None else with_judgements(pairs, judged, form)


def _usable(path: str | Path, form: _Form, remarks: list[str] | None) -> list[Cells]:
    """Return the pairs of all rows; with ``remarks``, of those that can be used.

    Raises:
        AgreementError: a row is wrong, without ``remarks``; or all rows are.
    """
    pairs: list[Cells] = []
    used, left_out = 0, list[BadRow]()
    for row in _groups(_rows(path, form), form) if form.grouped else _rows(path, form):
        try:
            if isinstance(row, BadRow):
                raise row.error
            pairs.extend([*form.pairs(row)])
            used += len(row.items(form.grouped[0])) if form.grouped else 1
        except AgreementError as error:
            if remarks is None:
                raise
            left_out.append(BadRow(error.row or 0, error))
    if left_out and not used:
        raise left_out[0].error
    if remarks is not None:
        remarks.extend(UsableRows(Path(path), range(used), left_out).remarks())
    return pairs


def _rows(path: str | Path, form: _Form) -> Iterator[PairRow | BadRow]:
    """Yield the rows of a file with the columns that its form needs, and the errors of others."""
    for row in _each(path, form):
        try:
            if isinstance(row, BadRow):
                raise row.error
            if not isinstance(row.cells, Mapping):
                raise AgreementError("is no object:", source=path, row=row.number, value=row.cells)
            refuse_missing(form.needs, row.cells, path, row.number)
        except InputError as error:
            yield BadRow(row.number, _as_agreement_error(error, row.number))
        else:
            yield row


def _each(path: str | Path, form: _Form) -> Iterator[PairRow | BadRow]:
    """Yield each row of a file as it is."""
    kind = Path(path).suffix.lower() if Path(path).is_file() else ""
    if kind in _LINES or (kind == ".csv" and _has_commas(Path(path))):
        yield from _each_line(Path(path))
    else:
        rows = _objects(Path(path)) if kind == ".json" else _table(path, form)
        yield from (PairRow(str(path), number, cells) for number, cells in enumerate(rows, 1))


def _each_line(path: Path) -> Iterator[PairRow | BadRow]:
    """Yield the rows of a text file one by one: what is wrong with one costs no other."""
    try:
        for row in read_each(path, lambda row: PairRow(str(path), row.number, row.cells)):
            yield row if isinstance(row, BadRow) else row[1]
    except AgreementError:
        raise
    except InputError as error:
        raise _as_agreement_error(error, error.row) from error


def _has_commas(path: Path) -> bool:
    """Return whether the columns of a CSV file of plain text are separated by commas."""
    with path.open("rb") as file:
        header = file.readline(_LONGEST_HEADER)
    is_text = b"\0" not in header and header[:2] != b"\x1f\x8b"
    return is_text and header.count(b",") >= max(map(header.count, (b";", b"\t", b"|")))


def _as_agreement_error(error: InputError, row: int | None) -> AgreementError:
    if isinstance(error, AgreementError):
        return error
    facts = {name: getattr(error, name) for name in ("source", "column", "key", "value", "allowed", "hint")}
    return AgreementError(error.problem, row=row, **facts)


def _groups(rows: Iterator[PairRow | BadRow], form: _Form) -> Iterator[PairRow | BadRow]:
    """Yield a row for each prompt, of rows with one picture each; its number is that of the prompt's first row."""
    first: dict[str, PairRow] = {}
    pictures, ranks = form.grouped
    for row in rows:
        try:
            if isinstance(row, BadRow):
                raise row.error
            prompt = row.text(form.needs[0])
            cells = {pictures: row.text(pictures), ranks: row.number_or_none(ranks)}
            if cells[ranks] is None or not row.text("prompt"):
                raise row.wrong(ranks, ["a finite number"])
        except AgreementError as error:
            yield BadRow(row.number, error)
            continue
        if prompt not in first:
            first[prompt] = PairRow(row.source, row.number, {**row.cells, **{name: [] for name in form.grouped}})
        for name, value in cells.items():
            first[prompt].cells[name].append(value)
    yield from first.values()


def _objects(path: Path) -> list[Any]:
    content = json_content(path)
    rows = content.get("pairs") if isinstance(content, dict) else content
    if not isinstance(rows, list):
        raise AgreementError('must hold a list of rows, or an object with such a list as "pairs"', source=path)
    return rows


def _table(path: str | Path, form: _Form) -> list[Cells]:
    """Return the rows of a table, of pictures with their bytes the name alone."""
    with reading(str(path), AgreementError):
        table = scan(path, "battles", AgreementError)
        columns = table.collect_schema().names()
        refuse_missing(form.needs, columns, path)
        frame = table.select(name for name in columns if name in (*form.needs, *form.has)).collect()
    named = [
        pl.col(name).struct.field("path").alias(name)
        for name, kind in frame.schema.items()
        if isinstance(kind, pl.Struct) and {"bytes", "path"} == {field.name for field in kind.fields}
    ]
    return frame.with_columns(named).to_dicts()


def _typed(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return a table of the plain form with all its columns, in their types."""
    refuse_missing(("battle_id",), frame.columns, source)
    known = {name: kind for name, kind in {**PLAIN, **JUDGED}.items() if name in frame.columns}
    refuse_nested(frame, [*known], source)
    for name, kind in known.items():
        if kind != pl.String:
            frame = frame.with_columns(numbers_of(frame, name, source, whole=kind == pl.Int64).cast(kind))
    typed = frame.cast({name: pl.String for name, kind in known.items() if kind == pl.String})
    words = [winner.value for winner in Winner]
    refuse_first(typed, "battle_id", typed["battle_id"].is_null(), source, ["a text"])
    if "winner" in known:
        typed = typed.with_columns(pl.col("winner").replace("", None))
        refuse_first(typed, "winner", ~typed["winner"].is_in(words).fill_null(True), source, words)
    unknown = [pl.lit(None, kind).alias(name) for name, kind in PLAIN.items() if name not in known]
    return typed.with_columns(unknown).select(*PLAIN, pl.exclude(*PLAIN))
