"""The registry of rewards, read from their classes, and rewards by name."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from salon_rewards.callables import magicmirror, pairwise, penalties, prism, r3
from salon_rewards.callables.reward import Described, RewardFunction
from salon_rewards.magicmirror import MagicMirrorWeights
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge

SOURCES: Final = "salon.reward_sources"
"""Entry points of packages that bring rewards of their own: ``(name, parameters) -> reward``. A reward is called
``source:name`` then, ``source`` being the name of the entry point: ``suite:prism``."""

Source: TypeAlias = Callable[[str, Mapping[str, Any]], RewardFunction]


@dataclass(frozen=True, slots=True)
class RewardEntry:
    """One reward, as its class describes it.

    Attributes:
        name: on the command line, in configurations and result tables.
        summary: what it pays for, in one line.
        lowest: its lowest value with default parameters.
        highest: its highest value with default parameters.
        source: paper, section, table or equation.
        made_by: its class, ``module:name``.
        columns: of the data set, which it needs.
        asks: a key of :data:`ASKED`, or empty; a reward that asks has to be awaited.
    """

    name: str
    summary: str
    lowest: float
    highest: float
    source: str
    made_by: str
    columns: tuple[str, ...] = ()
    asks: str = ""

    @classmethod
    def of(cls, kind: type[Described]) -> "RewardEntry":
        """Read the entry of a reward's class."""
        made_by = f"{kind.__module__}:{kind.__qualname__}"
        name = kind.__dict__["__name__"]  # the class's own attribute, not the name of the class
        return cls(name, kind.pays_for, kind.lowest, kind.highest, kind.published_in, made_by, kind.columns, kind.asks)


ASKED: Final[Mapping[str, str]] = MappingProxyType({"judge": "a judge", "editor": "an editor"})
"""What a reward may ask, in words."""

_KINDS: Final[Mapping[str, type[Described]]] = MappingProxyType(
    {
        kind.__dict__["__name__"]: kind
        for module in (magicmirror, pairwise, penalties, prism, r3)
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__dict__.get("pays_for") and kind.__module__ == module.__name__
    }
)
"""The class of every reward that describes itself, by name."""

REWARDS: Final = tuple(RewardEntry.of(_KINDS[name]) for name in sorted(_KINDS))
"""Every reward of this version, in alphabetical order. ``magicmirror``'s highest value includes consistency."""


def source_names() -> list[str]:
    """Return list the sources of rewards of installed packages, in alphabetical order; imports none of them."""
    return sorted({entry.name for entry in entry_points(group=SOURCES)})


def make_reward(name: str, **parameters: Any) -> RewardFunction:
    """Make a reward by its name.

    Args:
        name: of :data:`REWARDS`, or ``source:name`` of an installed package (``suite:prism`` of salon-bench).
        parameters: of the reward's class. A ``judge`` may be a text, which salon-bench opens, with secrets of the environment
            (``"vllm:MODEL@URL"``). ``magicmirror`` with a ``judge`` asks it for consistency; its ``weights`` may be a mapping.

    Raises:
        InputError: for an unknown name or parameter, or without one that is needed.

    Example:
        >>> make_reward("think", least_characters=20)
        ThinkReward(least_characters=20, opened_by_prompt=False)
        >>> make_reward("magicmirror", mode="gate").mode
        <ConsistencyMode.GATE: 'gate'>
    """
    if isinstance(parameters.get("judge"), str):
        parameters["judge"] = _opened(parameters["judge"])
    brought, colon, inner = name.partition(":")
    if colon:
        return _from_source(brought, inner, parameters)
    kind: Any = _KINDS.get(name)
    if kind is None:
        allowed = [*_KINDS, *(f"{source}:NAME" for source in source_names())]
        hint = "`salon reward list` tells what each pays for."
        raise InputError("there is no reward", value=name, allowed=allowed, hint=hint)
    if name == "magicmirror" and parameters.get("judge") is not None:
        kind = magicmirror.MagicMirrorJudged
    if name == "magicmirror" and isinstance(parameters.get("weights"), Mapping):
        parameters["weights"] = _made("magicmirror's weights", MagicMirrorWeights, dict(parameters["weights"]))
    reward: RewardFunction = _made(name, kind, parameters)
    return reward


def _made(name: str, kind: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    """Call a class with parameters by name, and say it plainly when they do not fit."""
    known = inspect.signature(kind).parameters
    unknown = sorted(parameters.keys() - known.keys())
    if unknown:
        raise InputError(f"unknown parameter of {name}", value=unknown[0], allowed=known or ("none",))
    lacking = [key for key, one in known.items() if one.default is inspect.Parameter.empty and key not in parameters]
    if lacking:
        raise InputError(f"{name} cannot be made without", value=lacking[0], hint=f'make_reward("{name}", {lacking[0]}=…)')
    return kind(**parameters)


def _opened(judge: str) -> Judge:
    """Return the judge that a text names.

    Raises:
        InputError: as :func:`~salon_judges.clients.specification.open_judge`, and where what opens it is not installed.
    """
    try:
        from salon_judges.clients.specification import open_judge

        return open_judge(judge)
    except ModuleNotFoundError as error:
        hint = "In a clone of Salon: uv pip install './packages/judges[clients]'; or give an object with `ask`."
        raise InputError(
            f"the module {error.name!r} is not installed, which opens", column="judge", value=judge, hint=hint
        ) from error


def _from_source(brought: str, inner: str, parameters: Mapping[str, Any]) -> RewardFunction:
    entries = [entry for entry in entry_points(group=SOURCES) if entry.name == brought]
    if not entries:
        brings = "salon-bench brings suite:NAME for every suite; in a clone of Salon: uv pip install ./packages/bench"
        hint = brings if brought == "suite" else f"A function of yours is named scorer:{brought}:{inner}." if inner else None
        allowed = source_names() or ("none",)
        raise InputError("no installed package brings rewards of", value=brought, allowed=allowed, hint=hint)
    source: Source = entries[0].load()
    return source(inner, parameters)
