"""Formulas of suite files: a number of a picture from its answers and the columns of its prompt.

    formula = "sqrt(min(edit.done, edit.kept) * min(look.natural, look.clean))"

The words are Python's: ``+ - * / **``, comparisons, ``and or not in``, ``A if C else B``, and the functions of
:data:`FUNCTIONS`. Nothing else is evaluated. A name is an answer (``done``, ``edit.done`` of a JSON object; ``-`` is written
``_``), an earlier number, or a column of the prompt. ``min``, ``max``, ``mean`` and ``count`` also take all the
answers to a question that is asked several times: ``mean(there)`` of ``there.1``, ``there.2``, …
"""

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Final, TypeAlias

from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict


def _mean(*values: float) -> float:
    return math.fsum(values) / len(values)


def _count(*values: float) -> float:
    return float(len(values))


def _equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal.

    Raises:
        TypeError: a number is compared with a text, which it never equals.
    """
    return _among(one, (other,))


def _among(item: Any, items: Any) -> bool:
    """Return whether a value is one of several.

    Raises:
        TypeError: it is a number and they are texts, or the other way round.
    """
    others = items if isinstance(items, tuple | list) else ()
    if others and all(_never_equal(item, each) for each in others):
        raise TypeError(f"{item!r:.40} never equals {others[0]!r:.40}: cells of CSV files are texts")
    return item in items


def _never_equal(one: Any, other: Any) -> bool:
    """Return whether one is a number and the other a text; an empty one is a missing cell."""
    pairs = ((one, other), (other, one))
    return any(isinstance(text, str) and text and isinstance(number, int | float) for text, number in pairs)


FUNCTIONS: Final[Mapping[str, Callable[..., float]]] = {
    "min": min,
    "max": max,
    "mean": _mean,
    "count": _count,
    "sqrt": math.sqrt,
    "abs": abs,
}
_ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_OF_SEVERAL: Final = ("min", "max", "mean", "count")
"""Functions that take all the answers to a question that is asked several times."""
_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: _equal,
    ast.NotEq: lambda one, other: not _equal(one, other),
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: _among,
    ast.NotIn: lambda item, items: not _among(item, items),
}
_LONGEST: Final = 2000
_LARGEST: Final = 1e100  # of larger numbers there are no sums of squares


Answers: TypeAlias = tuple[Verdict[float], ...]
"""Those to a question that is asked several times."""


class _MissingError(Exception):
    def __init__(self, verdict: Unscored) -> None:
        super().__init__()
        self.verdict = verdict


@dataclass(frozen=True)
class Formula:
    """One formula.

    Attributes:
        text: as the file has it.

    Raises:
        InputError: it is too long, or contains what a formula cannot.

    Example:
        >>> Formula("max(1, mark / 2) if mark == 1 else mark").value({"mark": Scored(3.0)}, {})
        Scored(value=3.0)
        >>> Formula("sqrt(a.done * b)").value({"a.done": Scored(4.0), "b": Unscored(Reason.REFUSED)}, {})
        Unscored(reason=<Reason.REFUSED: 'refused'>, detail='', raw=None)
    """

    text: str

    def __post_init__(self) -> None:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.expr | ast.keyword) and not _allowed(node):
                raise InputError(
                    f"a formula cannot contain {type(node).__name__}:", value=self.text[:80], allowed=sorted(FUNCTIONS)
                )

    @property
    def names(self) -> frozenset[str]:
        """The names of numbers and columns that it reads.

        Example:
            >>> sorted(Formula("max(edit.done, 1) if kind == 'b' else kept").names)
            ['edit.done', 'kept', 'kind']
        """
        return _names_in(self._tree)

    @property
    def single_names(self) -> frozenset[str]:
        """The names that it reads as one number: not only as an argument of ``min``, ``max`` or ``mean``.

        Example:
            >>> sorted(Formula("mean(there) if count == 2 else min(there, sqrt(kept))").single_names)
            ['count', 'kept']
        """
        calls = [node for node in ast.walk(self._tree) if isinstance(node, ast.Call) and ast.unparse(node.func) in _OF_SEVERAL]
        arguments = {id(part) for call in calls for part in call.args}
        return _names_in(self._tree, without=arguments)

    @property
    def is_share(self) -> bool:
        """Whether its value is true or false, 1 or 0."""
        return _is_share(self._tree)

    def value(self, numbers: Mapping[str, Verdict[float] | Answers], facts: Mapping[str, Any]) -> Verdict[float]:
        """Return the value, or the reason why it is missing: an answer that it reads, or a number.

        What is not finite, or above 1e100, is no number.

        Args:
            numbers: answers and earlier numbers by name; a tuple for a question that is asked several times.
            facts: the columns of the prompt.

        Raises:
            InputError: a text is used as a number, or a name is neither a number nor a column.
        """
        known = {name.replace("-", "_"): verdict for name, verdict in numbers.items()}
        try:
            value = self._evaluated(self._tree, known, facts)
            if not isinstance(value, int | float):
                raise InputError(f"gives {value!r}, not a number:", value=self.text)
            number = _number(value)
        except _MissingError as missing:
            return missing.verdict
        except (ZeroDivisionError, OverflowError, ValueError) as error:
            return Unscored(Reason.NOT_REPORTED, f"{self.text[:80]}: {error}")
        except (TypeError, RecursionError) as error:
            raise InputError(f"cannot be computed ({error}):", value=self.text[:80]) from error
        if abs(number) > _LARGEST:
            return Unscored(Reason.NOT_REPORTED, f"{self.text[:80]}: {number:g} is too large")
        return Scored(number)

    def check(self, numbers: Collection[str], facts: Mapping[str, Any]) -> None:
        """Check that the formula can be computed of a prompt, for all possible answers.

        Args:
            numbers: the names of answers and earlier numbers.
            facts: the columns of the prompt.

        Raises:
            InputError: a text may be used as a number, or a name is neither a number nor a column.

        Example:
            >>> Formula("done if done == 1 else 'none'").check(["done"], {})
            Traceback (most recent call last):
            ...
            salon_taxonomy.errors.InputError: gives 'none', not a number: "done if done == 1 else 'none'"
        """
        known: dict[str, Verdict[float] | Answers] = {name.replace("-", "_"): Scored(1.0) for name in numbers}
        try:
            for value in self._possible(self._tree, known, facts):
                if not isinstance(value, int | float):
                    raise InputError(f"gives {value!r}, not a number:", value=self.text)
        except (TypeError, RecursionError) as error:
            raise InputError(f"cannot be computed ({error}):", value=self.text[:80]) from error

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Return whether it is true of a prompt; texts, lists and missing cells are true as in Python.

        Raises:
            InputError: a name is no column, or it cannot be computed.
        """
        try:
            return bool(self._evaluated(self._tree, {}, facts))
        except (TypeError, ArithmeticError, ValueError, RecursionError) as error:
            raise InputError(f"cannot be computed ({error}):", value=self.text) from error

    @cached_property
    def _tree(self) -> ast.expr:
        if len(self.text) > _LONGEST:
            raise InputError(f"a formula has at most {_LONGEST} characters, not", value=len(self.text))
        try:
            return ast.parse(" ".join(self.text.split("\n")).strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise InputError("is no formula:", value=self.text[:80]) from error

    def _possible(self, node: ast.expr, numbers: Mapping[str, Verdict[float] | Answers], facts: Mapping[str, Any]) -> list[Any]:
        """Return the possible values of a part; 1 represents all numbers that answers decide."""

        def of(part: ast.expr) -> list[Any]:
            return self._possible(part, numbers, facts)

        def answered(part: ast.expr) -> bool:
            return not _names_in(part).isdisjoint(numbers)

        if not answered(node):
            try:
                return [self._evaluated(node, numbers, facts)]
            except (ArithmeticError, ValueError):
                return [1.0]
        match node:
            case ast.IfExp():
                tests = of(node.test)
                if answered(node.test):
                    return of(node.body) + of(node.orelse)
                return of(node.body if tests[0] else node.orelse)
            case ast.Tuple() | ast.List():
                return [tuple(of(part)[0] for part in node.elts)]
            case ast.BoolOp():
                for part in node.values:
                    values = of(part)
                    if not answered(part) and bool(values[0]) is isinstance(node.op, ast.Or):
                        break
            case ast.Compare():
                sides = [of(part) for part in (node.left, *node.comparators)]
                for kind, lefts, rights in zip(node.ops, sides, sides[1:], strict=False):
                    for left, right in product(lefts, rights):
                        _COMPARISONS[type(kind)](left, right)
            case ast.UnaryOp() | ast.BinOp() | ast.Call():
                parts = node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
                values = [value for part in parts if isinstance(part, ast.expr) for value in of(part)]
                for value in () if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else values:
                    _number(value)
        return [1.0]

    def _evaluated(self, node: ast.expr, numbers: Mapping[str, Verdict[float] | Answers], facts: Mapping[str, Any]) -> Any:
        def of(part: ast.expr) -> Any:
            return self._evaluated(part, numbers, facts)

        match node:
            case ast.Constant():
                return node.value
            case ast.Name() | ast.Attribute():
                return _looked_up(ast.unparse(node), numbers, facts)
            case ast.Tuple() | ast.List():
                return tuple(map(of, node.elts))
            case ast.UnaryOp():
                return not of(node.operand) if isinstance(node.op, ast.Not) else -_number(of(node.operand))
            case ast.BinOp():
                return _number(_ARITHMETIC[type(node.op)](_number(of(node.left)), _number(of(node.right))))
            case ast.BoolOp():
                results = map(of, node.values)
                return all(results) if isinstance(node.op, ast.And) else any(results)
            case ast.IfExp():
                return of(node.body) if of(node.test) else of(node.orelse)
            case ast.Compare():
                left = of(node.left)
                for kind, part in zip(node.ops, node.comparators, strict=True):
                    right = of(part)
                    if not _COMPARISONS[type(kind)](left, right):
                        return False
                    left = right
                return True
            case ast.Call(func=ast.Name(id=name)):
                parts = map(of, node.args)
                values = [_number(x) for part in parts for x in (part if isinstance(part, list) else [part])]
                if not values and name != "count":
                    raise ValueError(f"{name} of no answer")
                return FUNCTIONS[name](*values)
        raise InputError("a formula cannot contain", value=ast.unparse(node)[:80])  # pragma: no cover - checked before


def _is_share(node: ast.expr) -> bool:
    match node:
        case ast.IfExp():
            return _is_share(node.body) and _is_share(node.orelse)
        case ast.BoolOp():
            return all(map(_is_share, node.values))
        case ast.UnaryOp():
            return isinstance(node.op, ast.Not)
    return isinstance(node, ast.Compare)


def _looked_up(name: str, numbers: Mapping[str, Verdict[float] | Answers], facts: Mapping[str, Any]) -> Any:
    if name in numbers:
        verdicts = numbers[name]
        several = verdicts if isinstance(verdicts, tuple) else (verdicts,)
        for verdict in several:
            if isinstance(verdict, Unscored):
                raise _MissingError(verdict)
        values = [_finite(verdict.value) for verdict in several if isinstance(verdict, Scored)]
        return values if isinstance(verdicts, tuple) else values[0]
    if name not in facts:
        raise InputError("is neither a number of the suite nor a column of the prompt:", value=name, allowed=[*numbers, *facts])
    return _finite(facts[name])


def _number(value: object) -> float:
    """Return a number as a float, so that nothing grows without bounds."""
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r:.40} is no number")
    number: float = _finite(float(value))
    return number


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no finite number")
    return value


def _names_in(tree: ast.expr, without: Collection[int] = ()) -> frozenset[str]:
    nodes = list(ast.walk(tree))
    inner = {id(node.func) for node in nodes if isinstance(node, ast.Call)} | {*without}
    inner |= {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    return frozenset(
        ast.unparse(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute) and id(node) not in inner
    )


def _allowed(node: ast.AST) -> bool:
    match node:
        case ast.Constant():
            return isinstance(node.value, bool | int | float | str)
        case ast.Attribute():
            return isinstance(node.value, ast.Name)
        case ast.UnaryOp():
            return isinstance(node.op, ast.Not | ast.USub)
        case ast.BinOp():
            return type(node.op) in _ARITHMETIC
        case ast.Compare():
            return all(type(kind) in _COMPARISONS for kind in node.ops)
        case ast.Call():
            named = isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS
            return named and bool(node.args) and not node.keywords and not any(isinstance(x, ast.Starred) for x in node.args)
    return isinstance(node, ast.Name | ast.Tuple | ast.List | ast.BoolOp | ast.IfExp)
