"""The scores of one judge and people's marks of some of its pictures, as ``salon_ranking.correct_means`` takes them."""

import polars as pl

from salon_taxonomy.errors import InputError


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
    pictures = pictures.filter(pl.any_horizontal(pl.col("generation_id", "prompt_id").is_not_null()))
    if pictures["generation_id"].null_count() < pictures.height:
        pictures = pictures.filter(pl.any_horizontal(pl.col("generation_id", "value").is_not_null()))
    if "dimension" in marks.columns and (marks["dimension"].n_unique() > 1 or dimension is not None):
        people = marks.filter(dimension=named)
        if people.is_empty():
            allowed = sorted(marks["dimension"].drop_nulls().unique())
            raise InputError("the marks have no such dimension:", column="dimension", value=named, allowed=allowed)
    else:
        people = marks
    twice = people.filter(pl.struct(pl.exclude("value", "dimension")).is_duplicated())
    if twice.height:
        raise InputError("a rater has marked a picture twice:", column="rater_id", value=twice["rater_id"][0])
    return people, pictures.select("generation_id", "prompt_id", pl.col("subject_model").alias("model"), "value")


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
