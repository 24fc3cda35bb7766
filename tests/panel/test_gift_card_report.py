"""The gift card report: the outstanding liability and the changes in a period."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from time_machine import TimeMachineFixture

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.gift_cards.domain.gift_cards import disable_gift_card
from apps.gift_cards.models import GiftCard, GiftCardAdjustment
from tests.support import factories
from tests.support.factories.gift_cards import adjust, make_gift_card
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")

REPORT, FILE = "gift_cards_giftcard_report", "gift_cards_giftcard_report_file"
MAY = {"first": "2031-05-01", "last": "2031-05-31", "step": "day"}
Move = Callable[[int, int], datetime]


@pytest.fixture
def move_to(shop: Shop, time_machine: TimeMachineFixture) -> Move:
    """Return a function that changes the time to noon in UTC, which is the next day in Auckland."""
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    shop.refresh_from_db()

    def move(month: int, day: int) -> datetime:
        moment = datetime(2031, month, day, 12, 30, tzinfo=UTC)
        time_machine.move_to(moment, tick=False)
        return moment

    return move


def read_file(panel: Panel, table: str, **query: str) -> list[list[str]]:
    response = panel.get(FILE, table=table, **{**MAY, **query})
    assert response.status_code == 200
    return list(csv.reader(io.StringIO(response.content.decode("utf-8-sig"))))[1:]


def test_the_changes_lead_from_the_opening_to_the_closing_liability(
    admin_client_with: PanelWith, move_to: Move
) -> None:
    move_to(4, 10)
    old = make_gift_card("100.00")
    expiring = make_gift_card("30.00", expires_on=date(2031, 5, 20))
    gone = make_gift_card("7.00")
    at = move_to(4, 29)
    disable_gift_card(gone, actor="system", at=at)
    # May 1 in Auckland, but April 30 in UTC.
    move_to(4, 30)
    adjust(old.pk, "-40.00")
    at = move_to(5, 15)
    adjust(expiring.pk, "-10.00")
    disabled = make_gift_card("25.00")
    disable_gift_card(disabled, actor="system", at=at)
    adjust(old.pk, "5.00")
    move_to(5, 25)
    adjust(expiring.pk, "-1.00")
    # June 1 in Auckland.
    move_to(5, 31)
    adjust(old.pk, "-3.00")
    make_gift_card("500.00")
    with shop_scope(factories.make_shop()):
        make_gift_card("999.00")
    panel = admin_client_with("reports")

    rows = read_file(panel, "liability")

    assert rows == [["USD", "130.00", "25.00", "5.00", "51.00", "25.00", "19.00", "65.00"]]
    assert read_file(panel, "liability", first="2031-06-01", last="2031-06-30")[0][1::6] == ["65.00", "562.00"]
    assert read_file(panel, "periods") == [
        ["2031-05-01", "USD", "0", "0.00", "0.00", "40.00"],
        ["2031-05-16", "USD", "1", "25.00", "5.00", "10.00"],
        ["2031-05-26", "USD", "0", "0.00", "0.00", "1.00"],
    ]
    [month] = read_file(panel, "periods", step="month")
    assert month == ["2031-05-01", "USD", "1", "25.00", "5.00", "51.00"]
    page = panel.get(REPORT, **MAY).content.decode()
    assert "65.00 USD" in page
    assert "outstanding at the end of 31 May 2031" in page


def test_each_currency_has_its_own_row(admin_client_with: PanelWith, move_to: Move) -> None:
    move_to(5, 3)
    make_gift_card("10.00")
    euro = make_gift_card("20.00")
    GiftCard.objects.filter(pk=euro.pk).update(currency="EUR")
    assert GiftCardAdjustment.objects.count() == 2

    rows = read_file(admin_client_with("reports"), "liability")

    assert [(row[0], row[-1]) for row in rows] == [("USD", "10.00"), ("EUR", "20.00")]


def test_the_report_of_a_new_shop_is_empty_and_needs_its_permission(admin_client_with: PanelWith) -> None:
    panel = admin_client_with(view_only=["reports"])

    assert "0.00 USD" in panel.get(REPORT).content.decode()
    assert panel.get(FILE, table="nothing").status_code == 404
    assert panel.get(FILE, first="x").status_code == 404
    others = admin_client_with("gift_cards")
    assert (others.get(REPORT).status_code, others.get(FILE).status_code) == (403, 403)
