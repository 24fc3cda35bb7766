"""Tests of the import of settings, tax rates, discounts, gift cards, draft orders and staff."""

from decimal import Decimal

import pytest
from django.core import mail
from django.core.management import CommandError
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.rest.versions import get_latest_version
from apps.core.tenancy.models import Membership, Shop
from apps.core.tenancy.scope import shop_scope
from apps.discounts.domain.consistency_checks import check_usage_counts
from apps.discounts.models import DiscountCode, PriceRule
from apps.draft_orders.models import DraftOrder
from apps.gift_cards.domain.consistency_checks import check_gift_card_balances
from apps.gift_cards.domain.gift_cards import adjust_balance
from apps.gift_cards.models import GiftCard
from apps.imports_exports.domain.rows import ImportRow
from apps.store_imports.domain import runner
from apps.store_imports.domain.id_map import IdMap
from apps.store_imports.domain.source_client import SourceClient
from apps.store_imports.domain.streams import Source
from apps.store_imports.models import MappedId, StreamState
from apps.store_imports.resources.file_rows import import_file_rows
from apps.store_imports.resources.sales import price_rules
from apps.store_imports.resources.sales.price_rules import DiscountCodeStream
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.faulty_proxy import FaultyProxy
from tests.store_imports.old_sales import RULE, add_codes, describe_sales, fill_sales
from tests.store_imports.old_store import post
from tests.store_imports.test_following import follow
from tests.store_imports.test_import_store import OWN_TABLES, get_counts
from tests.support.api_client import ApiClient
from tests.support.databases.snapshots import assert_database_unchanged
from tests.support.types import JsonObject


@pytest.fixture(autouse=True)
def _other_people(proxy: FaultyProxy) -> None:
    """Change the email addresses of staff, because both shops are in one installation."""

    def edit(path: str, data: JsonObject) -> None:
        for user in data.get("users", ()):
            user["email"] = f"new-{user['email']}"

    proxy.edit = edit


def find_one(api: ApiClient, path: str, **values: object) -> JsonObject:
    rows = api.get(f"{path}.json").json()[path.rpartition("/")[2]]
    return next(row for row in rows if values.items() <= row.items())


def test_sales_are_imported_and_a_second_run_writes_nothing(importer: StoreImporter) -> None:
    fill_sales(importer.source)
    with shop_scope(importer.shop):
        jobs = Job.objects.count()

    output = importer.run()

    assert describe_sales(importer.target) == describe_sales(importer.source)
    counts = get_counts(output)
    assert {name: counts[name] for name in ("settings", "countries", "price_rules", "discount_codes")} == {
        "settings": [0, 1, 0, 0],
        "countries": [2, 0, 1, 0],
        "price_rules": [3, 0, 0, 0],
        "discount_codes": [6, 0, 0, 0],
    }
    assert {name: counts[name] for name in ("gift_cards", "draft_orders", "staff")} == {
        "gift_cards": [2, 0, 0, 0],
        "draft_orders": [2, 0, 1, 0],
        "staff": [2, 0, 0, 0],
    }
    shop = Shop.objects.get(pk=importer.shop.pk)
    assert (shop.name, shop.taxes_included, shop.timezone) == ("Old store", True, "Europe/Berlin")
    assert shop.domain == importer.shop.domain
    rule = find_one(importer.target, "price_rules", title="Summer")
    chair = find_one(importer.target, "products", title="Chair")
    assert rule["entitled_product_ids"] == [chair["id"]]
    with shop_scope(importer.shop):
        members = {row.user.first_name: row for row in Membership.objects.select_related("user")}
        assert {name: row.permissions for name, row in members.items()}["Wim"] == ["orders", "products"]
        assert not any(row.user.is_active or row.account_owner for row in members.values())
        assert not any(row.user.has_usable_password() for row in members.values())
        assert Job.objects.count() == jobs
        assert [*check_gift_card_balances(), *check_usage_counts()] == []
        events = Event.objects.count()
    assert mail.outbox == []
    with assert_database_unchanged(ignored_tables=OWN_TABLES):
        second = get_counts(importer.run())
    assert {(new, changed, failed) for new, changed, _, failed in second.values()} == {(0, 0, 0)}
    with shop_scope(importer.shop):
        assert Event.objects.count() == events


