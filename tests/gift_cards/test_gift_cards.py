from datetime import timedelta
from decimal import Decimal

import pytest
from django.conf import LazySettings
from django.core import mail
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.customers.domain import merge, personal_data
from apps.customers.models import Customer
from apps.gift_cards.domain import gift_cards
from apps.gift_cards.models import GiftCard
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.factories import make_member
from tests.support.factories.customers import make_customer
from tests.support.factories.gift_cards import adjust, make_gift_card
from tests.support.types import Json, JsonObject
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")

TODAY = timezone.now().date()


def create(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("gift_cards.json", {"gift_card": {"initial_value": "100.00", **fields}})
    assert response.status_code == 201, response.content
    assert_fits("gift_card", "POST /gift_cards.json", response.json())
    return dict(response.json()["gift_card"])


def search(api: ApiClient, query: str) -> list[int]:
    response = api.get("gift_cards/search.json", query=query)
    assert response.status_code == 200, response.content
    assert_fits("gift_card", "GET /gift_cards/search.json", response.json())
    return [row["id"] for row in response.json()["gift_cards"]]


def test_the_code_is_only_in_the_response_that_creates_the_card(api: ApiClient) -> None:
    card = create(api, code="ABCD EFGH-ijkl MNOP", note="For Ada")
    read = api.get(f"gift_cards/{card['id']}.json").json()
    listed = api.get("gift_cards.json").json()

    assert (card["code"], card["last_characters"]) == ("abcdefghijklmnop", "mnop")
    assert (card["balance"], card["initial_value"], card["currency"]) == ("100.00", "100.00", "USD")
    assert card["api_client_id"] == api.installation.app_id
    assert read["gift_card"] == {name: value for name, value in card.items() if name != "code"}
    assert listed["gift_cards"] == [read["gift_card"]]
    assert_fits("gift_card", "GET /gift_cards/{id}.json", read)
    assert_fits("gift_card", "GET /gift_cards.json", listed)
    row = GiftCard.objects.values().get()
    events = list(Event.objects.values())
    assert "abcdefghijklmnop" not in f"{row} {events}"
    assert row["code_digest"]
    assert row["code_digest"] not in str(events)


def test_the_staff_member_who_creates_and_adjusts_a_card_is_known(api: ApiClient, shop: Shop) -> None:
    user, at = make_member(shop, "gift_cards"), timezone.now()
    actor = f"staff:{user.pk}"
    attrs = {"initial_value": Decimal(10)}
    card, _ = gift_cards.create_gift_card(attrs, app=None, actor=actor, at=at)
    gift_cards.adjust_balance(card, {"amount": Decimal(-1)}, app=None, actor=actor, at=at)

    shown = api.get(f"gift_cards/{card.pk}.json").json()["gift_card"]
    (row,) = api.get(f"gift_cards/{card.pk}/adjustments.json").json()["adjustments"]

    assert (shown["user_id"], row["user_id"], shown["api_client_id"]) == (user.pk, user.pk, None)
    assert set(card.adjustments.values_list("user_id", flat=True)) == {user.pk}
    assert create(api)["user_id"] is None


def test_generated_codes_are_long_and_differ(api: ApiClient) -> None:
    codes = {create(api)["code"] for _ in range(5)}

    assert len(codes) == 5
    assert all(len(code) == 16 and code.isalnum() for code in codes)


def test_a_repeated_request_returns_only_codes_of_the_client(api: ApiClient) -> None:
    sent = {"gift_card": {"initial_value": "5.00", "code": "Lunch 2026"}}
    own = [api.post("gift_cards.json", sent, Idempotency_Key="a").json()["gift_card"] for _ in range(2)]
    body = {"gift_card": {"initial_value": "5.00"}}
    first, second = (api.post("gift_cards.json", body, Idempotency_Key="b").json()["gift_card"] for _ in range(2))

    assert own[0] == own[1]
    assert own[0]["code"] == "lunch2026"
    assert second == {**first, "code": None}
    assert GiftCard.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"initial_value": None}, "initial_value", "can't be blank"),
        ({"initial_value": "0"}, "initial_value", "must be greater than 0"),
        ({"initial_value": "-1"}, "initial_value", "must be greater than or equal to 0"),
        ({"initial_value": "1.001"}, "initial_value", "is invalid"),
        ({"initial_value": "9" * 13}, "initial_value", "is invalid"),
        ({"code": "short"}, "code", "must have 8 to 20 letters and digits"),
        ({"code": "a" * 21}, "code", "must have 8 to 20 letters and digits"),
        ({"code": "únicode12"}, "code", "must have 8 to 20 letters and digits"),
        ({"code": "Taken 0001"}, "code", "has already been taken"),
        ({"expires_on": "2020-01-01"}, "expires_on", "must not be in the past"),
        ({"customer_id": 7}, "customer_id", "must exist"),
    ],
)
def test_invalid_values_are_refused(api: ApiClient, fields: JsonObject, field: str, message: str) -> None:
    create(api, code="taken0001")

    response = api.post("gift_cards.json", {"gift_card": {"initial_value": "100.00", **fields}})

    assert get_errors(response) == {field: [message]}
    assert GiftCard.objects.count() == 1


