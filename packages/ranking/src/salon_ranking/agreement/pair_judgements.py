"""Verdicts and scores of judges from a file of their own, put beside the pairs that they are about."""

from pathlib import Path
from typing import Final

import polars as pl

from salon_ranking.agreement.errors import AgreementError
from salon_ranking.agreement.pair_rows import JUDGED, PairRow, is_unicode, json_content, numbers_of, refuse_nested
from salon_ranking.files import read_table
from salon_taxonomy.answers import Parsed, SideVerdict, parse_pair_verdict
from salon_taxonomy.enums import Winner

CHOSEN: Final = {"A": Winner.MODEL_A.value, "B": Winner.MODEL_B.value}
TURNED: Final = {Winner.MODEL_A.value: Winner.MODEL_B.value, Winner.MODEL_B.value: Winner.MODEL_A.value}
"""The choice with sides exchanged."""
_WINNERS: Final = {
    SideVerdict.LEFT: Winner.MODEL_A.value,
    SideVerdict.RIGHT: Winner.MODEL_B.value,
    SideVerdict.BOTH_GOOD: Winner.BOTH_GOOD.value,
    SideVerdict.BOTH_BAD: Winner.BOTH_BAD.value,
}
"""Where picture a is on the left."""


def with_judgements(pairs: pl.DataFrame, judged: str | Path, form: str) -> pl.DataFrame:
    """Return each pair once for every judge and order, with its verdict or scores; null where they are missing.

    Raises:
        AgreementError: the pairs have verdicts already; the file cannot be read or is about none of them; a cell is wrong.
    """
    source = str(judged)
    if {"verdict", "score_a"} & {*pairs.columns}:
        raise AgreementError("these pairs have verdicts already; leave out the file of judgements:", value=source)
    if form == "mmrb2" and Path(judged).suffix.lower() == ".json" and Path(judged).is_file():
        verdicts = _mmrb2_judgements(Path(judged))
    else:
        verdicts = read_table(judged, "battles", AgreementError)
    verdicts = _with_replies(verdicts, source)
    names = [name for name in ("battle_id", "picture", "score", *JUDGED) if name in verdicts.columns]
    refuse_nested(verdicts, names, source)
    judge = pl.col("judge").cast(pl.String).fill_null("judge") if "judge" in names else pl.lit(Path(judged).stem)
    verdicts = verdicts.select(*names).with_columns(judge=judge)
    asked = pairs.drop(*JUDGED, strict=False).join(verdicts.select("judge").unique(maintain_order=True), how="cross")
    if "battle_id" in names and {"verdict", "score_a"} & {*names}:
        verdicts = verdicts.with_columns(pl.col("battle_id").cast(pl.String)).drop("picture", "score", strict=False)
        _refuse_strangers(verdicts, "battle_id", pairs["battle_id"], source)
        return asked.join(verdicts, on=["battle_id", "judge"], how="left", maintain_order="left")
    if {"picture", "score"} <= {*names}:
        return _with_picture_scores(asked, verdicts, source)
    hint = "Give battle_id with verdict, with reply or messages, or with score_a and score_b; or picture with score."
    raise AgreementError("missing column", source=source, value="battle_id or picture", found=verdicts.columns, hint=hint)


