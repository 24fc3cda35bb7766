"""Describe in words what a discount gives, and for what."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.core.i18n import formats
from apps.core.money import format_plain
from apps.core.tenancy.scope import get_current_shop
from apps.discounts.models import PriceRule

STATE_KINDS = {"active": "success", "scheduled": "info", "expired": "default", "used_up": "warning"}


def describe_terms(rule: PriceRule) -> str:
    """Return the terms, such as "10 % off selected products, minimum 50.00 USD"."""
    return ", ".join(list_terms(rule))


def list_terms(rule: PriceRule) -> list[str]:
    return [_describe_value(rule), *_describe_conditions(rule)]


def describe_period(starts_at: datetime | None, ends_at: datetime | None) -> str:
    """Return the period, such as "from 3 Dec 2026, 08:00". Without a start, the discount starts when it is saved."""
    if starts_at and ends_at:
        return _("{start} to {end}").format(start=_format_time(starts_at), end=_format_time(ends_at))
    if starts_at:
        return _("from {start}").format(start=_format_time(starts_at))
    return _("from now until {end}").format(end=_format_time(ends_at)) if ends_at else _("from now on, without an end")


def format_percentage(number: Decimal) -> str:
    return _("{number}%").format(number=formats.format_plain_number(format_plain(number)))


def format_money(amount: Decimal) -> str:
    return formats.format_money(amount, get_current_shop().currency)


def _format_time(moment: datetime) -> str:
    return formats.format_date(moment, "j M Y, H:i")


def _format_value(rule: PriceRule) -> str:
    is_percentage = rule.value_type == PriceRule.ValueType.PERCENTAGE
    return format_percentage(-rule.value) if is_percentage else format_money(-rule.value)


def _describe_value(rule: PriceRule) -> str:
    is_free = rule.value_type == PriceRule.ValueType.PERCENTAGE and rule.value == -100
    value = _format_value(rule)
    is_fixed = rule.value_type == PriceRule.ValueType.FIXED_AMOUNT
    is_selected = rule.target_selection == PriceRule.TargetSelection.ENTITLED
    if rule.target_type == PriceRule.TargetType.SHIPPING_LINE:
        return _("Free shipping") if is_free else _("{value} off shipping").format(value=value)
    if rule.is_buy_x_get_y:
        return _describe_buy_x_get_y(rule, "" if is_free else value)
    if is_fixed and rule.allocation_method == PriceRule.AllocationMethod.EACH:
        text = _("{value} off each selected product") if is_selected else _("{value} off each product")
    else:
        text = _("{value} off selected products") if is_selected else _("{value} off the whole order")
    return text.format(value=value)


def _describe_buy_x_get_y(rule: PriceRule, value: str) -> str:
    count = formats.format_integer(rule.entitled_quantity_ratio or 0)
    if rule.prerequisite_amount is not None:
        text = _("Spend {amount}, get {count} with {value} off") if value else _("Spend {amount}, get {count} free")
        return text.format(amount=format_money(rule.prerequisite_amount), count=count, value=value)
    text = _("Buy {quantity}, get {count} with {value} off") if value else _("Buy {quantity}, get {count} free")
    quantity = formats.format_integer(rule.prerequisite_quantity_ratio or 0)
    return text.format(quantity=quantity, count=count, value=value)


def _describe_conditions(rule: PriceRule) -> Iterator[str]:
    is_shipping = rule.target_type == PriceRule.TargetType.SHIPPING_LINE
    if is_shipping and rule.target_selection == PriceRule.TargetSelection.ENTITLED:
        yield _("to selected countries")
    if rule.prerequisite_shipping_price is not None:
        yield _("up to {amount} of shipping").format(amount=format_money(rule.prerequisite_shipping_price))
    if rule.allocation_limit is not None:
        yield _("limited to {number} per order").format(number=formats.format_integer(rule.allocation_limit))
    if rule.prerequisite_subtotal is not None:
        yield _("minimum {amount}").format(amount=format_money(rule.prerequisite_subtotal))
    if (quantity := rule.prerequisite_quantity) is not None:
        text = ngettext("at least {number} item", "at least {number} items", quantity)
        yield text.format(number=formats.format_integer(quantity))
    if rule.customer_selection == PriceRule.CustomerSelection.PREREQUISITE:
        yield _("for selected customers")
    if rule.once_per_customer:
        yield _("once per customer")
