"""Both clocks."""

import asyncio

import pytest

from simcluster.clock import LoopClock, ManualClock, parse_rfc3339, rfc3339, rfc3339_micro


def test_timers_run_in_time_order_at_their_own_time() -> None:
    clock = ManualClock(100.0)
    ran: list[tuple[str, float]] = []

    def note(name: str) -> None:
        ran.append((name, clock.now()))
        if name == "a":
            clock.call_later(0.5, note, "nested")

    clock.call_later(2, note, "late")
    clock.call_later(1, note, "a")
    clock.call_later(1, note, "tie")
    clock.call_later(1, note, "never").cancel()
    clock.advance(10)
    assert ran == [("a", 101.0), ("tie", 101.0), ("nested", 101.5), ("late", 102.0)]
    assert clock.now() == 110.0
    assert clock.next_due() is None


def test_loop_clock_at_speed_and_jump() -> None:
    async def run() -> None:
        clock = LoopClock(asyncio.get_running_loop(), speed=1000, start=0.0)
        ran: list[float] = []
        done = asyncio.Event()
        soon = clock.call_later(100, lambda: ran.append(clock.now()))
        late = clock.call_later(5000, lambda: (ran.append(clock.now()), done.set()))
        clock.call_later(200_000, ran.append, -1.0)
        await asyncio.sleep(0.15)
        assert ran == [soon.when]
        clock.jump(5000)
        await asyncio.wait_for(done.wait(), 1)
        assert ran == [soon.when, late.when]
        clock.set_speed(1)
        assert 5000 <= clock.now() < 200_000
        clock.close()

    asyncio.run(run())


@pytest.mark.parametrize("speed", [0, -1, float("nan"), float("inf"), 1e9])
def test_loop_clock_refuses(speed: float) -> None:
    async def run() -> None:
        with pytest.raises(ValueError, match="speed"):
            LoopClock(asyncio.get_running_loop(), speed)

    asyncio.run(run())


def test_rfc3339() -> None:
    assert rfc3339(1_795_956_215.999) == "2026-11-29T12:43:35Z"
    assert rfc3339_micro(1_795_956_215.5) == "2026-11-29T12:43:35.500000Z"
    assert parse_rfc3339("2026-11-29T12:43:35Z") == 1_795_956_215.0
