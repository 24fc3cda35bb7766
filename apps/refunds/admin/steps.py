"""What the pages of a refund in the making show, and hand on from one to the next."""

import hashlib

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from apps.ground.money import ZERO, text_of
from apps.orders.domain.bill import in_shop_currency
from apps.orders.models import Order, Transaction
from apps.panel.money import written
from apps.panel.once import FIELD
from apps.panel.requests import Context
from apps.refunds.admin import duties
from apps.refunds.admin.form import RefundForm
from apps.refunds.admin.words import difference, goods_move, money_moves, summed
from apps.refunds.domain import calculation
from apps.refunds.domain.calculation import Calculation
from apps.refunds.domain.previewing import Preview
from apps.refunds.domain.requests import RefundRefused, Wanted

_OF_THE_PAGE = frozenset({FIELD, "csrfmiddlewaretoken", "step", "seen"})
_FAILED = (Transaction.Status.FAILURE, Transaction.Status.ERROR)


def beginning(request: HttpRequest, order: Order) -> Context:
    """What the form begins with: nothing, all that is left, or the money of a refund that failed."""
    again = request.GET.get("again", "")
    if again.isascii() and again.isdecimal() and len(again) < 19:
        failed = Transaction.objects.filter(order=order, kind=Transaction.Kind.REFUND, status__in=_FAILED)
        row = failed.filter(pk=int(again)).select_related("parent").first()
        if row is not None and row.parent is not None:
            amount = min(row.amount, row.parent.amount - row.parent.refunded)
            return {"initial": {f"payment-{row.parent_id}": amount}}
    return {"everything": "all" in request.GET}


def calculated(form: RefundForm) -> Context:
    """What a form comes to, or why it comes to nothing; empty for one that was only opened."""
    if not form.is_bound:
        return {}
    if not form.is_valid():
        return {"problems": form.all_errors}
    try:
        return _sums(form, form.calculate())
    except RefundRefused as refusal:
        form.refuse(refusal.errors, form.goods)
        return {"problems": form.all_errors}


def _sums(form: RefundForm, found: Calculation) -> Context:
    order = form.books.order
    money, wanted = in_shop_currency(order), form.wanted(found)
    balances = {each.payment.pk: each for each in form.balances}
    given = sum(
        (calculation.in_order(order, balances[each.parent_id or 0], each.amount or ZERO) for each in wanted.paybacks),
        ZERO,
    )
    taxes = sum((part.tax for part in found.lines), ZERO) + sum((part.tax for part in found.shipping), ZERO)
    taxes += sum((part.tax for part in found.duties), ZERO)
    customs = [(_("Duties"), money(sum((part.amount for part in found.duties), ZERO)))] if form.duties else []
    return {
        "found": found,
        "sums": [
            (_("Units"), money(sum((part.subtotal for part in found.lines), ZERO))),
            (_("Shipping"), money(sum((part.amount for part in found.shipping), ZERO))),
            *customs,
            (_("Taxes (included)") if order.taxes_included else _("Taxes"), money(taxes)),
            (_("Worth"), money(found.worth)),
        ],
        "suggested": money(found.suggested),
        "is_less": found.suggested < found.worth,
        "suggestions": [
            (share.payment.pk, written(share.amount, share.payment.currency)) for share in found.shares if share.left
        ],
        "given": summed((each.amount or ZERO, each.currency or "") for each in wanted.paybacks),
        "difference": difference(found.discrepancy(given), money),
    }


def resent(data: QueryDict, form: RefundForm, wanted: Wanted) -> list[tuple[str, str]]:
    """What the second look sends: what was sent before, with each amount that moves in figures."""
    said = {each.parent_id: each for each in wanted.paybacks}
    sent = [
        (name, value)
        for name, values in data.lists()
        if name not in _OF_THE_PAGE and not name.startswith("payment-")
        for value in values
    ]
    for balance in form.balances:
        payment = balance.payment
        amount = said[payment.pk].amount if payment.pk in said else ZERO
        sent.append((f"payment-{payment.pk}", text_of(amount or ZERO, payment.currency)))
    return sent


def summary(order: Order, preview: Preview) -> str:
    """Names what a second look says, so that nothing else is made than what somebody saw."""
    # The same amount may be written with more zeros or fewer.
    sums = [text_of(amount, order.currency) for amount in (preview.discrepancy, preview.found.worth)]
    said = [*money_moves(preview.rows), *goods_move(preview), *duties.moves(order, preview.found.duties), *sums]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()
