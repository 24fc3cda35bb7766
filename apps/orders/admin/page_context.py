from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.catalog.admin.images import thumbnail
from apps.catalog.models import ProductImage
from apps.core.admin.display.changes import ChangeLine, RowLinks, describe_changes
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.events.acts import join_events
from apps.core.events.models import Event
from apps.core.events.timelines import describe_event
from apps.core.i18n import formats
from apps.core.money import ZERO
from apps.core.tenancy.actor_names import get_actor_names
from apps.core.tenancy.scope import get_current_shop
from apps.customers.admin.extension_points import CustomerSection, customer_sections
from apps.customers.models import Customer
from apps.orders.admin.extension_points import MAX_EVENTS, TimelineEvent
from apps.orders.admin.source_labels import get_channel_label, get_gateway_label
from apps.orders.domain.pricing import totals
from apps.orders.domain.selectors import get_line_items, get_shipping_lines, get_transactions
from apps.orders.domain.statuses import get_status_page_url
from apps.orders.models import Comment, LineItem, Order
from apps.orders.models.bases import LineBase
from apps.shops.domain.address_formats import format_address

# These changes repeat the time of their event or its text.
_REPEATED = frozenset({"cancelled_at", "closed_at", "shipment_status"})
# The message of an event, such as a payment or a refund, says more than these changes.
_STATUSES = frozenset({"financial_status", "fulfillment_status"})
# The maximum number of a customer's orders to show, latest first.
_LATEST = 5
# The maximum number of items in the summary of an order.
_SUMMARY_ITEMS = 5
# The maximum number of items that one line of text names.
_NAMED_ITEMS = 3


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """An act or a comment. ``others`` describes the other events of the act."""

    at: datetime
    actor_name: str
    text: str
    is_comment: bool = False
    changes: Sequence[ChangeLine] = ()
    others: Sequence[str] = ()


def get_order_context(order: Order) -> Context:
    lines, shipping, transactions = get_line_items(order), get_shipping_lines(order), get_transactions(order)
    money = totals.get_shop_formatter(order)
    return {
        "lines": [
            {
                "row": line,
                "price": money(line.price),
                "gross": money(line.gross_price),
                "net": money(line.net_price),
                "discounted": line.discount > 0,
                "removed": line.quantity - line.current_quantity,
                "is_removed": line.current_quantity == 0,
                "zero": money(ZERO),
            }
            for line in lines
        ],
        "has_removed_items": any(line.current_quantity < line.quantity for line in lines),
        "shipping": [{"row": row, "price": money(row.net_price)} for row in shipping],
        "sums": _sums(order),
        "transactions": [
            {
                "row": row,
                "amount": formats.format_money(row.amount, row.currency),
                "gateway": get_gateway_label(row.gateway),
            }
            for row in transactions
        ],
        "has_authorization": any(row.unsettled for row in transactions),
        "capturable": order.outstanding > 0 and any(row.unsettled for row in transactions),
        "owes": order.outstanding > 0,
        "outstanding": money(order.outstanding),
        "refund_due": money(-order.outstanding) if order.outstanding < 0 else "",
        # A canceled order without restocked items keeps its total, so its balance is zero although it was paid.
        "not_refunded": money(order.net_payment) if order.cancelled_at and order.net_payment > 0 else "",
        "total": totals.format_total(order),
        "channel": get_channel_label(order.source_name),
        "is_settled": order.outstanding == 0 and not any(line.fulfillable_quantity for line in lines),
        "cancellable": order.cancelled_at is None and not any(line.fulfilled_quantity for line in lines),
        "addresses": _addresses(order),
        "status_url": get_status_page_url(order.shop_id, order.token),
    }


def _sums(order: Order) -> list[tuple[str, str]]:
    sums = totals.format_totals(order)
    if order.is_multi_currency:
        presentment_total = totals.get_presentment_formatter(order)(order.get_presentment("total_price"))
        sums.append((_("Total in the customer's currency"), presentment_total))
    return sums


def _addresses(order: Order) -> list[tuple[str, list[str]]]:
    if order.shipping_address == order.billing_address:
        addresses = [(_("Shipping and billing address"), order.shipping_address)]
    else:
        addresses = [(_("Shipping address"), order.shipping_address), (_("Billing address"), order.billing_address)]
    return [(title, format_address(address)) for title, address in addresses if address]


def get_timeline(order: Order, other_events: Iterable[TimelineEvent] = ()) -> list[TimelineItem]:
    events = Event.rows().filter(subject_type="orders.order", subject_id=order.pk).exclude(topic="orders/comment")
    own = events.order_by("-id").defer("payload")[:MAX_EVENTS]
    entries = sorted(
        [*other_events, *((event, describe_event(event)) for event in own)], key=lambda pair: pair[0].pk, reverse=True
    )
    entries = entries[:MAX_EVENTS]
    comments = Comment.objects.filter(order=order).order_by("-pk")[:MAX_EVENTS]
    return describe_timeline(entries[:MAX_EVENTS], list(comments))


