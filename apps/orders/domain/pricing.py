"""What an order costs: discounts shared over its lines, taxes, and the totals, all to the cent.

The functions work on rows that are not saved yet (or that are about to be), and set their amounts. Nothing is taken on
trust: what a client says about totals is compared with what comes out here.
Rule: decisions, Orders.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.ground.attrs import Errors, Given
from apps.ground.languages import retold_number
from apps.ground.money import MAX_AMOUNT, ZERO, fits, plain, portion, rounded, split, text_of
from apps.ground.phrases import INVALID, at_most
from apps.ground.retelling import tells
from apps.orders.domain import levies
from apps.orders.models import LineItem, Order, ShippingLine

CODE_TYPES = ("fixed_amount", "percentage", "shipping")
# The totals that a client may send along, to have them checked.
CHECKED = ("total_line_items_price", "total_discounts", "subtotal_price", "total_tax", "total_price")
TOTALS = (*CHECKED, "total_shipping_price")
# All that follows from the lines and shipping lines.
SUMS = (
    *TOTALS,
    "total_duties",
    "total_weight",
    "current_total_discounts",
    "current_subtotal_price",
    "current_total_tax",
    "current_total_duties",
    "current_total_price",
    "total_removed",
)
# Grams, as many as the column holds.
MAX_WEIGHT = 2**63 - 1
_MUST_ADD_UP = tells(gettext_noop("must add up to {total}, the taxes of the lines"), total=retold_number)
_MUST_BE = tells(gettext_noop("must be {amount}"), amount=retold_number)
Priced = LineItem | ShippingLine


def price(
    order: Order,
    lines: Sequence[LineItem],
    shipping: Sequence[ShippingLine],
    *,
    codes: Sequence[Given] = (),
    taxes: Sequence[Given] = (),
) -> Errors:
    """Set all amounts of an order and its lines.

    Args:
        order: With its currency; its totals, discounts and tax lines are set.
        lines: With price, quantity, ``total_discount``, ``tax_lines`` (``title``, ``rate``, ``price`` or none) and
            ``duties`` as they are given (``levies``).
        shipping: With price and ``tax_lines``.
        codes: ``code``, ``amount`` (percent for a percentage) and ``type``.
        taxes: Taxes of the order as a whole, like ``tax_lines``; shared over the taxable lines where these name none.

    Returns:
        ``{field: [messages]}`` of what cannot be.
    """
    errors = _decimals(order, lines, shipping, codes, taxes)
    if errors:
        return errors
    errors |= _discount_lines(order, lines)
    errors |= _apply_codes(order, lines, shipping, codes)
    errors |= _tax(order, lines, shipping, taxes)
    if not errors:
        total(order, lines, shipping)
        errors |= too_large(order)
    return errors


def gross(row: Priced) -> Decimal:
    """What a row costs without discounts."""
    return row.price * row.quantity if isinstance(row, LineItem) else row.price


def net(row: Priced) -> Decimal:
    """What a row costs with its discounts."""
    return gross(row) - row.discount


def _decimals(
    order: Order,
    lines: Sequence[LineItem],
    shipping: Sequence[ShippingLine],
    codes: Sequence[Given],
    taxes: Sequence[Given],
) -> Errors:
    """Amounts with more decimals than the currency has."""
    given: dict[str, Decimal | None] = {"total_tip_received": order.total_tip_received}
    for index, line in enumerate(lines):
        given |= {f"line_items.{index}.price": line.price, f"line_items.{index}.total_discount": line.total_discount}
        given |= levies.tax_prices(f"line_items.{index}.tax_lines", line.tax_lines)
        given |= levies.amounts(f"line_items.{index}.duties", line.duties)
    for index, row in enumerate(shipping):
        given[f"shipping_lines.{index}.price"] = row.price
        given |= levies.tax_prices(f"shipping_lines.{index}.tax_lines", row.tax_lines)
    for index, code in enumerate(codes):
        if code["type"] != "percentage":
            given[f"discount_codes.{index}.amount"] = code["amount"]
    given |= levies.tax_prices("tax_lines", taxes)
    return {
        name: [INVALID] for name, amount in given.items() if amount is not None and not fits(amount, order.currency)
    }


# --- discounts -------------------------------------------------------------------------------------------------------


def _discount_lines(order: Order, lines: Sequence[LineItem]) -> Errors:
    """The discounts of single lines, each an application of its own."""
    errors: Errors = {}
    order.discount_applications = []
    for index, line in enumerate(lines):
        line.discount, line.discount_allocations = ZERO, []
        if line.total_discount > gross(line):
            errors[f"line_items.{index}.total_discount"] = [at_most(gross(line))]
        elif line.total_discount:
            _discount(order, line, line.total_discount)
    return errors


def _discount(order: Order, line: LineItem, amount: Decimal) -> None:
    """Give a discount on one line, an application of its own."""
    value = text_of(amount, order.currency)
    _allocate(line, amount, _application(order, type="manual", value=value, explicit=True))


def _apply_codes(
    order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine], codes: Sequence[Given]
) -> Errors:
    """Codes one after the other, each on what the ones before left; none takes more than there is."""
    errors: Errors = {}
    order.discount_codes = []
    for sent in shipping:
        sent.discount, sent.discount_allocations = ZERO, []
    for index, code in enumerate(codes):
        of_shipping = code["type"] == "shipping"
        rows: Sequence[Priced] = shipping if of_shipping else lines
        left = [net(row) for row in rows]
        if code["type"] == "percentage":
            if code["amount"] > 100:
                errors[f"discount_codes.{index}.amount"] = [at_most(100)]
                continue
            amount = rounded(sum(left, ZERO) * code["amount"] / 100, order.currency)
        else:
            amount = min(code["amount"], sum(left, ZERO))
        application = _application(
            order,
            type="discount_code",
            value=plain(code["amount"]),
            value_type="percentage" if code["type"] == "percentage" else "fixed_amount",
            target="shipping_line" if of_shipping else "line_item",
            code=code["code"],
        )
        if amount:
            for row, part in zip(rows, split(amount, left, order.currency), strict=True):
                if part:
                    _allocate(row, part, application)
        shown = {"code": code["code"], "amount": str(amount), "type": code["type"]}
        order.discount_codes.append(shown)
    return errors


def _application(
    order: Order,
    *,
    type: str,
    value: str,
    value_type: str = "fixed_amount",
    target: str = "line_item",
    explicit: bool = False,
    code: str = "",
) -> int:
    """Note a discount on the order; returns its index, by which allocations name it."""
    order.discount_applications.append(
        {
            "target_type": target,
            "type": type,
            "value": value,
            "value_type": value_type,
            "allocation_method": "one" if explicit else "across",
            "target_selection": "explicit" if explicit else "all",
            "code": code,
            "title": code or "Discount",
            "description": code or "Discount",
        }
    )
    return len(order.discount_applications) - 1


def _allocate(row: Priced, amount: Decimal, application: int) -> None:
    row.discount += amount
    row.discount_allocations.append({"amount": str(amount), "discount_application_index": application})


# --- taxes -----------------------------------------------------------------------------------------------------------


def _tax(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine], taxes: Sequence[Given]) -> Errors:
    """Complete the taxes of the rows and their duties, and sum them up for the order."""
    every: tuple[Priced, ...] = (*lines, *shipping)
    own = any(row.tax_lines for row in every) or any(duty.get("tax_lines") for line in lines for duty in line.duties)
    if taxes and not own:
        _share_taxes(order, lines, taxes)
    errors = _tax_rows(order, "line_items", lines) | _tax_rows(order, "shipping_lines", shipping)
    for index, line in enumerate(lines):
        errors |= {f"line_items.{index}.{name}": messages for name, messages in levies.complete(order, line).items()}
    sum_up_taxes(order, lines, shipping)
    if own and taxes:
        errors |= _unlike_those_of_rows(order, every, taxes)
    return errors


def sum_up_taxes(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    """Set the taxes of an order out of those of its rows and their duties."""
    every: tuple[Priced, ...] = (*lines, *shipping)
    on_rows = [tax for row in every for tax in row.tax_lines]
    on_duties = [tax for line in lines for duty in line.duties for tax in duty["tax_lines"]]
    order.tax_lines = levies.summed_up([*on_rows, *on_duties])


def give_discount(order: Order, line: LineItem, amount: Decimal) -> None:
    """Give a discount on a line alone, besides those that it has; its taxes follow.

    Args:
        order: Its discounts are completed; its sums are not.
        line: All its taxes are completed.
        amount: At most what the line costs with the discounts that it has.
    """
    before = net(line)
    _discount(order, line, amount)
    line.total_discount += amount
    line.tax_lines = [{**tax, "price": str(_follow(order, tax, before, net(line)))} for tax in line.tax_lines]
    line.tax = levies.sum_of(line.tax_lines)


def price_added(order: Order, lines: Sequence[LineItem], taxes: Sequence[Given]) -> Errors:
    """Set the amounts of lines that come to an order later; the sums of the order are not completed.

    Args:
        order: Its discounts are completed.
        lines: With price, quantity and ``total_discount``.
        taxes: Of those that are taxable: ``title``, ``rate`` and ``price``.

    Returns:
        ``{field: [messages]}`` of what cannot be.
    """
    for line in lines:
        line.tax_lines = [dict(tax) for tax in taxes] if line.taxable and not order.tax_exempt else []
    errors: Errors = {}
    for index, line in enumerate(lines):
        given = {"price": line.price, "total_discount": line.total_discount}
        # What comes from a stored line has the decimals of its column.
        finer = [name for name, amount in given.items() if amount != rounded(amount, order.currency)]
        errors |= {f"line_items.{index}.{name}": [INVALID] for name in finer}
    if errors:
        return errors
    for index, line in enumerate(lines):
        line.discount, line.discount_allocations, amount = ZERO, [], line.total_discount
        if amount > gross(line):
            errors[f"line_items.{index}.total_discount"] = [at_most(gross(line))]
        elif amount:
            _discount(order, line, amount)
    return errors | _tax_rows(order, "line_items", lines)


def _follow(order: Order, tax: Given, before: Decimal, after: Decimal) -> Decimal:
    """What is due of a tax once the price changes: by its rate where it went by that, else as much less."""
    by_rate = {**tax, "rate": Decimal(tax["rate"]), "price": None}
    present = Decimal(tax["price"])
    if present == Decimal(levies.tax_line(order, before, by_rate)["price"]):
        return Decimal(levies.tax_line(order, after, by_rate)["price"])
    return rounded(present * after / before, order.currency) if before else present


def _tax_rows(order: Order, kind: str, rows: Sequence[Priced]) -> Errors:
    """Complete the taxes of rows; nothing is due of a row that is not taxable."""
    errors: Errors = {}
    for index, row in enumerate(rows):
        taxable = getattr(row, "taxable", True) and not order.tax_exempt
        row.tax_lines = [levies.tax_line(order, net(row) if taxable else ZERO, tax) for tax in row.tax_lines]
        row.tax = sum((Decimal(tax["price"]) for tax in row.tax_lines), ZERO)
        if order.taxes_included and row.tax > net(row):
            errors[f"{kind}.{index}.tax_lines"] = [_("are more than the price that includes them")]
    return errors


def _unlike_those_of_rows(order: Order, rows: Sequence[Priced], taxes: Sequence[Given]) -> Errors:
    """Taxes of the order as a whole that are not the sum of those of its rows, where all have a price."""
    prices = [tax["price"] for tax in taxes]
    total = sum((row.tax for row in rows), ZERO)
    total += sum((row.duty_tax for row in rows if isinstance(row, LineItem)), ZERO)
    if None in prices or sum(prices, ZERO) == total:
        return {}
    return {"tax_lines": [_MUST_ADD_UP.format(total=text_of(total, order.currency))]}


def _share_taxes(order: Order, lines: Sequence[LineItem], taxes: Sequence[Given]) -> None:
    """Give the taxable lines their shares of taxes that are known for the whole order only.

    A price that is given counts even where nothing is taxable, and every line has its share of it.
    """
    taxable = [] if order.tax_exempt else [line for line in lines if line.taxable]
    base = sum((net(line) for line in taxable), ZERO)
    shared = taxable or list(lines)
    for tax in taxes:
        whole = Decimal(levies.tax_line(order, base, tax)["price"])
        parts = split(whole, [net(line) for line in shared], order.currency)
        for line, part in zip(shared, parts, strict=True):
            line.tax_lines = [*line.tax_lines, {**tax, "price": part}]


# --- totals ----------------------------------------------------------------------------------------------------------


def total(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    """Set what the order comes to, as ordered and as left: the columns ``SUMS``."""
    rows: tuple[Priced, ...] = (*lines, *shipping)
    order.total_line_items_price = sum((gross(line) for line in lines), ZERO)
    order.total_discounts = sum((row.discount for row in rows), ZERO)
    order.subtotal_price = sum((net(line) for line in lines), ZERO)
    order.total_shipping_price = sum((row.price for row in shipping), ZERO)
    order.total_tax = sum((row.tax for row in rows), ZERO) + sum((line.duty_tax for line in lines), ZERO)
    order.total_duties = sum((line.duty for line in lines), ZERO)
    order.total_weight = sum(line.grams * line.quantity for line in lines)
    order.total_price = _payable(order, order.subtotal_price + order.total_duties, shipping, order.total_tax)
    total_currently(order, lines, shipping)


def total_currently(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    """Set what the order comes to with the units and shipping lines that are left of it."""

    def of(line: LineItem, amount: Decimal) -> Decimal:
        return portion(amount, line.current_quantity, line.quantity, order.currency)

    left = [row for row in shipping if not row.is_removed]
    discounts = [of(line, line.discount) for line in lines]
    order.current_total_discounts = sum([*discounts, *(row.discount for row in left)], ZERO)
    order.current_subtotal_price = sum((line.price * line.current_quantity for line in lines), ZERO) - sum(
        discounts, ZERO
    )
    # Nobody is tipped, or pays customs, for what nobody gets.
    nothing = order.cancelled_at is not None and not any(line.current_quantity for line in lines)
    declared = [] if nothing else lines
    order.current_total_duties = sum((line.duty - line.refunded_duty for line in declared), ZERO)
    taxes = [*(of(line, line.tax) for line in lines), *(row.tax - row.refunded_tax for row in left)]
    order.current_total_tax = sum([*taxes, *(line.duty_tax - line.refunded_duty_tax for line in declared)], ZERO)
    kept = order.current_subtotal_price + order.current_total_duties
    whole = _payable(order, kept, left, order.current_total_tax)
    given = sum((row.refunded for row in left), order.total_tip_received if nothing else ZERO)
    # Goods that are cancelled take with them what was given back for them before.
    order.current_total_price = max(whole - given + order.refund_discrepancy, ZERO)
    order.total_removed = sum((_removed(order, line) for line in lines), ZERO)


def _removed(order: Order, line: LineItem) -> Decimal:
    """What the units of a line came to that are neither left nor refunded."""
    sold = line.current_quantity + line.refunded_quantity

    def of(amount: Decimal) -> Decimal:
        return amount - portion(amount, sold, line.quantity, order.currency)

    taxes = ZERO if order.taxes_included else of(line.tax)
    return line.price * (line.quantity - sold) - of(line.discount) + taxes


def _payable(order: Order, goods: Decimal, shipping: Sequence[ShippingLine], tax: Decimal) -> Decimal:
    """The price of goods with their duties, shipping and tip, with the taxes that it does not include already."""
    sent = sum((net(row) for row in shipping), ZERO)
    return goods + sent + order.total_tip_received + (ZERO if order.taxes_included else tax)


def too_large(order: Order) -> Errors:
    """The totals that cannot be kept, or could not be shown in the currency that the buyer saw."""
    largest = max(getattr(order, name) for name in (*TOTALS, "total_duties"))
    errors: Errors = {}
    if largest >= MAX_AMOUNT:
        errors["total_price"] = [_("must be less than {limit}").format(limit=MAX_AMOUNT)]
    elif largest * order.exchange_rate >= MAX_AMOUNT:
        errors["exchange_rate"] = [_("makes amounts that are not less than {limit}").format(limit=MAX_AMOUNT)]
    if order.total_weight > MAX_WEIGHT:
        errors["total_weight"] = [at_most(MAX_WEIGHT)]
    return errors


def disagreements(order: Order, sent: Mapping[str, Decimal]) -> Errors:
    """The totals that a client sent and that are not what the order comes to."""
    return {
        name: [_MUST_BE.format(amount=text_of(getattr(order, name), order.currency))]
        for name, amount in sent.items()
        if amount != getattr(order, name)
    }
