"""One-time purchases of apps: asked for, then approved, declined or expired; each once, and each step is told the app.

No money is moved here: the shop and the app's maker settle it, and the product keeps what was agreed.
Rule: spec part B, Events (``app_purchases_one_time/update``).
"""

from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.ground.errors import DomainError
from apps.ground.money import MAX_AMOUNT, fits, is_currency
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST, at_least, too_long
from apps.ground.retelling import tells
from apps.ground.tenancy import shop_scope
from apps.shops.domain.installing import NotInstalled
from apps.shops.domain.read_only import writable
from apps.shops.domain.records import record
from apps.shops.models import AppPurchase, Installation

TOPIC = "app_purchases_one_time/update"
# How long a shop has to decide.
WAITS = timedelta(days=2)
_LONGEST = 255
_DECIDED = tells(gettext_noop("The purchase is {status} already."))

Status = AppPurchase.Status


class PurchaseRefused(DomainError):
    """What is asked for cannot be."""

    code = "purchase_refused"


class AlreadyDecided(DomainError):
    """It was approved, declined or has expired."""

    code = "purchase_already_decided"


@transaction.atomic
def offer(
    installation: Installation,
    *,
    name: str,
    price: Decimal,
    actor: str,
    at: datetime,
    currency: str = "",
    test: bool = False,
) -> AppPurchase:
    """Ask a shop to pay an app once.

    Args:
        installation: The app at work in the shop.
        name: What it is for.
        price: In the currency, with no more decimals than it has.
        actor: Who asks.
        at: When.
        currency: The shop's where it is blank.
        test: Whether no money is meant.

    Raises:
        NotInstalled: The app is not installed any more.
        PurchaseRefused: ``{field: [messages]}``.
    """
    with shop_scope(installation.shop):
        if installation.uninstalled_at is not None:
            raise NotInstalled(_("The app is not installed."))
        shop = installation.shop
        wanted = currency.strip().upper() or shop.currency
        errors = _errors(name.strip(), price, wanted)
        if errors:
            raise PurchaseRefused(errors)
        made = AppPurchase.objects.create(
            shop=shop,
            installation=installation,
            name=name.strip(),
            price=price,
            currency=wanted,
            test=test,
            created_at=at,
        )
        record(TOPIC, made, actor=actor, at=at, changes={"status": [None, Status.PENDING]})
    return made


def decide(purchase: AppPurchase, *, approve: bool, actor: str, at: datetime) -> AppPurchase:
    """Approve or decline what an app asked for.

    Raises:
        AlreadyDecided: That was done already, or it has expired.
        NotInstalled: The app is not installed any more.
    """
    if approve and purchase.installation.uninstalled_at is not None:
        raise NotInstalled(_("The app is not installed."))
    return _conclude(purchase, Status.ACTIVE if approve else Status.DECLINED, actor=actor, at=at)


def expire(at: datetime) -> int:
    """Let what waited too long expire, in every shop; returns how many that were."""
    late = AppPurchase.objects.filter(writable(), status=Status.PENDING, created_at__lte=at - WAITS)
    expired = 0
    for purchase in late.select_related("shop").order_by("pk"):
        try:
            _conclude(purchase, Status.EXPIRED, actor="system", at=at)
        except AlreadyDecided:
            continue
        expired += 1
    return expired


@transaction.atomic
def _conclude(purchase: AppPurchase, status: Status, *, actor: str, at: datetime) -> AppPurchase:
    with shop_scope(purchase.shop):
        # The guard is part of the UPDATE: of two who decide at once, one finds no row.
        waiting = AppPurchase.objects.filter(pk=purchase.pk, status=Status.PENDING)
        if not waiting.update(status=status, decided_at=at, updated_at=at):
            purchase.refresh_from_db()
            raise AlreadyDecided(_DECIDED.format(status=purchase.get_status_display().lower()))
        purchase.refresh_from_db()
        record(TOPIC, purchase, actor=actor, at=at, changes={"status": [Status.PENDING, status]})
    return purchase


def _errors(name: str, price: Decimal, currency: str) -> dict[str, list[str]]:
    errors: dict[str, list[str]] = {}
    if not name:
        errors["name"] = [BLANK]
    elif len(name) > _LONGEST:
        errors["name"] = [too_long(_LONGEST)]
    if not is_currency(currency):
        errors["currency"] = [NOT_IN_LIST]
    if not price.is_finite() or price >= MAX_AMOUNT or (is_currency(currency) and not fits(price, currency)):
        errors["price"] = [INVALID]
    elif price <= 0:
        errors["price"] = [at_least("0.01") if fits(Decimal("0.01"), currency) else at_least(1)]
    return errors
