import random
from decimal import Decimal
from functools import partial

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F, Sum

from apps.core.events.models import Event
from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.gift_cards.domain.ledger import AdjustmentRefused
from apps.gift_cards.models import GiftCard, GiftCardAdjustment
from tests.support.api_client import ApiClient, get_errors
from tests.support.databases.races import run_concurrently, run_unguarded
from tests.support.factories.gift_cards import adjust, make_gift_card
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")

TABLE = "gift_card_adjustment"


def test_adjustments_change_the_balance(api: ApiClient) -> None:
    card = make_gift_card("100.00")
    path = f"gift_cards/{card.pk}/adjustments"
    values = {
        "amount": -10.25,
        "note": "Lunch",
        "remote_transaction_ref": "t-1",
        "remote_transaction_url": "https://till.example/t-1",
        "processed_at": "2026-03-02T12:00:00+00:00",
    }

    response = api.post(f"{path}.json", {"adjustment": values})
    assert response.status_code == 201, response.content
    row = response.json()["adjustment"]
    more = api.post(f"{path}.json", {"adjustment": {"amount": "5"}}).json()["adjustment"]
    listed = api.get(f"{path}.json").json()

    assert_fits(TABLE, "POST /gift_cards/{id}/adjustments.json", response.json())
    assert_fits(TABLE, "GET /gift_cards/{id}/adjustments.json", {"adjustments": [row]})
    assert_fits(TABLE, "GET /gift_cards/{id}/adjustments/{id}.json", api.get(f"{path}/{row['id']}.json").json())
    assert (row["amount"], row["number"], row["gift_card_id"], row["note"]) == ("-10.25", 2, card.pk, "Lunch")
    assert (row["remote_transaction_ref"], row["api_client_id"]) == ("t-1", api.installation.app_id)
    assert listed == {"adjustments": [row, more]}
    assert api.get(f"gift_cards/{card.pk}.json").json()["gift_card"]["balance"] == "94.75"
    assert list(card.adjustments.values_list("number", "amount", "balance")) == [
        (1, Decimal(100), Decimal(100)),
        (2, Decimal("-10.25"), Decimal("89.75")),
        (3, Decimal(5), Decimal("94.75")),
    ]
    event = Event.objects.filter(topic="gift_cards/adjust").latest("pk")
    assert event.changes["balance"] == ["89.750", "94.750"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "can't be blank"),
        ({"amount": None}, "can't be blank"),
        ({"amount": "0.00"}, "must not be 0"),
        ({"amount": "1.005"}, "is invalid"),
        ({"amount": "--5"}, "is invalid"),
        ({"amount": "-"}, "is invalid"),
        ({"amount": "-5.001"}, "is invalid"),
        ({"amount": "-100.01"}, "is more than the balance of 100.00 USD"),
        ({"amount": "999999999999"}, "makes the balance too large"),
    ],
)
def test_invalid_amounts_change_nothing(api: ApiClient, fields: JsonObject, message: str) -> None:
    card = make_gift_card("100.00")

    response = api.post(f"gift_cards/{card.pk}/adjustments.json", {"adjustment": fields})

    assert get_errors(response) == {"amount": [message]}
    card.refresh_from_db()
    assert (card.balance, card.adjustments.count()) == (Decimal(100), 1)


def test_adjustments_belong_to_their_card(api: ApiClient) -> None:
    card, other = make_gift_card(), make_gift_card()
    row = adjust(card.pk)
    initial = card.adjustments.get(number=1)

    assert api.get(f"gift_cards/{other.pk}/adjustments/{row.pk}.json").status_code == 404
    assert api.get(f"gift_cards/{card.pk}/adjustments/{initial.pk}.json").status_code == 404
    assert api.post("gift_cards/7/adjustments.json", {"adjustment": {"amount": "1.00"}}).status_code == 404


