"""Orders of elsewhere as the bodies of new ones: ids of the file mean nothing here, variants are known by SKU."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.utils.translation import gettext_noop

from apps.catalog.models import Variant
from apps.exchange.domain.kinds import Shown
from apps.exchange.domain.rows import Body
from apps.exchange.kinds.interface import file_version, rows_refused
from apps.exchange.kinds.order_tables import given_codes
from apps.ground.attrs import Attrs
from apps.ground.dates import NotADate, parse_moment
from apps.ground.phrases import INVALID
from apps.ground.tenancy import current_shop
from apps.orders.api.bodies import read_order
from apps.orders.domain.drafting import OrderRefused, Parts
from apps.orders.models import Order

# What an order of elsewhere says that a new one does not take.
_LEFT_OUT = frozenset({"metafields", "send_receipt", "fulfillments"})
# Compared, not looked up: a file may hold anything in their place.
_SENT = ("partial", "fulfilled")


def read_new(body: Body, source: str, skus: Mapping[str, int], *, at: datetime) -> tuple[Attrs, Parts]:
    """What makes an order out of one of elsewhere.

    Args:
        body: Of the file.
        source: By what the order was known elsewhere.
        skus: Variants by SKU, see ``variants_of``.
        at: When it is taken in.

    Raises:
        OrderRefused, RowRefused: The values do not fit.
    """
    with rows_refused():
        attrs, parts = read_order(file_version(), _as_new(body, skus))
    attrs |= {"source_name": "import", "source_identifier": source[:255], **_own(body, at)}
    parts.sent = _sent(body, parts)
    return attrs, parts


def variants_of(bodies: Iterable[Body]) -> Mapping[str, int]:
    """The shop's variants by the SKUs that lines of orders name, where just one has it."""
    wanted = {line["sku"] for body in bodies for line in _with_sku(body)} - {""}
    if not wanted:
        return {}
    found: dict[str, list[int]] = {}
    rows = Variant.objects.filter(inventory_item__sku__in=wanted).values_list("inventory_item__sku", "pk")
    for sku, pk in rows:
        found.setdefault(sku, []).append(pk)
    return {sku: pks[0] for sku, pks in found.items() if len(pks) == 1}


def is_sent(body: Body) -> bool:
    """Whether anything of it says that it was sent."""
    return any(map(_says_sent, [body, *_listed(body.get("line_items"))]))


def moment(text: object, name: str) -> datetime:
    """A moment of the file.

    Raises:
        OrderRefused: It is none.
    """
    try:
        return parse_moment(str(text), current_shop().tzinfo)
    except NotADate:
        raise OrderRefused({name: [INVALID]}) from None


def _own(body: Body, at: datetime) -> Shown:
    """The name that an order has, and when it was made.

    Raises:
        OrderRefused: That is no moment, or still to come.
    """
    own: Shown = {"name": body["name"]} if isinstance(body.get("name"), str) and body["name"] else {}
    if body.get("created_at"):
        own["created_at"] = moment(body["created_at"], "created_at")
        if own["created_at"] > at:
            raise OrderRefused({"created_at": [gettext_noop("must not be in the future")]})
    return own


def _sent(body: Body, parts: Parts) -> list[int]:
    """How many units of each line were sent, where lines say so; none where they do not."""
    lines = _listed(body.get("line_items"))
    if len(lines) != len(parts.lines) or not any(map(_says_sent, lines)):
        return []
    return [_units_sent(line, taken.get("quantity") or 1) for line, taken in zip(lines, parts.lines, strict=True)]


def _units_sent(line: object, quantity: int) -> int:
    left = line.get("fulfillable_quantity") if isinstance(line, dict) else None
    if not _says_sent(line):
        return 0
    if left is None and _status(line) == "fulfilled":
        return quantity
    if not isinstance(left, int) or isinstance(left, bool):
        raise OrderRefused({"line_items": [gettext_noop("must say how many units are yet to be sent")]})
    return quantity - left


def _says_sent(shown: object) -> bool:
    return _status(shown) in _SENT


def _status(shown: object) -> object:
    return shown.get("fulfillment_status") if isinstance(shown, Mapping) else None


def _as_new(body: Body, skus: Mapping[str, int]) -> Shown:
    """An order of elsewhere as the body of a new one."""
    taken = {name: value for name, value in body.items() if name not in _LEFT_OUT}
    taken["line_items"] = _without(_listed(body.get("line_items")), "variant_id", "product_id")
    for line in _with_sku(taken):
        if line["sku"] in skus:
            line["variant_id"] = skus[line["sku"]]
    codes = body.get("discount_codes")
    if isinstance(codes, list) and all(isinstance(code, dict) for code in codes):
        taken["discount_codes"] = given_codes(body)
    if isinstance(body.get("customer"), dict):
        [taken["customer"]] = _without([body["customer"]], "id")
    taken["transactions"] = _without(_listed(body.get("transactions")), "parent_id")
    if taken.get("fulfillment_status") == Order.FulfillmentStatus.RESTOCKED:
        del taken["fulfillment_status"]
    return _as_before_cancelling(taken) if body.get("cancelled_at") else taken


def _as_before_cancelling(taken: Shown) -> Shown:
    """A cancelled order as it was before; cancelling it here closes it and voids what was authorized."""
    before = {name: value for name, value in taken.items() if name != "closed_at"}
    before["transactions"] = [
        row for row in taken["transactions"] if not (isinstance(row, dict) and row.get("kind") == "void")
    ]
    return before


def _with_sku(body: Body) -> list[Shown]:
    lines = _listed(body.get("line_items"))
    return [line for line in lines if isinstance(line, dict) and isinstance(line.get("sku"), str)]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _without(rows: Sequence[object], *names: str) -> list[object]:
    """Objects without some of their members; what is no object is left for the check of the body to refuse."""
    return [
        {name: value for name, value in row.items() if name not in names} if isinstance(row, dict) else row
        for row in rows
    ]
