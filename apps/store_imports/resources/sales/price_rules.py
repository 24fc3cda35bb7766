"""Import discounts: the price rules, and then their codes. A code keeps the number of its uses."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, ClassVar

from django.db import IntegrityError, transaction
from django.db.models import Model

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message, define_text
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.versions import get_latest_version
from apps.discounts.api.discount_codes import DiscountCodeSerializer
from apps.discounts.api.price_rules import PriceRuleSerializer
from apps.discounts.domain.codes import NewCode, create_codes, delete_code, set_earlier_uses, update_code
from apps.discounts.domain.price_rules import ITEM_LISTS, create_price_rule, delete_price_rule, update_price_rule
from apps.discounts.models import DiscountCode, PriceRule
from apps.imports_exports.resources.cells import convert_api_errors
from apps.store_imports.domain.comparison import CREATED_NOW, Comparison
from apps.store_imports.domain.source_client import ObjectGone, SourceObject, refuse_malformed
from apps.store_imports.domain.streams import ACTOR, IdList, ObjectResult, Outcome, Source, Stream, write_in_savepoint
from apps.store_imports.models import MappedId
from apps.store_imports.resources.optional_lists import OptionalStream
from apps.store_imports.resources.rest_objects import create_reader

PAGE_SIZE = 100
CODES_PAGE_SIZE = 250
# The ids in this shop by link of ``ITEM_LISTS`` and by id in the store.
Targets = Mapping[str, Mapping[int, int]]
_MISSING_ITEMS = define_message(
    "store_imports.missing_items",
    "{count} of the products, variants, collections, countries and customers that the discount selects were not "
    "imported. The discount does not apply to them.",
)
_SEGMENTS = define_text(
    "store_imports.segments",
    "The discount is for segments of customers, which can't be read. Create the discount with selected customers.",
)
_NO_RULE = define_text("store_imports.no_rule", "The discount of the code is not in this shop.")


class PriceRuleStream(OptionalStream):
    name = "price_rules"
    resource = "price_rule"
    model: ClassVar[type[Model]] = PriceRule
    path = "price_rules.json"
    sets_creation_time = True
    id_list = IdList("price_rules.json", "price_rules")
    comparison = Comparison(
        read=create_reader(PriceRuleSerializer),
        ids={name: entry.link for name, entry in ITEM_LISTS.items()},
        not_compared={
            "customer_segment_prerequisite_ids": "segments of customers can't be read",
        },
        unordered=tuple(ITEM_LISTS),
    )

    def read_list(self, source: Source, position: int) -> Sequence[SourceObject]:
        client, filters = source.client, source.change_filter
        return client.get_page(self.path, self.name, since_id=position, limit=PAGE_SIZE, **filters)

    def write_listed(self, source: Source, objects: Sequence[SourceObject]) -> Sequence[ObjectResult]:
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = PriceRule.objects.in_bulk(list(known.values()))
        targets = _find_targets(source, objects)
        return [
            write_in_savepoint(partial(_write_rule, source, row, existing.get(known.get(row["id"], 0)), targets))
            for row in objects
        ]

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, PriceRule)
        delete_price_rule(target, actor=ACTOR, at=at)

    def get_part_ids(self, target: Model) -> Mapping[str, Collection[int]]:
        codes = DiscountCode.objects.filter(rule_id=target.pk)
        return {DiscountCodeStream.resource: list(codes.values_list("pk", flat=True))}

    def normalize_pair(self, source: Source, theirs: SourceObject, ours: SourceObject) -> None:
        """Leave out selected objects that were not imported, which the import notes."""
        for name in ITEM_LISTS:
            theirs[name] = [pk for pk in theirs.get(name) or () if isinstance(pk, int)]


def _find_targets(source: Source, objects: Sequence[SourceObject]) -> Targets:
    """Return the ids of the selected objects that still exist in this shop, by type and by id in the store."""
    wanted: defaultdict[str, set[int]] = defaultdict(set)
    for row in objects:
        with refuse_malformed(PriceRuleStream.name, row):
            for name, entry in ITEM_LISTS.items():
                wanted[entry.link] |= {int(pk) for pk in row.get(name) or ()}
    targets = {}
    for entry in ITEM_LISTS.values():
        if entry.link not in targets:
            mapped = source.ids.get_target_ids(entry.link, wanted[entry.link])
            existing = set(entry.model.objects.filter(pk__in=mapped.values()).order_by().values_list("pk", flat=True))
            targets[entry.link] = {source_id: pk for source_id, pk in mapped.items() if pk in existing}
    return targets


def _write_rule(source: Source, row: SourceObject, target: PriceRule | None, targets: Targets) -> ObjectResult:
    body, missing = dict(row), 0
    for name, entry in ITEM_LISTS.items():
        ids = row.get(name) or ()
        body[name] = [pk for source_id in ids if (pk := targets[entry.link].get(source_id))]
        missing += len(ids) - len(body[name])
    if row.get("customer_segment_prerequisite_ids") and not row.get("prerequisite_customer_ids"):
        raise DomainError(_SEGMENTS)
    with convert_api_errors(body):
        attrs = validate_body(PriceRuleSerializer, get_latest_version(), body, instance=target)
    if target is None:
        rule, outcome = create_price_rule(attrs, actor=ACTOR, at=source.at), Outcome.NEW
    else:
        rule, before = target, target.version
        update_price_rule(rule, attrs, actor=ACTOR, at=source.at)
        version = PriceRule.objects.values_list("version", flat=True).get(pk=rule.pk)
        outcome = Outcome.UNCHANGED if version == before else Outcome.CHANGED
    problem = _MISSING_ITEMS(count=missing) if missing else None
    return ObjectResult(outcome, rule.pk, problem, is_complete=not missing)


class DiscountCodeStream(Stream):
    """The codes of the imported price rules. The position is the last rule with all its codes imported."""

    name = "discount_codes"
    resource = "discount_code"
    model: ClassVar[type[Model]] = DiscountCode
    comparison = Comparison(
        read=create_reader(DiscountCodeSerializer),
        ids={"price_rule_id": "price_rule"},
        not_compared={"created_at": CREATED_NOW},
    )
    is_ascending = False

    def list_ids(self, source: Source, only: Sequence[int] = ()) -> Iterator[int]:
        """Yield the IDs of all codes. The codes of a deleted rule count, because they are deleted with the rule."""
        assert PriceRuleStream.id_list is not None
        remaining = set(PriceRuleStream.id_list.read(source))
        for rule_id in sorted(remaining):
            source.keep_alive()
            with suppress(ObjectGone):
                rows = source.client.iterate_pages(_get_codes_path(rule_id), self.name, fields="id")
                yield from (row["id"] for row in rows)
        for rule in _iterate_rules(source, 0):
            if rule.source_id not in remaining:
                codes = DiscountCode.objects.filter(rule_id=rule.target_id).values_list("pk", flat=True)
                yield from source.ids.get_source_ids(self.resource, list(codes)).values()

    def delete_target(self, target: Model, *, at: datetime) -> None:
        assert isinstance(target, DiscountCode)
        delete_code(target, actor=ACTOR, at=at)

    def count_objects(self, source: Source) -> int | None:
        return source.client.count("discount_codes/count.json")

    def read_page(self, source: Source, position: int) -> Sequence[SourceObject]:
        """Return the next codes of the rule that is being read, or of the next rule.

        The lists have pages, but not always ``since_id``, so after an interruption a rule is read from its first code.
        """
        pages = source.open_lists.setdefault(self.name, _read_codes(source, position))
        page = next(pages, ())
        if not page:
            del source.open_lists[self.name]
        return page

    def get_position(self, page: Sequence[SourceObject]) -> int:
        return int(page[-1]["price_rule_id"]) - 1

    def write_objects(self, source: Source, objects: Sequence[SourceObject], files: Any) -> Sequence[ObjectResult]:
        rule_ids = source.ids.get_target_ids("price_rule", {row["price_rule_id"] for row in objects})
        rules = PriceRule.objects.in_bulk(list(rule_ids.values()))
        known = source.ids.get_target_ids(self.resource, [row["id"] for row in objects])
        existing = DiscountCode.objects.in_bulk(list(known.values()))
        new, results = {}, {}
        for row in objects:
            rule = rules.get(rule_ids.get(row["price_rule_id"], 0))
            if known.get(row["id"]) in existing:
                continue
            if rule is None:
                results[row["id"]] = ObjectResult(Outcome.FAILED, problem=_NO_RULE)
            else:
                new[row["id"]] = NewCode(rule, row["code"], row["usage_count"])
        results |= _create_codes(source, new)
        for row in objects:
            if row["id"] not in results:
                code = existing[known[row["id"]]]
                results[row["id"]] = write_in_savepoint(partial(_update_code, source, row, code))
        return [results[row["id"]] for row in objects]

    def read_own(self, source: Source, target_ids: Collection[int]) -> Mapping[int, SourceObject]:
        """Return codes with the uses in the store. The uses in this shop are added to them."""
        codes = super().read_own(source, target_ids)
        uses = DiscountCode.objects.filter(pk__in=target_ids).values_list("pk", "earlier_uses")
        for pk, count in uses:
            codes[pk]["usage_count"] = count
        return codes


def _read_codes(source: Source, position: int) -> Iterator[Sequence[SourceObject]]:
    """Yield the codes of all imported rules after a position, in pages of one rule each."""
    for rule in _iterate_rules(source, position):
        rows = source.client.iterate_pages(
            _get_codes_path(rule.source_id), DiscountCodeStream.name, **source.change_filter
        )
        with suppress(ObjectGone):
            while page := [_parse_code(row, rule.source_id) for row in islice(rows, CODES_PAGE_SIZE)]:
                yield page


def _iterate_rules(source: Source, position: int) -> Iterator[MappedId]:
    while entries := source.ids.get_next_entries("price_rule", position, PAGE_SIZE):
        yield from entries
        position = entries[-1].source_id


def _get_codes_path(rule_id: int) -> str:
    return f"price_rules/{rule_id}/discount_codes.json"


def _parse_code(row: SourceObject, rule_id: int) -> SourceObject:
    with refuse_malformed(DiscountCodeStream.name, row):
        uses = max(0, int(row.get("usage_count") or 0))
        return {"id": int(row["id"]), "price_rule_id": rule_id, "code": str(row["code"]), "usage_count": uses}


def _create_codes(source: Source, new: Mapping[int, NewCode]) -> dict[int, ObjectResult]:
    """Create codes together, or one by one if a code is refused."""

    def create(code: NewCode) -> ObjectResult:
        return ObjectResult(Outcome.NEW, create_codes([code], actor=ACTOR, at=source.at)[0].pk)

    if not new:
        return {}
    try:
        with transaction.atomic():
            rows = create_codes(list(new.values()), actor=ACTOR, at=source.at)
    except (DomainError, IntegrityError):
        return {pk: write_in_savepoint(partial(create, code)) for pk, code in new.items()}
    return {source_id: ObjectResult(Outcome.NEW, row.pk) for source_id, row in zip(new, rows, strict=True)}


def _update_code(source: Source, row: SourceObject, code: DiscountCode) -> ObjectResult:
    before = code.version
    update_code(code, row["code"], actor=ACTOR, at=source.at)
    set_earlier_uses(code, row["usage_count"], actor=ACTOR, at=source.at)
    version = DiscountCode.objects.values_list("version", flat=True).get(pk=code.pk)
    return ObjectResult(Outcome.UNCHANGED if version == before else Outcome.CHANGED, code.pk)