def test_a_code_is_taken_after_the_secret_key_was_rotated(api: ApiClient, settings: LazySettings) -> None:
    card = create(api, code="rotated0001")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another secret key, long enough for a test of rotated keys"

    response = api.post("gift_cards.json", {"gift_card": {"initial_value": "1.00", "code": "rotated0001"}})

    assert get_errors(response) == {"code": ["has already been taken"]}
    assert search(api, "code:rotated0001") == [card["id"]]


def test_changes_keep_the_value_and_the_code(api: ApiClient) -> None:
    card, customer = create(api), make_customer(first_name="Ada")
    path, day = f"gift_cards/{card['id']}.json", str(TODAY + timedelta(days=30))
    digest = GiftCard.objects.get().code_digest

    values = {
        "note": "VIP",
        "expires_on": day,
        "customer_id": customer.pk,
        "initial_value": "7.00",
        "code": "changed01",
    }
    body = api.put(path, {"gift_card": values}).json()
    again = api.put(path, {"gift_card": {"customer_id": make_customer(first_name="Bo").pk}})

    assert_fits("gift_card", "PUT /gift_cards/{id}.json", body)
    changed = body["gift_card"]
    assert (changed["note"], changed["expires_on"], changed["customer_id"]) == ("VIP", day, customer.pk)
    assert (changed["initial_value"], changed["balance"]) == ("100.00", "100.00")
    assert GiftCard.objects.get().code_digest == digest
    assert get_errors(again) == {"customer_id": ["cannot be changed once it is set"]}
    assert Event.objects.filter(topic="gift_cards/update").count() == 1


def test_a_disabled_card_stays_disabled_and_keeps_its_balance(api: ApiClient) -> None:
    card = create(api)
    responses = [api.post(f"gift_cards/{card['id']}/disable.json", {"gift_card": {"id": card["id"]}}) for _ in range(2)]
    refused = api.post(f"gift_cards/{card['id']}/adjustments.json", {"adjustment": {"amount": "5.00"}})

    assert [response.status_code for response in responses] == [201, 201]
    bodies = [response.json() for response in responses]
    assert_fits("gift_card", "POST /gift_cards/{id}/disable.json", bodies[0])
    assert bodies[0] == bodies[1]
    assert bodies[0]["gift_card"]["disabled_at"]
    assert get_errors(refused) == {"base": ["The gift card is disabled, so its balance cannot be changed"]}
    assert (GiftCard.objects.get().balance, Event.objects.filter(topic="gift_cards/disable").count()) == (
        Decimal(100),
        1,
    )


