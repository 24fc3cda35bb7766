"""Claim deliveries for a dispatcher, from all endpoints that have waiting deliveries and free slots."""

import time
from collections import Counter
from collections.abc import Collection, Mapping

from django.utils import timezone

from apps.core.tenancy.models import App
from apps.shops.domain.app_secrets import get_valid_secrets
from apps.webhooks.domain.engine import claims, maintenance, rate_limits
from apps.webhooks.domain.engine.claims import Claim
from apps.webhooks.domain.engine.dispatcher.circuit_breaker import CircuitBreaker
from apps.webhooks.domain.engine.dispatcher.db_threads import DatabaseThreads
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import AttemptKind, EndpointSlots, SlotAllocator
from apps.webhooks.domain.engine.rate_limits import TokenGrant

SECRETS_SECONDS = 2.0
_MAX_ENDPOINTS = 20_000


class Claimer:
    """Keeps track of endpoints with waiting deliveries and claims the deliveries."""

    def __init__(self, threads: DatabaseThreads, slots: int) -> None:
        self.allocator = SlotAllocator(slots)
        # The circuit breakers by host.
        self.breakers: dict[str, CircuitBreaker] = {}
        self._threads = threads
        self._secrets: dict[int, tuple[float, list[str]]] = {}

    async def mark_due(self, endpoints: set[int]) -> None:
        now = time.monotonic()
        await self._add_endpoints(endpoints)
        for pk in endpoints:
            if slots := self.allocator.by_endpoint.get(pk):
                slots.expect(AttemptKind.DUE, now, noted_at=time.monotonic())

    async def _add_endpoints(self, endpoints: set[int]) -> None:
        new_endpoints = endpoints - self.allocator.by_endpoint.keys()
        if not new_endpoints:
            return
        for row in await self._threads.run("tell", maintenance.get_endpoints, new_endpoints):
            breaker = self.breakers.setdefault(row.host, CircuitBreaker())
            self.allocator.add(
                EndpointSlots(row.pk, row.shop_id, row.host, row.max_in_flight, breaker, row.max_per_second)
            )

    async def scan(self) -> None:
        """Find endpoints with waiting deliveries, including deliveries that other processes created."""
        started_at = time.monotonic()
        waiting_endpoints = await self._threads.run("claim", maintenance.scan_endpoints)
        now = time.monotonic()
        for known_slots in self.allocator.by_endpoint.values():
            known_slots.expect_nothing(since=started_at)
        await self._add_endpoints({waiting.endpoint for waiting in waiting_endpoints})
        for waiting in waiting_endpoints:
            if (slots := self.allocator.by_endpoint.get(waiting.endpoint)) is None:
                continue
            slots.max_in_flight, slots.max_per_second = waiting.max_in_flight, waiting.max_per_second
            for kind, seconds in ((AttemptKind.DUE, waiting.due), (AttemptKind.RETRY, waiting.retry)):
                if seconds is not None:
                    slots.expect(kind, now + seconds)
        if len(self.allocator.by_endpoint) > _MAX_ENDPOINTS:
            self.allocator.forget_idle()

    def get_next_due_time(self) -> float:
        """Return the monotonic time when the next known delivery can start, or infinity if no delivery is known."""
        moments = (
            max(moment, slots.breaker.open_until, slots.paused_until)
            for slots in self.allocator.by_endpoint.values()
            if slots.in_flight == 0
            for moment in slots.due_at.values()
        )
        return min(moments, default=float("inf"))

    async def claim(self, kind: AttemptKind) -> list[Claim]:
        """Claim the deliveries that can start now, and reserve slots for them."""
        now = time.monotonic()
        free_slots = self.allocator.allocate(kind, now)
        if not free_slots:
            return []
        for pk, count in free_slots.items():
            self.allocator.reserve(self.allocator.by_endpoint[pk], kind, count)
        claimed: list[Claim] = []
        grants: dict[int, TokenGrant] = {}
        capped = {pk: count for pk, count in free_slots.items() if self.allocator.by_endpoint[pk].max_per_second}
        cached_apps = {pk for pk, (until, _) in self._secrets.items() if until > now}
        try:
            if capped:
                grants = await self._threads.run("claim", rate_limits.take_tokens, capped)
            startable = {pk: grants[pk].count if pk in grants else count for pk, count in free_slots.items()}
            claimed, secrets = await self._threads.run("claim", _claim_with_secrets, startable, kind, cached_apps)
            self._secrets |= {pk: (now + SECRETS_SECONDS, app_secrets) for pk, app_secrets in secrets.items()}
        finally:
            claimed_counts = Counter(claim.endpoint for claim in claimed)
            for pk, count in free_slots.items():
                slots = self.allocator.by_endpoint[pk]
                self.allocator.release(slots, kind, count - claimed_counts[pk])
                if pk in grants:
                    slots.paused_until = now + grants[pk].wait_seconds
                    slots.last_kind = kind if claimed_counts[pk] else slots.last_kind
                if claimed_counts[pk] < (grants[pk].count if pk in grants else count):
                    slots.expect_nothing(kind, since=now)
        unused = {
            pk: grant.count - claimed_counts[pk] for pk, grant in grants.items() if grant.count > claimed_counts[pk]
        }
        if unused:
            await self._threads.run("claim", rate_limits.return_tokens, unused)
        return claimed

    def get_secrets(self, claim: Claim) -> list[str]:
        return self._secrets[claim.app][1]


def _claim_with_secrets(
    free_slots: Mapping[int, int], kind: AttemptKind, cached_apps: Collection[int]
) -> tuple[list[Claim], dict[int, list[str]]]:
    claimed = claims.claim_deliveries(free_slots, kind)
    missing_apps = {claim.app for claim in claimed} - {*cached_apps}
    now = timezone.now()
    return claimed, {
        app.pk: get_valid_secrets(app, now) for app in App.objects.filter(pk__in=missing_apps)
    } if missing_apps else {}
