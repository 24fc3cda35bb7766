"""Create, update and delete payment handlers, and manage the shop IDs that the wallet assigns.

The wallet assigns one ID to each shop, so if two shops enter the same ID, one of the entries is wrong. An ID belongs to
one shop as long as a handler of the shop uses it.
"""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import TAKEN
from apps.core.i18n.messages import define_message
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.payments.domain import entry_validation
from apps.payments.models import PaymentHandlerConfig, WalletShop

_ATTEMPTS = 3
_CREATED = define_message("payment_handlers.created", "Payment handler created: {reason}")
_CHANGED = define_message("payment_handlers.updated", "Payment handler updated: {reason}")
# Maps columns to names in the published entry.
_IN_ENTRY = {
    "handler_id": "id",
    "handler_version": "version",
    "config": "config",
    "available_instruments": "available_instruments",
    "schema": "schema",
}


class HandlerInUse(DomainError):
    pass


class WalletShopTaken(DomainError):
    field = "config.shop_id"


def claim_wallet_id(known_as: str) -> None:
    """Claim a wallet ID for the current shop, and lock it until the transaction ends.

    If two shops claim the same ID at the same time, the second insert waits, and only one shop succeeds.
    """
    for _attempt in range(_ATTEMPTS):
        WalletShop.objects.bulk_create([WalletShop(shop=get_current_shop(), known_as=known_as)], ignore_conflicts=True)
        if known_as in {row.known_as for row in _lock_rows()}:
            return
        # Either the ID belongs to another shop, or this shop released it between the two statements. Try again.
    raise WalletShopTaken(TAKEN)


def release_unused_wallet_ids() -> None:
    locked_rows = _lock_rows()
    used_ids = {config.get("shop_id") for config in PaymentHandlerConfig.rows().values_list("config", flat=True)}
    for row in locked_rows:
        if row.known_as not in used_ids:
            row.delete()


def _lock_rows() -> list[WalletShop]:
    """Lock and return the wallet IDs of the current shop, in a fixed order to prevent deadlocks."""
    return list(WalletShop.rows().select_for_update().order_by("pk"))


def build_entry(handler: PaymentHandlerConfig | None, attrs: ReadOnlyAttrs) -> Attrs:
    """Return the entry that a handler would publish with new values. ``handler`` is None for a new handler."""
    current = {} if handler is None else {name: getattr(handler, name) for name in _IN_ENTRY if name != "schema"}
    values = entry_validation.remove_tokens({**current, **attrs})
    entry = {entry_name: values[name] for name, entry_name in _IN_ENTRY.items() if name in values}
    # A null value and a missing member both mean that all instruments are available.
    return {name: value for name, value in entry.items() if name != "available_instruments" or value is not None}


@transaction.atomic
def create_handler(attrs: ReadOnlyAttrs, *, actor: str, at: datetime, reason: str = "") -> PaymentHandlerConfig:
    """Create a handler. The reason is for the audit log. The errors use the field names of the entry."""
    entry_validation.validate_entry(build_entry(None, attrs))
    handler = PaymentHandlerConfig(shop=get_current_shop(), created_at=at, **to_columns(attrs))
    claim_wallet_id(handler.config["shop_id"])
    handler.save()
    message = _CREATED(reason=reason) if reason else None
    record_event("payment_handlers/create", handler, actor=actor, at=at, message=message)
    return handler


@transaction.atomic
def update_handler(
    handler: PaymentHandlerConfig, attrs: ReadOnlyAttrs, *, actor: str, at: datetime, reason: str = ""
) -> PaymentHandlerConfig:
    """Update a handler that the caller has locked. Columns that are missing from ``attrs`` stay unchanged."""
    entry_validation.validate_entry(build_entry(handler, attrs))
    if changes := apply_changes(handler, to_columns(attrs)):
        handler.save(update_fields=list(changes))
        if "config" in changes:
            claim_wallet_id(handler.config["shop_id"])
            release_unused_wallet_ids()
        message = _CHANGED(reason=reason) if reason else None
        record_event("payment_handlers/update", handler, actor=actor, at=at, changes=changes, message=message)
    return handler


@transaction.atomic
def delete_handler(handler: PaymentHandlerConfig, *, actor: str, at: datetime, unless_in_use: bool = False) -> None:
    """Delete a handler, and release its ``shop_id`` if no other handler uses it.

    With ``unless_in_use``, the deletion of a handler that is enabled in production is refused. Staff must first disable
    the handler, which requires a reason.
    """
    if unless_in_use and handler.enabled and handler.environment == PaymentHandlerConfig.Environment.PRODUCTION:
        raise HandlerInUse(_("This payment handler is enabled in production. Disable it before you delete it."))
    record_event("payment_handlers/delete", handler, actor=actor, at=at)
    handler.delete()
    release_unused_wallet_ids()


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
