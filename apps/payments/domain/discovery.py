"""Build the published data about payment handlers: the discovery profile and the entries for checkout responses."""

from collections.abc import Collection

from apps.core.types import Attrs
from apps.payments.domain import schemas
from apps.payments.domain.handlers import get_environment
from apps.payments.models import PaymentHandlerConfig

PROTOCOL_VERSION = "2026-04-08"
INSTRUMENT_TYPE = "wallet_pay"
# The checkout determines these members. Their values in a configuration are ignored.
_RESOLVED = frozenset({"currency", "token_binding"})


def build_discovery_entry(handler: PaymentHandlerConfig) -> Attrs:
    version = handler.handler_version
    values: Attrs = {
        "id": handler.handler_id,
        "version": version,
        "spec": schemas.get_spec_url(version),
        "schema": schemas.get_schema_url(version),
    }
    if handler.available_instruments is not None:
        values["available_instruments"] = handler.available_instruments
    return {**values, "config": handler.config}


def build_profile() -> Attrs:
    handlers: dict[str, list[Attrs]] = {}
    for handler in PaymentHandlerConfig.objects.filter(enabled=True).order_by("id"):
        handlers.setdefault(handler.handler_name, []).append(build_discovery_entry(handler))
    return {"ucp": {"version": PROTOCOL_VERSION, "services": {}, "payment_handlers": handlers}}


def build_checkout_response(
    handler: PaymentHandlerConfig,
    *,
    currency: str | None = None,
    country: str | None = None,
    checkout_id: str | None = None,
    instruments: Collection[str] | None = None,
) -> Attrs:
    """Return the checkout response for a handler. The response has no entry if the handler does not apply.

    A token must be bound to ``checkout_id``. ``instruments`` are the instrument types that the platform supports, or
    None if it supports all.
    """
    response_entry = _response_entry(handler, currency, checkout_id, instruments)
    applies = handler.enabled and _serves(handler, currency, country) and response_entry is not None
    return {
        "ucp": {
            "version": PROTOCOL_VERSION,
            "payment_handlers": {handler.handler_name: [response_entry]} if applies else {},
        }
    }


def _serves(handler: PaymentHandlerConfig, currency: str | None, country: str | None) -> bool:
    restrictions = (("supported_currencies", currency), ("supported_countries", country))
    return all(code is None or code in handler.config.get(name, [code]) for name, code in restrictions)


def _response_entry(
    handler: PaymentHandlerConfig,
    currency: str | None,
    checkout_id: str | None,
    instruments: Collection[str] | None,
) -> Attrs | None:
    """Return the entry for a checkout, or None if the shop and the platform have no instrument type in common."""
    config = {name: value for name, value in handler.config.items() if name not in _RESOLVED}
    config["environment"] = get_environment(config)
    if currency is not None:
        config["currency"] = currency
    if checkout_id is not None:
        config["token_binding"] = {"checkout_id": checkout_id}
    values = {**build_discovery_entry(handler), "config": config}
    if instruments is not None:
        available = handler.available_instruments or [{"type": INSTRUMENT_TYPE}]
        common = [instrument for instrument in available if instrument["type"] in instruments]
        if not common:
            return None
        values["available_instruments"] = common
    return values
