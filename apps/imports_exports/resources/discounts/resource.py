"""Export discounts with their codes, and import them into another shop."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

from django.utils.translation import gettext_lazy

from apps.core.types import Attrs
from apps.discounts.models import DiscountCode, PriceRule
from apps.imports_exports.domain.resources import Exporter, Importer, ObjectData, Resource
from apps.imports_exports.domain.rows import RowResult
from apps.imports_exports.resources.discounts import table
from apps.imports_exports.resources.discounts.importer import (
    MAX_CODES,
    find_discounts,
    get_discount_keys,
    import_discounts,
)
from apps.imports_exports.resources.discounts.references import REFERENCES, read_names


def _read_discounts(ids: Sequence[int]) -> Iterator[ObjectData]:
    """Yield the discounts. A discount with many codes is split into objects with at most ``MAX_CODES`` codes."""
    rules, names = PriceRule.objects.in_bulk(ids), read_names(ids)
    rows = DiscountCode.objects.filter(rule__in=ids).order_by("rule_id", "pk").iterator(chunk_size=2000)
    groups = groupby(rows, key=lambda code: code.rule_id)
    current = next(groups, None)
    for pk in sorted(rules):
        shown = table.serialize_rule(rules[pk], names.get(pk, {}))
        codes: Iterable[DiscountCode] = ()
        if current is not None and current[0] == pk:
            codes = current[1]
        yield from ({**shown, "codes": chunk} for chunk in _split(codes))
        if current is not None and current[0] == pk:
            current = next(groups, None)


def _split(codes: Iterable[DiscountCode]) -> Iterator[list[Attrs]]:
    """Yield lists of codes, at least one."""
    rows = iter(codes)
    chunk = list(islice(rows, MAX_CODES))
    while True:
        yield [{"code": row.code, table.TIMES_USED: row.usage_count} for row in chunk]
        if not (chunk := list(islice(rows, MAX_CODES))):
            return


DISCOUNTS = Resource(
    name="discounts",
    label=gettext_lazy("Discounts"),
    singular="discount",
    exporter=Exporter(
        model=PriceRule,
        permission="discounts.export_pricerule",
        granted_by="marketing",
        topic="price_rules/export",
        columns=table.COLUMNS,
        read_objects=_read_discounts,
        get_cells=table.iter_cells,
    ),
    importer=Importer(
        permission="discounts.add_pricerule",
        granted_by="marketing",
        models=(PriceRule, DiscountCode),
        columns=table.COLUMNS,
        aliases=table.ALIASES,
        get_label=table.get_discount_label,
        members=frozenset({"id", "codes", *table.RULE_COLUMNS, *REFERENCES}),
        group_by=table.CODE,
        identifying_columns=("value", "value_type"),
        body=table.parse_discount_row,
        keys=get_discount_keys,
        duplicate_result=RowResult.SKIPPED,
        import_rows=import_discounts,
        find=find_discounts,
    ),
)
