"""Accepting the token of a payment instrument for a checkout: once, before it expires, and where it is bound to.

The wallet is asked by whoever charges; what is refused here need not be asked. Only the token's digest is kept.
Rule: spec part B, Payment handler schema.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.events.domain.recording import record_event
from apps.ground.attrs import Errors, Given
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST, too_long
from apps.payments.domain import entries, schemas
from apps.payments.models import PaymentHandlerConfig, TokenRedemption

MAX_ID = 255
OFF = "is off"
EXPIRED = "has expired"
ELSEWHERE = "is bound to another one"
_INSTRUMENT = "payment_instrument"


class NotRedeemable(DomainError):
    """The token is not accepted for this checkout."""

    code = "token_not_redeemable"


@transaction.atomic
def redeem(handler: PaymentHandlerConfig, given: Given, *, actor: str, at: datetime) -> TokenRedemption:
    """Accept the token of an instrument; of two that bring the same token at once, one has it.

    Args:
        handler: One of the current shop's.
        given: ``checkout_id`` and ``payment_instrument``.
        actor: Who completes the checkout.
        at: When.

    Raises:
        NotRedeemable: By dotted field.
        IntegrityError: The token was accepted before, here or in another shop.
    """
    if errors := _malformed(handler, given) or dict(_misplaced(handler, given, at)):
        raise NotRedeemable(errors)
    instrument = given[_INSTRUMENT]
    redemption = TokenRedemption.objects.create(
        shop=handler.shop,
        digest=hashlib.sha256(instrument["credential"]["token"].encode()).hexdigest(),
        handler_id=handler.handler_id,
        checkout_id=given["checkout_id"],
        instrument_id=instrument["id"],
        created_at=at,
    )
    record_event("payment_handlers/redeem", handler, actor=actor, at=at)
    return redemption


def _malformed(handler: PaymentHandlerConfig, given: Given) -> Errors:
    """What is no checkout, or no instrument with a token."""
    errors: Errors = {}
    if message := _not_an_id(given.get("checkout_id")):
        errors["checkout_id"] = [message]
    instrument = given.get(_INSTRUMENT)
    if instrument is None:
        return errors | {_INSTRUMENT: [BLANK]}
    found = entries.unsafe(instrument) or schemas.findings(handler.handler_version, schemas.INSTRUMENT, instrument)
    if isinstance(instrument, dict):
        if "id" not in found and (message := _not_an_id(instrument["id"])):
            found["id"] = [message]
        if "credential" not in instrument:
            found["credential"] = [BLANK]
    inner = {(_INSTRUMENT if field == "base" else f"{_INSTRUMENT}.{field}"): said for field, said in found.items()}
    return errors | inner


def _not_an_id(value: Any) -> str:
    """What is wrong with somebody else's id; empty where it is one."""
    if value in (None, ""):
        return BLANK
    if not isinstance(value, str):
        return INVALID
    return too_long(MAX_ID) if len(value) > MAX_ID else ""


def _misplaced(handler: PaymentHandlerConfig, given: Given, at: datetime) -> Iterator[tuple[str, list[str]]]:
    """Why a token that is one is not accepted here and now."""
    instrument = given[_INSTRUMENT]
    credential = instrument["credential"]
    if not handler.enabled:
        yield "base", [OFF]
    if instrument["handler_id"] != handler.handler_id:
        yield f"{_INSTRUMENT}.handler_id", [NOT_IN_LIST]
    if "expiry" in credential and datetime.fromisoformat(credential["expiry"].upper()) <= at:
        yield f"{_INSTRUMENT}.credential.expiry", [EXPIRED]
    binding = credential.get("binding", {})
    if not isinstance(binding, dict):
        yield f"{_INSTRUMENT}.credential.binding", [INVALID]
        return
    for name, own in (("checkout_id", given["checkout_id"]), ("shop_id", handler.config["shop_id"])):
        if name in binding and binding[name] != own:
            yield f"{_INSTRUMENT}.credential.binding.{name}", [ELSEWHERE]
