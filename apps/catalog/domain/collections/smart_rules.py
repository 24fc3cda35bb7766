"""Compile the rules of smart collections into one database condition.

A smart collection is always up to date, because the rules are evaluated on each read. A rule on variants matches a
product if at least one variant matches. A negated rule on tags matches a product if none of its tags matches.

Text rules ignore case, because they compare case-folded columns. Each of these columns has an index. Without the index
statistics, the query planner would assume that every text rule matches only a few products. It would then sort all
products of the shop, even if a rule matches most of them.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import reduce
from operator import and_, or_

from django.db.models import Exists, OuterRef, Q

from apps.catalog.domain.weights import to_grams
from apps.catalog.models import ProductTag, Variant
from apps.core.db.case_folding import casefold_text
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, INVALID, NOT_A_NUMBER, NOT_IN_LIST, NOT_WHOLE, too_long, too_many
from apps.core.tenancy.scope import get_current_shop

Rule = Mapping[str, str]
MAX_RULES = 60
MAX_CONDITION = 255

TEXT = {
    "equals": ("exact", False),
    "not_equals": ("exact", True),
    "starts_with": ("startswith", False),
    "ends_with": ("endswith", False),
    "contains": ("contains", False),
    "not_contains": ("contains", True),
}
NUMBERS = {
    "equals": ("exact", False),
    "not_equals": ("exact", True),
    "greater_than": ("gt", False),
    "less_than": ("lt", False),
}
OWN_COLUMNS = {"title": "title_key", "type": "product_type_key", "vendor": "vendor_key"}
VARIANT_NUMBERS = {
    "variant_price": "price",
    "variant_compare_at_price": "compare_at_price",
    "variant_weight": "grams",
    "variant_inventory": "inventory_quantity",
}
COLUMNS = (*OWN_COLUMNS, "variant_title", *VARIANT_NUMBERS, "tag")
RELATIONS = tuple(dict.fromkeys([*TEXT, *NUMBERS]))


class RulesRefused(DomainError):
    field = "rules"


def check_rules(rules: object) -> list[dict[str, str]]:
    """Validate rules from a request or a form, and return them in normalized form.

    Raises:
        RulesRefused: A rule is invalid. The exception contains ``{rules.<n>.<field>: messages}``.
    """
    if not isinstance(rules, list):
        raise RulesRefused(INVALID)
    if not rules:
        raise RulesRefused(BLANK)
    if len(rules) > MAX_RULES:
        raise RulesRefused(too_many("rules", MAX_RULES))
    errors: dict[str, list[str]] = {}
    checked = []
    for index, rule in enumerate(rules):
        rule_errors = _check_rule(rule) if isinstance(rule, dict) else {"": INVALID}
        errors |= {f"rules.{index}.{name}".rstrip("."): [message] for name, message in rule_errors.items()}
        if not rule_errors:
            checked.append({name: str(rule[name]) for name in ("column", "relation", "condition")})
    if errors:
        raise RulesRefused(errors)
    return checked


def _check_rule(rule: Mapping[str, object]) -> dict[str, str]:
    column, relation, condition = (rule.get(name) for name in ("column", "relation", "condition"))
    errors: dict[str, str] = {}
    if not isinstance(column, str) or column not in COLUMNS:
        errors["column"] = NOT_IN_LIST if column else BLANK
    elif relation not in get_relations(column):
        errors["relation"] = NOT_IN_LIST if relation else BLANK
    if isinstance(condition, bool) or not isinstance(condition, str | int | Decimal) or condition == "":
        errors["condition"] = BLANK if condition in ("", None) else INVALID
    elif len(str(condition)) > MAX_CONDITION:
        errors["condition"] = too_long(MAX_CONDITION)
    elif "column" not in errors and column in VARIANT_NUMBERS:
        number = parse_rule_number(str(condition))
        if number is None:
            errors["condition"] = NOT_A_NUMBER
        elif column == "variant_inventory" and number % 1:
            errors["condition"] = NOT_WHOLE
    return errors


def get_relations(column: str) -> tuple[str, ...]:
    return tuple(NUMBERS if column in VARIANT_NUMBERS else TEXT)


def parse_rule_number(text: str) -> Decimal | None:
    """Parse a number of ASCII digits with at most six decimals. Return None for any other text."""
    body = text.removeprefix("-")
    integer, point, decimals = body.partition(".")
    plain = integer.isascii() and integer.isdigit() and len(integer) <= 12
    fits = plain and (not point or (decimals.isascii() and decimals.isdigit() and len(decimals) <= 6))
    return Decimal(text) if fits else None


def build_rule_condition(rules: Sequence[Rule], *, disjunctive: bool) -> Q:
    """Return a condition for products that match all rules, or at least one rule if ``disjunctive`` is true.

    Without rules, the condition matches no product.
    """
    return reduce(or_ if disjunctive else and_, map(_compile_rule, rules)) if rules else Q(pk__in=())


def _compile_rule(rule: Rule) -> Q:
    column, relation, value = rule["column"], rule["relation"], rule["condition"]
    if column in VARIANT_NUMBERS:
        return _compile_variant_number(VARIANT_NUMBERS[column], relation, value)
    lookup, negated = TEXT[relation]
    if column == "variant_title":
        fits = Q(**{f"title_key__{lookup}": value})
        return _exists(Variant, ~fits if negated else fits)
    if column == "tag":
        matches = _exists(ProductTag, Q(**{f"key__{lookup}": casefold_text(value.strip())}))
        return ~matches if negated else matches
    fits = Q(**{f"{OWN_COLUMNS[column]}__{lookup}": value})
    return ~fits if negated else fits


def _compile_variant_number(name: str, relation: str, value: str) -> Q:
    number = parse_rule_number(value) or Decimal(0)
    if name == "grams":
        # Compare whole grams, so that a rule matches regardless of the unit in which a weight was entered.
        number = Decimal(to_grams(number, get_current_shop().weight_unit))
    lookup, negated = NUMBERS[relation]
    fits = Q(**{f"{name}__{lookup}": number})
    return _exists(Variant, ~fits if negated else fits)


def _exists(model: type[Variant] | type[ProductTag], fits: Q) -> Q:
    return Q(Exists(model.objects.filter(fits, product_id=OuterRef("pk"))))
