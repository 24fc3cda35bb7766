"""One attempt at a delivery: the call, and what its end means for the delivery, the lane and the breaker."""

import time
from collections.abc import Callable, Mapping

from django.utils.translation import gettext_noop

from apps.outgoing.asynchronous import AsyncClient, Progress, Reply
from apps.outgoing.errors import FetchFailed, Unreachable
from apps.webhooks.domain.destinations import scheme_of
from apps.webhooks.domain.engine import claims
from apps.webhooks.domain.engine.claims import Claim
from apps.webhooks.domain.engine.envelopes import headers_of
from apps.webhooks.domain.engine.loop.counts import Counts
from apps.webhooks.domain.engine.loop.lanes import Lane
from apps.webhooks.domain.engine.queues import Queue
from apps.webhooks.domain.engine.results import Result
from apps.webhooks.domain.engine.schedule import DONE, Verdict, judge_answer, judge_failure

EXCERPT_BYTES = 4096
MAX_HEADERS, MAX_HEADER = 50, 500

# A lane whose breaker opened or closed, and the error that opened it.
NoteBreaker = Callable[[Lane, str], None]


class Sender:
    """Makes attempts."""

    def __init__(
        self, client: AsyncClient, queues: Mapping[str, Queue], counts: Counts, note_breaker: NoteBreaker
    ) -> None:
        """With a client that is open, and what takes deliveries of other schemes than the web's."""
        self._client, self._queues, self._counts, self._note_breaker = client, queues, counts, note_breaker

    async def attempt(self, claim: Claim, lane: Lane, secrets: list[str], progress: Progress) -> tuple[Result, bool]:
        """Send one delivery; what became of it, and whether the receiver is gone for good."""
        if claim.fate == claims.CANCEL:
            return Result(claim, "cancelled", counts=False, error="unsubscribed"), False
        if claim.fate == claims.HOLD:
            return Result(claim, "held", counts=False), False
        headers = headers_of(claim, secrets, int(time.time()))
        self._counts.sent += 1
        try:
            if claim.uri.startswith("http"):
                reply = await self._client.post(claim.uri, body=claim.body, headers=headers, progress=progress)
                return self._answered(claim, lane, progress, reply)
            await self._put(claim, headers, progress)
        except FetchFailed as error:
            return self._failed(claim, lane, progress, error), False
        return self._kept(claim, lane, progress), False

    async def _put(self, claim: Claim, headers: Mapping[str, str], progress: Progress) -> None:
        queue = self._queues.get(scheme_of(claim.uri))
        if queue is None:
            raise Unreachable(gettext_noop("this kind of destination is no longer set up"))
        await queue.put(claim, headers, progress)

    def _kept(self, claim: Claim, lane: Lane, progress: Progress) -> Result:
        """A broker has it."""
        lane.took(progress.now(), answered=True)
        if lane.breaker.succeeded(time.monotonic()):
            self._note_breaker(lane, "")
        lane.praised()
        self._counts.succeeded += 1
        return _result(claim, DONE, progress, "ok")

    def _failed(self, claim: Claim, lane: Lane, progress: Progress, error: FetchFailed) -> Result:
        """There was no answer."""
        self._counts.failed += 1
        self._counts.blocked += error.code == "blocked_address"
        lane.took(progress.now(), answered=False)
        if lane.breaker.failed(time.monotonic(), silent=True):
            self._tripped(lane, str(error))
        return _result(claim, judge_failure(error.code, claim.number), progress, error.code, message=str(error))

    def _answered(self, claim: Claim, lane: Lane, progress: Progress, reply: Reply) -> tuple[Result, bool]:
        verdict = judge_answer(reply.status, reply.headers, claim.number)
        lane.took(progress.now(), answered=True)
        now = time.monotonic()
        if reply.status >= 500:
            if lane.breaker.failed(now, silent=False):
                self._tripped(lane, verdict.error)
        elif lane.breaker.succeeded(now):
            self._note_breaker(lane, "")
        if reply.status == 429:
            lane.throttled()
        elif verdict.state == "done":
            lane.praised()
        self._counts.succeeded += verdict.state == "done"
        self._counts.failed += verdict.state != "done"
        return _result(claim, verdict, progress, "ok" if verdict.state == "done" else "status", reply), verdict.is_gone

    def _tripped(self, lane: Lane, error: str) -> None:
        self._counts.trips += 1
        self._note_breaker(lane, error)


def _result(
    claim: Claim, verdict: Verdict, progress: Progress, outcome: str, reply: Reply | None = None, *, message: str = ""
) -> Result:
    """What is written of an attempt."""
    excerpt = _storable(reply.body[:EXCERPT_BYTES].decode(errors="replace")) if reply and reply.body else ""
    kept = reply.headers.sent[:MAX_HEADERS] if reply else ()
    return Result(
        claim,
        verdict.state,
        delay=verdict.delay,
        error=verdict.error,
        outcome=outcome,
        status=reply.status if reply else None,
        message=message,
        connect_ms=_milliseconds(progress.connected),
        first_byte_ms=_milliseconds(progress.answered),
        total_ms=_milliseconds(progress.ended) or 0,
        remote_ip=progress.peer,
        headers={_storable(name): _storable(value[:MAX_HEADER]) for name, value in kept},
        excerpt=excerpt,
    )


def _storable(text: str) -> str:
    """A text without what no database keeps: NUL, and bytes that were no UTF-8."""
    text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode(errors="replace").decode()


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
