"""Recurring charges of apps, which the shop must approve, and usage charges up to the approved amount.

The rows record the agreement between the shop and the app's developer. This product debits nothing; the shop pays the
developer directly. An undecided charge expires after the same time as a one-time purchase.
"""

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.db.row_locks import get_for_update
from apps.core.events.recording import EventInput, apply_changes, record_event, record_secondary_events
from apps.core.exceptions import TransitionRefused
from apps.core.i18n.messages import define_message, define_text
from apps.core.money import format_decimal
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.shops.domain.app_installation import NotInstalled, lock_active
from apps.shops.domain.purchases import DECISION_PERIOD
from apps.shops.models import AppPurchase, RecurringCharge, UsageCharge, get_current_usage, get_period_start

TOPIC = "app_subscriptions/update"
LIMIT_TOPIC = "app_subscriptions/approaching_capped_amount"
# The app is notified when usage reaches this part of the capped amount.
LIMIT_SHARE = Decimal("0.9")
Status = RecurringCharge.Status
_WRONG_STATUS = define_message("charges.wrong_status", "The charge is {status}.")
_NO_CAP = define_text("charges.no_cap", "The charge has no capped amount, so it has no usage charges.")
_OVER_CAP = define_message("charges.over_cap", "must be at most {remaining}, the balance remaining in this period")
_LOWER_CAP = define_message("charges.lower_cap", "must be greater than {amount}, the current capped amount")
_CAP_CHANGED = define_text("charges.cap_changed", "The requested amount has changed. Check it again.")
_OPEN_CHARGES = define_text("charges.open", "apps have charges in this currency that are active or wait for approval")


class ChargeRefused(TransitionRefused):
    pass


@transaction.atomic
def create_charge(installation: Installation, attrs: Attrs, *, actor: str, at: datetime) -> RecurringCharge:
    """Create a recurring charge in the shop currency, which waits for the shop's approval.

    Raises:
        NotInstalled: The app was uninstalled in the meantime.
    """
    lock_active(installation.app_id)
    charge: RecurringCharge = RecurringCharge.objects.create(
        shop=installation.shop, installation=installation, currency=installation.shop.currency, created_at=at, **attrs
    )
    record_event(TOPIC, charge, actor=actor, at=at, changes={"status": [None, Status.PENDING]})
    return charge


@transaction.atomic
def decide_charge(charge: RecurringCharge, *, approve: bool, actor: str, at: datetime) -> RecurringCharge:
    """Approve or decline a charge. An approved charge replaces the app's active charge.

    Raises:
        ChargeRefused: The charge is already decided or expired.
        NotInstalled: The app is not installed.
    """
    _lock_installation(charge)
    row = _lock_charge(charge, Status.PENDING)
    if not approve:
        return _set_status(row, Status.DECLINED, actor=actor, at=at)
    for active in RecurringCharge.objects.filter(installation=row.installation, status=Status.ACTIVE):
        _end_charge(active, actor=actor, at=at)
    row.activated_on = at.astimezone(row.shop.tzinfo).date()
    return _set_status(row, Status.ACTIVE, actor=actor, at=at)


@transaction.atomic
def cancel_charge(charge: RecurringCharge, *, actor: str, at: datetime) -> RecurringCharge:
    """Cancel a pending or active charge.

    Raises:
        ChargeRefused: The charge has already ended.
    """
    _lock_installation(charge)
    return _end_charge(_lock_charge(charge, Status.PENDING, Status.ACTIVE), actor=actor, at=at)


@transaction.atomic
def request_capped_amount(charge: RecurringCharge, amount: Decimal, *, actor: str, at: datetime) -> RecurringCharge:
    """Ask the shop to raise the capped amount of an active charge.

    Raises:
        ChargeRefused: The charge is not active or has no capped amount, or the new amount is not higher.
    """
    row = _lock_charge(charge, Status.ACTIVE)
    if row.capped_amount is None:
        raise ChargeRefused(_NO_CAP)
    if amount <= row.capped_amount:
        raise ChargeRefused(_LOWER_CAP(amount=format_decimal(row.capped_amount, row.currency)), field="capped_amount")
    if changes := apply_changes(row, {"requested_capped_amount": amount}):
        row.save(update_fields=list(changes))
        record_event(TOPIC, row, actor=actor, at=at, changes=changes)
    return row


