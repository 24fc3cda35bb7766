import pytest

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import ConsentChange
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.customers import post_customer
from tests.support.types import JsonObject

SUBSCRIBED = {"state": "subscribed", "opt_in_level": "confirmed_opt_in", "consent_updated_at": "2026-01-02T03:04:05Z"}


def update_customer(api: ApiClient, customer: JsonObject, **fields: object) -> JsonObject:
    response = api.put(f"customers/{customer['id']}.json", {"customer": fields})
    assert response.status_code == 200, response.content
    return response.json()["customer"]


def get_history(shop: Shop, pk: int) -> list[tuple[str, str]]:
    with shop_scope(shop):
        return list(ConsentChange.objects.filter(customer_id=pk).order_by("id").values_list("channel", "state"))


def test_a_customer_has_consented_to_nothing_at_first(api: ApiClient) -> None:
    customer = post_customer(api, email="a@example.com")

    assert customer["email_marketing_consent"] == {
        "state": "not_subscribed",
        "opt_in_level": "single_opt_in",
        "consent_updated_at": None,
    }
    assert customer["sms_marketing_consent"]["consent_collected_from"] == "OTHER"


def test_consent_given_at_creation_is_shown_and_noted(api: ApiClient, shop: Shop) -> None:
    customer = post_customer(api, email="a@example.com", email_marketing_consent=SUBSCRIBED)

    assert customer["email_marketing_consent"] == {**SUBSCRIBED, "consent_updated_at": "2026-01-01T22:04:05-05:00"}
    assert get_history(shop, customer["id"]) == [("email", "subscribed")]


def test_consent_without_a_date_is_of_now(api: ApiClient) -> None:
    customer = post_customer(api, email="a@example.com", email_marketing_consent={"state": "subscribed"})

    assert customer["email_marketing_consent"]["consent_updated_at"] == customer["created_at"]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"email_marketing_consent": SUBSCRIBED}, {"email_marketing_consent": ["needs an email"]}),
        ({"sms_marketing_consent": SUBSCRIBED}, {"sms_marketing_consent": ["needs a phone"]}),
        (
            {"email": "a@example.com", "email_marketing_consent": {**SUBSCRIBED, "consent_updated_at": "2999-01-01"}},
            {"email_marketing_consent.consent_updated_at": ["must not be in the future"]},
        ),
        (
            {"email": "a@example.com", "email_marketing_consent": {"state": "maybe", "opt_in_level": 5}},
            {
                "email_marketing_consent.state": ["is not included in the list"],
                "email_marketing_consent.opt_in_level": ["is not included in the list"],
            },
        ),
        (
            {"email": "a@example.com", "email_marketing_consent": {"consent_updated_at": "soon"}},
            {"email_marketing_consent.consent_updated_at": ["is invalid"]},
        ),
        ({"email": "a@example.com", "email_marketing_consent": "yes"}, {"email_marketing_consent": ["is invalid"]}),
    ],
)
def test_consent_is_refused(api: ApiClient, fields: JsonObject, errors: JsonObject) -> None:
    assert get_errors(api.post("customers.json", {"customer": {"first_name": "A", **fields}})) == errors


def test_update_of_a_customer_without_email_needs_one_first(api: ApiClient) -> None:
    customer = post_customer(api, first_name="A")

    refused = api.put(f"customers/{customer['id']}.json", {"customer": {"email_marketing_consent": SUBSCRIBED}})
    both = update_customer(api, customer, email="a@example.com", email_marketing_consent=SUBSCRIBED)

    assert get_errors(refused) == {"email_marketing_consent": ["needs an email"]}
    assert both["email_marketing_consent"]["state"] == "subscribed"


def test_changes_are_recorded_and_sent(api: ApiClient, shop: Shop) -> None:
    customer = post_customer(api, email="a@example.com", phone="+14155550123")

    update_customer(api, customer, email_marketing_consent={"state": "pending"})
    update_customer(api, customer, email_marketing_consent={"state": "pending"})
    update_customer(api, customer, sms_marketing_consent={"state": "subscribed", "consent_collected_from": "SHOP"})
    update_customer(api, customer, email_marketing_consent={"state": "subscribed"})

    assert get_history(shop, customer["id"]) == [("email", "pending"), ("sms", "subscribed"), ("email", "subscribed")]
    email, sms = "customers_email_marketing_consent/update", "customers_marketing_consent/update"
    with shop_scope(shop):
        topics = Event.objects.filter(topic__contains="consent").order_by("id").values_list("topic", flat=True)
        assert list(topics) == [email, sms, email]


@pytest.mark.parametrize("level", ["single_opt_in", "confirmed_opt_in", "unknown"])
def test_a_customer_who_decided_nothing_has_no_consent_time(api: ApiClient, level: str) -> None:
    consent = {"state": "not_subscribed", "opt_in_level": level, "consent_updated_at": None}

    created = post_customer(api, email="a@example.com", email_marketing_consent=consent)
    changed = update_customer(api, created, email_marketing_consent={**consent, "opt_in_level": "single_opt_in"})

    for customer in (created, changed):
        assert customer["email_marketing_consent"]["state"] == "not_subscribed"
        assert customer["email_marketing_consent"]["consent_updated_at"] is None


def test_a_changed_email_resets_its_consent_and_no_other(api: ApiClient, shop: Shop) -> None:
    consents = {"email_marketing_consent": SUBSCRIBED, "sms_marketing_consent": SUBSCRIBED}
    customer = post_customer(api, email="a@example.com", phone="+14155550123", **consents)

    # The consent in the request was given for the old address, so it must not apply to the new address.
    changed = update_customer(api, customer, **{**customer, "email": "b@example.com"})

    consent = changed["email_marketing_consent"]
    assert (consent["state"], consent["consent_updated_at"]) == ("not_subscribed", None)
    assert changed["sms_marketing_consent"] == customer["sms_marketing_consent"]
    assert get_history(shop, customer["id"])[-1] == ("email", "not_subscribed")


def test_another_spelling_of_the_email_keeps_the_consent(api: ApiClient) -> None:
    customer = post_customer(api, email="a@example.com", email_marketing_consent=SUBSCRIBED)

    changed = update_customer(api, customer, email="A@example.com")

    assert (changed["email"], changed["email_marketing_consent"]["state"]) == ("A@example.com", "subscribed")


def test_a_new_consent_with_a_new_email_applies_to_the_new_email(api: ApiClient) -> None:
    customer = post_customer(api, email="a@example.com")

    changed = update_customer(api, customer, email="b@example.com", email_marketing_consent={"state": "subscribed"})

    assert changed["email_marketing_consent"]["state"] == "subscribed"


@pytest.mark.parametrize(
    ("before", "accepts", "after"),
    [
        ("not_subscribed", True, "subscribed"),
        ("subscribed", False, "unsubscribed"),
        ("not_subscribed", False, "not_subscribed"),
        ("pending", False, "pending"),
    ],
)
def test_accepts_marketing_says_the_same_in_old_words(api: ApiClient, before: str, accepts: bool, after: str) -> None:
    customer = post_customer(api, email="a@example.com", email_marketing_consent={"state": before})

    changed = update_customer(
        api,
        customer,
        accepts_marketing=accepts,
        accepts_marketing_updated_at="2026-02-03T00:00:00Z",
        marketing_opt_in_level="confirmed_opt_in",
    )["email_marketing_consent"]

    assert changed["state"] == after
    if accepts:
        assert changed["opt_in_level"] == "confirmed_opt_in"
        assert changed["consent_updated_at"] == "2026-02-02T19:00:00-05:00"
