"""Pacing by a clock that only tests move: nobody waits, and everything that happens is repeatable."""

import asyncio

import pytest

from salon_judges.clients.pacing import AdaptiveLimit, Congestion, Pacing, Rate


class FakeClock:
    """Sleeping moves the time at once."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.sleeps: list[float] = []

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time += max(0.0, seconds)
        await asyncio.sleep(0)


def test_never_more_than_the_limit_are_under_way_and_the_first_to_come_is_served_first() -> None:
    async def main() -> tuple[int, list[int]]:
        places, order, most = AdaptiveLimit(3), [], 0

        async def one(number: int) -> None:
            nonlocal most
            ticket = await places.acquire()
            most = max(most, places.in_flight)
            order.append(number)
            await asyncio.sleep(0)
            places.release(ticket, Congestion.ANSWERED)

        await asyncio.gather(*(one(number) for number in range(20)))
        assert places.in_flight == 0
        return most, order

    assert asyncio.run(main()) == (3, list(range(20)))


def test_a_storm_halves_the_limit_once_and_the_next_storm_again() -> None:
    async def main() -> list[float]:
        places, seen = AdaptiveLimit(64), []
        for _ in range(3):
            tickets = [await places.acquire() for _ in range(int(places.limit))]
            for ticket in tickets:
                places.release(ticket, Congestion.CONGESTED)
            seen.append(places.limit)
        return seen

    assert asyncio.run(main()) == [32, 16, 8]


def test_the_limit_never_falls_below_one() -> None:
    async def main() -> float:
        places = AdaptiveLimit(2)
        for _ in range(10):
            places.release(await places.acquire(), Congestion.CONGESTED)
        return places.limit

    assert asyncio.run(main()) == 1


def test_answers_raise_the_limit_by_a_step_for_each_round_up_to_the_ceiling() -> None:
    async def main() -> list[float]:
        places = AdaptiveLimit(64)
        places.release(await places.acquire(), Congestion.CONGESTED)
        seen = [places.limit]
        for _ in range(32):
            places.release(await places.acquire(), Congestion.ANSWERED)
        seen.append(places.limit)
        for _ in range(10_000):
            places.release(await places.acquire(), Congestion.ANSWERED)
        return [*seen, places.limit]

    halved, after_a_round, at_last = asyncio.run(main())
    assert (halved, at_last) == (32, 64)
    assert 33.9 < after_a_round < 34


def test_neither_cancelled_nor_broken_requests_move_the_limit() -> None:
    async def main() -> float:
        places = AdaptiveLimit(8)
        places.release(await places.acquire(), Congestion.UNKNOWN)
        return places.limit

    assert asyncio.run(main()) == 8


@pytest.mark.parametrize("grant_first", [False, True])
def test_whoever_is_cancelled_while_waiting_leaves_the_place_to_the_next(grant_first: bool) -> None:
    async def main() -> int:
        places = AdaptiveLimit(1)
        ticket = await places.acquire()
        leaving = asyncio.create_task(places.acquire())
        staying = asyncio.create_task(places.acquire())
        await asyncio.sleep(0)
        if grant_first:  # the place is given, and its owner cancelled before it could take it
            places.release(ticket, Congestion.ANSWERED)
            leaving.cancel()
        else:
            leaving.cancel()
            await asyncio.sleep(0)
            places.release(ticket, Congestion.ANSWERED)
        await asyncio.wait_for(staying, 1)
        assert leaving.cancelled()
        return places.in_flight

    assert asyncio.run(main()) == 1


def test_a_rate_gives_one_second_at_once_and_then_evenly() -> None:
    rate = Rate(600, FakeClock())
    assert [round(rate.reserve(1), 3) for _ in range(12)] == [0] * 10 + [0.1, 0.2]


def test_a_rate_below_one_per_second_gives_one_at_a_time() -> None:
    rate = Rate(6, FakeClock())
    assert [round(rate.reserve(1)) for _ in range(4)] == [0, 10, 20, 30]


def test_an_idle_rate_saves_up_no_more_than_one_second() -> None:
    clock = FakeClock()
    rate = Rate(600, clock)
    clock.time += 3600
    assert round(rate.reserve(11), 3) == 0.1


def test_in_no_minute_do_more_pass_than_the_rate_and_one_second_allow() -> None:
    clock = FakeClock()
    rate = Rate(300, clock)
    moments = [clock.time + rate.reserve(1) for _ in range(2000)]
    worst = max(sum(start <= moment < start + 60 for moment in moments) for start in moments[::50])
    assert worst <= 300 + 5


def test_what_was_taken_too_much_is_settled() -> None:
    rate = Rate(60_000, FakeClock())
    rate.reserve(1000)
    rate.settle(500)
    assert round(rate.reserve(0), 3) == 0.5
    rate.settle(-500)
    assert rate.reserve(0) == 0


def test_a_cancelled_wait_gives_its_share_back() -> None:
    class Stuck(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    async def main() -> float:
        rate = Rate(60, Stuck())
        await rate.take(1)
        waiting = asyncio.create_task(rate.take(1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return rate.reserve(1)

    assert round(asyncio.run(main()), 3) == 1


def test_requests_per_minute_are_kept_by_waiting_once_each() -> None:
    clock = FakeClock()

    async def main() -> None:
        pacing = Pacing(1, requests_per_minute=60, clock=clock)
        for _ in range(4):
            pacing.release(await pacing.acquire(100), Congestion.ANSWERED)

    asyncio.run(main())
    assert clock.sleeps == [1, 1, 1]


def test_tokens_are_reserved_as_they_usually_come_and_settled_by_what_was_used() -> None:
    clock = FakeClock()

    async def main() -> None:
        pacing = Pacing(1, tokens_per_minute=60_000, clock=clock)
        pacing.release(await pacing.acquire(1000), Congestion.ANSWERED, tokens=3000)  # 1,000 reserved, 2,000 in debt
        pacing.release(await pacing.acquire(1000), Congestion.ANSWERED, tokens=3000)  # reserves 3,000

    asyncio.run(main())
    assert clock.sleeps == [5]


def test_a_rest_holds_everyone_back_and_ends() -> None:
    clock = FakeClock()

    async def main() -> None:
        pacing = Pacing(2, clock=clock)
        pacing.rest(7)
        await pacing.acquire(1)
        await pacing.acquire(1)

    asyncio.run(main())
    assert clock.time == 1007
    assert clock.sleeps == [7]


def test_a_place_is_given_back_when_its_owner_is_cancelled_during_a_rest() -> None:
    class Stuck(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    async def main() -> int:
        pacing = Pacing(1, clock=Stuck())
        pacing.rest(7)
        waiting = asyncio.create_task(pacing.acquire(1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return pacing.places.in_flight

    assert asyncio.run(main()) == 0
