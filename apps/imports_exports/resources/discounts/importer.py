"""Import discounts with their codes. Imports never change existing discounts and codes.

Files do not contain the IDs of discounts. A code becomes a code of the discount with the same title and the same terms,
which is created if there is none. So a file of many codes can be imported in batches, and more than once.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import Message, define_message
from apps.core.rest.resources.fields import BooleanField, DateTimeField, ModelDerivedField, TextField
from apps.core.rest.resources.nested_objects import ObjectListField
from apps.core.rest.resources.serializers import ResourceSerializer, validate_body
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.discounts.api.fields import ValueField, amount_member
from apps.discounts.domain.codes import create_code
from apps.discounts.domain.price_rules import ITEM_LISTS, create_price_rule
from apps.discounts.domain.terms import find_codes, normalize_code
from apps.discounts.models import DiscountCode, PriceRule, PriceRuleItem
from apps.discounts.models.codes import MAX_CODE
from apps.imports_exports.domain.rows import (
    UNCHANGED,
    Body,
    ImportRow,
    RowOutcome,
    RowResult,
    create_failed_outcome,
)
from apps.imports_exports.resources.cells import convert_api_errors
from apps.imports_exports.resources.discounts.references import REFERENCES, ReferenceIndex
from apps.imports_exports.resources.discounts.table import CODE, RULE_COLUMNS, TIMES_USED
from apps.orders.api.fields import nullable_integer

# The maximum number of codes in a JSON object. Exports split discounts with more codes.
MAX_CODES = 500
_OTHER_TERMS = define_message(
    "discount_imports.other_terms", "{code} already exists with other terms. Imports never change discounts"
)
_MAX_QUOTED = 100


class _RowSerializer(ResourceSerializer[PriceRule]):
    title = TextField(required=False, allow_blank=True, max_length=255)
    value_type = ModelDerivedField()
    value = ValueField(max_length=None)
    target_type = ModelDerivedField()
    target_selection = ModelDerivedField()
    allocation_method = ModelDerivedField()
    customer_selection = ModelDerivedField()
    once_per_customer = BooleanField(required=False, default=False)
    usage_limit = nullable_integer(1)
    allocation_limit = nullable_integer(1)
    prerequisite_quantity = nullable_integer()
    prerequisite_quantity_ratio = nullable_integer()
    entitled_quantity_ratio = nullable_integer()
    prerequisite_subtotal = amount_member()
    prerequisite_shipping_price = amount_member()
    prerequisite_amount = amount_member()
    starts_at = DateTimeField()
    ends_at = DateTimeField(required=False, allow_null=True)
    codes = ObjectListField(
        {"code": TextField(max_length=MAX_CODE), TIMES_USED: nullable_integer()}, most=MAX_CODES
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Draft:
    """A discount of a file: the attributes of the rule, and the codes with their earlier uses."""

    attrs: ReadOnlyAttrs
    codes: Mapping[str, int]

    @property
    def terms(self) -> Hashable:
        return _build_terms(self.attrs, {name: self.attrs[name] for name in ITEM_LISTS})


def _build_terms(values: ReadOnlyAttrs, ids: Mapping[str, Collection[int]]) -> Hashable:
    """Return what two discounts have in common if they are the same discount."""
    return (
        tuple(values.get(name) for name in RULE_COLUMNS),
        tuple(frozenset(ids.get(name, ())) for name in ITEM_LISTS),
    )


def get_discount_keys(row: ImportRow, body: Body) -> Sequence[str]:
    codes = body.get("codes")
    entries = codes if isinstance(codes, list) else []
    keys = [normalize_code(str(entry["code"])) for entry in entries if isinstance(entry, dict) and entry.get("code")]
    return keys or [row.digest]


def import_discounts(
    rows: Sequence[tuple[ImportRow, Body]], *, actor: str, at: datetime, dry: bool
) -> list[RowOutcome]:
    """Create the missing codes, and the discounts that they need. A dry run also saves, to find all errors."""
    references = ReferenceIndex(body for _row, body in rows)
    drafts = [_parse(body, references) for _row, body in rows]
    valid = [draft for draft in drafts if isinstance(draft, _Draft)]
    known_codes = find_codes(code for draft in valid for code in draft.codes)
    titles = {row.rule.title for row in known_codes.values()}
    rules = _find_rules(titles | {str(draft.attrs["title"]) for draft in valid})
    terms_by_id = {rule.pk: terms for terms, rule in rules}
    # Of several equal discounts, the oldest gets the codes.
    rules_by_terms = dict(reversed(rules))
    outcomes = []
    for draft in drafts:
        if not isinstance(draft, _Draft):
            outcomes.append(draft)
            continue
        existing = [row for code in draft.codes if (row := known_codes.get(normalize_code(code))) is not None]
        changed = [row for row in existing if terms_by_id.get(row.rule_id) != draft.terms]
        note = _OTHER_TERMS(code=repr(changed[0].code[:_MAX_QUOTED])) if changed else None
        try:
            with transaction.atomic():
                outcomes.append(_import(draft, existing, rules_by_terms, note, actor=actor, at=at))
        except DomainError as error:
            outcomes.append(create_failed_outcome(error))
    return outcomes


def _parse(body: Body, references: ReferenceIndex) -> _Draft | RowOutcome:
    try:
        ids = references.find(body)
        with convert_api_errors(body):
            attrs = validate_body(_RowSerializer, get_latest_version(), {**_get_defaults(ids), **_drop_nulls(body)})
    except DomainError as error:
        return create_failed_outcome(error)
    entries: list[Attrs] = attrs.pop("codes", None) or []
    codes = {entry["code"].strip(): entry.get(TIMES_USED) or 0 for entry in entries}
    title = attrs.get("title") or next(iter(codes), "")
    optional = {name: attrs.get(name) for name in RULE_COLUMNS}
    return _Draft({**optional, **ids, "title": title, "value": -abs(attrs["value"])}, codes)


def _get_defaults(ids: Mapping[str, Collection[int]]) -> Attrs:
    """Return the terms of a discount that names only its value: it applies to all selected items from today on."""
    is_entitled = any(ids[name] for name in ids if name.startswith("entitled"))
    today = timezone.localtime(timezone=get_current_shop().tzinfo).replace(hour=0, minute=0, second=0, microsecond=0)
    return {
        "value_type": None,
        "value": None,
        "target_type": PriceRule.TargetType.LINE_ITEM.value,
        "target_selection": "entitled" if is_entitled else "all",
        "allocation_method": PriceRule.AllocationMethod.ACROSS.value,
        "customer_selection": "prerequisite" if ids["prerequisite_customer_ids"] else "all",
        "starts_at": today.isoformat(),
    }


def _drop_nulls(body: Body) -> Attrs:
    return {name: value for name, value in body.items() if value is not None}


def _find_rules(titles: Iterable[str]) -> list[tuple[Hashable, PriceRule]]:
    """Return the rules with these titles, oldest first, with their terms."""
    rules = list(PriceRule.objects.filter(title__in=titles).order_by("pk"))
    ids: defaultdict[int, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for item in PriceRuleItem.objects.filter(rule__in=[rule.pk for rule in rules]):
        for name, entry in ITEM_LISTS.items():
            if item.role == entry.role and (pk := getattr(item, entry.column)) is not None:
                ids[item.rule_id][name].add(pk)
    return [(_build_terms({name: getattr(rule, name) for name in RULE_COLUMNS}, ids[rule.pk]), rule) for rule in rules]


def _import(
    draft: _Draft,
    existing: Sequence[DiscountCode],
    rules: dict[Hashable, PriceRule],
    note: Message | None,
    *,
    actor: str,
    at: datetime,
) -> RowOutcome:
    """Create the rule and the codes that are missing. ``rules`` gets a new rule, for the next rows."""
    label = next(iter(draft.codes), str(draft.attrs["title"]))
    known = {normalize_code(row.code) for row in existing}
    new_codes = {code: uses for code, uses in draft.codes.items() if normalize_code(code) not in known}
    rule = rules.get(draft.terms)
    if not new_codes and (draft.codes or rule is not None):
        return RowOutcome(RowResult.SKIPPED, label, note or UNCHANGED)
    changes: dict[str, tuple[object, object]] = {"title": (None, draft.attrs["title"])}
    if rule is None:
        rule = create_price_rule(draft.attrs, actor=actor, at=at)
        changes |= {name: (None, value) for name, value in draft.attrs.items() if name in RULE_COLUMNS and value}
        # The names of customers are personal, so the results only have numbers.
        changes |= {column: (None, len(ids)) for column, name in REFERENCES.items() if (ids := draft.attrs[name])}
    for code, uses in new_codes.items():
        create_code(rule, code, earlier_uses=uses, actor=actor, at=at)
    rules[draft.terms] = rule
    if new_codes:
        changes[CODE] = (None, "; ".join(new_codes))
    if uses := sum(new_codes.values()):
        changes[TIMES_USED] = (None, uses)
    return RowOutcome(RowResult.NEW, label, note, changes=changes)


def find_discounts(labels: Collection[str]) -> Mapping[str, Model]:
    """Return the rules by the codes or, for rules without codes, by the titles that label the results."""
    rules = {rule.title: rule for rule in PriceRule.objects.filter(title__in=labels)}
    codes = find_codes(labels)
    return rules | {label: row.rule for label in labels if (row := codes.get(normalize_code(label))) is not None}