def test_later_changes_of_sales_are_imported(importer: StoreImporter) -> None:
    source, target = importer.source, importer.target
    fill_sales(source)
    importer.run()
    rule = find_one(source, "price_rules", title="Summer")
    everyone = find_one(source, "price_rules", title="Everyone")
    assert source.put(f"price_rules/{rule['id']}.json", {"price_rule": {"value": "-15.0"}}).status_code == 200
    add_codes(source, everyone["id"], {"LATER": 4})
    with shop_scope(source.installation.shop):
        DiscountCode.objects.filter(code="SUMMER-1").update(usage_count=9, earlier_uses=9)
        source_card = GiftCard.objects.get(last_characters="aaaa")
        adjust_balance(source_card, {"amount": Decimal(-5)}, app=None, actor="system", at=timezone.now())
    with shop_scope(importer.shop):
        # The card was also used in the shop.
        card = GiftCard.objects.get(last_characters="aaaa")
        adjust_balance(card, {"amount": Decimal(-3)}, app=None, actor="staff:1", at=timezone.now())
    draft = find_one(source, "draft_orders", note="Open")
    line = {"id": draft["line_items"][0]["id"], "quantity": 4}
    body = {"note": None, "line_items": [line, {"id": draft["line_items"][1]["id"]}]}
    assert source.put(f"draft_orders/{draft['id']}.json", {"draft_order": body}).status_code == 200
    sent = find_one(source, "draft_orders", note="Sent")
    assert source.put(f"draft_orders/{sent['id']}/complete.json").status_code == 200

    # The order of the completed draft is not imported yet.
    output = importer.run("--only", "price_rules,discount_codes,gift_cards,draft_orders")

    counts = get_counts(output)
    assert counts["price_rules"] == [0, 1, 2, 0]
    assert counts["discount_codes"] == [1, 1, 5, 0]
    assert counts["gift_cards"] == [0, 1, 1, 0]
    assert counts["draft_orders"] == [0, 1, 2, 0]
    assert f"draft_orders {sent['id']}: note: The draft order was completed in the store" in output
    before, after = describe_sales(source), describe_sales(target)
    assert (after.pop("aaaa")["balance"], before.pop("aaaa")["balance"]) == ("12.50", "15.50")
    assert after.pop("Sent")["status"] == "invoice_sent"
    assert after == before
    order_id = find_one(source, "draft_orders", note="Sent")["order_id"]
    assert get_counts(importer.run())["draft_orders"] == [0, 1, 2, 0]
    with shop_scope(importer.shop):
        linked = DraftOrder.objects.get(note="Sent")
        order = MappedId.objects.get(resource="order", source_id=order_id)
        assert (linked.status, linked.order_id) == ("completed", order.target_id)


def test_a_code_deleted_in_the_store_is_deleted_here(importer: StoreImporter) -> None:
    rule = post(importer.source, "price_rules", "price_rule", {**RULE, "title": "Summer"})
    path = f"price_rules/{rule['id']}/discount_codes"
    codes = [post(importer.source, path, "discount_code", {"code": code}) for code in ("ONE", "TWO", "THREE")]
    with follow(importer) as passes:
        next(passes)
        assert importer.source.delete(f"{path}/{codes[1]['id']}.json").status_code in {200, 204}

        assert next(passes).deleted == 1

        assert set(DiscountCode.objects.values_list("code", flat=True)) == {"ONE", "THREE"}


def test_a_deleted_discount_that_was_changed_here_keeps_its_codes(importer: StoreImporter) -> None:
    rules = [post(importer.source, "price_rules", "price_rule", {**RULE, "title": title}) for title in ("Old", "New")]
    for rule in rules:
        post(importer.source, f"price_rules/{rule['id']}/discount_codes", "discount_code", {"code": rule["title"]})
    with follow(importer) as passes:
        next(passes)
        changed = PriceRule.objects.get(title="Old")
        response = importer.target.put(f"price_rules/{changed.pk}.json", {"price_rule": {"value": "-20.0"}})
        assert response.status_code == 200
        assert importer.source.delete(f"price_rules/{rules[0]['id']}.json").status_code in {200, 204}

        assert next(passes).deleted == 0

        assert set(DiscountCode.objects.values_list("code", flat=True)) == {"Old", "New"}


def test_an_interrupted_import_of_codes_creates_each_code_once(
    importer: StoreImporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [post(importer.source, "price_rules", "price_rule", {**RULE, "title": title}) for title in ("A", "B")]
    # The second rule has codes with lower and with higher ids than the first.
    add_codes(importer.source, rules[1]["id"], {"B-0": 0})
    add_codes(importer.source, rules[0]["id"], {f"A-{number}": number for number in range(5)})
    add_codes(importer.source, rules[1]["id"], {f"B-{number}": number for number in range(1, 4)})
    save = runner._advance
    calls: list[int] = []

    def fail_sometimes(state: StreamState, *arguments: object) -> None:
        save(state, *arguments)  # type: ignore[arg-type]
        if state.name == "discount_codes":
            calls.append(state.position)
            if len(calls) in {2, 4, 6}:
                raise RuntimeError("killed")

    monkeypatch.setattr(runner, "_advance", fail_sometimes)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="killed"):
            importer.run()

    output = importer.run()

    with shop_scope(importer.shop):
        codes = {row.code: (row.rule.title, row.usage_count) for row in DiscountCode.objects.select_related("rule")}
    assert codes == {
        **{f"A-{number}": ("A", number) for number in range(5)},
        **{f"B-{number}": ("B", number) for number in range(4)},
    }
    assert get_counts(output)["discount_codes"][0] == len(codes)


