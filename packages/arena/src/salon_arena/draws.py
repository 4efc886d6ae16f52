"""Draw what an arena leaves to chance: pairs, sides, attention checks, the order of items.

Anyone who can compute a draw knows which model made a picture. So the seed comes from the arena's stored secret, unless a study
asks for a public plan.
"""

from itertools import count
from random import Random

from sqlalchemy import func, select

from salon_arena.database import ArenaDatabase
from salon_arena.tables import ASSIGNMENTS


class PlanDraws:
    """Random generators of one arena. Safe to use from several threads.

    Every call of :meth:`new` has a seed of its own: what one generator drew says nothing about the next.

    Args:
        key: seed of the order in which items are dealt.
        start: added to ``key`` for all other draws.

    Example:
        >>> one, other = PlanDraws("7"), PlanDraws("7")
        >>> one.new().random() == other.new().random(), one.new().random() == PlanDraws("8").new().random()
        (True, False)
    """

    def __init__(self, key: str, start: str = "") -> None:
        self._key = key
        self._start = start
        self._calls = count()

    @classmethod
    def of(cls, database: ArenaDatabase, seed: int | None) -> "PlanDraws":
        """Return the draws of an arena.

        Args:
            database: holds the secret.
            seed: of a public plan, which anybody can compute; None: the secret gives it. Then the order of items is the same
                in every run, and no other draw is repeated after a restart.
        """
        if seed is not None:
            return cls(str(seed), str(database.worker))  # servers of one database plan pairs of their own
        tasks = database.read(lambda connection: connection.execute(select(func.count()).select_from(ASSIGNMENTS)).scalar_one())
        return cls(database.hmac("plan", "order"), f"{database.worker} {tasks}")

    def order(self, what: str) -> Random:
        """Return the generator of an order."""
        return Random(f"{self._key} order {what}")  # noqa: S311 - the key is secret, and one state never serves two draws

    def new(self) -> Random:
        """Return a new generator."""
        return Random(f"{self._key} {self._start} {next(self._calls)}")  # noqa: S311 - as above
