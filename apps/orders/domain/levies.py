"""What states take of a sale: taxes, and the duties of goods that cross a border with the taxes on these.

Duties come on top of the price of goods, also where prices include taxes; taxes on them follow the order in that. They
are for the whole line, as ordered, and are not less where units leave the order: what refunds give back of them is
noted beside (``LineItem.refunded_duty``).
Rule: decisions, Orders.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from django.utils.translation import gettext

from apps.ground.attrs import Attrs, Errors, Given
from apps.ground.money import ZERO, plain, rounded
from apps.ground.phrases import INVALID
from apps.inventory.models import HS_CODE
from apps.orders.models import LineItem, Order
from apps.shops.domain.countries import find_country

# Ids of duties are random, and exact in the numbers of every client.
_IDS = 2**53


def tax_prices(prefix: str, taxes: Sequence[Given]) -> dict[str, Decimal | None]:
    """What is given of the amounts of taxes, by field."""
    return {f"{prefix}.{index}.price": tax["price"] for index, tax in enumerate(taxes)}


def amounts(prefix: str, duties: Sequence[Given]) -> dict[str, Decimal | None]:
    """What is given of the amounts of duties and of the taxes on them, by field."""
    found: dict[str, Decimal | None] = {}
    for index, duty in enumerate(duties):
        found[f"{prefix}.{index}.shop_money.amount"] = duty["shop_money"]["amount"]
        found |= tax_prices(f"{prefix}.{index}.tax_lines", duty.get("tax_lines") or ())
    return found


def tax_line(order: Order, base: Decimal, tax: Given) -> Attrs:
    """A tax as it is kept; its price follows from its rate where it is not given."""
    rate: Decimal = tax["rate"]
    amount = tax["price"]
    if amount is None:
        whole = base * rate / (1 + rate) if order.taxes_included else base * rate
        amount = rounded(whole, order.currency)
    return {
        "title": tax["title"],
        "rate": plain(rate),
        "price": str(amount),
        "channel_liable": tax.get("channel_liable"),
    }


def summed_up(taxes: Iterable[Given]) -> list[Attrs]:
    """Taxes by title and rate."""
    found: dict[tuple[str, str], Attrs] = {}
    for tax in taxes:
        known = found.setdefault((tax["title"], tax["rate"]), {**tax, "price": "0"})
        known["price"] = str(Decimal(known["price"]) + Decimal(tax["price"]))
    return list(found.values())


def complete(order: Order, line: LineItem) -> Errors:
    """Complete the duties of a line and the taxes on them, and set their sums.

    Args:
        order: With its currency; whether it pays taxes.
        line: Its ``duties`` as they are given: ``shop_money`` (``amount``, and ``currency_code`` or none),
            ``harmonized_system_code``, ``country_code_of_origin`` and ``tax_lines``, as those of the line.

    Returns:
        ``{field: [messages]}`` of what cannot be.
    """
    errors: Errors = {}
    taxable = line.taxable and not order.tax_exempt
    kept: list[Attrs] = []
    for index, duty in enumerate(line.duties):
        price: Decimal = duty["shop_money"]["amount"]
        taxes = [tax_line(order, price if taxable else ZERO, tax) for tax in duty.get("tax_lines") or ()]
        tax = sum_of(taxes)
        if order.taxes_included and tax > price:
            errors[f"duties.{index}.tax_lines"] = [gettext("are more than the price that includes them")]
        errors |= {f"duties.{index}.{name}": [INVALID] for name in _unknown(order, duty)}
        kept.append(
            {
                "id": 1 + secrets.randbelow(_IDS - 1),
                "harmonized_system_code": duty.get("harmonized_system_code") or None,
                "country_code_of_origin": (duty.get("country_code_of_origin") or "").upper() or None,
                "price": str(price),
                "tax_lines": taxes,
            }
        )
    line.duties = kept
    line.duty, line.duty_tax = sum_of(kept), sum((sum_of(duty["tax_lines"]) for duty in kept), ZERO)
    return errors


def sum_of(kept: Iterable[Given]) -> Decimal:
    """The sum of the prices of taxes or duties, as they are kept."""
    return sum((Decimal(each["price"]) for each in kept), ZERO)


def _unknown(order: Order, duty: Given) -> Iterator[str]:
    """The members of a duty that say what is not."""
    if duty["shop_money"].get("currency_code") not in {None, "", order.currency}:
        yield "shop_money.currency_code"
    if (code := duty.get("country_code_of_origin")) and (len(code) != 2 or find_country(code) is None):
        yield "country_code_of_origin"
    if (number := duty.get("harmonized_system_code")) and not HS_CODE.fullmatch(number):
        yield "harmonized_system_code"
