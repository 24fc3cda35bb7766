"""Create, update and delete price rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain

from django.db import transaction

from apps.catalog.models import Collection, Product, Variant
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, MUST_EXIST, at_least, at_most, at_most_ids
from apps.core.i18n.messages import define_text
from apps.core.money import MAX_AMOUNT, has_valid_precision
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.customers.models import Customer
from apps.discounts.domain.refusals import NOT_STARTED
from apps.discounts.models import PriceRule, PriceRuleItem
from apps.shops.models import ShopCountry

CREATED = "price_rules/create"
UPDATED = "price_rules/update"
DELETED = "price_rules/delete"
MAX_ITEMS = 250
_BEFORE_START = define_text("discounts.before_start", "must be after the start")
_NEEDS_ENTITLED = define_text("discounts.needs_entitled", "can only be set if target_selection is entitled")
_NEEDS_CUSTOMERS = define_text("discounts.needs_customers", "can only be set if customer_selection is prerequisite")
_NEEDS_SHIPPING = define_text("discounts.needs_shipping", "can only be set if target_type is shipping_line")
_NEEDS_ITEMS = define_text("discounts.needs_items", "can only be set if target_type is line_item")
_NEEDS_EACH = define_text("discounts.needs_each", "can only be set if allocation_method is each")
_NEEDS_RATIO = define_text(
    "discounts.needs_ratio", "can only be set together with a quantity or an amount that the customer must buy"
)
_RATIO_INCOMPLETE = define_text(
    "discounts.ratio_incomplete", "needs entitled_quantity, and either prerequisite_quantity or prerequisite_amount"
)
_CURRENCY_OBJECTION = define_text("discounts.currency", "discounts have amounts with more decimals than the currency")
_AMOUNTS = ("prerequisite_subtotal", "prerequisite_shipping_price", "prerequisite_amount")


class PriceRuleRefused(DomainError):
    """Raised when the values of a price rule are invalid."""


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list of ids of a price rule, stored as ``PriceRuleItem`` rows with this role and link."""

    role: PriceRuleItem.Role
    link: str
    model: type[ShopOwned]

    @property
    def column(self) -> str:
        return f"{self.link}_id"


_ENTITLED, _PREREQUISITE = PriceRuleItem.Role.ENTITLED, PriceRuleItem.Role.PREREQUISITE
ITEM_LISTS: dict[str, ItemList] = {
    "entitled_product_ids": ItemList(_ENTITLED, "product", Product),
    "entitled_variant_ids": ItemList(_ENTITLED, "variant", Variant),
    "entitled_collection_ids": ItemList(_ENTITLED, "collection", Collection),
    "entitled_country_ids": ItemList(_ENTITLED, "country", ShopCountry),
    "prerequisite_product_ids": ItemList(_PREREQUISITE, "product", Product),
    "prerequisite_variant_ids": ItemList(_PREREQUISITE, "variant", Variant),
    "prerequisite_collection_ids": ItemList(_PREREQUISITE, "collection", Collection),
    "prerequisite_customer_ids": ItemList(_PREREQUISITE, "customer", Customer),
}
_ENTITLED_ITEMS = ("entitled_product_ids", "entitled_variant_ids", "entitled_collection_ids")
_PREREQUISITE_ITEMS = ("prerequisite_product_ids", "prerequisite_variant_ids", "prerequisite_collection_ids")
Ids = Mapping[str, Sequence[int]]


@transaction.atomic
def create_price_rule(attrs: ReadOnlyAttrs, *, actor: str, at: datetime) -> PriceRule:
    """Create a rule. ``attrs`` are columns of the rule, and lists of ids by a name in ``ITEM_LISTS``.

    Raises:
        PriceRuleRefused: Values are invalid or contradict each other.
    """
    columns, ids = _split(attrs)
    rule = PriceRule(shop=get_current_shop(), created_at=at, **columns)
    _check(rule, ids, set(ids) | set(columns))
    rule.save(force_insert=True)
    _save_items(rule, ids)
    record_event(CREATED, rule, actor=actor, at=at)
    return rule


