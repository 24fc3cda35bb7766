"""The rules of smart collections, compiled into one condition of the database.

Membership is thus always true to the products as they are. Text is compared without regard to case, by folded
copies of the columns: they are indexed, and the index brings the statistics along without which the planner takes every
text rule for a rare one and sorts whole shops. A rule on a
variant holds for a product when it holds for one of its variants; a negative rule on tags when no tag fits.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django.db.models import Exists, OuterRef, Q

from apps.catalog.domain.tags import key_of
from apps.catalog.domain.weights import to_grams
from apps.catalog.models import ProductTag, Variant
from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK, INVALID, NOT_A_NUMBER, NOT_IN_LIST, NOT_WHOLE, too_long, too_many
from apps.ground.tenancy import current_shop

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
    """A rule makes no sense."""

    code = "rules_refused"
    field = "rules"


def check_rules(rules: object) -> list[dict[str, str]]:
    """Read rules from a body or a form.

    Raises:
        RulesRefused: ``{rules.<n>.<field>: messages}`` of every rule that does not fit.
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
        found = _check_rule(rule) if isinstance(rule, dict) else {"": INVALID}
        errors |= {f"rules.{index}.{name}".rstrip("."): [message] for name, message in found.items()}
        if not found:
            checked.append({name: str(rule[name]) for name in ("column", "relation", "condition")})
    if errors:
        raise RulesRefused(errors)
    return checked


def _check_rule(rule: Mapping[str, object]) -> dict[str, str]:
    column, relation, condition = (rule.get(name) for name in ("column", "relation", "condition"))
    errors = {}
    if not isinstance(column, str) or column not in COLUMNS:
        errors["column"] = NOT_IN_LIST if column else BLANK
    elif relation not in relations_of(column):
        errors["relation"] = NOT_IN_LIST if relation else BLANK
    if isinstance(condition, bool) or not isinstance(condition, str | int | Decimal) or condition == "":
        errors["condition"] = BLANK if condition in ("", None) else INVALID
    elif len(str(condition)) > MAX_CONDITION:
        errors["condition"] = too_long(MAX_CONDITION)
    elif "column" not in errors and column in VARIANT_NUMBERS:
        number = number_of(str(condition))
        if number is None:
            errors["condition"] = NOT_A_NUMBER
        elif column == "variant_inventory" and number % 1:
            errors["condition"] = NOT_WHOLE
    return errors


def relations_of(column: str) -> tuple[str, ...]:
    """The relations that make sense with a column."""
    return tuple(NUMBERS if column in VARIANT_NUMBERS else TEXT)


def number_of(text: str) -> Decimal | None:
    """A condition as a number: plain ASCII digits with at most six decimals; None where it is none."""
    body = text.removeprefix("-")
    whole, point, places = body.partition(".")
    plain = whole.isascii() and whole.isdigit() and len(whole) <= 12
    fits = plain and (not point or (places.isascii() and places.isdigit() and len(places) <= 6))
    return Decimal(text) if fits else None


def condition(rules: Sequence[Rule], *, disjunctive: bool) -> Q:
    """What a product must fulfil to be in a collection: all rules, or one of them; without rules nothing fits."""
    compiled = [_compiled(rule) for rule in rules]
    if not compiled:
        return Q(pk__in=())
    whole = compiled[0]
    for part in compiled[1:]:
        whole = whole | part if disjunctive else whole & part
    return whole


def _compiled(rule: Rule) -> Q:
    column, relation, value = rule["column"], rule["relation"], rule["condition"]
    if column in VARIANT_NUMBERS:
        return _variant_number(VARIANT_NUMBERS[column], relation, value)
    lookup, negated = TEXT[relation]
    if column == "variant_title":
        fits = Q(**{f"title_key__{lookup}": value})
        return _some(Variant, ~fits if negated else fits)
    if column == "tag":
        found = _some(ProductTag, Q(**{f"key__{lookup}": key_of(value.strip())}))
        return ~found if negated else found
    fits = Q(**{f"{OWN_COLUMNS[column]}__{lookup}": value})
    return ~fits if negated else fits


def _variant_number(name: str, relation: str, value: str) -> Q:
    number = number_of(value) or Decimal(0)
    if name == "grams":
        # In whole grams, as weights are kept: a pound equals a pound, whatever unit it was given in.
        number = Decimal(to_grams(number, current_shop().weight_unit))
    lookup, negated = NUMBERS[relation]
    fits = Q(**{f"{name}__{lookup}": number})
    return _some(Variant, ~fits if negated else fits)


def _some(model: type[Variant] | type[ProductTag], fits: Q) -> Q:
    return Q(Exists(model.objects.filter(fits, product_id=OuterRef("pk"))))
