"""Which deliveries may begin now: slots for each endpoint, and fair shares of what the process has.

A *lane* is an endpoint: the deliveries of one shop to one URI. Its slots are filled as they become free, without a
barrier, so one receiver that hangs holds its own and nobody else's. The process's slots go round by shop, then by lane.
Slow lanes together get a quarter of them, lanes that have not answered yet a half, and further attempts a half, so that
neither can keep fresh events of good receivers waiting.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from apps.webhooks.domain.engine.loop.breakers import Breaker

T = TypeVar("T")

SLOTS = 200
SLOW_SHARE = 0.25
UNPROVEN_SHARE = 0.5
RETRY_SHARE = 0.5
SLOW_SECONDS = 1.0
# How many calls a lane gets before the first answer.
UNPROVEN_SLOTS = 2
# How much a call's time counts for the average.
_WEIGHT = 0.2


class Turn(StrEnum):
    """What is waited for: a first attempt or a further one."""

    DUE = "due"
    RETRY = "retry"


@dataclass(slots=True)
class Lane:
    """An endpoint, as one process sees it.

    Attributes:
        max_per_second: How many calls may begin in a second, of all processes; None: as many as come.
        limit: How many calls may be under way; halved by 429, and raised again by successes.
        due_at: By turn, when something is waiting there, in seconds of the monotonic clock.
        seconds: How long its calls took lately.
        rests_until: Before this moment no call may begin, because of ``max_per_second``.
        last: The turn that had the latest calls.
    """

    endpoint: int
    shop: int
    host: str
    max_in_flight: int
    breaker: Breaker
    max_per_second: int | None = None
    limit: float = 0.0
    in_flight: int = 0
    seconds: float = 0.0
    is_proven: bool = False
    rests_until: float = 0.0
    last: Turn | None = None
    due_at: dict[Turn, float] = field(default_factory=dict)
    _noted_at: float = 0.0

    def __post_init__(self) -> None:
        self.limit = float(self.max_in_flight)

    @property
    def is_slow(self) -> bool:
        """Whether its calls take long."""
        return self.seconds > SLOW_SECONDS

    def room(self, now: float) -> int:
        """How many calls may begin."""
        if now < self.rests_until:
            return 0
        allowed = int(min(self.limit, self.max_in_flight)) if self.is_proven else UNPROVEN_SLOTS
        free = max(0, allowed - self.in_flight)
        by_breaker = self.breaker.room(now)
        return free if by_breaker is None else min(free, by_breaker)

    def yields(self, turn: Turn, now: float) -> bool:
        """Whether the other turn is next: where calls are rationed, neither gets all of them."""
        others = (moment for other, moment in self.due_at.items() if other is not turn)
        return self.max_per_second is not None and self.last is turn and any(moment <= now for moment in others)

    def expect(self, turn: Turn, moment: float, *, noted: float | None = None) -> None:
        """Something waits from a moment on; ``noted`` is when that was learnt, where it is news."""
        self.due_at[turn] = min(moment, self.due_at.get(turn, moment))
        self._noted_at = max(self._noted_at, noted or 0.0)

    def expect_nothing(self, *turns: Turn, since: float) -> None:
        """Nothing waits, as far as was known at a moment; what was noted since then counts more."""
        if self._noted_at < since:
            for turn in turns or tuple(Turn):
                self.due_at.pop(turn, None)

    def took(self, seconds: float, *, answered: bool) -> None:
        """Note a call's time."""
        self.seconds += (seconds - self.seconds) * (_WEIGHT if self.is_proven or self.seconds else 1.0)
        self.is_proven = self.is_proven or answered

    def throttled(self) -> None:
        """The receiver says that we come too often."""
        self.limit = max(1.0, self.limit / 2)

    def praised(self) -> None:
        """The receiver keeps up."""
        self.limit = min(float(self.max_in_flight), self.limit + 1 / max(1.0, self.limit))


