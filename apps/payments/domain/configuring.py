"""Making, changing and removing payment handlers.

Faces pass values by column; ``schema``, which a client may send back, is checked and not stored.
"""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs, Given
from apps.ground.errors import DomainError
from apps.ground.retelling import tells
from apps.ground.tenancy import current_shop
from apps.payments.domain import entries, wallet_shops
from apps.payments.models import PaymentHandlerConfig

_CREATED = tells(gettext_noop("Payment handler created: {reason}"))
_CHANGED = tells(gettext_noop("Payment handler changed: {reason}"))


class InUse(DomainError):
    """The handler is on in production."""

    code = "payment_handler_in_use"


# By column, the name in an entry.
_IN_ENTRY = {
    "handler_id": "id",
    "handler_version": "version",
    "config": "config",
    "available_instruments": "available_instruments",
    "schema": "schema",
}


def entry_of(handler: PaymentHandlerConfig | None, attrs: Given) -> Attrs:
    """What would be published of a handler with new values; None for a new one."""
    stored = {} if handler is None else {name: getattr(handler, name) for name in _IN_ENTRY if name != "schema"}
    values = entries.without_tokens({**stored, **attrs})
    entry = {shown: values[name] for name, shown in _IN_ENTRY.items() if name in values}
    # Absent and null are the same to whoever asks what is available.
    return {name: value for name, value in entry.items() if name != "available_instruments" or value is not None}


@transaction.atomic
def create_handler(attrs: Given, *, actor: str, at: datetime, reason: str = "") -> PaymentHandlerConfig:
    """Make a handler.

    Args:
        attrs: By column.
        actor: Who, for the audit trail.
        at: When.
        reason: Why, in the actor's own words.

    Raises:
        EntryRefused: It must not be published as it is; by the names of an entry.
        WalletShopTaken: Another shop is known by its ``shop_id``.
    """
    entries.check(entry_of(None, attrs))
    handler = PaymentHandlerConfig(shop=current_shop(), created_at=at, **stored(attrs))
    wallet_shops.claim(handler.config["shop_id"])
    handler.save()
    record_event(
        "payment_handlers/create", handler, actor=actor, at=at, message=_CREATED.format(reason=reason) if reason else ""
    )
    return handler


@transaction.atomic
def change_handler(
    handler: PaymentHandlerConfig, attrs: Given, *, actor: str, at: datetime, reason: str = ""
) -> PaymentHandlerConfig:
    """Change a handler that the caller holds; what ``attrs`` does not name stays.

    Raises:
        EntryRefused: It must not be published as it is; by the names of an entry.
        WalletShopTaken: Another shop is known by its ``shop_id``.
    """
    entries.check(entry_of(handler, attrs))
    if changes := assign(handler, stored(attrs)):
        handler.save(update_fields=list(changes))
        if "config" in changes:
            wallet_shops.claim(handler.config["shop_id"])
            wallet_shops.release_unused()
        message = _CHANGED.format(reason=reason) if reason else ""
        record_event("payment_handlers/update", handler, actor=actor, at=at, changes=changes, message=message)
    return handler


@transaction.atomic
def delete_handler(handler: PaymentHandlerConfig, *, actor: str, at: datetime, unless_in_use: bool = False) -> None:
    """Remove a handler, and let go of its ``shop_id``.

    Args:
        handler: One of the current shop's.
        actor: Who, for the audit trail.
        at: When.
        unless_in_use: Whether one that takes money is to be switched off first, which asks for a reason.

    Raises:
        InUse: It is on in production.
    """
    if unless_in_use and handler.enabled and handler.environment == PaymentHandlerConfig.Environment.PRODUCTION:
        raise InUse(_("This payment handler is on in production: switch it off first."))
    record_event("payment_handlers/delete", handler, actor=actor, at=at)
    handler.delete()
    wallet_shops.release_unused()


def stored(attrs: Given) -> Attrs:
    """Values as the columns hold them, with the environment that the configuration names."""
    kept = entries.storable(entries.without_tokens({name: value for name, value in attrs.items() if name != "schema"}))
    if "config" in kept:
        kept["environment"] = environment_of(kept["config"])
    return dict(kept)


def environment_of(config: Given) -> str:
    """The environment of a configuration; production is meant where none is named."""
    return str(config.get("environment", PaymentHandlerConfig.Environment.PRODUCTION.value))