def describe_timeline(
    entries: Sequence[TimelineEvent], comments: Sequence[Comment] = (), *, links: RowLinks = MappingProxyType({})
) -> list[TimelineItem]:
    """Return the acts of events and the comments, newest first. The events are sorted by descending id."""
    names = get_actor_names([event.actor for event, _text in entries] + [row.actor for row in comments])
    texts = {event.pk: text for event, text in entries}
    moments = [
        TimelineItem(
            act.lead.created_at,
            names[act.lead.actor],
            texts[act.lead.pk],
            changes=describe_changes(act.lead, links, omit=_REPEATED | _STATUSES if act.lead.message else _REPEATED),
            others=[texts[event.pk] for event in act.others],
        )
        for act in join_events(event for event, _text in entries)
    ]
    moments += [TimelineItem(row.created_at, names[row.actor], row.body, is_comment=True) for row in comments]
    return sorted(moments, key=lambda moment: moment.at, reverse=True)


def get_thumbnails(lines: Iterable[LineBase]) -> dict[int, SafeString]:
    """Return a thumbnail per line id: the variant's image, the product's main image or an empty square."""
    line_items = list(lines)
    image_ids = {line.variant.image_id for line in line_items if line.variant and line.variant.image_id}
    products = {line.product_id for line in line_items if line.product_id}
    product_images: dict[int, ProductImage] = {}
    for row in ProductImage.objects.filter(product_id__in=products, position=1).order_by("pk"):
        product_images.setdefault(row.product_id, row)
    variant_images = ProductImage.objects.in_bulk(image_ids) if image_ids else {}
    thumbnails = {}
    for line in line_items:
        image = variant_images.get((line.variant and line.variant.image_id) or 0) or product_images.get(
            line.product_id or 0
        )
        thumbnails[line.pk] = thumbnail(line.shop_id, image.key if image else "", image.name if image else "")
    return thumbnails


def format_items(items: Sequence[tuple[int, str]]) -> str:
    """Return the quantities and names of the first items, and how many other items there are."""
    text = ", ".join(f"{quantity} × {name}" for quantity, name in items[:_NAMED_ITEMS])
    return text + (_(" and {count} more").format(count=len(items) - _NAMED_ITEMS) if len(items) > _NAMED_ITEMS else "")


def get_items_by_order(orders: Iterable[Order]) -> dict[int, list[tuple[int, str]]]:
    """Return the current quantities and names of the items of each order, in one query."""
    items: dict[int, list[tuple[int, str]]] = {order.pk: [] for order in orders}
    rows = LineItem.objects.filter(order__in=list(items), current_quantity__gt=0).order_by("position", "pk")
    for order_id, quantity, name in rows.values_list("order_id", "current_quantity", "name"):
        items[order_id].append((quantity, name))
    return items


def get_summary_context(lines: Sequence[LineItem]) -> Context:
    """Return the items of panel/orders/summary.html. Without current items, these are the items as ordered."""
    items = [(line, line.current_quantity) for line in lines if line.current_quantity]
    items = items or [(line, line.quantity) for line in lines]
    thumbnails = get_thumbnails(lines)
    return {
        "thumbnails": thumbnails,
        "summary_items": [(line, quantity, thumbnails[line.pk]) for line, quantity in items[:_SUMMARY_ITEMS]],
        "hidden_items": len(items[_SUMMARY_ITEMS:]),
    }


def get_payment_summary(order: Order, refundable: Decimal, refund: Decimal) -> Context:
    """Return the amounts of panel/orders/payment_summary.html before and after a refund."""
    money = totals.get_shop_formatter(order)
    pending = order.net_payment - refundable
    return {
        "paid": money(order.total_paid),
        "refunded_so_far": money(order.total_refunded),
        "pending_refunds": money(pending) if pending > 0 else "",
        "this_refund": money(refund),
        "net_payment": money(refundable - refund),
    }


def get_product_links(request: HttpRequest, lines: Sequence[LineItem]) -> dict[int, str]:
    if not has_permission(request, "catalog.view_product"):
        return {}
    return {
        line.pk: reverse("admin:catalog_product_change", args=[line.product_id]) for line in lines if line.product_id
    }


def get_latest_orders(request: HttpRequest, customer: Customer) -> Context | None:
    """Return the context of the section on the customer page with the latest orders."""
    if not has_permission(request, "orders.view_order"):
        return None
    rows = list(Order.objects.filter(customer_id=customer.pk).order_by("-processed_at", "-pk")[: _LATEST + 1])
    orders = [{"row": row, "total": ", ".join(totals.format_total(row))} for row in rows[:_LATEST]]
    return {"orders": orders, "has_more": len(rows) > _LATEST}


customer_sections.add(CustomerSection("panel/orders/of_customer.html", get_latest_orders))


def get_customer_summary(request: HttpRequest, order: Order) -> Context | None:
    customer = order.customer
    if customer is None or not has_permission(request, "customers.view_customer"):
        return None
    other_orders = Order.objects.filter(customer_id=customer.pk).exclude(pk=order.pk).order_by("-processed_at", "-pk")
    currency = get_current_shop().currency
    return {
        "count": customer.orders_count,
        "spent": formats.format_money(customer.total_spent, currency),
        "others": [{"row": row, "total": ", ".join(totals.format_total(row))} for row in other_orders[:_LATEST]],
    }