@transaction.atomic
def update_price_rule(rule: PriceRule, attrs: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
    """Change columns, and replace the lists of ids that are in ``attrs``."""
    refresh_for_update(rule, no_key=True)
    columns, ids = _split(attrs)
    changes = apply_changes(rule, columns)
    _check(rule, {**get_ids(rule), **ids}, set(ids) | set(columns))
    has_new_items = _save_items(rule, ids)
    if changes or has_new_items:
        rule.save(update_fields=list(changes))
        record_event(UPDATED, rule, actor=actor, at=at, changes=changes)


@transaction.atomic
def delete_price_rule(rule: PriceRule, *, actor: str, at: datetime) -> None:
    """Delete a rule with its codes and their uses. Orders keep their discounts."""
    refresh_for_update(rule)
    record_event(DELETED, rule, actor=actor, at=at)
    rule.delete()


@transaction.atomic
def end_price_rule(rule: PriceRule, *, actor: str, at: datetime) -> None:
    """End a rule now. A rule that has already ended keeps its end.

    Raises:
        PriceRuleRefused: The rule has not started yet.
    """
    refresh_for_update(rule, no_key=True)
    state = rule.get_state(at)
    if state == PriceRule.State.SCHEDULED:
        raise PriceRuleRefused({"base": [NOT_STARTED]})
    if state != PriceRule.State.EXPIRED:
        update_price_rule(rule, {"ends_at": at}, actor=actor, at=at)


def get_ids(rule: PriceRule) -> dict[str, list[int]]:
    """Return the ids of a rule's items by the name in ``ITEM_LISTS``, in the order in which they were added."""
    items = list(rule.items.order_by("pk"))
    return {
        name: [getattr(item, entry.column) for item in items if _is_in(item, entry)]
        for name, entry in ITEM_LISTS.items()
    }


def check_amount_decimals(shop: Shop, currency: str) -> str | None:
    """Return the reason against a new shop currency: amounts of rules with more decimals than the currency has."""
    rows = PriceRule.objects.filter(shop=shop).values_list("value_type", "value", *_AMOUNTS)
    for value_type, value, *amounts in rows.iterator():
        checked = [*amounts, *([value] if value_type == PriceRule.ValueType.FIXED_AMOUNT else [])]
        if any(amount is not None and not has_valid_precision(amount, currency) for amount in checked):
            return _CURRENCY_OBJECTION
    return None


def _is_in(item: PriceRuleItem, entry: ItemList) -> bool:
    return item.role == entry.role and getattr(item, entry.column) is not None


def _split(attrs: ReadOnlyAttrs) -> tuple[Attrs, dict[str, list[int]]]:
    """Return the columns and the lists of ids, without duplicates."""
    columns = {name: value for name, value in attrs.items() if name not in ITEM_LISTS}
    return columns, {name: list(dict.fromkeys(attrs[name] or ())) for name in ITEM_LISTS if name in attrs}


def _check(rule: PriceRule, ids: Ids, changed: set[str]) -> None:
    errors: Errors = {}
    found = chain(
        _find_limit_errors(rule),
        _find_value_errors(rule),
        _find_ratio_errors(rule, ids, changed),
        _find_item_errors(rule, ids),
    )
    for name, message in found:
        errors.setdefault(name, [message])
    errors = {**_find_list_errors(rule, ids, changed), **errors}
    if errors:
        raise PriceRuleRefused(errors)


def _find_list_errors(rule: PriceRule, ids: Ids, changed: set[str]) -> Errors:
    """Return the errors of missing, unknown and too many ids."""
    errors: Errors = {}
    # Items that were deleted leave their list empty, so a list is required only if the request changes it.
    if changed & {"target_selection", *_ENTITLED_ITEMS, "entitled_country_ids"}:
        is_entitled = rule.target_selection == PriceRule.TargetSelection.ENTITLED
        if is_entitled and not any(ids.get(name) for name in (*_ENTITLED_ITEMS, "entitled_country_ids")):
            is_shipping = rule.target_type == PriceRule.TargetType.SHIPPING_LINE
            errors.setdefault("entitled_country_ids" if is_shipping else "entitled_product_ids", [BLANK])
    if changed & {"customer_selection", "prerequisite_customer_ids"}:
        is_selected = rule.customer_selection == PriceRule.CustomerSelection.PREREQUISITE
        if is_selected and not ids.get("prerequisite_customer_ids"):
            errors.setdefault("prerequisite_customer_ids", [BLANK])
    for name in changed & ITEM_LISTS.keys():
        if len(ids[name]) > MAX_ITEMS:
            errors.setdefault(name, [at_most_ids(MAX_ITEMS)])
        elif ITEM_LISTS[name].model.objects.filter(pk__in=ids[name]).count() != len(ids[name]):
            errors.setdefault(name, [MUST_EXIST])
    return errors


def _find_value_errors(rule: PriceRule) -> Iterator[tuple[str, str]]:
    currency = get_current_shop().currency
    if rule.value > 0:
        yield "value", at_most(0)
    elif rule.value_type == PriceRule.ValueType.PERCENTAGE:
        if rule.value < -100:
            yield "value", at_least(-100)
    elif not _is_amount(-rule.value, currency):
        yield "value", INVALID
    for name, rest_name in _REST_NAMES.items():
        amount = getattr(rule, name)
        if amount is not None and not _is_amount(amount, currency):
            yield rest_name, INVALID


def _find_limit_errors(rule: PriceRule) -> Iterator[tuple[str, str]]:
    if not rule.title.strip():
        yield "title", BLANK
    if rule.ends_at is not None and rule.ends_at <= rule.starts_at:
        yield "ends_at", _BEFORE_START
    for name in ("usage_limit", "allocation_limit"):
        if getattr(rule, name) == 0:
            yield name, at_least(1)
    if rule.allocation_limit is not None and rule.allocation_method != PriceRule.AllocationMethod.EACH:
        yield "allocation_limit", _NEEDS_EACH


_RATIO = "prerequisite_to_entitlement_quantity_ratio"
_RATIO_COLUMNS = ("prerequisite_quantity_ratio", "prerequisite_amount", "entitled_quantity_ratio")
_REST_NAMES = {
    "prerequisite_subtotal": "prerequisite_subtotal_range",
    "prerequisite_shipping_price": "prerequisite_shipping_price_range",
    "prerequisite_amount": "prerequisite_to_entitlement_purchase",
}


def _is_amount(amount: Decimal, currency: str) -> bool:
    return 0 <= amount < MAX_AMOUNT and has_valid_precision(amount, currency)


def _find_ratio_errors(rule: PriceRule, ids: Ids, changed: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the errors of "buy X, get Y"."""
    has_items = any(ids.get(name) for name in _PREREQUISITE_ITEMS)
    needs = (rule.prerequisite_quantity_ratio, rule.prerequisite_amount)
    if rule.entitled_quantity_ratio is None and needs.count(None) == len(needs):
        if has_items:
            yield next(name for name in _PREREQUISITE_ITEMS if ids.get(name)), _NEEDS_RATIO
        return
    if not rule.entitled_quantity_ratio or needs.count(None) != 1 or 0 in needs:
        yield _RATIO, _RATIO_INCOMPLETE
    elif rule.target_type != PriceRule.TargetType.LINE_ITEM:
        yield _RATIO, _NEEDS_ITEMS
    elif rule.target_selection != PriceRule.TargetSelection.ENTITLED:
        yield _RATIO, _NEEDS_ENTITLED
    elif rule.allocation_method != PriceRule.AllocationMethod.EACH:
        yield _RATIO, _NEEDS_EACH
    elif not has_items and changed & {*_PREREQUISITE_ITEMS, *_RATIO_COLUMNS}:
        # As in ``_find_list_errors``, deleted items may leave the lists empty.
        yield "prerequisite_product_ids", BLANK


def _find_item_errors(rule: PriceRule, ids: Ids) -> Iterator[tuple[str, str]]:
    """Yield the errors of lists that have no effect with the other values of the rule."""
    is_shipping = rule.target_type == PriceRule.TargetType.SHIPPING_LINE
    is_entitled = rule.target_selection == PriceRule.TargetSelection.ENTITLED
    for name in (*_ENTITLED_ITEMS, "entitled_country_ids"):
        if ids.get(name):
            if (name == "entitled_country_ids") != is_shipping:
                yield name, _NEEDS_ITEMS if is_shipping else _NEEDS_SHIPPING
            elif not is_entitled:
                yield name, _NEEDS_ENTITLED
    if rule.prerequisite_shipping_price is not None and not is_shipping:
        yield _REST_NAMES["prerequisite_shipping_price"], _NEEDS_SHIPPING
    if ids.get("prerequisite_customer_ids") and rule.customer_selection != PriceRule.CustomerSelection.PREREQUISITE:
        yield "prerequisite_customer_ids", _NEEDS_CUSTOMERS


def _save_items(rule: PriceRule, ids: Ids) -> bool:
    """Replace the given lists. Return True if a list has changed."""
    stored = {} if rule._state.adding or not ids else get_ids(rule)
    new: list[PriceRuleItem] = []
    is_changed = False
    for name, wanted in ids.items():
        entry, before = ITEM_LISTS[name], stored.get(name, [])
        if removed := set(before) - set(wanted):
            rule.items.filter(role=entry.role, **{f"{entry.column}__in": removed}).delete()
            is_changed = True
        new += [
            PriceRuleItem(shop_id=rule.shop_id, rule=rule, role=entry.role, **{entry.column: pk})
            for pk in wanted
            if pk not in before
        ]
    if new:
        PriceRuleItem.objects.bulk_create(new)
    return is_changed or bool(new)
