"""What an order costs: discounts shared over its lines, taxes, and the totals, all to the cent.

The functions work on rows that are not saved yet (or that are about to be), and set their amounts. Nothing is taken on
trust: what a client says about totals is compared with what comes out here.
Rule: decisions, Orders.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from apps.ground.attrs import Attrs, Errors, Given
from apps.ground.money import MAX_AMOUNT, ZERO, fits, portion, rounded, split, text_of
from apps.ground.phrases import INVALID, at_most
from apps.orders.models import LineItem, Order, ShippingLine

CODE_TYPES = ("fixed_amount", "percentage", "shipping")
# The totals that a client may send along, to have them checked.
CHECKED = ("total_line_items_price", "total_discounts", "subtotal_price", "total_tax", "total_price")
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
        lines: With price, quantity, ``total_discount`` and ``tax_lines`` (``title``, ``rate``, ``price`` or none).
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
        _total(order, lines, shipping)
        if max(order.total_price, order.total_line_items_price) >= MAX_AMOUNT:
            errors["total_price"] = [f"must be less than {MAX_AMOUNT}"]
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
        given |= _tax_prices(f"line_items.{index}.tax_lines", line.tax_lines)
    for index, row in enumerate(shipping):
        given[f"shipping_lines.{index}.price"] = row.price
        given |= _tax_prices(f"shipping_lines.{index}.tax_lines", row.tax_lines)
    for index, code in enumerate(codes):
        if code["type"] != "percentage":
            given[f"discount_codes.{index}.amount"] = code["amount"]
    given |= _tax_prices("tax_lines", taxes)
    return {
        name: [INVALID] for name, amount in given.items() if amount is not None and not fits(amount, order.currency)
    }


def _tax_prices(prefix: str, taxes: Sequence[Given]) -> dict[str, Decimal | None]:
    return {f"{prefix}.{index}.price": tax["price"] for index, tax in enumerate(taxes)}


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
            amount = text_of(line.total_discount, order.currency)
            _allocate(line, line.total_discount, _application(order, type="manual", value=amount, explicit=True))
    return errors


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
            value=format(code["amount"].normalize(), "f"),
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
    """Complete the taxes of the rows, and sum them up for the order."""
    every: tuple[Priced, ...] = (*lines, *shipping)
    own = any(row.tax_lines for row in every)
    if taxes and not own:
        _share_taxes(order, lines, taxes)
    errors = _tax_rows(order, "line_items", lines) | _tax_rows(order, "shipping_lines", shipping)
    order.tax_lines = _summed_up([tax for row in every for tax in row.tax_lines])
    if own and taxes:
        errors |= _unlike_those_of_rows(order, every, taxes)
    return errors


def _tax_rows(order: Order, kind: str, rows: Sequence[Priced]) -> Errors:
    """Complete the taxes of rows; nothing is due of a row that is not taxable."""
    errors: Errors = {}
    for index, row in enumerate(rows):
        taxable = getattr(row, "taxable", True) and not order.tax_exempt
        row.tax_lines = [_tax_line(order, net(row) if taxable else ZERO, tax) for tax in row.tax_lines]
        row.tax = sum((Decimal(tax["price"]) for tax in row.tax_lines), ZERO)
        if order.taxes_included and row.tax > net(row):
            errors[f"{kind}.{index}.tax_lines"] = ["are more than the price that includes them"]
    return errors


def _unlike_those_of_rows(order: Order, rows: Sequence[Priced], taxes: Sequence[Given]) -> Errors:
    """Taxes of the order as a whole that are not the sum of those of its rows, where all have a price."""
    prices = [tax["price"] for tax in taxes]
    total = sum((row.tax for row in rows), ZERO)
    if None in prices or sum(prices, ZERO) == total:
        return {}
    return {"tax_lines": [f"must add up to {text_of(total, order.currency)}, the taxes of the lines"]}


def _tax_line(order: Order, base: Decimal, tax: Given) -> Attrs:
    """A tax as it is kept; its price follows from its rate where it is not given."""
    rate: Decimal = tax["rate"]
    amount = tax["price"]
    if amount is None:
        whole = base * rate / (1 + rate) if order.taxes_included else base * rate
        amount = rounded(whole, order.currency)
    return {
        "title": tax["title"],
        "rate": str(rate),
        "price": str(amount),
        "channel_liable": tax.get("channel_liable"),
    }


def _share_taxes(order: Order, lines: Sequence[LineItem], taxes: Sequence[Given]) -> None:
    """Give the taxable lines their shares of taxes that are known for the whole order only.

    A price that is given counts even where nothing is taxable, and every line has its share of it.
    """
    taxable = [] if order.tax_exempt else [line for line in lines if line.taxable]
    base = sum((net(line) for line in taxable), ZERO)
    shared = taxable or list(lines)
    for tax in taxes:
        whole = Decimal(_tax_line(order, base, tax)["price"])
        parts = split(whole, [net(line) for line in shared], order.currency)
        for line, part in zip(shared, parts, strict=True):
            line.tax_lines = [*line.tax_lines, {**tax, "price": part}]


def _summed_up(taxes: Iterable[Given]) -> list[Attrs]:
    """Taxes by title and rate."""
    found: dict[tuple[str, str], Attrs] = {}
    for tax in taxes:
        known = found.setdefault((tax["title"], tax["rate"]), {**tax, "price": "0"})
        known["price"] = str(Decimal(known["price"]) + Decimal(tax["price"]))
    return list(found.values())


# --- totals ----------------------------------------------------------------------------------------------------------


def _total(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    rows: tuple[Priced, ...] = (*lines, *shipping)
    order.total_line_items_price = sum((gross(line) for line in lines), ZERO)
    order.total_discounts = sum((row.discount for row in rows), ZERO)
    order.subtotal_price = sum((net(line) for line in lines), ZERO)
    order.total_shipping_price = sum((row.price for row in shipping), ZERO)
    order.total_tax = sum((row.tax for row in rows), ZERO)
    order.total_weight = sum(line.grams * line.quantity for line in lines)
    order.total_price = _payable(order, order.subtotal_price, shipping, order.total_tax)
    total_currently(order, lines, shipping)


def total_currently(order: Order, lines: Sequence[LineItem], shipping: Sequence[ShippingLine]) -> None:
    """Set what the order comes to with the units and shipping lines that are left of it."""
    left = [row for row in shipping if not row.is_removed]

    def of(line: LineItem, amount: Decimal) -> Decimal:
        return portion(amount, line.current_quantity, line.quantity, order.currency)

    discounts = [of(line, line.discount) for line in lines]
    order.current_total_discounts = sum([*discounts, *(row.discount for row in left)], ZERO)
    order.current_subtotal_price = sum((line.price * line.current_quantity for line in lines), ZERO) - sum(
        discounts, ZERO
    )
    order.current_total_tax = sum([*(of(line, line.tax) for line in lines), *(row.tax for row in left)], ZERO)
    order.current_total_price = _payable(order, order.current_subtotal_price, left, order.current_total_tax)


def _payable(order: Order, subtotal: Decimal, shipping: Sequence[ShippingLine], tax: Decimal) -> Decimal:
    """The price of goods, shipping and tip, with the taxes that it does not include already."""
    sent = sum((net(row) for row in shipping), ZERO)
    return subtotal + sent + order.total_tip_received + (ZERO if order.taxes_included else tax)


def disagreements(order: Order, sent: Mapping[str, Decimal]) -> Errors:
    """The totals that a client sent and that are not what the order comes to."""
    return {
        name: [f"must be {text_of(getattr(order, name), order.currency)}"]
        for name, amount in sent.items()
        if amount != getattr(order, name)
    }
