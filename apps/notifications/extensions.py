"""The kinds of notifications, and what the notifications app adds to other apps."""

from collections.abc import Collection, Mapping, Sequence

from django.db.models import Q
from django.utils.translation import gettext_lazy, ngettext

from apps.core.tenancy.scope import all_shops_scope, get_current_shop
from apps.gift_cards.domain import delivery
from apps.gift_cards.models import GiftCard
from apps.inventory.domain.hooks import get_item_names, low_stock_listeners
from apps.inventory.models import InventoryItem
from apps.notifications.domain import recording
from apps.notifications.domain.notification_kinds import Kind, kinds
from apps.orders.domain import hooks
from apps.orders.models import Order
from apps.webhooks.domain.engine.subscription_health import failure_listeners
from apps.webhooks.models import Subscription


def _get_order_names(ids: Sequence[int]) -> Mapping[int, str]:
    return dict(Order.rows().filter(pk__in=ids).order_by("pk").values_list("pk", "name"))


def _get_item_names(ids: Sequence[int]) -> Mapping[int, str]:
    return get_item_names(list(InventoryItem.rows().filter(pk__in=ids).order_by("pk")))


def _get_subscription_names(ids: Sequence[int]) -> Mapping[int, str]:
    """Return the names of subscriptions, including subscriptions for all shops and deleted subscriptions."""
    with all_shops_scope():
        rows = Subscription.objects.filter(Q(shop=get_current_shop()) | Q(shop=None), pk__in=ids)
        return {row.pk: str(row) for row in rows.order_by("pk")}


def _find_subscription_pages(ids: Sequence[int]) -> Collection[int]:
    """Return the ids of the subscriptions that are not deleted."""
    with all_shops_scope():
        rows = Subscription.objects.filter(Q(shop=get_current_shop()) | Q(shop=None), pk__in=ids, deleted_at=None)
        return set(rows.values_list("pk", flat=True))


def _get_gift_card_names(ids: Sequence[int]) -> Mapping[int, str]:
    return {row.pk: str(row) for row in GiftCard.rows().filter(pk__in=ids).order_by("pk")}


kinds.add(
    Kind(
        name=recording.NEW_ORDER,
        label=gettext_lazy("New orders"),
        permission="orders.view_order",
        list_page="admin:orders_order_changelist",
        object_page="admin:orders_order_change",
        get_text=lambda count, number: ngettext("{number} new order", "{number} new orders", count).format(
            number=number
        ),
        get_names=_get_order_names,
    ),
    Kind(
        name=recording.LOW_STOCK,
        label=gettext_lazy("Low stock"),
        permission="inventory.view_inventoryitem",
        list_page="admin:inventory_inventoryitem_changelist",
        list_query="stock=low",
        object_page="admin:inventory_inventoryitem_change",
        get_text=lambda count, number: ngettext(
            "{number} item low in stock", "{number} items low in stock", count
        ).format(number=number),
        get_names=_get_item_names,
    ),
    Kind(
        name=recording.FAILED_WEBHOOK,
        label=gettext_lazy("Failing webhooks"),
        permission="webhooks.view_subscription",
        list_page="admin:webhooks_subscription_changelist",
        object_page="admin:webhooks_subscription_change",
        get_text=lambda count, number: ngettext("{number} failing webhook", "{number} failing webhooks", count).format(
            number=number
        ),
        get_names=_get_subscription_names,
        find_pages=_find_subscription_pages,
    ),
    Kind(
        name=recording.FAILED_GIFT_CARD_EMAIL,
        label=gettext_lazy("Gift card emails that were not sent"),
        permission="gift_cards.view_giftcard",
        list_page="admin:gift_cards_giftcard_changelist",
        object_page="admin:gift_cards_giftcard_change",
        get_text=lambda count, number: ngettext(
            "{number} gift card email was not sent", "{number} gift card emails were not sent", count
        ).format(number=number),
        get_names=_get_gift_card_names,
    ),
)
hooks.new_order_listeners.add(recording.record_new_orders)
low_stock_listeners.add(recording.record_low_stock)
failure_listeners.add(recording.record_failed_webhook)
delivery.failure_listeners.add(recording.record_failed_gift_card_email)
