"""The scores of one judge and people's marks of some of its pictures, as ``salon_ranking.correct_means`` takes them."""

from typing import Final

import numpy as np
import polars as pl

from salon_ranking.correction.drawing import DRAWN, PROBABILITY, drawn_rows
from salon_taxonomy.errors import InputError

_LEAST: Final = 1e-9


def marks_and_scores(
    scores: pl.DataFrame, marks: pl.DataFrame, *, judge: str | None = None, dimension: str | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the marks and scores of one judge and dimension.

    Args:
        scores: rows with the columns of ``records.Score``. Left out are rows about a whole model, and of pictures that were
            missing: without ``generation_id`` where others have one, and without a value.
        marks: as of :func:`salon_bench.runs.score_rows.read_marks`.
        judge: the judge; None: the only one.
        dimension: what was scored; None: the only one of the scores that, where the marks have several, the marks have too.

    Returns:
        Marks with ``value``, and one row per picture with ``model`` and ``value`` (null: not scored): the arguments of
        ``correct_means``.

    Raises:
        InputError: there are several judges, versions of it or dimensions and none is named, one is unknown, or a rater has
            marked a picture twice.

    Example:
        >>> row = {"judge": "j", "judge_version": "1", "dimension": "beauty", "subject_model": "x", "generation_id": "g"}
        >>> marks = pl.DataFrame({"generation_id": ["g"], "rater_id": ["ann"], "value": [4.0]})
        >>> people, judged = marks_and_scores(pl.DataFrame([{**row, "prompt_id": "p", "value": 3.0}]), marks)
        >>> judged.rows()
        [('g', 'p', 'x', 3.0)]
    """
    of_judge = scores.filter(judge=_only(scores, "judge", judge))
    _only(of_judge, "judge_version", None)
    named = dimension
    if named is None and "dimension" in marks.columns and marks["dimension"].n_unique() > 1:
        of_judge = of_judge.filter(pl.col("dimension").is_in(marks["dimension"].unique().implode()))
        if of_judge.is_empty():
            allowed = sorted(scores["dimension"].drop_nulls().unique())
            problem = "the marks name no dimension of the scores:"
            raise InputError(
                problem, column="dimension", value=", ".join(map(str, marks["dimension"].unique())), allowed=allowed
            )
    named = _only(of_judge, "dimension", named)
    pictures = of_judge.filter(pl.col("dimension").eq_missing(pl.lit(named)))
    pictures = _of_pictures(pictures)
    if "dimension" in marks.columns and (marks["dimension"].n_unique() > 1 or dimension is not None):
        people = marks.filter(dimension=named)
        if people.is_empty():
            allowed = sorted(marks["dimension"].drop_nulls().unique())
            raise InputError("the marks have no such dimension:", column="dimension", value=named, allowed=allowed)
    else:
        people = marks
    key = [name for name in ("generation_id", "prompt_id", "model", "rater_id") if name in people.columns]
    twice = people.filter(pl.struct(key).is_duplicated())
    if twice.height:
        raise InputError("a rater has marked a picture twice:", column="rater_id", value=twice["rater_id"][0])
    return people, pictures.select("generation_id", "prompt_id", pl.col("subject_model").alias("model"), "value")


def _of_pictures(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the rows about single pictures that were there."""
    pictures = scores.filter(pl.any_horizontal(pl.col("generation_id", "prompt_id").is_not_null()))
    if pictures["generation_id"].null_count() < pictures.height:
        pictures = pictures.filter(pl.any_horizontal(pl.col("generation_id", "value").is_not_null()))
    return pictures


def draw_pictures(scores: pl.DataFrame, count: int, *, by_doubt: bool = False, seed: int = 0) -> pl.DataFrame:
    """Draw judged pictures for people to mark, so that ``correct_means`` may use the marks.

    By doubt, chances are in proportion to how far the scores of several judges lie apart (their standard deviation), or, of one
    judge whose scores are chances of yes, to the square root of p (1 - p), but not below a fifth of the mean chance.

    Args:
        scores: rows with the columns of ``records.Score``, of one dimension.
        count: how many pictures.
        by_doubt: draw doubtful pictures more often; else all have the same chance.
        seed: of the draw.

    Returns:
        One row per picture with a score, those drawn first: the first judge's, with ``model``, ``probability`` and ``drawn``.

    Raises:
        InputError: there are several dimensions or fewer pictures, or the doubt of one judge is asked for whose scores are not
            from 0 to 1.

    Example:
        >>> rows = [{"generation_id": f"g{n}", "subject_model": "x", "value": n / 4, "judge": "j"} for n in range(5)]
        >>> table = draw_pictures(pl.DataFrame(rows).with_columns(dimension=pl.lit("yes"), prompt_id=None), 2, by_doubt=True)
        >>> table.sort("generation_id")["probability"].round(2).to_list()
        [0.09, 0.58, 0.67, 0.58, 0.09]
    """
    _only(scores, "dimension", None)
    key = ["generation_id", "prompt_id", "subject_model"]
    scored = _of_pictures(scores).filter(pl.col("value").is_not_null()).sort(*key, "judge", nulls_last=True)
    pictures = scored.unique(key, keep="first", maintain_order=True)
    if pictures.height < count:
        raise InputError("there are fewer scored pictures than are to be drawn:", value=pictures.height)
    spread = np.ones(pictures.height)
    if by_doubt and scored["judge"].n_unique() > 1:
        several = pl.when(pl.len() > 1).then(pl.col("value").std(ddof=0))
        apart = scored.group_by(key, maintain_order=True).agg(several.alias("spread"))["spread"]
        spread = apart.fill_null(apart.mean() or 1.0).to_numpy() + _LEAST  # one judge's alone: as the others on average
    elif by_doubt:
        wrong = pictures.filter(~pl.col("value").is_between(0.0, 1.0))
        if wrong.height:
            problem, hint = (
                "the doubt of one judge is known where its scores are chances of yes, not",
                "Name runs of two judges.",
            )
            raise InputError(problem, column="value", value=wrong["value"][0], allowed=["0 to 1"], hint=hint)
        chance = pictures["value"].to_numpy()
        spread = np.sqrt(chance * (1.0 - chance)) + _LEAST
    chances, drawn = drawn_rows(spread, count, seed)
    named = pictures.with_columns(model="subject_model").with_columns(pl.Series(PROBABILITY, chances), pl.Series(DRAWN, drawn))
    return named.sort(DRAWN, descending=True, maintain_order=True)


def with_chances(marks: pl.DataFrame, drawn: pl.DataFrame) -> pl.DataFrame:
    """Return marks with the ``probability`` of their pictures, which :func:`draw_pictures` has drawn.

    Raises:
        InputError: the table was not made by it, or a mark is of a picture that was not drawn.
    """
    for name in ("generation_id", "prompt_id", "model", PROBABILITY, DRAWN):
        if name not in drawn.columns:
            raise InputError("the table of drawn pictures has no column", value=name, found=drawn.columns)
    has_ids = all("generation_id" in frame.columns and not frame["generation_id"].null_count() for frame in (marks, drawn))
    key = ["generation_id"] if has_ids else ["prompt_id", "model"]
    chosen = drawn.filter(pl.col(DRAWN).cast(pl.String) == "true").with_columns(pl.col(key).cast(pl.String))
    joined = marks.drop(PROBABILITY, strict=False).join(
        chosen.select(*key, PROBABILITY).unique(key), on=key, how="left", maintain_order="left"
    )
    strays = joined.filter(pl.col(PROBABILITY).is_null())
    if strays.height:
        problem = f"{strays.height} of {marks.height} marks are of pictures that were not drawn, such as"
        raise InputError(problem, column=key[0], value=strays[key[0]][0])
    return joined


def _only(scores: pl.DataFrame, column: str, name: str | None) -> str | None:
    """Return ``name`` where the scores have it, or the only value of a column.

    Raises:
        InputError: there is no such value, or several and no name.
    """
    known = scores[column].unique().sort().to_list()
    if name is not None and name not in known:
        raise InputError(f"the scores have no such {column}:", column=column, value=name, allowed=known)
    if name is None and len(known) > 1:
        hint = "Name the run of one version." if column == "judge_version" else f"Name one with --{column}."
        raise InputError("there are scores of several", column=column, value=", ".join(map(str, known)), hint=hint)
    return known[0] if name is None else name