def test_cards_are_listed_and_counted_by_status(api: ApiClient) -> None:
    enabled, disabled = (create(api)["id"] for _ in range(2))
    api.post(f"gift_cards/{disabled}/disable.json")

    def get(**query: str) -> tuple[list[int], int]:
        rows = api.get("gift_cards.json", **query).json()["gift_cards"]
        count = api.get("gift_cards/count.json", **query).json()
        assert_fits("gift_card", "GET /gift_cards/count.json", count)
        return [row["id"] for row in rows], count["count"]

    assert get() == ([enabled, disabled], 2)
    assert get(status="enabled") == ([enabled], 1)
    assert get(status="disabled") == ([disabled], 1)
    assert api.get("gift_cards.json", status="spent").status_code == 400


@pytest.mark.both_databases
def test_cards_are_found_by_code_balance_and_times(api: ApiClient) -> None:
    rich = create(api, code="rich0000aaaa", note="Birthday of Ada", expires_on=str(TODAY + timedelta(days=9)))["id"]
    poor = create(api, code="poor0000bbbb", initial_value="5.00")["id"]
    api.post(f"gift_cards/{poor}/disable.json")

    assert search(api, "AAAA") == search(api, "last_characters:aaaa") == search(api, "code:'RICH 0000 AAAA'") == [rich]
    assert search(api, "balance:<50") == search(api, "disabled_at:*") == search(api, "NOT balance:>50") == [poor]
    assert search(api, "initial_value:>=5 AND note:birthday") == [rich]
    assert search(api, f"expires_on:>{TODAY}") == search(api, "NOT disabled_at:*") == [rich]
    assert search(api, f"NOT expires_on:>{TODAY}") == [poor]
    assert search(api, "poor0000") == search(api, "zzzz") == search(api, "unknown:x") == []
    assert search(api, "") == [rich, poor]
    for query in ("balance:much", "(", "expires_on:soon", "code:ab*"):
        assert api.get("gift_cards/search.json", query=query).status_code == 400
    ordered = api.get("gift_cards/search.json", order="balance").json()["gift_cards"]
    assert [row["id"] for row in ordered] == [poor, rich]


def test_scopes_are_required(client_with: ClientWith) -> None:
    reader, other = client_with("read_gift_cards"), client_with("write_orders")

    assert reader.get("gift_cards.json").status_code == 200
    assert reader.post("gift_cards.json", {"gift_card": {"initial_value": "1.00"}}).status_code == 403
    assert other.get("gift_cards.json").status_code == 403
    assert not GiftCard.objects.exists()


def test_data_about_the_customer_is_exported_and_erased(shop: Shop) -> None:
    customer = make_customer(first_name="Ada")
    card = make_gift_card(customer_id=customer.pk, note="For Ada's birthday")
    adjust(card.pk, note="Ada had lunch", remote_transaction_ref="ada-1")
    make_gift_card(note="Kept")

    exported: Json = personal_data.collect_data(customer)["gift_cards"]
    personal_data.redact_customer(customer, actor="system", at=timezone.now())

    assert [(row["note"], row["balance"], len(row["adjustments"])) for row in exported] == [
        ("For Ada's birthday", "99.00", 2)
    ]
    assert sorted(GiftCard.objects.values_list("note", flat=True)) == ["", "Kept"]
    card.refresh_from_db()
    assert (card.balance, card.customer_id) == (Decimal(99), customer.pk)
    assert set(card.adjustments.values_list("note", "remote_transaction_ref")) == {("", "")}


def test_merged_customers_keep_their_cards(shop: Shop) -> None:
    kept, other = make_customer(first_name="Ada"), make_customer(first_name="Bo")
    card = make_gift_card(customer_id=other.pk)

    merge.merge_customers(kept, other, {}, actor="system", at=timezone.now())

    card.refresh_from_db()
    assert card.customer_id == kept.pk
    assert not Customer.objects.filter(pk=other.pk).exists()


