"""One-time app purchases, which expire unless the shop approves or declines them in time.

Each status change is sent to the app as a webhook. This product does not process the payment. The row only records the
agreement between the shop and the app's developer, who arrange the payment themselves.
"""

from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST, at_least, too_long
from apps.core.i18n.messages import define_message
from apps.core.money import MAX_AMOUNT, has_valid_precision, is_currency
from apps.core.tenancy.models import Installation
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain.app_installation import NotInstalled
from apps.shops.models import AppPurchase

TOPIC = "app_purchases_one_time/update"
# A purchase expires if the shop does not decide within this period.
DECISION_PERIOD = timedelta(days=2)
_MAX_NAME_LENGTH = 255
_ALREADY_DECIDED = define_message("app_purchases.already_decided", "The purchase is already {status}.")

Status = AppPurchase.Status


class InvalidPurchase(DomainError):
    pass


class AlreadyDecided(DomainError):
    pass


@transaction.atomic
def create_purchase(
    installation: Installation,
    *,
    name: str,
    price: Decimal,
    actor: str,
    at: datetime,
    currency: str = "",
    test: bool = False,
    return_url: str = "",
) -> AppPurchase:
    """Create a one-time purchase for the shop to approve. The default currency is the shop currency.

    After the decision, staff are redirected to ``return_url``, unless it is blank.

    Raises:
        NotInstalled: The app is not installed.
        InvalidPurchase: The name, price or currency is invalid.
    """
    with shop_scope(installation.shop):
        refresh_for_update(installation, no_key=True)
        if installation.uninstalled_at is not None:
            raise NotInstalled(_("The app is not installed."))
        shop = installation.shop
        currency_code = currency.strip().upper() or shop.currency
        errors = _validate(name.strip(), price, currency_code)
        if errors:
            raise InvalidPurchase(errors)
        purchase = AppPurchase.objects.create(
            shop=shop,
            installation=installation,
            name=name.strip(),
            price=price,
            currency=currency_code,
            test=test,
            return_url=return_url,
            created_at=at,
        )
        record_event(TOPIC, purchase, actor=actor, at=at, changes={"status": [None, Status.PENDING]})
    return purchase


@transaction.atomic
def decide_purchase(purchase: AppPurchase, *, approve: bool, actor: str, at: datetime) -> AppPurchase:
    """Approve or decline a purchase. The installation is locked, so that it can't end during an approval.

    Raises:
        AlreadyDecided: The purchase is already decided or expired.
        NotInstalled: The app is not installed.
    """
    with shop_scope(purchase.shop):
        refresh_for_update(purchase.installation, no_key=True)
    if approve and purchase.installation.uninstalled_at is not None:
        raise NotInstalled(_("The app is not installed."))
    return _set_status(purchase, Status.ACTIVE if approve else Status.DECLINED, actor=actor, at=at)


def expire_purchases(at: datetime) -> int:
    overdue = AppPurchase.objects.filter(writable_shops(), status=Status.PENDING, created_at__lte=at - DECISION_PERIOD)
    expired = 0
    for purchase in overdue.select_related("shop").order_by("pk"):
        try:
            _set_status(purchase, Status.EXPIRED, actor="system", at=at)
        except AlreadyDecided:
            continue
        expired += 1
    return expired


@transaction.atomic
def _set_status(purchase: AppPurchase, status: Status, *, actor: str, at: datetime) -> AppPurchase:
    with shop_scope(purchase.shop):
        # The UPDATE checks the status, so only one of two concurrent decisions updates the row.
        pending = AppPurchase.objects.filter(pk=purchase.pk, status=Status.PENDING)
        if not pending.update(status=status, decided_at=at, updated_at=at):
            purchase.refresh_from_db()
            raise AlreadyDecided(_ALREADY_DECIDED(status=purchase.get_status_display().lower()))
        purchase.refresh_from_db()
        record_event(TOPIC, purchase, actor=actor, at=at, changes={"status": [Status.PENDING, status]})
    return purchase


def _validate(name: str, price: Decimal, currency: str) -> dict[str, list[str]]:
    errors: dict[str, list[str]] = {}
    if not name:
        errors["name"] = [BLANK]
    elif len(name) > _MAX_NAME_LENGTH:
        errors["name"] = [too_long(_MAX_NAME_LENGTH)]
    if not is_currency(currency):
        errors["currency"] = [NOT_IN_LIST]
    if (
        not price.is_finite()
        or price >= MAX_AMOUNT
        or (is_currency(currency) and not has_valid_precision(price, currency))
    ):
        errors["price"] = [INVALID]
    elif price <= 0:
        errors["price"] = [at_least("0.01") if has_valid_precision(Decimal("0.01"), currency) else at_least(1)]
    return errors
