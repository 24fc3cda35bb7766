"""Files of gift cards, imported and exported through the panel."""

import json
from decimal import Decimal

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.i18n.messages import translate
from apps.core.tenancy.scope import shop_scope
from apps.gift_cards.domain.consistency_checks import check_gift_card_balances
from apps.gift_cards.models import GiftCard
from apps.imports_exports.domain import exports, imports
from apps.imports_exports.models import Export, Import, ImportedRow
from tests.support import factories
from tests.support.factories.customers import make_customer
from tests.support.factories.gift_cards import adjust, make_gift_card
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import run_latest_job, upload_file

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

HEADER = "Code,Initial value,Balance,Currency,Customer email,Expiry date,Note,Disabled\n"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("gift_cards")


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


def export(panel: Panel, file_format: str) -> str:
    export_job = exports.create_export(
        kind="giftcards", format=file_format, filters={}, user=panel.user, actor="system", at=timezone.now()
    )
    run_latest_job(panel.shop, exports.EXPORT)
    with default_storage.open(Export.objects.get(pk=export_job.pk).path) as file:
        return file.read().decode("utf-8-sig")


def test_balances_are_imported_once_and_codes_are_not_stored(panel: Panel) -> None:
    customer = make_customer(email="ada@example.com")
    rows = HEADER + (
        "LUNCH-2026-0001,50.00,12.50,usd,ADA@example.com,2090-12-31,Birthday,\n"
        "lunch20260002,,25.00,,,,,yes\n"
        "lunch20260003,10.00,,,,,,no\n"
        "lunch20260004,10.00,0,,,,,\n"
        "Lunch 2026 0003,99.00,,,,,,\n"
    )

    preview = check_file(panel, rows)
    assert GiftCard.objects.count() == 0
    exists = ("skipped", "already exists. Imports never change existing gift cards")
    new = [("new", "")] * 4
    assert list_results(preview, dry=True) == [*new, ("skipped", "occurs earlier in the file")]
    first, second = import_file(panel, rows), import_file(panel, rows)

    assert list_results(first) == [*new, exists]
    assert list_results(second) == [exists] * 5
    cards = list(GiftCard.objects.order_by("pk"))
    assert [(card.initial_value, card.balance) for card in cards] == [
        (Decimal(50), Decimal("12.50")),
        (Decimal(25), Decimal(25)),
        (Decimal(10), Decimal(10)),
        (Decimal(10), Decimal(0)),
    ]
    assert (cards[0].customer, cards[0].note, str(cards[0].expires_on)) == (customer, "Birthday", "2090-12-31")
    assert [card.disabled_at is not None for card in cards] == [False, True, False, False]
    assert list(check_gift_card_balances()) == []
    found = panel.get("gift_cards_giftcard_changelist", q="lunch-2026-0001").context["cl"].result_list
    assert list(found) == [cards[0]]
    page = panel.get("imports_exports_import_change", first.pk).content.decode()
    assert "Gift card ending in 0001" in page
    stored = f"{list(ImportedRow.objects.values())} {list(GiftCard.objects.values())} {list(Event.objects.values())}"
    assert "lunch" not in stored.lower()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",5.00,,,,,,", "Code: can't be blank"),
        ("short,5.00,,,,,,", "Code: must have 8 to 20 letters and digits"),
        ("lunch20260001,,,,,,,", "Initial value: can't be blank"),
        ("lunch20260001,0,,,,,,", "Initial value: must be greater than 0"),
        ("lunch20260001,5.00,-1,,,,,", "Balance: must be greater than or equal to 0"),
        ("lunch20260001,five,,,,,,", "Initial value: is invalid"),
        ("lunch20260001,5.00,,EUR,,,,", "Currency: must be the shop currency"),
        ("lunch20260001,5.00,,,bo@example.com,,,", "Customer email: must exist"),
        ("lunch20260001,5.00,,,,2020-01-01,,", "Expiry date: must not be in the past"),
        ("lunch20260001,5.00,,,,soon,,", "Expiry date: is invalid"),
        ("lunch20260001,5.00,,,,,,perhaps", "Disabled: 'perhaps' is neither yes nor no. Write true or false"),
    ],
)
def test_invalid_rows_fail_with_a_reason(panel: Panel, row: str, reason: str) -> None:
    good = "lunch20260009,5.00,,,,,,\n"

    preview, imported = (function(panel, f"{HEADER}{row}\n{good}") for function in (check_file, import_file))

    assert list_results(preview, dry=True) == list_results(imported) == [("failed", reason), ("new", "")]
    assert GiftCard.objects.count() == 1


def test_codes_of_other_shops_are_free_and_their_customers_unknown(panel: Panel) -> None:
    with shop_scope(factories.make_shop()):
        make_gift_card(code="lunch20260001")
        make_customer(email="ada@example.com")

    imported = import_file(panel, HEADER + "lunch20260001,5.00,,,,,,\nlunch20260002,5.00,,,ada@example.com,,,\n")

    assert list_results(imported) == [("new", ""), ("failed", "Customer email: must exist")]


def test_exports_have_balances_but_no_codes(panel: Panel) -> None:
    customer = make_customer(email="ada@example.com")
    card = make_gift_card("50.00", code="lunch20260001", customer_id=customer.pk, note="VIP")
    adjust(card.pk, "-20.00")

    header, row = export(panel, "csv").splitlines()
    [line] = export(panel, "jsonl").splitlines()

    assert header == "last_characters,initial_value,balance,currency,customer_email,expires_on,note,disabled,created_at"
    assert row.startswith("0001,50.00,30.00,USD,ada@example.com,,VIP,false,")
    shown = json.loads(line)["gift_card"]
    assert (shown["last_characters"], shown["balance"], shown["disabled"]) == ("0001", "30.00", False)
    assert "lunch" not in f"{row} {line}"
    assert card.code_digest
    assert card.code_digest not in f"{row} {line}"


def test_json_lines_are_imported(panel: Panel) -> None:
    lines = '{"gift_card": {"code": "lunch20260001", "initial_value": "5.00", "balance": 2, "disabled": true}}\n'
    lines += '{"gift_card": {"code": 7, "initial_value": "5.00"}}\n{"gift_card": {"initial_value": "5.00"}}\n'

    results = list_results(import_file(panel, lines, "in.jsonl"))

    assert [fate for fate, _reason in results] == ["new", "failed", "failed"]
    assert GiftCard.objects.get().balance == 2


def test_files_need_full_access_to_gift_cards(admin_client_with: PanelWith) -> None:
    make_gift_card()
    viewer = admin_client_with("orders", view_only=["gift_cards"])

    page = viewer.get("gift_cards_giftcard_changelist").content.decode()

    assert "kind=giftcards" not in page
    assert "kind=giftcards" in admin_client_with("gift_cards").get("gift_cards_giftcard_changelist").content.decode()
    assert viewer.forge("imports_exports_export_new", kind="giftcards", format="csv").status_code != 302
    assert Export.objects.count() == 0
