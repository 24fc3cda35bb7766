"""What the page of an order tells, top to bottom: lines, money, people, payments, and what happened when."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from apps.events.domain.wording import sentence
from apps.events.models import Event
from apps.ground import languages
from apps.orders.admin.additions import MAX_EVENTS, Told
from apps.orders.domain.bill import Writer, as_seen, in_shop_currency, sums_of
from apps.orders.domain.loading import lines_of, shipping_of, transactions_of
from apps.orders.domain.order_status import url_of
from apps.orders.domain.pricing import gross, net
from apps.orders.models import Comment, Order
from apps.panel.requests import Context
from apps.shops.domain.countries import told_country, told_province
from apps.staff.domain.actors import names_of


@dataclass(frozen=True, slots=True)
class Moment:
    """An entry of the timeline; ``comment`` says whether staff wrote it."""

    at: datetime
    who: str
    text: str
    comment: bool = False


def tell(order: Order) -> Context:
    """The parts of the page."""
    lines, shipping, transactions = lines_of(order), shipping_of(order), transactions_of(order)
    money = in_shop_currency(order)
    return {
        "lines": [
            {
                "row": line,
                "price": money(line.price),
                "gross": money(gross(line)),
                "net": money(net(line)),
                "discounted": line.discount > 0,
                "removed": line.quantity - line.current_quantity,
            }
            for line in lines
        ],
        "shipping": [{"row": row, "price": money(net(row))} for row in shipping],
        "sums": _sums(order, money),
        "transactions": [{"row": row, "amount": languages.money(row.amount, row.currency)} for row in transactions],
        "capturable": order.outstanding > 0 and any(row.unsettled for row in transactions),
        "owes": order.outstanding > 0 and order.cancelled_at is None,
        "outstanding": money(order.outstanding),
        "cancellable": order.cancelled_at is None and not any(line.fulfilled_quantity for line in lines),
        "addresses": _addresses(order),
        "status_url": url_of(order.shop_id, order.token),
    }


def _sums(order: Order, money: Writer) -> list[tuple[str, str]]:
    """The money of the order, and what of it the buyer saw."""
    shown = sums_of(order, money)
    if order.is_multi_currency:
        shown.append((_("Seen by the buyer"), as_seen(order)(order.total_price)))
    return shown


def _addresses(order: Order) -> list[tuple[str, list[str]]]:
    """The addresses line by line; one where both are the same."""
    if order.shipping_address == order.billing_address:
        both = [(_("Shipping and billing address"), order.shipping_address)]
    else:
        both = [(_("Shipping address"), order.shipping_address), (_("Billing address"), order.billing_address)]
    return [(title, written_address(address)) for title, address in both if address]


def written_address(address: dict[str, str]) -> list[str]:
    """An address line by line, as one writes it on a parcel."""

    def part(*names: str) -> str:
        return " ".join(address.get(name) or "" for name in names).strip()

    lines = [
        part("first_name", "last_name"),
        part("company"),
        part("address1"),
        part("address2"),
        part("zip", "city"),
        told_province(address.get("country_code"), address.get("province")),
        told_country(address.get("country_code"), address.get("country")),
        part("phone"),
    ]
    return [line for line in lines if line]


def timeline(order: Order, others: Iterable[Told] = ()) -> list[Moment]:
    """What happened to an order and to what belongs to it, and what staff noted; newest first."""
    about = Event.rows().filter(subject_type="orders.order", subject_id=order.pk).exclude(topic="orders/comment")
    own = about.order_by("-id").defer("payload")[:MAX_EVENTS]
    told = sorted([*others, *((event, sentence(event)) for event in own)], key=lambda pair: pair[0].pk, reverse=True)
    told = told[:MAX_EVENTS]
    comments = list(Comment.objects.filter(order=order).order_by("-pk")[:MAX_EVENTS])
    names = names_of([event.actor for event, _text in told] + [row.actor for row in comments])
    moments = [Moment(event.created_at, names[event.actor], text) for event, text in told]
    moments += [Moment(row.created_at, names[row.actor], row.body, comment=True) for row in comments]
    return sorted(moments, key=lambda moment: moment.at, reverse=True)
