"""Redeem the tokens of payment instruments. A token can be redeemed once, for one checkout, until it expires.

This module does not call the wallet or charge the customer. Only the digest of a token is stored.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST, too_long
from apps.core.types import Errors, ReadOnlyAttrs
from apps.payments.domain import entry_validation, schemas
from apps.payments.models import PaymentHandlerConfig, TokenRedemption

MAX_ID = 255
_INSTRUMENT = "payment_instrument"


class TokenNotRedeemable(DomainError):
    pass


@transaction.atomic
def redeem_token(handler: PaymentHandlerConfig, values: ReadOnlyAttrs, *, actor: str, at: datetime) -> TokenRedemption:
    """Redeem the token of an instrument. Of two concurrent requests with the same token, only one succeeds.

    ``values`` has ``checkout_id`` and ``payment_instrument``.

    Raises:
        IntegrityError: The token was already redeemed in this shop or in another shop.
    """
    if errors := _find_format_errors(handler, values) or dict(_find_binding_errors(handler, values, at)):
        raise TokenNotRedeemable(errors)
    instrument = values[_INSTRUMENT]
    redemption = TokenRedemption.objects.create(
        shop=handler.shop,
        digest=hashlib.sha256(instrument["credential"]["token"].encode()).hexdigest(),
        handler_id=handler.handler_id,
        checkout_id=values["checkout_id"],
        instrument_id=instrument["id"],
        created_at=at,
    )
    record_event("payment_handlers/redeem", handler, actor=actor, at=at)
    return redemption


def _find_format_errors(handler: PaymentHandlerConfig, values: ReadOnlyAttrs) -> Errors:
    errors: Errors = {}
    if message := _find_id_error(values.get("checkout_id")):
        errors["checkout_id"] = [message]
    instrument = values.get(_INSTRUMENT)
    if instrument is None:
        return errors | {_INSTRUMENT: [BLANK]}
    from apps.payments.domain.schema_validation import find_schema_errors

    instrument_errors = entry_validation.find_unsafe_parts(instrument) or find_schema_errors(
        handler.handler_version, schemas.INSTRUMENT, instrument
    )
    if isinstance(instrument, dict):
        if "id" not in instrument_errors and (message := _find_id_error(instrument["id"])):
            instrument_errors["id"] = [message]
        if "credential" not in instrument:
            instrument_errors["credential"] = [BLANK]
    inner = {
        (_INSTRUMENT if field == "base" else f"{_INSTRUMENT}.{field}"): messages
        for field, messages in instrument_errors.items()
    }
    return errors | inner


def _find_id_error(value: Any) -> str:
    if value in (None, ""):
        return BLANK
    if not isinstance(value, str):
        return INVALID
    return too_long(MAX_ID) if len(value) > MAX_ID else ""


def _find_binding_errors(
    handler: PaymentHandlerConfig, values: ReadOnlyAttrs, at: datetime
) -> Iterator[tuple[str, list[str]]]:
    instrument = values[_INSTRUMENT]
    credential = instrument["credential"]
    if not handler.enabled:
        yield "base", ["The payment handler is not enabled"]
    if instrument["handler_id"] != handler.handler_id:
        yield f"{_INSTRUMENT}.handler_id", [NOT_IN_LIST]
    if "expiry" in credential and datetime.fromisoformat(credential["expiry"].upper()) <= at:
        yield f"{_INSTRUMENT}.credential.expiry", ["has expired"]
    binding = credential.get("binding", {})
    if not isinstance(binding, dict):
        yield f"{_INSTRUMENT}.credential.binding", [INVALID]
        return
    for name, expected in (("checkout_id", values["checkout_id"]), ("shop_id", handler.config["shop_id"])):
        if name in binding and binding[name] != expected:
            yield f"{_INSTRUMENT}.credential.binding.{name}", ["does not match the expected value"]