def test_apps_send_the_code_to_a_recipient(api: ApiClient) -> None:
    recipient, at = make_customer(first_name="Ada", email="ada@example.com"), timezone.now() + timedelta(days=10)

    now = create(api, recipient_id=recipient.pk, message="Enjoy")
    later = create(api, recipient_id=recipient.pk, send_on=at.isoformat())
    past = create(api, recipient_id=recipient.pk, send_on="2021-07-01")
    unsent = create(api, message="Happy Birthday!", send_on=at.isoformat())

    jobs = {job.arguments["card_id"]: job for job in Job.objects.filter(task="gift_cards.send_code")}
    assert set(jobs) == {now["id"], later["id"], past["id"]}
    assert abs(jobs[later["id"]].due_at - at) < timedelta(seconds=1)
    assert all(jobs[row["id"]].due_at < timezone.now() + timedelta(minutes=1) for row in (now, past))
    assert GiftCard.objects.get(pk=unsent["id"]).message == ""
    for _ in range(2):
        queue.run_job(jobs[now["id"]].key)
    [message] = mail.outbox
    assert message.to == ["ada@example.com"]
    assert "Enjoy" in message.body


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"recipient_id": 1}, "recipient_id", "must exist"),
        ({"recipient_id": "Ada"}, "recipient_id", "is invalid"),
        ({"message": "x" * 1001}, "message", "is too long (maximum is 1000 characters)"),
        ({"send_on": "soon"}, "send_on", "is invalid"),
        ({"send_on": "2199-01-01"}, "send_on", "must be within 90 days"),
    ],
)
def test_an_email_that_cannot_be_sent_creates_no_card(
    api: ApiClient, fields: JsonObject, field: str, message: str
) -> None:
    recipient = make_customer(email="ada@example.com")

    values = {"initial_value": "5.00", "recipient_id": recipient.pk, **fields}
    response = api.post("gift_cards.json", {"gift_card": values})

    assert response.status_code == 422
    assert list(get_errors(response)) == [field]
    assert message in get_errors(response)[field][0]
    assert not GiftCard.objects.exists()


def test_a_recipient_needs_an_email_address(api: ApiClient) -> None:
    recipient = make_customer(first_name="Ada", email="")

    response = api.post("gift_cards.json", {"gift_card": {"initial_value": "5.00", "recipient_id": recipient.pk}})

    assert get_errors(response) == {"recipient_id": ["must be a customer with an email address"]}


def test_the_data_of_a_recipient_omits_the_data_of_the_owner(api: ApiClient, shop: Shop) -> None:
    owner, recipient = make_customer(email="bo@example.com"), make_customer(email="ada@example.com")
    create(api, customer_id=owner.pk, recipient_id=recipient.pk, message="Dear Ada", note="Bo paid in cash")

    exported: Json = personal_data.collect_data(recipient)["gift_cards"]
    personal_data.redact_customer(recipient, actor="system", at=timezone.now())

    assert [set(row) for row in exported] == [{"last_characters", "message", "send_at"}]
    assert [(card.message, card.note) for card in GiftCard.objects.all()] == [("", "Bo paid in cash")]


def test_data_about_the_recipient_is_exported_erased_and_merged(api: ApiClient, shop: Shop) -> None:
    kept, recipient = make_customer(email="bo@example.com"), make_customer(email="ada@example.com")
    card_id = create(api, recipient_id=recipient.pk, message="Dear Ada")["id"]
    merge.merge_customers(kept, recipient, {}, actor="system", at=timezone.now())
    assert GiftCard.objects.get().recipient_id == kept.pk

    exported: Json = personal_data.collect_data(kept)["gift_cards"]
    personal_data.redact_customer(kept, actor="system", at=timezone.now())
    job = Job.objects.get(task="gift_cards.send_code")
    queue.run_job(job.key)

    assert [row["message"] for row in exported] == ["Dear Ada"]
    assert GiftCard.objects.get(pk=card_id).message == ""
    assert "Dear Ada" not in "".join(str(row) for row in Event.objects.values())
    assert mail.outbox == []
