"""Make one attempt to send a delivery, and update the endpoint's limit and circuit breaker."""

import time
from collections.abc import Callable, Mapping

from apps.core.http.async_client import AsyncClient, Progress, Reply
from apps.core.http.errors import HttpRequestFailed, Unreachable
from apps.webhooks.domain.endpoints import get_transport_scheme
from apps.webhooks.domain.engine import claims
from apps.webhooks.domain.engine.claims import Claim
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import EndpointSlots
from apps.webhooks.domain.engine.headers import build_headers
from apps.webhooks.domain.engine.results import DeliveryResult
from apps.webhooks.domain.engine.retry_policy import DONE, Verdict, judge_failure, judge_response
from apps.webhooks.domain.engine.transports import Transport
from apps.webhooks.models import deliveries

EXCERPT_BYTES = 4096
MAX_HEADERS, MAX_HEADER_LENGTH = 50, 500

# Called when a circuit breaker opens or closes, with the endpoint and the error ("" if the breaker closes).
BreakerCallback = Callable[[EndpointSlots, str], None]


class Sender:
    def __init__(self, client: AsyncClient, queues: Mapping[str, Transport], note_breaker: BreakerCallback) -> None:
        self._client, self._queues, self._note_breaker = client, queues, note_breaker

    async def attempt(
        self, claim: Claim, slots: EndpointSlots, secrets: list[str], progress: Progress
    ) -> tuple[DeliveryResult, bool]:
        """Send a delivery. Return the result, and True if the endpoint no longer exists."""
        if claim.action == claims.CANCEL:
            return DeliveryResult(claim, "cancelled", counts_as_attempt=False, error="unsubscribed"), False
        if claim.action == claims.HOLD:
            return DeliveryResult(claim, "held", counts_as_attempt=False), False
        headers = build_headers(claim, secrets, int(time.time()))
        try:
            if claim.uri.startswith("http"):
                reply = await self._client.post(claim.uri, body=claim.body, headers=headers, progress=progress)
                return self._handle_response(claim, slots, progress, reply)
            queue = self._queues.get(get_transport_scheme(claim.uri))
            if queue is None:
                raise Unreachable(deliveries.NOT_CONFIGURED)
            await queue.send(claim, headers, progress)
        except HttpRequestFailed as error:
            return self._handle_failure(claim, slots, progress, error), False
        return self._handle_confirmation(claim, slots, progress), False

    def _handle_confirmation(self, claim: Claim, slots: EndpointSlots, progress: Progress) -> DeliveryResult:
        """Handle the confirmation of a broker, and return the result."""
        slots.record_latency(progress.now(), has_response=True)
        if slots.breaker.record_success(time.monotonic()):
            self._note_breaker(slots, "")
        slots.increase_limit()
        return _build_result(claim, DONE, progress, "ok")

    def _handle_failure(
        self, claim: Claim, slots: EndpointSlots, progress: Progress, error: HttpRequestFailed
    ) -> DeliveryResult:
        slots.record_latency(progress.now(), has_response=False)
        if slots.breaker.record_failure(time.monotonic(), silent=True):
            self._note_breaker(slots, str(error))
        return _build_result(claim, judge_failure(error.code, claim.number), progress, error.code, message=str(error))

    def _handle_response(
        self, claim: Claim, slots: EndpointSlots, progress: Progress, reply: Reply
    ) -> tuple[DeliveryResult, bool]:
        verdict = judge_response(reply.status, reply.headers, claim.number)
        slots.record_latency(progress.now(), has_response=True)
        now = time.monotonic()
        if reply.status >= 500:
            if slots.breaker.record_failure(now, silent=False):
                self._note_breaker(slots, verdict.error)
        elif slots.breaker.record_success(now):
            self._note_breaker(slots, "")
        if reply.status == 429:
            slots.decrease_limit()
        elif verdict.state == "done":
            slots.increase_limit()
        outcome = "ok" if verdict.state == "done" else "status"
        return _build_result(claim, verdict, progress, outcome, reply), verdict.is_gone


def _build_result(
    claim: Claim, verdict: Verdict, progress: Progress, outcome: str, reply: Reply | None = None, *, message: str = ""
) -> DeliveryResult:
    excerpt = reply.body[:EXCERPT_BYTES].decode(errors="replace") if reply and reply.body else ""
    headers = list(reply.headers.items())[:MAX_HEADERS] if reply else []
    return DeliveryResult(
        claim,
        verdict.state,
        delay=verdict.delay,
        error=verdict.error,
        outcome=outcome,
        status=reply.status if reply else None,
        message=message,
        connect_ms=_to_milliseconds(progress.connected),
        first_byte_ms=_to_milliseconds(progress.answered),
        total_ms=_to_milliseconds(progress.ended) or 0,
        remote_ip=progress.peer,
        headers={
            _replace_invalid_characters(name): _replace_invalid_characters(value[:MAX_HEADER_LENGTH])
            for name, value in headers
        },
        excerpt=_replace_invalid_characters(excerpt),
    )


def _replace_invalid_characters(text: str) -> str:
    """Replace characters that databases reject: NUL and surrogates."""
    text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode(errors="replace").decode()


def _to_milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