@transaction.atomic
def decide_capped_amount(
    charge: RecurringCharge, *, approve: bool, requested: str, actor: str, at: datetime
) -> RecurringCharge:
    """Approve or decline the requested capped amount, which is ``requested`` on the page that staff saw.

    Raises:
        ChargeRefused: The charge is not active, nothing is requested, or another amount is requested by now.
    """
    row = _lock_charge(charge, Status.ACTIVE)
    if row.requested_capped_amount is None:
        raise ChargeRefused(_WRONG_STATUS(status=row.get_status_display().lower()))
    if requested != str(row.requested_capped_amount):
        raise ChargeRefused(_CAP_CHANGED)
    values: Attrs = {"requested_capped_amount": None}
    if approve:
        values["capped_amount"] = row.requested_capped_amount
    changes = apply_changes(row, values)
    row.save(update_fields=list(changes))
    record_event(TOPIC, row, actor=actor, at=at, changes=changes)
    return row


@transaction.atomic
def create_usage_charge(
    charge: RecurringCharge, *, description: str, price: Decimal, actor: str, at: datetime
) -> UsageCharge:
    """Record usage within the capped amount of the current billing period.

    Raises:
        ChargeRefused: The charge is not active, has no capped amount, or has too little balance remaining.
    """
    row = _lock_charge(charge, Status.ACTIVE)
    if row.capped_amount is None or row.activated_on is None:
        raise ChargeRefused(_NO_CAP)
    today = at.astimezone(row.shop.tzinfo).date()
    period = get_period_start(row.activated_on, row.trial_days, today)
    before = get_current_usage(row.balance_used, row.balance_period, row.activated_on, row.trial_days, today)
    if before + price > row.capped_amount:
        remaining = format_decimal(row.capped_amount - before, row.currency)
        raise ChargeRefused(_OVER_CAP(remaining=remaining), field="price")
    usage: UsageCharge = UsageCharge.objects.create(
        shop_id=row.shop_id,
        recurring_charge=row,
        description=description,
        price=price,
        currency=row.currency,
        created_at=at,
    )
    row.balance_used, row.balance_period = before + price, period
    row.save(update_fields=["balance_used", "balance_period", "updated_at"])
    if before < row.capped_amount * LIMIT_SHARE <= row.balance_used:
        record_secondary_events([EventInput(LIMIT_TOPIC, row)], actor=actor, at=at)
    return usage


def expire_charges(at: datetime) -> int:
    overdue = RecurringCharge.objects.filter(
        writable_shops(), status=Status.PENDING, created_at__lte=at - DECISION_PERIOD
    )
    expired = 0
    for charge in overdue.select_related("shop").order_by("pk"):
        with shop_scope(charge.shop), transaction.atomic():
            try:
                _set_status(_lock_charge(charge, Status.PENDING), Status.EXPIRED, actor="system", at=at)
            except ChargeRefused:
                continue
        expired += 1
    return expired


def cancel_charges(installation: Installation, at: datetime) -> None:
    """Cancel the charges of an app that is being uninstalled."""
    open_statuses = (Status.PENDING, Status.ACTIVE)
    for charge in RecurringCharge.objects.filter(installation=installation, status__in=open_statuses).order_by("pk"):
        _end_charge(charge, actor="system", at=at)


def _lock_installation(charge: RecurringCharge) -> None:
    """Lock the installation, because at most one of its charges may become active."""
    if charge.installation.uninstalled_at is not None:
        raise NotInstalled(_("The app is not installed."))
    lock_active(charge.installation.app_id)


def _lock_charge(charge: RecurringCharge, *statuses: str) -> RecurringCharge:
    row = get_for_update(RecurringCharge, charge.pk, no_key=True)
    if row.status not in statuses:
        raise ChargeRefused(_WRONG_STATUS(status=row.get_status_display().lower()))
    return row


def _end_charge(charge: RecurringCharge, *, actor: str, at: datetime) -> RecurringCharge:
    charge.cancelled_on = at.astimezone(charge.shop.tzinfo).date()
    return _set_status(charge, Status.CANCELLED, actor=actor, at=at)


def _set_status(charge: RecurringCharge, status: Status, *, actor: str, at: datetime) -> RecurringCharge:
    before, charge.status = charge.status, status
    charge.save(update_fields=["status", "activated_on", "cancelled_on", "updated_at"])
    record_event(TOPIC, charge, actor=actor, at=at, changes={"status": [before, status]})
    return charge


def get_currency_objection(shop: Shop, currency: str) -> str | None:
    """Return why the shop cannot change its currency, or None. Charges keep the currency that staff approved."""
    open_charges = RecurringCharge.objects.select_for_update().filter(status__in=(Status.PENDING, Status.ACTIVE))
    pending_purchases = AppPurchase.objects.select_for_update().filter(status=AppPurchase.Status.PENDING)
    has_open = open_charges.order_by("pk").first() or pending_purchases.order_by("pk").first()
    return _OPEN_CHARGES if has_open else None
