"""What a dispatcher may begin: it learns where something waits, and claims what has a slot."""

import time
from collections import Counter
from collections.abc import Collection, Mapping

from django.utils import timezone

from apps.shops.domain.app_secrets import secrets_of
from apps.shops.models import App
from apps.webhooks.domain.engine import claims, lookout, pacing
from apps.webhooks.domain.engine.claims import Claim
from apps.webhooks.domain.engine.loop.breakers import Breaker
from apps.webhooks.domain.engine.loop.lanes import Lane, Lanes, Turn
from apps.webhooks.domain.engine.loop.threads import Threads
from apps.webhooks.domain.engine.pacing import Grant

SECRETS_SECONDS = 2.0
_IDLE_LANES = 20_000

Secrets = dict[int, list[str]]


class Feeder:
    """Keeps the lanes, and takes deliveries out of them.

    Attributes:
        breakers: By host.
    """

    def __init__(self, threads: Threads, slots: int) -> None:
        """With so many calls under way at most."""
        self.lanes = Lanes(slots)
        self.breakers: dict[str, Breaker] = {}
        self._threads = threads
        self._secrets: dict[int, tuple[float, list[str]]] = {}

    async def note_due(self, endpoints: set[int]) -> None:
        """Something was written for these endpoints."""
        now = time.monotonic()
        await self._open_lanes(endpoints)
        for pk in endpoints:
            if lane := self.lanes.lanes.get(pk):
                lane.expect(Turn.DUE, now, noted=time.monotonic())

    async def _open_lanes(self, endpoints: set[int]) -> None:
        unknown = endpoints - self.lanes.lanes.keys()
        if not unknown:
            return
        for row in await self._threads.run("tell", lookout.endpoints, unknown):
            breaker = self.breakers.setdefault(row.host, Breaker())
            self.lanes.add(Lane(row.pk, row.shop_id, row.host, row.max_in_flight, breaker, row.max_per_second))

    async def scan(self) -> None:
        """Learn where something waits, whoever wrote it."""
        began = time.monotonic()
        found: list[lookout.Waiting] = await self._threads.run("claim", lookout.scan)
        now = time.monotonic()
        for lane in self.lanes.lanes.values():
            lane.expect_nothing(since=began)
        await self._open_lanes({each.endpoint for each in found})
        for each in found:
            if each.endpoint not in self.lanes.lanes:
                continue
            lane = self.lanes.lanes[each.endpoint]
            lane.max_in_flight, lane.max_per_second = each.max_in_flight, each.max_per_second
            for turn, seconds in ((Turn.DUE, each.due), (Turn.RETRY, each.retry)):
                if seconds is not None:
                    lane.expect(turn, now + seconds)
        if len(self.lanes.lanes) > _IDLE_LANES:
            self.lanes.forget_idle()

    def next_moment(self) -> float:
        """When, of the monotonic clock, something is due that can start; for ever where nothing is known of."""
        moments = (
            max(moment, lane.breaker.opens_until, lane.rests_until)
            for lane in self.lanes.lanes.values()
            if lane.in_flight == 0
            for moment in lane.due_at.values()
        )
        return min(moments, default=float("inf"))

    async def claim(self, turn: Turn) -> list[Claim]:
        """Take what can start, and its slots with it."""
        now = time.monotonic()
        room = self.lanes.share(turn, now)
        if not room:
            return []
        for pk, count in room.items():
            self.lanes.reserve(self.lanes.lanes[pk], turn, count)
        claimed: list[Claim] = []
        grants: dict[int, Grant] = {}
        capped = {pk: count for pk, count in room.items() if self.lanes.lanes[pk].max_per_second}
        known = {pk for pk, (until, _) in self._secrets.items() if until > now}
        try:
            if capped:
                grants = await self._threads.run("claim", pacing.take, capped)
            begins = {pk: grants[pk].count if pk in grants else count for pk, count in room.items()}
            claimed, secrets = await self._threads.run("claim", _claim_with_secrets, begins, turn, known)
            self._secrets |= {pk: (now + SECRETS_SECONDS, found) for pk, found in secrets.items()}
        finally:
            taken = Counter(each.endpoint for each in claimed)
            for pk, count in room.items():
                lane = self.lanes.lanes[pk]
                self.lanes.release(lane, turn, count - taken[pk])
                if pk in grants:
                    lane.rests_until = now + grants[pk].rest
                    lane.last = turn if taken[pk] else lane.last
                if taken[pk] < (grants[pk].count if pk in grants else count):
                    lane.expect_nothing(turn, since=now)
        if unused := {pk: left for pk, grant in grants.items() if (left := grant.count - taken[pk])}:
            await self._threads.run("claim", pacing.give_back, unused)
        return claimed

    def secrets_for(self, claim: Claim) -> list[str]:
        """The secrets that sign a claim."""
        return self._secrets[claim.app][1]


def _claim_with_secrets(
    room: Mapping[int, int], turn: Turn, known: Collection[int]
) -> tuple[list[Claim], dict[int, list[str]]]:
    """Take what may begin, and the secrets of those apps whose are not known."""
    claimed = claims.claim(room, turn)
    unknown = {each.app for each in claimed} - {*known}
    now = timezone.now()
    return claimed, {app.pk: secrets_of(app, now) for app in App.objects.filter(pk__in=unknown)} if unknown else {}