def test_random_adjustments_add_up() -> None:
    draw = random.Random(7)
    cards = [make_gift_card(f"{draw.randint(1, 100)}.{draw.randint(10, 99)}") for _ in range(5)]
    expected = {card.pk: card.balance for card in cards}
    refused = 0
    for _ in range(200):
        card, cents = draw.choice(cards), draw.choice([-1, 1]) * draw.randint(1, 5000)
        amount = Decimal(cents) / 100
        try:
            adjust(card.pk, str(amount))
        except AdjustmentRefused:
            refused += 1
            assert expected[card.pk] + amount < 0
        else:
            expected[card.pk] += amount

    assert refused
    assert dict(GiftCard.objects.values_list("pk", "balance")) == expected
    sums = GiftCardAdjustment.objects.order_by().values_list("card").annotate(Sum("amount"))
    assert {pk: round(total, 2) for pk, total in sums} == expected
    assert list(consistency_checks.find_differences({"gift card balances"})) == []


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (GiftCard, {"balance": Decimal("-0.01")}),
        (GiftCard, {"initial_value": Decimal(0)}),
        (GiftCardAdjustment, {"amount": Decimal(0)}),
        (GiftCardAdjustment, {"balance": Decimal("-0.01")}),
        (GiftCardAdjustment, {"balance": Decimal(7)}),
    ],
)
def test_the_database_refuses_impossible_rows(model: type[GiftCard], values: Attrs) -> None:
    make_gift_card()

    with pytest.raises(IntegrityError), transaction.atomic():
        model.objects.update(**values)


@pytest.mark.parametrize(
    ("model", "values", "problem"),
    [
        (GiftCard, {"balance": F("balance") + 1}, "the balance is 100.000, the ledger adds up to 99.000"),
        (GiftCard, {"initial_value": Decimal(7)}, "the initial value is 7.000, the ledger begins with 100.000"),
        (GiftCardAdjustment, {"amount": Decimal(-2)}, "adjustment 2 has the balance 99.000, expected 98.000"),
        (GiftCardAdjustment, {"number": 3}, "adjustment 3 has the balance 99.000, expected 99.000"),
    ],
)
def test_planted_faults_are_found(shop: Shop, model: type[GiftCard], values: Attrs, problem: str) -> None:
    card = make_gift_card("100.00")
    make_gift_card()
    row = adjust(card.pk, "-1.00")
    names = {"gift card balances"}
    assert list(consistency_checks.find_differences(names)) == []

    model.objects.filter(pk=card.pk if model is GiftCard else row.pk).update(**values)

    (found,) = consistency_checks.find_differences(names)
    assert found.startswith(f"gift card balances: shop {shop.pk}, gift card {card.pk}: {problem}")


def test_a_missing_ledger_is_found(shop: Shop) -> None:
    card = make_gift_card("100.00")
    card.adjustments.all().delete()

    (found,) = consistency_checks.find_differences({"gift card balances"})

    assert "the initial value is 100.000, the ledger begins with 0" in found


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_concurrent_debits_lose_money_without_the_lock")
def test_concurrent_debits_never_overdraw(shop: Shop) -> None:
    card = make_gift_card("50.00")

    results = run_concurrently(shop, *[partial(adjust, card.pk, "-10.00")] * 8)

    assert sum(isinstance(result, GiftCardAdjustment) for result in results) == 5
    assert sum(isinstance(result, AdjustmentRefused) for result in results) == 3
    card.refresh_from_db()
    assert card.balance == 0
    assert sorted(card.adjustments.values_list("number", flat=True)) == [1, 2, 3, 4, 5, 6]
    assert list(consistency_checks.find_differences({"gift card balances"})) == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_debits_lose_money_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: the second debit computes its balance from the first one's old balance."""
    card = make_gift_card("50.00")
    works = [partial(adjust, card.pk, "-40.00")] * 2

    with pytest.raises(IntegrityError, match="gift_cards_adjustment_number_is_unique"):
        run_unguarded(shop, *works, locks={"gift_cards_giftcard"})
