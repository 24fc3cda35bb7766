"""Files of discounts with their codes, imported and exported through the panel."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from apps.catalog.models import Collection, Product
from apps.core.events.models import Event
from apps.core.i18n.messages import translate
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.discounts.domain.consistency_checks import check_usage_counts
from apps.discounts.domain.uses import CodeNotUsable, record_uses
from apps.discounts.models import DiscountCode, PriceRule, PriceRuleItem
from apps.imports_exports.domain import exports, imports
from apps.imports_exports.models import Export, Import, ImportedRow
from apps.imports_exports.resources.discounts import importer
from tests.support import factories
from tests.support.factories.catalog import make_custom
from tests.support.factories.countries import make_country
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.orders import make_order, make_variant
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import run_latest_job, upload_file
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

HEADER = "Code,Discount type,Value,Title,Starts at,Usage limit,Times used\n"
EXISTS = "already exists and is unchanged"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("marketing")


@pytest.fixture
def other_panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("marketing", shop=factories.make_shop())


def check_file(panel: Panel, rows: str, name: str = "in.csv") -> Import:
    upload_file(panel, rows.encode(), name)
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    return Import.objects.latest("pk")


def import_file(panel: Panel, rows: str, name: str = "in.csv") -> Import:
    import_job = check_file(panel, rows, name)
    imports.start_import(import_job, actor=import_job.actor, at=timezone.now())
    run_latest_job(panel.shop, imports.RUN_TASK)
    return import_job


def list_results(import_job: Import, *, dry: bool = False) -> list[tuple[str, str]]:
    rows = ImportedRow.objects.filter(file=import_job, dry=dry).order_by("line")
    return [(row.fate, translate(row.reason)) for row in rows]


def export(panel: Panel, file_format: str = "csv") -> str:
    with shop_scope(panel.shop):
        export_job = exports.create_export(
            kind="discounts", format=file_format, filters={}, user=panel.user, actor="system", at=timezone.now()
        )
        run_latest_job(panel.shop, exports.EXPORT)
        with default_storage.open(Export.objects.get(pk=export_job.pk).path) as file:
            return str(file.read().decode("utf-8-sig"))


def fill_catalog(shop: Shop, *, is_reversed: bool = False) -> dict[str, list[int]]:
    """Create items of each type in the current shop. In the other order, they have other IDs."""
    makes: dict[str, Callable[[], int]] = {
        "entitled_product_ids": lambda: Product.objects.create(shop=shop, title="Mug", handle="mug").pk,
        "entitled_variant_ids": lambda: make_variant(shop, sku="CUP-1").pk,
        "entitled_collection_ids": lambda: make_custom(handle="summer").pk,
        "prerequisite_product_ids": lambda: Product.objects.create(shop=shop, title="Pot", handle="pot").pk,
        "prerequisite_customer_ids": lambda: make_customer(email="Ada@example.com").pk,
        "entitled_country_ids": lambda: make_country().pk,
    }
    names = list(reversed(makes)) if is_reversed else list(makes)
    return {name: [makes[name]()] for name in names}


def describe_rules() -> list[JsonObject]:
    """Return the rules of the current shop without IDs, with the names of their items, their codes and uses."""
    items = ("product__handle", "variant__inventory_item__sku", "collection__handle", "country__code")
    columns = [field.attname for field in PriceRule._meta.concrete_fields if field.attname not in {"id", "shop_id"}]
    shown = [name for name in columns if name not in {"created_at", "updated_at", "version"}]
    rules = []
    for rule in PriceRule.objects.order_by("title", "pk"):
        names = PriceRuleItem.objects.filter(rule=rule).values_list("role", *items, "customer__email")
        codes = DiscountCode.objects.filter(rule=rule).order_by("code").values_list("code", "usage_count")
        values = {name: getattr(rule, name) for name in shown}
        rules.append({**values, "items": sorted(map(str, names)), "codes": list(codes)})
    return rules


def make_discounts(ids: dict[str, list[int]]) -> None:
    """Create discounts of all kinds: of the order, of items, of shipping, and buy X get Y."""
    order, code = make_order(), make_code("SUMMER", make_rule(title="A", usage_limit=5, once_per_customer=True))
    make_code("Sommer; Sonne", code.rule)
    record_uses(order, ["SUMMER"], enforce=True, at=timezone.now())
    names = ("entitled_product_ids", "entitled_variant_ids", "entitled_collection_ids")
    items = {name: ids[name] for name in names}
    selected = {"customer_selection": "prerequisite", "prerequisite_customer_ids": ids["prerequisite_customer_ids"]}
    entitled = {"target_selection": "entitled", **items, "allocation_method": "each"}
    amount = {"value_type": "fixed_amount", "prerequisite_subtotal": Decimal("20.50")}
    make_code("ITEMS", make_rule("-2.50", title="B", **entitled, **selected, **amount, allocation_limit=3))
    ratio = {"prerequisite_quantity_ratio": 2, "entitled_quantity_ratio": 1}
    bought = {"prerequisite_product_ids": ids["prerequisite_product_ids"]}
    ends = {"ends_at": timezone.now() + timedelta(days=30)}
    make_code("GIFT", make_rule("-100", title="C", **entitled, **ratio, **bought, **ends))
    shipping = {"target_type": "shipping_line", "target_selection": "entitled", "allocation_method": "each"}
    countries = {"entitled_country_ids": ids["entitled_country_ids"], "prerequisite_shipping_price": Decimal("9.99")}
    make_rule("-100", title="D, without codes", **shipping, **countries)


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
def test_an_export_gives_equal_discounts_in_another_shop(
    panel: Panel, other_panel: Panel, shop: Shop, file_format: str
) -> None:
    make_discounts(fill_catalog(shop))
    before = describe_rules()
    text = export(panel, file_format)
    # The shop itself has all codes.
    assert set(list_results(import_file(panel, text, f"in.{file_format}"))) == {("skipped", EXISTS)}
    assert describe_rules() == before

    with shop_scope(other_panel.shop):
        fill_catalog(other_panel.shop, is_reversed=True)
        preview = check_file(other_panel, text, f"in.{file_format}")
        assert PriceRule.objects.count() == 0
        imported, again = (import_file(other_panel, text, f"in.{file_format}") for _ in range(2))

        assert describe_rules() == before
        assert {fate for fate, _reason in list_results(preview, dry=True)} == {"new"}
        assert {fate for fate, _reason in list_results(imported)} == {"new"}
        assert set(list_results(again)) == {("skipped", EXISTS)}
        assert list(check_usage_counts()) == []


def test_small_tables_of_other_systems_are_imported(panel: Panel, shop: Shop) -> None:
    make_custom(handle="summer")
    rows = (
        "Coupon code,Value type,Value,Entitled collections,Valid from,Valid until,Once per customer\n"
        "TEN,Percentage,10,,2026-01-01,2090-01-01,yes\n"
        "FIVE,fixed amount,5.00,summer,,,\n"
    )

    results = list_results(import_file(panel, rows))

    assert results == [("new", ""), ("new", "")]
    ten, five = (DiscountCode.objects.select_related("rule").get(code=code) for code in ("TEN", "FIVE"))
    assert (ten.rule.title, ten.rule.value, ten.rule.once_per_customer) == ("TEN", Decimal(-10), True)
    assert (ten.rule.starts_at.astimezone(shop.tzinfo).isoformat()[:19]) == "2026-01-01T00:00:00"
    assert (five.rule.value_type, five.rule.value, five.rule.target_selection) == (
        "fixed_amount",
        Decimal(-5),
        "entitled",
    )
    assert five.rule.starts_at <= timezone.now()
    assert PriceRuleItem.objects.get().collection == Collection.objects.get(handle="summer")


def test_codes_with_the_same_terms_share_a_discount_across_batches(
    panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.imports_exports.domain.runner.BATCH_SIZE", 7)
    rows = "".join(f"CODE-{number},percentage,-10,Campaign,2026-01-01,2,{number % 3}\n" for number in range(50))
    other = "LAST,percentage,-20,Campaign,2026-01-01,2,\n"

    import_job = import_file(panel, HEADER + rows + other)

    assert list_results(import_job) == [("new", "")] * 51
    assert [rule.codes.count() for rule in PriceRule.objects.order_by("pk")] == [50, 1]
    assert set(DiscountCode.objects.values_list("usage_count", flat=True)) == {0, 1, 2}


def test_imported_uses_count_for_the_limit(panel: Panel) -> None:
    import_file(panel, HEADER + "ONE,percentage,-10,One,2026-01-01,5,4\nTWO,percentage,-10,Two,2026-01-01,5,5\n")

    record_uses(make_order(), ["ONE"], enforce=True, at=timezone.now())
    for code in ("ONE", "TWO"):
        with pytest.raises(CodeNotUsable, match="has been used up"):
            record_uses(make_order(), [code], enforce=True, at=timezone.now())

    assert dict(DiscountCode.objects.values_list("code", "usage_count")) == {"ONE": 5, "TWO": 5}
    assert list(check_usage_counts()) == []
    DiscountCode.objects.filter(code="ONE").update(earlier_uses=3)
    assert len(list(check_usage_counts())) == 1


def test_existing_codes_are_never_changed(panel: Panel) -> None:
    make_code("SUMMER", make_rule("-10", title="Summer"))

    results = list_results(import_file(panel, HEADER + "summer,percentage,-50,Summer,2026-01-01,,9\n"))

    reason = "'SUMMER' already exists with other terms. Imports never change discounts"
    assert results == [("skipped", reason)]
    [code] = DiscountCode.objects.select_related("rule")
    assert (code.rule.value, code.usage_count, PriceRule.objects.count()) == (Decimal(-10), 0, 1)


@pytest.mark.parametrize(
    ("columns", "cells", "reason"),
    [
        ("", "", "value_type can't be blank; value can't be blank"),
        ("value_type,value", "percentage,-101", "value: must be greater than or equal to -100"),
        ("value_type,value", "bogus,-10", "value_type: is not included in the list: 'bogus'"),
        ("value_type,value,usage_limit", "percentage,-10,0", "usage_limit: must be greater than or equal to 1"),
        ("value_type,value,usage_limit", "percentage,-10,many", "usage_limit: 'many' is not a whole number"),
        ("value_type,value,times_used", "percentage,-10,-1", "code 1: times_used must be greater than or equal to 0"),
        ("value_type,value,starts_at", "percentage,-10,soon", "starts_at: is invalid: 'soon'"),
        (
            "value_type,value,starts_at,ends_at",
            "percentage,-10,2026-02-01,2026-01-01",
            "ends_at: must be after the start",
        ),
        ("value_type,value,entitled_products", "percentage,-10,mug; pot", "'pot' does not exist in this shop"),
        ("value_type,value,entitled_variants", "percentage,-10,#12", "'#12' does not exist in this shop"),
        ("value_type,value,entitled_variants", "percentage,-10,TWICE", "'TWICE' is not unique in this shop"),
        ("value_type,value,entitled_countries", "percentage,-10,XX", "'XX' does not exist in this shop"),
        (
            "value_type,value,prerequisite_customers",
            "percentage,-10,bo@example.com",
            "prerequisite_customers: no customer has email address 1 of this cell",
        ),
        ("value_type,value,once_per_customer", "percentage,-10,perhaps", "is neither yes nor no"),
        ("value_type,value,allocation_limit", "percentage,-10,2", "can only be set if allocation_method is each"),
    ],
)
def test_invalid_rows_fail_with_a_reason(panel: Panel, shop: Shop, columns: str, cells: str, reason: str) -> None:
    Product.objects.create(shop=shop, title="Mug", handle="mug")
    for _ in range(2):
        make_variant(shop, sku="TWICE")
    with shop_scope(factories.make_shop()):
        make_customer(email="bo@example.com")
    good = "OTHER" + ",percentage,-10" * bool(columns) + "," * max(columns.count(",") - 1, 0)
    table = f"discount_code,{columns or 'title'}\nCODE,{cells}\n{good}\n"

    preview, imported = (function(panel, table) for function in (check_file, import_file))

    for results in (list_results(preview, dry=True), list_results(imported)):
        (fate, text), (other_fate, _reason) = results
        assert fate == "failed"
        assert reason in text
        assert other_fate == ("new" if columns else "failed")
    assert DiscountCode.objects.filter(code="CODE").count() == 0
    assert PriceRule.objects.count() == bool(columns)


def test_a_refused_code_leaves_no_discount_behind(panel: Panel) -> None:
    codes = '[{"code": "A"}, {"code": "a"}]'
    line = f'{{"discount": {{"title": "A", "value_type": "percentage", "value": "-10", "codes": {codes}}}}}'

    results = list_results(import_file(panel, f"{line}\n", "in.jsonl"))

    assert results == [("failed", "code has already been taken")]
    assert PriceRule.objects.count() == DiscountCode.objects.count() == 0


def test_discounts_with_many_codes_are_split_in_json_lines(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.imports_exports.resources.discounts.resource.MAX_CODES", 2)
    rule = make_rule()
    for _ in range(5):
        make_code(rule=rule)

    lines = export(panel, "jsonl").splitlines()

    assert [line.count('"times_used"') for line in lines] == [2, 2, 1]
    PriceRule.objects.all().delete()
    assert list_results(import_file(panel, "\n".join(lines), "in.jsonl")) == [("new", "")] * 3
    assert PriceRule.objects.get().codes.count() == 5


def test_reports_link_to_discounts_and_have_no_email_addresses(panel: Panel) -> None:
    customer = make_customer(email="ada@example.com")
    rows = "Code,Value type,Value,prerequisite_customers\nVIP,percentage,-10,ada@example.com\n"

    import_job = import_file(panel, rows)

    rule = PriceRule.objects.get()
    assert PriceRuleItem.objects.get().customer == customer
    [row] = ImportedRow.objects.filter(file=import_job, dry=False)
    assert row.label == "VIP"
    assert "ada@example.com" not in f"{row.changes}"
    assert importer.find_discounts(["VIP"]) == {"VIP": rule}
    topics = set(Event.objects.values_list("topic", flat=True))
    assert {"price_rules/create", "discount_codes/create"} <= topics


def test_files_need_full_access_to_discounts(admin_client_with: PanelWith) -> None:
    make_code()
    viewer = admin_client_with("orders", view_only=["marketing"])

    refused = viewer.forge("imports_exports_export_new", kind="discounts", format="csv")

    assert refused.status_code != 302
    assert Export.objects.count() == 0
    marketer = admin_client_with("marketing")
    key = marketer.form_key("imports_exports_export_new")
    created = marketer.post("imports_exports_export_new", form_key=key, kind="discounts", format="csv")
    assert created.status_code == 302
    assert Export.objects.get().kind == "discounts"
