"""One test for many values, where a test of its own for each would cost more than the test does."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import Any


def for_each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with every value in turn, as one test; a failure says which value it was.

    Takes what ``pytest.mark.parametrize`` takes, and stacks with it. ``tmp_path`` is a new, empty folder for each value;
    all other fixtures are those of the one test.

    Example:
        >>> @for_each("number", [1, 2, -3])
        ... def test_positive(number: int) -> None:
        ...     assert number > 0
        >>> try:
        ...     test_positive()
        ... except AssertionError as error:
        ...     print(*error.__notes__)
        number = -3 (value 3 of 3)
    """
    names = (names,) if isinstance(names, str) else names
    rows = [row if len(names) > 1 else (row,) for row in values]
    assert rows, f"no value of {names}: a test of nothing"

    def looped(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            for number, row in enumerate(rows, 1):
                given = fixtures | dict(zip(names, row, strict=True))
                if "tmp_path" in fixtures:
                    given["tmp_path"] = fixtures["tmp_path"] / str(number)
                    given["tmp_path"].mkdir()
                try:
                    test(**given)
                except BaseException as error:
                    words = ", ".join(f"{name} = {given[name]!r:.300}" for name in names)
                    error.add_note(f"{words} (value {number} of {len(rows)})")
                    raise

        found = signature(test)
        run.__signature__ = found.replace(  # type: ignore[attr-defined]
            parameters=[each for name, each in found.parameters.items() if name not in names]
        )
        return run

    return looped
