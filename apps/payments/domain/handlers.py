"""Create, update and delete payment handlers.

Callers pass values keyed by column name. If a client sent ``schema``, the value is validated but not stored.
"""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.events.domain.diffs import apply_changes
from apps.events.domain.recording import record_event
from apps.ground.exceptions import DomainError
from apps.ground.stored_messages import register_message
from apps.ground.tenancy import get_current_shop
from apps.ground.types import Attrs, ReadOnlyAttrs
from apps.payments.domain import entry_validation, wallet_ids
from apps.payments.models import PaymentHandlerConfig

_CREATED = register_message(gettext_noop("Payment handler created: {reason}"))
_CHANGED = register_message(gettext_noop("Payment handler updated: {reason}"))


class HandlerInUse(DomainError):
    """Raised when a handler cannot be deleted because it is enabled in production."""

    code = "payment_handler_in_use"


# Maps columns to names in the published entry.
_IN_ENTRY = {
    "handler_id": "id",
    "handler_version": "version",
    "config": "config",
    "available_instruments": "available_instruments",
    "schema": "schema",
}


def build_entry(handler: PaymentHandlerConfig | None, attrs: ReadOnlyAttrs) -> Attrs:
    """Return the entry that a handler would publish with new values. ``handler`` is None for a new handler."""
    current = {} if handler is None else {name: getattr(handler, name) for name in _IN_ENTRY if name != "schema"}
    values = entry_validation.remove_tokens({**current, **attrs})
    entry = {entry_name: values[name] for name, entry_name in _IN_ENTRY.items() if name in values}
    # A null value and a missing member both mean that all instruments are available.
    return {name: value for name, value in entry.items() if name != "available_instruments" or value is not None}


@transaction.atomic
def create_handler(attrs: ReadOnlyAttrs, *, actor: str, at: datetime, reason: str = "") -> PaymentHandlerConfig:
    """Create a handler.

    Args:
        attrs: The values, keyed by column name.
        actor: The actor of the event.
        at: The time of the change.
        reason: The actor's reason, for the audit log.

    Raises:
        EntryRefused: The entry is invalid or must not be published. The errors use the field names of the entry.
        WalletShopTaken: The ``shop_id`` belongs to another shop.
    """
    entry_validation.validate_entry(build_entry(None, attrs))
    handler = PaymentHandlerConfig(shop=get_current_shop(), created_at=at, **to_columns(attrs))
    wallet_ids.claim_wallet_id(handler.config["shop_id"])
    handler.save()
    record_event(
        "payment_handlers/create", handler, actor=actor, at=at, message=_CREATED.format(reason=reason) if reason else ""
    )
    return handler


@transaction.atomic
def update_handler(
    handler: PaymentHandlerConfig, attrs: ReadOnlyAttrs, *, actor: str, at: datetime, reason: str = ""
) -> PaymentHandlerConfig:
    """Update a handler that the caller has locked. Columns that are missing from ``attrs`` stay unchanged.

    Raises:
        EntryRefused: The entry is invalid or must not be published. The errors use the field names of the entry.
        WalletShopTaken: The ``shop_id`` belongs to another shop.
    """
    entry_validation.validate_entry(build_entry(handler, attrs))
    if changes := apply_changes(handler, to_columns(attrs)):
        handler.save(update_fields=list(changes))
        if "config" in changes:
            wallet_ids.claim_wallet_id(handler.config["shop_id"])
            wallet_ids.release_unused_wallet_ids()
        message = _CHANGED.format(reason=reason) if reason else ""
        record_event("payment_handlers/update", handler, actor=actor, at=at, changes=changes, message=message)
    return handler


@transaction.atomic
def delete_handler(handler: PaymentHandlerConfig, *, actor: str, at: datetime, unless_in_use: bool = False) -> None:
    """Delete a handler, and release its ``shop_id`` if no other handler uses it.

    Args:
        handler: A handler of the current shop.
        actor: The actor of the event.
        at: The time of the change.
        unless_in_use: True to refuse the deletion of a handler that is enabled in production. Staff must first disable
            the handler, which requires a reason.

    Raises:
        HandlerInUse: ``unless_in_use`` is true and the handler is enabled in production.
    """
    if unless_in_use and handler.enabled and handler.environment == PaymentHandlerConfig.Environment.PRODUCTION:
        raise HandlerInUse(_("This payment handler is enabled in production. Disable it before you delete it."))
    record_event("payment_handlers/delete", handler, actor=actor, at=at)
    handler.delete()
    wallet_ids.release_unused_wallet_ids()


def to_columns(attrs: ReadOnlyAttrs) -> Attrs:
    """Convert values to the columns to store, including the environment from the configuration."""
    columns = entry_validation.convert_decimals(
        entry_validation.remove_tokens({name: value for name, value in attrs.items() if name != "schema"})
    )
    if "config" in columns:
        columns["environment"] = get_environment(columns["config"])
    return dict(columns)


def get_environment(config: ReadOnlyAttrs) -> str:
    """Return the environment in a configuration. The default is production."""
    return str(config.get("environment", PaymentHandlerConfig.Environment.PRODUCTION.value))
