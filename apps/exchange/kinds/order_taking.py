"""Orders coming in out of files, by batches; they are known by the number or id that they had elsewhere.

A batch goes the way of a single order, each step with all of its orders: they are read and priced, their customers are
found or made, then they are numbered and stored. What has more to do with others comes alone (``comes_alone``).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import IntegrityError
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.customers.domain.known import KeysDisagree
from apps.exchange.domain.rows import Body, Changes, Fate, Outcome, RawRow, failed
from apps.exchange.domain.taking import by_itself
from apps.exchange.kinds.erasing import erased
from apps.exchange.kinds.order_bodies import is_sent, moment, read_new, variants_of
from apps.exchange.models import ImportedRow
from apps.ground.errors import DomainError
from apps.ground.money import text_of
from apps.ground.retelling import tells
from apps.orders.domain import items, placing, transitions
from apps.orders.domain.buyers import BuyerRefused
from apps.orders.domain.drafting import Drafted, OrderRefused, draft
from apps.orders.models import Order

_NAME_TAKEN = tells(gettext_noop("the name {name} is taken here"))

# The shop's counter of orders is kept from others while so many are stored.
AT_ONCE = 50
_PREFIX = "order:"


def key_of(row: RawRow, body: Body) -> str:
    """By what an order is known again, in the same file or another."""
    for name in ("source_identifier", "id", "name"):
        value = body.get(name)
        if isinstance(value, str | int) and value and not isinstance(value, bool):
            return f"{_PREFIX}{value}"[:300]
    return f"{_PREFIX}{row.digest}"


def comes_alone(body: Body) -> bool:
    """Whether an order takes from stock, says when it is to be sent, or is cancelled in a way that may be refused."""
    if body.get("inventory_behaviour") not in (None, "", Order.InventoryBehaviour.BYPASS):
        return True
    return bool(body.get("fulfill_at") or (body.get("cancelled_at") and (is_sent(body) or not _is_moment(body))))


def take_in(row: RawRow, body: Body, *, actor: str, at: datetime) -> Outcome:
    """Make an order, unless one was made of the same order before."""
    key = key_of(row, body)
    known = _imported_before([key]).get(key)
    if known is not None and known.stands:
        return _again(known)
    if known is not None:
        _forget([known])
    attrs, parts = read_new(body, key.removeprefix(_PREFIX), variants_of([body]), at=at)
    try:
        order = placing.create_order(attrs, parts, actor=actor, at=at)
    except BuyerRefused as refusal:
        raise _plain(refusal) from None
    if body.get("cancelled_at"):
        _cancel(order, body, actor=actor)
    return _made(order, attrs.get("name", ""), len(parts.lines), key)


def take_in_many(rows: Sequence[tuple[RawRow, Body]], *, actor: str, at: datetime, dry: bool) -> list[Outcome]:
    """The same of many: looked up together, and stored together."""
    if len(rows) == 1:
        [(row, body)] = rows
        return [by_itself(lambda: take_in(row, body, actor=actor, at=at))]
    keys = [key_of(row, body) for row, body in rows]
    before = _imported_before(keys)
    standing = {place: before[key] for place, key in enumerate(keys) if key in before and before[key].stands}
    outcomes = {place: _again(known) for place, known in standing.items()}
    drafts: dict[int, Drafted] = {}
    left = {place: body for place, (_, body) in enumerate(rows) if place not in outcomes}
    for place, drafted in _drafts(left, keys, at=at).items():
        if isinstance(drafted, Drafted):
            drafts[place] = drafted
        else:
            outcomes[place] = failed(drafted)
    for place, refusal in zip(drafts, _stored(list(drafts.values()), actor=actor, at=at, dry=dry), strict=True):
        each = drafts[place]
        if refusal is not None:
            outcomes[place] = failed(_plain(refusal))
        else:
            outcomes[place] = _made(each.order, each.name, len(each.lines), keys[place])
    if not dry:
        made = [place for place in drafts if outcomes[place].fate == Fate.NEW]
        _forget([before[keys[place]] for place in made if keys[place] in before])
        _cancel_each([(drafts[place].order, rows[place][1]) for place in made], actor=actor)
    return [outcomes[place] for place in range(len(rows))]


class _Before(NamedTuple):
    """A row by which an order was imported before; whether the order still stands."""

    row: ImportedRow
    stands: bool


def _imported_before(keys: Sequence[str]) -> dict[str, _Before]:
    """By key, what was imported of the same orders."""
    wanted = {known: key for key in keys for known in (key, erased(key))}
    rows = ImportedRow.objects.filter(source_key__in=wanted, dry=False, fate=Fate.NEW).order_by("pk")
    found: dict[str, ImportedRow] = {}
    for row in rows:
        found.setdefault(wanted[row.source_key], row)
    if not found:
        return {}
    names = {row.label for row in found.values()}
    there = set(Order.objects.filter(name__in=names).values_list("name", flat=True))
    return {key: _Before(row, row.label in there) for key, row in found.items()}


def _again(known: _Before) -> Outcome:
    return Outcome(Fate.SKIPPED, known.row.label, gettext_noop("was imported before"))


def _forget(gone: Sequence[_Before]) -> None:
    """Let orders that were deleted since come again."""
    if gone:
        ImportedRow.objects.filter(pk__in=[known.row.pk for known in gone]).update(source_key="")


def _drafts(bodies: dict[int, Body], keys: Sequence[str], *, at: datetime) -> dict[int, Drafted | DomainError]:
    """The orders of bodies, checked and priced, or why they are refused."""
    skus = variants_of(bodies.values())
    found: dict[int, Drafted | DomainError] = {}
    given = {}
    for place, body in bodies.items():
        try:
            given[place] = read_new(body, keys[place].removeprefix(_PREFIX), skus, at=at)
        except DomainError as refusal:
            found[place] = refusal
    catalog = items.find(line for _, parts in given.values() for line in parts.lines)
    for place, (attrs, parts) in given.items():
        try:
            found[place] = draft(attrs, parts, at=at, found=catalog)
        except DomainError as refusal:
            found[place] = refusal
    return dict(sorted(found.items()))


def _stored(drafts: Sequence[Drafted], *, actor: str, at: datetime, dry: bool) -> list[DomainError | None]:
    """Store orders, or only find out whether they could be; why not, of each.

    Raises:
        IntegrityError: Of all together something is refused: each by itself shows whose it is.
    """
    if not drafts:
        return []
    try:
        return placing.foresee_orders(drafts, at=at) if dry else placing.create_orders(drafts, actor=actor, at=at)
    except DomainError as refusal:
        raise IntegrityError(refusal.sentence) from refusal


def _plain(refusal: DomainError) -> DomainError:
    """Why an order is refused, as it is said to staff: who else has the phone."""
    cause = refusal.__cause__
    return cause if isinstance(refusal, BuyerRefused) and isinstance(cause, KeysDisagree) else refusal


def _made(order: Order, name: str, lines: int, key: str) -> Outcome:
    name = name or order.name
    reason = "" if name == order.name else _NAME_TAKEN.format(name=name)
    return Outcome(Fate.NEW, order.name, reason, source_key=key, changes=_told(order, lines))


def _told(order: Order, lines: int) -> Changes:
    """What the preview shows of a new order; its number is not known before."""
    buyer = order.email or order.phone or (order.customer or "")
    total = f"{text_of(order.total_price, order.currency)} {order.currency}"
    shown = {"order": order.source_identifier, "buyer": str(buyer), "lines": lines, "total_price": total}
    return {name: (None, value) for name, value in shown.items()}


def _is_moment(body: Body) -> bool:
    try:
        moment(body["cancelled_at"], "cancelled_at")
    except OrderRefused:
        return False
    return True


def _cancel_each(orders: Sequence[tuple[Order, Body]], *, actor: str) -> None:
    """Cancel those orders that were.

    Raises:
        IntegrityError: One cannot be: by itself it shows why.
    """
    try:
        for order, body in orders:
            if body.get("cancelled_at"):
                _cancel(order, body, actor=actor)
    except DomainError as refusal:
        raise IntegrityError(refusal.sentence) from refusal


def _cancel(order: Order, body: Body, *, actor: str) -> None:
    reason = body.get("cancel_reason")
    transitions.cancel(
        order,
        actor=actor,
        at=min(moment(body["cancelled_at"], "cancelled_at"), timezone.now()),
        reason=reason if reason in Order.CancelReason.values else Order.CancelReason.OTHER,
        restock=body.get("fulfillment_status") == Order.FulfillmentStatus.RESTOCKED,
    )
