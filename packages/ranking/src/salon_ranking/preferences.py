"""Votes as preference data: one row per pair of pictures, chosen and rejected, split by prompt."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import polars as pl

from salon_console.numbers import counted
from salon_ranking.battles import Battles
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.near_prompts import near_groups
from salon_ranking.options import Range, Seed, checked

_GENERATIONS: Final = ("generation_a", "generation_b")
_OF_A_PROMPT: Final = ("suite", "prompt_id", "prompt", "source")
_VOTES: Final = ("votes_a", "votes_b")
RELEASED: Final = ("hpdv3", "imagerewarddb", "pick-a-pic", "videoreward")
"""Released sets in whose columns :func:`released_rows` writes."""
_EQUAL: Final = 1e-9
"""Share of the votes up to which two sums of weights are equal."""
_DIGESTS: Final = ("chosen_sha256", "rejected_sha256")
_COLUMNS: Final = (
    *("prompt_id", "prompt", "chosen", "rejected", "chosen_model", "rejected_model"),
    *("votes_chosen", "votes_rejected", "ties", "margin", "split"),
)


@dataclass(frozen=True, eq=False)
class PreferencePairs:
    """Preference data from votes.

    Attributes:
        table: one row per pair that more votes chose than rejected, and of undecided ones if asked: ``prompt_id``, ``prompt``
            (its text; null where it is not known), ``chosen`` and ``rejected`` (where pictures are, else their ids, else the
            models), ``chosen_model``, ``rejected_model``, ``votes_chosen``, ``votes_rejected``, ``ties`` (sums of weights),
            ``margin`` ((votes_chosen - votes_rejected) over all three, from 0, which is undecided, to 1) and ``split`` (train
            or test); where the votes have them, ``source`` (what was edited) and ``mode`` (who decided: expert, public, judge
            or derived; several are joined by +); where the generations have them, ``chosen_sha256`` and ``rejected_sha256``.
        undecided: pairs with as many votes for the one as for the other.
        battles: votes that were read.
    """

    table: pl.DataFrame
    undecided: int
    battles: int

    @property
    def header(self) -> str:
        """One sentence on what was made of the votes."""
        held_out = self.table.filter(split="test").height
        disputed = self.table.filter(pl.col("votes_rejected") > 0).height
        pairs, undecided = counted(self.table.height, "pair"), counted(self.undecided, "undecided pair")
        return (
            f"{counted(self.battles, 'vote')}: {pairs}, voters disagree on {disputed:,}, {held_out:,} for testing; "
            f"{undecided} {'kept' if self.table.filter(margin=0.0).height else 'left out'}."
        )


@checked
def preference_pairs(
    battles: Battles,
    *,
    generations: pl.DataFrame | None = None,
    prompts: pl.DataFrame | None = None,
    held_out: Annotated[float, Range(0.0, 1.0)] = 0.0,
    seed: Seed = 0,
    undecided: bool = False,
    sources: tuple[str, str] = ("generations", "prompts"),
) -> PreferencePairs:
    """Turn votes into pairs of a chosen and a rejected picture.

    All votes on one pair are one row, whatever sides they were shown on. Prompts that are nearly one
    (:func:`~salon_ranking.near_prompts.near_groups`: one text, nine of ten words, or a picture or source of both) are in one
    split.
    Whether a prompt is held out depends on the seed and the texts that are nearly its own, not on other prompts.

    Args:
        battles: with ``generation_a`` and ``generation_b``, or with ``prompt_id``: then a pair is of two models on one prompt.
            A row with ``votes_a`` and ``votes_b`` is so many votes, whatever its winner; another is one.
        generations: ``generation_id`` and ``uri``, for where pictures are, and maybe ``sha256``; each id has one of each.
        prompts: ``prompt_id`` and ``text``; an id has one text, of one ``suite`` where both tables have it. None: the column
            ``prompt`` of the votes.
        held_out: the share of prompts that is for testing, from 0 to 1.
        seed: of the split.
        undecided: keep pairs with as many votes for the one as for the other, whose margin is 0: for losses with ties.
        sources: what errors call the generations and the prompts.

    Raises:
        BattleError: the battles have no such columns, or not in all rows; a picture has no place, two models or two prompts, or
            is compared with itself; an id means two places or texts.

    Example:
        >>> votes = {"prompt_id": ["p"] * 4, "model_a": ["x", "y", "x", "x"], "model_b": ["y", "x", "y", "z"]}
        >>> winners = ["model_a", "model_b", "model_b", "tie"]
        >>> found = preference_pairs(Battles.from_frame({**votes, "winner": winners}))
        >>> found.table.select("chosen", "rejected", "votes_chosen", "votes_rejected").row(0), found.undecided
        (('x', 'y', 2.0, 1.0), 1)
    """
    frame = battles.frame.collect()
    whole = {
        name: pl.col(name).cast(pl.String).replace("", None) for name in (*_GENERATIONS, "prompt_id") if name in frame.columns
    }
    frame = frame.with_columns(**whole)
    weight = pl.lit(1.0) if battles.weight is None else pl.col(battles.weight).cast(pl.Float64)
    frame = frame.filter(weight > 0.0)
    has_generations = {*_GENERATIONS} <= {*frame.columns} and frame.select(pl.col(_GENERATIONS).is_not_null().any()).row(0) == (
        True,
    ) * 2
    needed = _GENERATIONS if has_generations else ("prompt_id",)
    for name in needed:
        if name not in frame.columns:
            hint = "Pairs are of pictures (generation_a, generation_b) or of models on a prompt (prompt_id)."
            raise BattleError("missing column", source=battles.source, value=name, found=frame.columns, hint=hint)
        lacking = frame[name].null_count()
        if lacking:
            hint = f'Leave them out: --where "{name} IS NOT NULL".'
            raise BattleError(
                f"{counted(lacking, 'vote')} of {frame.height:,} without", source=battles.source, value=name, hint=hint
            )
    if generations is not None and not has_generations:
        raise BattleError("the votes name no pictures, so that generations say nothing", source=battles.source)
    a, b = (pl.col(name).cast(pl.String) for name in (_GENERATIONS if has_generations else ("model_a", "model_b")))
    same = frame.filter(a == b)
    if same.height:
        raise BattleError("a picture is compared with itself:", source=battles.source, value=same.select(a).item(0, 0))
    optional = {
        name: pl.col(name).cast(pl.String) if name in frame.columns else pl.lit(None, dtype=pl.String) for name in _OF_A_PROMPT
    }
    in_order, winner = a < b, pl.col("winner").cast(pl.String)

    def side(one: pl.Expr, other: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
        return pl.when(in_order).then(one).otherwise(other), pl.when(in_order).then(other).otherwise(one)

    first, second = side(a, b)
    first_model, second_model = side(pl.col("model_a"), pl.col("model_b"))
    counted_votes = [
        pl.col(name).cast(pl.Float64, strict=False) if {*_VOTES} <= {*frame.columns} else pl.lit(None, pl.Float64)
        for name in _VOTES
    ]
    are_known = pl.all_horizontal(many.is_between(0.0, 1e15) for many in counted_votes).fill_null(value=False)
    one_each = [(winner == name).cast(pl.Float64) for name in ("model_a", "model_b")]
    won_a, won_b = (pl.when(are_known).then(many).otherwise(one) for many, one in zip(counted_votes, one_each, strict=True))
    first_wins, second_wins = side(won_a, won_b)
    votes = frame.select(
        **optional,
        first=first,
        second=second,
        first_model=first_model.cast(pl.String),
        second_model=second_model.cast(pl.String),
        first_wins=first_wins * weight,
        second_wins=second_wins * weight,
        ties=(~winner.is_in(["model_a", "model_b"]) & ~are_known).cast(pl.Float64) * weight,
        mode=pl.col("mode").cast(pl.String) if "mode" in frame.columns else pl.lit(None, dtype=pl.String),
    )
    key = ["first", "second"] if has_generations else ["suite", "prompt_id", "first", "second"]
    facts = [name for name in (*_OF_A_PROMPT, "first_model", "second_model") if name not in key]
    differing = votes.group_by(key).agg(pl.col(facts).drop_nulls().n_unique() > 1)
    for name in facts:
        two = differing.filter(pl.col(name)).sort("first", "second")
        if two.height:
            problem = f"a pair of pictures has two of {name}:"
            raise BattleError(problem, source=battles.source, value=f"{two['first'][0]}, {two['second'][0]}")
    counts = votes.group_by(key, maintain_order=True).agg(
        pl.col(facts).drop_nulls().first(),
        pl.col("first_wins", "second_wins", "ties").sort().sum(),
        pl.col("mode").drop_nulls().unique().sort().str.join("+"),
    )
    counts = counts.filter(pl.sum_horizontal("first_wins", "second_wins", "ties") > 0.0)  # counts of votes may be 0 and 0
    gap = (pl.col("first_wins") - pl.col("second_wins")).abs()
    is_decided = gap > _EQUAL * (pl.col("first_wins") + pl.col("second_wins"))
    won = pl.col("first_wins") > pl.col("second_wins")
    table = (counts if undecided else counts.filter(is_decided)).select(
        *_OF_A_PROMPT,
        chosen=pl.when(won).then("first").otherwise("second"),
        rejected=pl.when(won).then("second").otherwise("first"),
        chosen_model=pl.when(won).then("first_model").otherwise("second_model"),
        rejected_model=pl.when(won).then("second_model").otherwise("first_model"),
        votes_chosen=pl.max_horizontal("first_wins", "second_wins"),
        votes_rejected=pl.min_horizontal("first_wins", "second_wins"),
        ties="ties",
        mode="mode",
    )
    told = pl.col("votes_chosen") + pl.col("votes_rejected") + pl.col("ties")
    table = table.with_columns(margin=(pl.col("votes_chosen") - pl.col("votes_rejected")) / told)
    if generations is not None:
        table = _with_places(table, generations, sources[0])
    if prompts is not None:
        table = _with_texts(table, prompts, sources[1])
    text = pl.coalesce("prompt", "prompt_id")
    if 0.0 < held_out < 1.0 and table.select(text.is_null().any()).item():
        hint = "Give --prompts, or --held-out 0."
        raise BattleError("a share of prompts cannot be held out of votes without prompts", source=battles.source, hint=hint)
    table = table.with_columns(split=_splits(table, has_generations, held_out, seed))
    even = counts.height - int(counts.select(is_decided.sum()).item())
    has_sources = table["source"].null_count() < table.height
    columns = (*_COLUMNS, *["source"] * has_sources, *["mode"] * ("mode" in frame.columns))
    if {*_DIGESTS} <= {*table.columns} and table.select(pl.any_horizontal(pl.col(_DIGESTS).is_not_null().any())).item():
        columns += _DIGESTS
    return PreferencePairs(table.select(columns).sort("prompt_id", "chosen", "rejected"), even, votes.height)


def _with_places(table: pl.DataFrame, generations: pl.DataFrame, source: str) -> pl.DataFrame:
    places = _texts_of(generations, ("generation_id", "uri"), source).unique()
    _refuse_twice(places, ["generation_id"], source)
    known = dict(places.iter_rows())
    missing = sorted({*table["chosen"], *table["rejected"]} - {name for name, uri in known.items() if uri})
    if missing:
        what = f"has no place of {counted(len(missing), 'picture')} of the votes, such as"
        raise BattleError(what, source=source, column="generation_id", value=missing[0])
    if "sha256" in generations.columns:
        digests = _texts_of(generations, ("generation_id", "sha256"), source).drop_nulls().unique()
        _refuse_twice(digests, ["generation_id"], source, column="sha256")
        names = pl.col("chosen", "rejected").replace_strict(dict(digests.iter_rows()), default=None, return_dtype=pl.String)
        table = table.with_columns(names.name.suffix("_sha256"))
    table = table.with_columns(pl.col("chosen", "rejected").replace_strict(known, return_dtype=pl.String))
    same = table.filter(pl.col("chosen") == pl.col("rejected"))["chosen"].sort()
    if len(same):
        raise BattleError("a picture is compared with itself:", source=source, column="uri", value=same[0])
    return table


def _with_texts(table: pl.DataFrame, prompts: pl.DataFrame, source: str) -> pl.DataFrame:
    key = ["suite", "prompt_id"] if "suite" in prompts.columns and table["suite"].null_count() == 0 else ["prompt_id"]
    texts = _texts_of(prompts, (*key, "text"), source).unique().join(table.select(key).unique(), on=key, how="semi")
    _refuse_twice(texts, key, source)
    return table.drop("prompt").join(texts.rename({"text": "prompt"}), on=key, how="left", maintain_order="left")


def _texts_of(rows: pl.DataFrame, columns: Sequence[str], source: str) -> pl.DataFrame:
    for name in columns:
        if name not in rows.columns:
            raise BattleError("missing column", source=source, value=name, found=rows.columns)
        if rows[name].dtype.is_nested() or rows[name].dtype == pl.Binary:
            raise BattleError("is a text, not", source=source, column=name, value=str(rows[name].dtype))
    return rows.select(pl.col(columns).cast(pl.String))


def _refuse_twice(rows: pl.DataFrame, key: Sequence[str], source: str, *, column: str | None = None) -> None:
    twice = rows.filter(pl.struct(key).is_duplicated()).sort(key)
    if twice.height:
        raise BattleError("an id means two things:", source=source, column=column or key[-1], value=twice[key[-1]][0])


def _splits(table: pl.DataFrame, has_pictures: bool, held_out: float, seed: int) -> pl.Series:
    """Return the split of each pair: a draw of its group of prompts."""
    if not 0.0 < held_out < 1.0:
        return pl.Series(["test" if held_out else "train"] * table.height, dtype=pl.String)
    prompts = table.select(pl.coalesce("prompt", "prompt_id")).to_series().to_list()
    columns: tuple[str, ...] = ("source", "chosen", "rejected") if has_pictures else ("source",)
    columns += tuple(name for name in _DIGESTS if name in table.columns)
    pictures = [[name for name in row if name is not None] for row in table.select(columns).rows()]
    groups = near_groups(prompts, pictures)
    drawn = {group: hashlib.sha256(f"{seed} {group}".encode()).digest()[:8] for group in {*groups.values()}}
    is_test = {group: int.from_bytes(number, "big") < held_out * 2**64 for group, number in drawn.items()}
    return pl.Series(["test" if is_test[groups[prompt]] else "train" for prompt in prompts], dtype=pl.String)


_QUESTION: Final = (
    "The first picture is the left one, the second the right one. Both were made for this text:\n{prompt}\nWhich one is "
    'better? Answer with one JSON object: {{"reason": "", "verdict": "left"}} or {{"reason": "", "verdict": "right"}}.'
)


def trl_rows(pairs: pl.DataFrame, *, seed: int = 0, source: str = "pairs") -> list[dict[str, Any]]:
    """Return pairs in TRL's preference form, from which its DPO trainer teaches a vision-language model to judge pictures.

    The side of the chosen picture is drawn from the seed, the prompt and both pictures. An answer is what
    :func:`salon_taxonomy.answers.parse_pair_verdict` reads.

    Args:
        pairs: of :func:`preference_pairs`; undecided ones are left out.
        seed: of the sides, beside which pictures and prompts decide.
        source: what errors call the pairs.

    Returns:
        One row per pair: ``images`` (places of the left and the right picture), ``prompt`` (one message of the user, whose
        pictures stand before its text), ``chosen`` and ``rejected`` (one message of the assistant each), ``margin`` and
        ``split``.

    Raises:
        BattleError: a pair has no prompt, or names models in place of pictures.

    Example:
        >>> row = {"prompt": "a cat", "chosen": "1.png", "rejected": "2.png", "margin": 1.0, "split": "train"}
        >>> models = {"chosen_model": "x", "rejected_model": "y"}
        >>> row = trl_rows(pl.DataFrame([row | models]))[0]
        >>> row["images"], row["chosen"][0]["content"]
        (['1.png', '2.png'], '{"reason": "", "verdict": "left"}')
    """
    rows = []
    for pair in _of_pictures(pairs.filter(pl.col("margin") > 0.0), source):
        names = [pair["chosen"], pair["rejected"]]
        images = _drawn_sides(pair, seed)
        answers = [
            json.dumps({"reason": "", "verdict": side}) for side in (("left", "right")[images.index(name)] for name in names)
        ]
        chosen, rejected = ([{"role": "assistant", "content": answer}] for answer in answers)
        prompt = [{"role": "user", "content": _QUESTION.format(prompt=pair["prompt"])}]
        facts = {name: pair[name] for name in ("margin", "split")}
        rows.append({"images": images, "prompt": prompt, "chosen": chosen, "rejected": rejected, **facts})
    return rows


def released_rows(pairs: pl.DataFrame, form: str, *, seed: int = 0, source: str = "pairs") -> list[dict[str, Any]]:
    """Return pairs in the columns of a released set, which that set's own code reads, and Salon again.

    Args:
        pairs: of :func:`preference_pairs`.
        form: ``hpdv3`` (``path1`` is the chosen picture, so undecided pairs are left out; ``choice_dist`` where votes are whole
            numbers), ``imagerewarddb`` (a ranking of two pictures), ``pick-a-pic`` (without the pictures' bytes) or
            ``videoreward`` (the answer of a pair to each of its three questions). The latter two have the chosen one on a drawn
            side; the latter three have no counts of votes.
        seed: of the sides.
        source: what errors call the pairs.

    Raises:
        BattleError: a pair has no prompt, or names models in place of pictures.
        OptionError: the form is another one.

    Example:
        >>> row = {"prompt": "a cat", "chosen": "1.png", "rejected": "2.png", "margin": 0.5, "split": "train"}
        >>> row |= {"chosen_model": "x", "rejected_model": "y", "votes_chosen": 3.0, "votes_rejected": 1.0}
        >>> released_rows(pl.DataFrame([row]), "hpdv3")[0]["choice_dist"]
        [3, 1]
        >>> released_rows(pl.DataFrame([row]), "imagerewarddb")[0]["ranking"]
        [1, 2]
        >>> video = released_rows(pl.DataFrame([row]), "videoreward")[0]
        >>> video[f"path_{video['VQ']}"]
        '1.png'
    """
    if form not in RELEASED:
        raise OptionError("unknown form of pairs", value=form, allowed=RELEASED)
    rows = []
    for number, pair in enumerate(_of_pictures(pairs, source)):
        names, models = ([pair[f"{side}{of}"] for side in ("chosen", "rejected")] for of in ("", "_model"))
        votes = [pair["votes_chosen"], pair["votes_rejected"]]
        if form == "hpdv3":
            facts = {"path1": names[0], "path2": names[1], "model1": models[0], "model2": models[1]}
            if pair["margin"] == 0.0:
                continue
            whole = all(each.is_integer() for each in votes)
            rows.append({"prompt": pair["prompt"], **facts, "choice_dist": [int(each) for each in votes] if whole else None})
        elif form == "imagerewarddb":
            places = [1, 2 if pair["margin"] > 0.0 else 1]
            rows.append({"id": f"{number:06d}", "prompt": pair["prompt"], "generations": names, "ranking": places})
        elif form == "videoreward":
            images = _drawn_sides(pair, seed)
            answer = "same" if pair["margin"] == 0.0 else "AB"[images.index(names[0])]
            facts = {f"path_{side}": name for side, name in zip("AB", images, strict=True)}
            facts |= {f"{side}_model": models[names.index(name)] for side, name in zip("AB", images, strict=True)}
            rows.append({**facts, "prompt": pair["prompt"], **dict.fromkeys(("VQ", "MQ", "TA"), answer)})
        else:
            images = _drawn_sides(pair, seed)
            label = 0.5 if pair["margin"] == 0.0 else float(images[0] == names[0])
            facts = {f"image_{side}_uid": name for side, name in enumerate(images)}
            facts |= {f"model_{side}": models[names.index(name)] for side, name in enumerate(images)}
            labels = {"label_0": label, "label_1": 1.0 - label, "has_label": True}
            rows.append({"ranking_id": number, "caption": pair["prompt"], **facts, **labels})
    return rows


def _of_pictures(pairs: pl.DataFrame, source: str) -> Iterator[dict[str, Any]]:
    """Yield pairs of pictures with a prompt.

    Raises:
        BattleError: one is not.
    """
    for number, pair in enumerate(pairs.iter_rows(named=True), 1):
        if pair["prompt"] is None:
            raise BattleError("a prompt is missing", source=source, row=number, column="prompt", hint="Give --prompts.")
        if [pair["chosen"], pair["rejected"]] == [pair["chosen_model"], pair["rejected_model"]]:
            hint = "Give votes with generation_a and generation_b, and --generations."
            value = pair["chosen"]
            raise BattleError("is a model, not a picture:", source=source, row=number, column="chosen", value=value, hint=hint)
        yield pair


def _drawn_sides(pair: Mapping[str, Any], seed: int) -> list[str]:
    """Return both pictures in an order that follows from the seed, the prompt and the pictures."""
    names = sorted((pair["chosen"], pair["rejected"]))
    drawn = hashlib.sha256("\x1f".join((str(seed), pair["prompt"], *names)).encode()).digest()[0] % 2
    return sorted(names, reverse=bool(drawn))