def _with_replies(verdicts: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return replies of judges with the verdicts that they contain; null of one that cannot be read.

    A reply is a text, ``reply``, or the last message of the assistant in ``messages``; it contains the JSON object of
    ``parse_pair_verdict``, and ``side_a_shown`` says which of the two was on the left.

    Raises:
        AgreementError: ``side_a_shown`` is missing or wrong, or messages are not objects with role and content.
    """
    column = next((name for name in ("reply", "messages") if name in verdicts.columns), None)
    if column is None or {"verdict", "score_a"} & {*verdicts.columns}:
        return verdicts
    if "side_a_shown" not in verdicts.columns:
        hint = "left and right in a reply are sides: say for each whether picture a was left or right."
        raise AgreementError("missing column", source=source, value="side_a_shown", found=verdicts.columns, hint=hint)
    winners = []
    for number, row in enumerate(verdicts.iter_rows(named=True), 1):
        cells = PairRow(source, number, row)
        a_left = cells.word("side_a_shown", {"left": "left", "right": "right"}) == "left"
        text = cells.text_or_none(column) if column == "reply" else _last_words(cells)
        outcome = parse_pair_verdict(text or "")
        verdict = _WINNERS[outcome.answer] if isinstance(outcome, Parsed) else None
        winners.append(verdict if a_left or verdict is None else TURNED.get(verdict, verdict))
    return verdicts.with_columns(pl.Series("verdict", winners, dtype=pl.String))


def _last_words(row: PairRow) -> str | None:
    """Return the text of the assistant's last message; None without one."""
    messages, allowed = row.cells["messages"], ["a list of objects with role and content"]
    if messages is None:
        return None
    if not isinstance(messages, list) or not all(isinstance(each, dict) and "role" in each for each in messages):
        raise row.wrong("messages", allowed)
    content = next((each.get("content") for each in reversed(messages) if each["role"] == "assistant"), None)
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "".join(str(part.get("text") or "") for part in content)
    if content is not None and not isinstance(content, str):
        raise row.wrong("messages", allowed)
    return content


def _refuse_strangers(verdicts: pl.DataFrame, column: str, pairs: pl.Series, source: str) -> None:
    if not verdicts[column].is_in(pairs.drop_nulls().implode()).any():
        value = verdicts[column][0] if verdicts.height else None
        raise AgreementError("is about none of the pairs:", source=source, column=column, value=value, found=pairs[:3])


def _with_picture_scores(asked: pl.DataFrame, verdicts: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return pairs with the scores of their pictures by their judge."""
    scores = verdicts.select("judge", pl.col("picture").cast(pl.String), numbers_of(verdicts, "score", source)).unique(
        maintain_order=True
    )
    _refuse_strangers(scores, "picture", pl.concat([asked["picture_a"], asked["picture_b"]]), source)
    twice = scores.filter(pl.struct("judge", "picture").is_duplicated())
    if twice.height:
        raise AgreementError("has two scores of a judge:", source=source, column="picture", value=twice["picture"][0])
    for side in ("a", "b"):
        own = scores.rename({"picture": f"picture_{side}", "score": f"score_{side}"})
        asked = asked.join(own, on=["judge", f"picture_{side}"], how="left", maintain_order="left")
    return asked


def _mmrb2_judgements(path: Path) -> pl.DataFrame:
    """Return the first judgement of each order (forward, reverse), the reverse one turned back; a failed one is missing."""
    content, rows = json_content(path), []
    if not isinstance(content, dict) or not content or not all(is_unicode(name) for name in content):
        raise AgreementError("must hold judgements by the ids of pairs", source=path)
    for number, name in enumerate(content, 1):
        row = PairRow(str(path), number, content).part(name)
        for order, side in (("forward", "left"), ("reverse", "right")):
            judgements = row.items(order) if row.cells.get(order) is not None else []
            first = PairRow(str(path), number, {order: judgements[0]}).part(order) if judgements else row
            is_missing = first.cells.get("judgement") in (None, "")
            verdict = None if is_missing else first.word("judgement", {**CHOSEN, "tie": Winner.TIE.value})
            verdict = TURNED.get(verdict, verdict) if verdict and side == "right" else verdict
            cells = {"battle_id": name, "judge": first.text_or_none("evaluator"), "verdict": verdict, "side_a_shown": side}
            rows.append(cells)
    frame = pl.DataFrame(rows, schema=dict.fromkeys(rows[0], pl.String))
    known = frame["judge"].drop_nulls()
    return frame.with_columns(pl.col("judge").fill_null(known[0] if len(known) else path.stem))