def test_codes_of_all_rules_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [[{"id": 8, "price_rule_id": 1}], [{"id": 3, "price_rule_id": 2}]]
    monkeypatch.setattr(price_rules, "_read_codes", lambda source, position: iter(pages))
    client = SourceClient("https://old.example", "token", "shopify", get_latest_version())
    source = Source(client, {}, IdMap(0), timezone.now(), lambda: None)

    assert list(DiscountCodeStream().read_again(source, [3])) == [pages[1]]


def test_an_import_file_sets_the_code_of_an_imported_gift_card(importer: StoreImporter) -> None:
    for code, value in (("codecode-aaaa", "50.00"), ("othercod-bbbb", "10.00")):
        post(importer.source, "gift_cards", "gift_card", {"initial_value": value, "code": code})
    importer.run()
    rows: list[JsonObject] = [
        {"code": "CODE CODE AAAA", "initial_value": "50.00", "balance": "50.00"},
        {"code": "othercodbbbb", "initial_value": "12.00"},
        {"code": "unknown-cccc", "initial_value": "7.00"},
    ]

    with shop_scope(importer.shop):
        outcomes = import_file_rows("giftcards", [ImportRow(line, "giftcards", row) for line, row in enumerate(rows)])
        cards = {card.last_characters: card for card in GiftCard.objects.all()}
        again = import_file_rows("giftcards", [ImportRow(0, "giftcards", rows[0])])

    assert [outcome.result for outcome in outcomes.values()] == ["changed", "failed", "new"]
    assert "has other amounts" in str(outcomes[1].reason)
    assert again[0].result == "skipped"
    assert {name: (str(card.balance), card.code_digest is None) for name, card in cards.items()} == {
        "aaaa": ("50.000", False),
        "bbbb": ("10.000", True),
        "cccc": ("7.000", False),
    }


def test_objects_that_cannot_be_imported_are_reported(importer: StoreImporter, proxy: FaultyProxy) -> None:
    source, target = importer.source, importer.target
    product = post(source, "products", "product", {"title": "Chair"})
    rule = {**RULE, "target_selection": "entitled", "entitled_product_ids": [product["id"]]}
    lost, segments, taken = (post(source, "price_rules", "price_rule", body) for body in (rule, RULE, RULE))
    add_codes(source, taken["id"], {"TAKEN": 1, "FREE": 2})
    valid = post(source, "price_rules", "price_rule", RULE)
    add_codes(source, valid["id"], {"VALID": 0})
    ours = post(target, "price_rules", "price_rule", RULE)
    add_codes(target, ours["id"], {"taken": 0})
    post(target, "customers", "customer", {"email": "ada@example.com"})
    draft = post(source, "draft_orders", "draft_order", {
        "line_items": [{"title": "A", "price": "9.00"}], "discount_codes": ["FREE", "VALID"]
    })  # fmt: skip
    assert source.delete(f"products/{product['id']}.json").status_code == 200

    def edit(path: str, data: JsonObject) -> None:
        for row in data.get("price_rules", ()):
            if row["id"] == lost["id"]:
                row["entitled_product_ids"] = [product["id"]]
            if row["id"] == segments["id"]:
                row |= {"customer_selection": "prerequisite", "customer_segment_prerequisite_ids": [1]}
            if row["id"] == taken["id"]:
                row["ends_at"] = "2024-06-01T00:00:00Z"

    proxy.edit = edit
    Shop.objects.filter(pk=source.installation.shop_id).update(city="Ulm", owner_name="Ada Lovelace")

    with pytest.raises(CommandError, match="3 objects were not imported"):
        importer.run()

    output = importer.output.getvalue()
    assert f"price_rules {lost['id']}: not imported:" in output
    assert f"price_rules {segments['id']}: not imported: The discount is for segments of customers" in output
    assert f"draft_orders {draft['id']}: note: A discount code was left out. FREE" in output
    with shop_scope(target.installation.shop):
        assert DraftOrder.objects.get().discount_codes == ["VALID"]
    assert "staff 1: note: The app of the token may not read users.json" in output
    assert "setting name: 'Old store' in the store, 'New shop' in this shop" in output
    assert "setting shop_owner: 'Ada Lovelace' in the store, 'New shop' in this shop" in output
    assert "setting city: 'Ulm' in the store, '' in this shop" in output
    assert target.get("shop.json").json()["shop"]["name"] == "New shop"
    assert [code["code"] for code in get_codes(target, "FREE")] == ["FREE"]


def get_codes(api: ApiClient, code: str) -> list[JsonObject]:
    response = api.get("discount_codes/lookup.json", code=code)
    return [response.json()["discount_code"]] if response.status_code == 303 else []