class Lanes:
    """All lanes of a process, and who is next."""

    def __init__(self, slots: int = SLOTS) -> None:
        """With so many calls under way at most."""
        self.slots = slots
        self.lanes: dict[int, Lane] = {}
        self.in_flight = 0
        self.retrying = 0
        self._turns = 0

    def add(self, lane: Lane) -> None:
        """Take a lane up."""
        self.lanes[lane.endpoint] = lane

    def reserve(self, lane: Lane, turn: Turn, count: int) -> None:
        """Keep slots for calls that are about to begin."""
        lane.in_flight += count
        self.in_flight += count
        self.retrying += count * (turn is Turn.RETRY)
        lane.breaker.begin()

    def release(self, lane: Lane, turn: Turn, count: int) -> None:
        """Give slots back, because no call was there to begin or because it is over."""
        lane.in_flight -= count
        self.in_flight -= count
        self.retrying -= count * (turn is Turn.RETRY)
        if lane.in_flight == 0:
            lane.breaker.is_probing = False

    def ended(self, lane: Lane, turn: Turn) -> None:
        """A call is over."""
        self.release(lane, turn, 1)

    def forget_idle(self) -> None:
        """Let go of lanes at which nothing waits or is under way."""
        self.lanes = {pk: lane for pk, lane in self.lanes.items() if lane.in_flight or lane.due_at}

    def share(self, turn: Turn, now: float) -> dict[int, int]:
        """How many waiting deliveries of each endpoint may begin now."""
        free = self.slots - self.in_flight
        if turn is Turn.RETRY:
            free = min(free, int(self.slots * RETRY_SHARE) - self.retrying)
        waiting = [
            lane
            for lane in self.lanes.values()
            if lane.due_at.get(turn, now + 1) <= now and lane.room(now) and not lane.yields(turn, now)
        ]
        if free <= 0 or not waiting:
            return {}
        allowances = _Allowances(self, free)
        given: dict[int, int] = {}
        hosts: dict[int, int] = {}
        for lane in self._in_turn(waiting, now):
            # Lanes of one host share the one call that tries it.
            taken = hosts.get(id(lane.breaker), 0)
            by_breaker = lane.breaker.room(now)
            if (by_breaker is not None and taken >= by_breaker) or not allowances.take(lane):
                continue
            hosts[id(lane.breaker)] = taken + 1
            given[lane.endpoint] = given.get(lane.endpoint, 0) + 1
            if allowances.free == 0:
                break
        return given

    def _in_turn(self, waiting: Iterable[Lane], now: float) -> Iterator[Lane]:
        """Lanes, each as often as it has room: shops take turns, and within a shop its lanes; the first one changes."""
        by_shop: dict[int, list[tuple[Lane, int]]] = {}
        for lane in waiting:
            by_shop.setdefault(lane.shop, []).append((lane, lane.room(now)))
        self._turns += 1
        queues = [_around(_turned(lanes, self._turns)) for lanes in _turned(list(by_shop.values()), self._turns)]
        while queues:
            left = []
            for queue in queues:
                if (following := next(queue, None)) is not None:
                    yield following
                    left.append(queue)
            queues = left


class _Allowances:
    """What is left to give: of the whole, and of what slow and unproven lanes may have."""

    def __init__(self, lanes: Lanes, free: int) -> None:
        self.free = free
        every = lanes.lanes.values()
        self.slow = int(lanes.slots * SLOW_SHARE) - sum(lane.in_flight for lane in every if lane.is_slow)
        self.unproven = int(lanes.slots * UNPROVEN_SHARE) - sum(lane.in_flight for lane in every if not lane.is_proven)

    def take(self, lane: Lane) -> bool:
        if self.free <= 0 or (lane.is_slow and self.slow <= 0) or (not lane.is_proven and self.unproven <= 0):
            return False
        self.free -= 1
        self.slow -= lane.is_slow
        self.unproven -= not lane.is_proven
        return True


def _around(lanes: list[tuple[Lane, int]]) -> Iterator[Lane]:
    """Each lane once, then each that has more room once more, and so on."""
    place = 0
    while lanes := [(lane, room) for lane, room in lanes if room > place]:
        yield from (lane for lane, _ in lanes)
        place += 1


def _turned(items: list[T], by: int) -> list[T]:
    by %= len(items) or 1
    return items[by:] + items[:by]
