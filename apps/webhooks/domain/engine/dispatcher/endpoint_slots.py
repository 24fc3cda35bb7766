"""The concurrency slots of endpoints, and the fair distribution of slots within a process.

An endpoint is a URI that one shop sends deliveries to. A free slot is reused immediately, so an endpoint that hangs
blocks only its own slots. A process distributes slots round-robin by shop, then by endpoint. Slow endpoints together
get at most a quarter of the slots. Endpoints that have not responded yet get at most half of the slots, and retries get
at most half. So new events for fast endpoints are not delayed.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from apps.webhooks.domain.engine.dispatcher.circuit_breaker import CircuitBreaker

T = TypeVar("T")

SLOTS = 200
SLOW_SHARE = 0.25
UNTESTED_SHARE = 0.5
RETRY_SHARE = 0.5
SLOW_SECONDS = 1.0
# The maximum number of concurrent calls to an endpoint that has not responded yet.
UNTESTED_SLOTS = 2
# The weight of the latest call in the moving average of call durations.
_WEIGHT = 0.2


class AttemptKind(StrEnum):
    """The kind of attempt that a delivery is waiting for: a first attempt or a retry."""

    DUE = "due"
    RETRY = "retry"


@dataclass(slots=True)
class EndpointSlots:
    """The slots and limits of an endpoint in this process.

    Attributes:
        max_per_second: The maximum number of calls that may start per second in all processes, or None for no limit.
        limit: The current maximum number of concurrent calls. Status 429 halves the limit, and successes raise it.
        due_at: The monotonic time when the next delivery of each kind is due.
        average_seconds: The moving average of call durations.
        paused_until: The monotonic time before which ``max_per_second`` allows no further call.
        last_kind: The kind of the most recent calls.
    """

    endpoint: int
    shop: int
    host: str
    max_in_flight: int
    breaker: CircuitBreaker
    max_per_second: int | None = None
    limit: float = 0.0
    in_flight: int = 0
    average_seconds: float = 0.0
    has_responded: bool = False
    paused_until: float = 0.0
    last_kind: AttemptKind | None = None
    due_at: dict[AttemptKind, float] = field(default_factory=dict)
    _noted_at: float = 0.0

    def __post_init__(self) -> None:
        self.limit = float(self.max_in_flight)

    @property
    def is_slow(self) -> bool:
        return self.average_seconds > SLOW_SECONDS

    def get_free_slots(self, now: float) -> int:
        if now < self.paused_until:
            return 0
        allowed = int(min(self.limit, self.max_in_flight)) if self.has_responded else UNTESTED_SLOTS
        free = max(0, allowed - self.in_flight)
        by_breaker = self.breaker.get_free_calls(now)
        return free if by_breaker is None else min(free, by_breaker)

    def must_yield(self, kind: AttemptKind, now: float) -> bool:
        """Return True if this kind must wait for the other kind, so that both kinds share ``max_per_second``."""
        if self.max_per_second is None or self.last_kind is not kind:
            return False
        return any(moment <= now for other_kind, moment in self.due_at.items() if other_kind is not kind)

    def expect(self, kind: AttemptKind, moment: float, *, noted_at: float | None = None) -> None:
        """Record when a delivery is due. ``noted_at`` is the time when a new delivery became known."""
        self.due_at[kind] = min(moment, self.due_at.get(kind, moment))
        self._noted_at = max(self._noted_at, noted_at or 0.0)

    def expect_nothing(self, *kinds: AttemptKind, since: float) -> None:
        """Record that no deliveries were waiting at ``since``. Deliveries that became known later remain due."""
        if self._noted_at < since:
            for kind in kinds or tuple(AttemptKind):
                self.due_at.pop(kind, None)

    def record_latency(self, seconds: float, *, has_response: bool) -> None:
        weight = _WEIGHT if self.has_responded or self.average_seconds else 1.0
        self.average_seconds += (seconds - self.average_seconds) * weight
        self.has_responded = self.has_responded or has_response

    def decrease_limit(self) -> None:
        self.limit = max(1.0, self.limit / 2)

    def increase_limit(self) -> None:
        self.limit = min(float(self.max_in_flight), self.limit + 1 / max(1.0, self.limit))


class SlotAllocator:
    def __init__(self, slots: int = SLOTS) -> None:
        self.slots = slots
        self.by_endpoint: dict[int, EndpointSlots] = {}
        self.in_flight = 0
        self.retrying = 0
        self._rotation = 0

    def add(self, slots: EndpointSlots) -> None:
        self.by_endpoint[slots.endpoint] = slots

    def reserve(self, slots: EndpointSlots, kind: AttemptKind, count: int) -> None:
        slots.in_flight += count
        self.in_flight += count
        self.retrying += count * (kind is AttemptKind.RETRY)
        slots.breaker.record_start()

    def release(self, slots: EndpointSlots, kind: AttemptKind, count: int) -> None:
        """Free the slots of calls that have ended or did not start."""
        slots.in_flight -= count
        self.in_flight -= count
        self.retrying -= count * (kind is AttemptKind.RETRY)
        if slots.in_flight == 0:
            slots.breaker.is_probing = False

    def forget_idle(self) -> None:
        """Remove endpoints without waiting or running deliveries."""
        self.by_endpoint = {pk: slots for pk, slots in self.by_endpoint.items() if slots.in_flight or slots.due_at}

    def allocate(self, kind: AttemptKind, now: float) -> dict[int, int]:
        """Return the number of waiting deliveries of this kind that may start now, keyed by endpoint ID."""
        free_slots = self.slots - self.in_flight
        if kind is AttemptKind.RETRY:
            free_slots = min(free_slots, int(self.slots * RETRY_SHARE) - self.retrying)
        waiting = [
            slots
            for slots in self.by_endpoint.values()
            if slots.due_at.get(kind, now + 1) <= now and slots.get_free_slots(now) and not slots.must_yield(kind, now)
        ]
        if free_slots <= 0 or not waiting:
            return {}
        allowances = _Allowances(self, free_slots)
        shares: dict[int, int] = {}
        hosts: dict[int, int] = {}
        for slots in self._iterate_fairly(waiting, now):
            # All endpoints on a host share the single call that probes the host.
            host_share = hosts.get(id(slots.breaker), 0)
            by_breaker = slots.breaker.get_free_calls(now)
            if (by_breaker is not None and host_share >= by_breaker) or not allowances.take(slots):
                continue
            hosts[id(slots.breaker)] = host_share + 1
            shares[slots.endpoint] = shares.get(slots.endpoint, 0) + 1
            if allowances.free == 0:
                break
        return shares

    def _iterate_fairly(self, waiting: Iterable[EndpointSlots], now: float) -> Iterator[EndpointSlots]:
        """Yield each endpoint once per free slot, round-robin by shop, then by endpoint, with a new start each time."""
        by_shop: dict[int, list[tuple[EndpointSlots, int]]] = {}
        for slots in waiting:
            by_shop.setdefault(slots.shop, []).append((slots, slots.get_free_slots(now)))
        self._rotation += 1
        queues = [
            _round_robin(_rotate(shop_slots, self._rotation))
            for shop_slots in _rotate(list(by_shop.values()), self._rotation)
        ]
        for turn in itertools.zip_longest(*queues):
            yield from (slots for slots in turn if slots is not None)


class _Allowances:
    """The remaining slots: in total, for slow endpoints, and for endpoints that have not responded yet."""

    def __init__(self, allocator: SlotAllocator, free_slots: int) -> None:
        self.free = free_slots
        endpoints = allocator.by_endpoint.values()
        self.slow = int(allocator.slots * SLOW_SHARE) - sum(slots.in_flight for slots in endpoints if slots.is_slow)
        self.unproven = int(allocator.slots * UNTESTED_SHARE) - sum(
            slots.in_flight for slots in endpoints if not slots.has_responded
        )

    def take(self, slots: EndpointSlots) -> bool:
        if self.free <= 0 or (slots.is_slow and self.slow <= 0) or (not slots.has_responded and self.unproven <= 0):
            return False
        self.free -= 1
        self.slow -= slots.is_slow
        self.unproven -= not slots.has_responded
        return True


def _round_robin(endpoints: list[tuple[EndpointSlots, int]]) -> Iterator[EndpointSlots]:
    """Yield each endpoint as often as it has free slots, with one turn per round."""
    round_number = 0
    while endpoints := [(slots, free_slots) for slots, free_slots in endpoints if free_slots > round_number]:
        yield from (slots for slots, _ in endpoints)
        round_number += 1


def _rotate(items: list[T], by: int) -> list[T]:
    by %= len(items) or 1
    return items[by:] + items[:by]
