"""What the world reads of a shop's payment handlers: its profile, and the entries of a checkout's answer.

Rule: spec part B, Payment handler schema.
"""

from collections.abc import Collection

from apps.ground.attrs import Attrs
from apps.payments.domain import publishing
from apps.payments.domain.configuring import environment_of
from apps.payments.models import PaymentHandlerConfig

PROTOCOL_VERSION = "2026-04-08"
INSTRUMENT_TYPE = "wallet_pay"
# Resolved for one checkout; what a configuration says under these names is not meant for it.
_RESOLVED = frozenset({"currency", "token_binding"})


def entry(handler: PaymentHandlerConfig) -> Attrs:
    """What a shop publishes about a handler, for discovery."""
    version = handler.handler_version
    shown: Attrs = {
        "id": handler.handler_id,
        "version": version,
        "spec": publishing.spec_url(version),
        "schema": publishing.schema_url(version),
    }
    if handler.available_instruments is not None:
        shown["available_instruments"] = handler.available_instruments
    return {**shown, "config": handler.config}


def profile() -> Attrs:
    """The current shop's profile, with the handlers that are on."""
    handlers: dict[str, list[Attrs]] = {}
    for handler in PaymentHandlerConfig.objects.filter(enabled=True).order_by("id"):
        handlers.setdefault(handler.handler_name, []).append(entry(handler))
    return {"ucp": {"version": PROTOCOL_VERSION, "services": {}, "payment_handlers": handlers}}


def checkout_response(
    handler: PaymentHandlerConfig,
    *,
    currency: str | None = None,
    country: str | None = None,
    checkout_id: str | None = None,
    instruments: Collection[str] | None = None,
) -> Attrs:
    """The part of a checkout's answer that is about a handler; without an entry where it does not fit.

    Args:
        handler: One of the current shop's.
        currency: The checkout's, ISO 4217.
        country: Where the buyer is, ISO 3166-1 alpha-2.
        checkout_id: What a token must be bound to.
        instruments: The types that the platform can deal with; None for any.
    """
    found = _response_entry(handler, currency, checkout_id, instruments)
    fits = handler.enabled and _serves(handler, currency, country) and found is not None
    return {
        "ucp": {
            "version": PROTOCOL_VERSION,
            "payment_handlers": {handler.handler_name: [found]} if fits else {},
        }
    }


def _serves(handler: PaymentHandlerConfig, currency: str | None, country: str | None) -> bool:
    wanted = (("supported_currencies", currency), ("supported_countries", country))
    return all(code is None or code in handler.config.get(name, [code]) for name, code in wanted)


def _response_entry(
    handler: PaymentHandlerConfig,
    currency: str | None,
    checkout_id: str | None,
    instruments: Collection[str] | None,
) -> Attrs | None:
    """The entry at run time; None where shop and platform have no instrument in common."""
    config = {name: value for name, value in handler.config.items() if name not in _RESOLVED}
    config["environment"] = environment_of(config)
    if currency is not None:
        config["currency"] = currency
    if checkout_id is not None:
        config["token_binding"] = {"checkout_id": checkout_id}
    shown = {**entry(handler), "config": config}
    if instruments is not None:
        offered = handler.available_instruments or [{"type": INSTRUMENT_TYPE}]
        common = [each for each in offered if each["type"] in instruments]
        if not common:
            return None
        shown["available_instruments"] = common
    return shown
