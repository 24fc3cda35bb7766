import json
from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from apps.content.models import Comment
from apps.core.events.models import Event
from apps.core.rest.models import IdempotencyKey
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.domain import personal_data
from apps.customers.domain.fields import EDITABLE_FIELDS
from apps.customers.domain.personal_data import PersonalData
from apps.customers.models import ConsentChange, Customer
from apps.metafields.models import Metafield
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.content import make_comment
from tests.support.factories.customers import make_address, make_customer, post_customer

METAFIELD = {"namespace": "global", "key": "size", "type": "single_line_text_field", "value": "Marker-value"}
TEXTS = {
    **{name: f"Marker-{name}" for name in EDITABLE_FIELDS if name in Customer.personal_fields},
    "email": "marker@example.com",
    "phone": "+14155550123",
}
MARKED: Attrs = {**TEXTS, "email_marketing_consent": {"state": "subscribed"}, "metafields": [METAFIELD]}


@pytest.fixture
def customer(in_shop: Shop) -> Customer:
    new_customer = make_customer(**MARKED)
    make_address(new_customer, address1="Marker-street")
    return new_customer


def redact(customer: Customer) -> None:
    personal_data.redact_customer(customer, actor="staff:1", at=timezone.now())


def test_an_export_holds_everything_that_is_known(customer: Customer) -> None:
    exported = json.loads(json.dumps(personal_data.collect_data(customer)))

    assert {name: exported["customer"][name] for name in TEXTS} == TEXTS
    assert [row["address1"] for row in exported["addresses"]] == ["Marker-street"]
    assert [(row["channel"], row["state"]) for row in exported["consents"]] == [("email", "subscribed")]
    assert exported["metafields"] == [METAFIELD]


def test_erasing_leaves_no_trace_but_what_bookkeeping_needs(subscribed_app: None, customer: Customer) -> None:
    Customer.objects.filter(pk=customer.pk).update(orders_count=2, total_spent="12.50", last_order_name="#1001")
    assert "Marker-first" in repr(list(Event.objects.values_list("payload")))

    redact(customer)

    row = Customer.objects.get(pk=customer.pk)
    assert (row.orders_count, str(row.total_spent), row.last_order_name) == (2, "12.500", "#1001")
    assert (row.state, row.email_marketing_state, row.sms_marketing_state) == ("disabled", "redacted", "redacted")
    tables: list[Any] = [Customer, ConsentChange, Metafield]
    remaining_text = repr([list(table.objects.values_list()) for table in tables])
    remaining_text += repr(list(Event.objects.values_list("payload", "changes", "message", "subject_label")))
    assert "arker" not in remaining_text
    assert not row.addresses.exists()


def test_an_erased_customer_is_found_no_more_and_the_email_is_free(api: ApiClient, customer: Customer) -> None:
    redact(customer)

    assert api.get("customers/search.json", query="marker").json() == {"customers": []}
    assert post_customer(api, email="marker@example.com")["id"] != customer.pk
    assert api.get(f"customers/{customer.pk}.json").json()["customer"]["email"] is None


def test_a_replay_after_an_erasure_shows_nothing_and_does_nothing(api: ApiClient, shop: Shop) -> None:
    body = {"customer": {"email": "marker@example.com", "first_name": "Marker"}}
    other = {"customer": {"email": "lee@example.com", "first_name": "Lee"}}
    first = api.post("customers.json", body, Idempotency_Key="marker@example.com")
    strangers = api.post("customers.json", other, Idempotency_Key="k")
    with shop_scope(shop):
        redact(Customer.objects.get(email="marker@example.com"))
        text = repr(list(IdempotencyKey.objects.values_list()))

    second_response = api.post("customers.json", body, Idempotency_Key="marker@example.com")

    assert "arker" not in text
    assert (first.status_code, second_response.status_code, second_response.json()) == (201, 201, {})
    with shop_scope(shop):
        assert Customer.objects.count() == 2
    assert api.post("customers.json", other, Idempotency_Key="k").content == strangers.content


def test_data_added_after_an_erasure_can_be_erased_again(api: ApiClient, customer: Customer) -> None:
    redact(customer)
    api.put(f"customers/{customer.pk}.json", {"customer": {"email": "marker@example.com", "note": "Marker"}})
    api.post(f"customers/{customer.pk}/addresses.json", {"address": {"address1": "Marker-street"}})

    redact(customer)

    # The type stubs do not know the generic relation to metafields.
    assert "arker" not in repr(list(Customer.objects.values_list()))  # type: ignore[misc]
    assert not customer.addresses.exists()


def test_the_audit_trail_never_had_what_an_erasure_could_not_reach(api: ApiClient, customer: Customer) -> None:
    (metafield,) = Metafield.objects.all()
    api.put(f"customers/{customer.pk}.json", {"customer": {"tags": "Marker-other", "note": "Marker-other"}})
    api.put(f"metafields/{metafield.pk}.json", {"metafield": {"value": "Marker-other"}})
    api.delete(f"metafields/{metafield.pk}.json")

    redact(Customer.objects.get())

    remaining_text = repr(list(Event.objects.values_list("payload", "changes", "message", "subject_label")))
    assert "(hidden)" in remaining_text
    assert "arker" not in remaining_text


def test_other_apps_take_part(customer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    erased: list[tuple[int, str]] = []

    def note(row: Customer, actor: str, at: datetime) -> None:
        erased.append((row.pk, actor))

    part = PersonalData(redact=note, export=lambda row, after: [(1, row.pk)])
    monkeypatch.setattr(personal_data, "personal_data_parts", {"things": part})
    exported = personal_data.collect_data(customer)
    redact(customer)

    assert exported["things"] == [customer.pk]
    assert erased == [(customer.pk, "staff:1")]


def test_comments_on_articles_are_exported_and_erased(customer: Customer) -> None:
    comment = make_comment(email="MARKER@example.com", body="Marker-body", author="Marker", user_agent="Marker/1")
    other = make_comment(email="lee@example.com")

    exported = personal_data.collect_data(customer)["article_comments"]
    redact(customer)

    assert [(row["article"], row["body"], row["ip"]) for row in exported] == [("Hello", "Marker-body", "203.0.113.7")]
    assert list(Comment.objects.values_list("pk", flat=True)) == [other.pk]
    events = Event.objects.filter(subject_type="content.comment", subject_id=comment.pk)
    assert "arker" not in repr(list(events.values()))


def test_metafields_are_set_with_the_customer(api: ApiClient) -> None:
    customer = post_customer(api, email="a@example.com", metafields=[METAFIELD])
    changed = {**METAFIELD, "value": "blue"}
    api.put(f"customers/{customer['id']}.json", {"customer": {"metafields": [changed]}})

    metafields = api.get(f"customers/{customer['id']}/metafields.json").json()["metafields"]

    assert "metafields" not in customer
    assert [(row["namespace"], row["key"], row["value"]) for row in metafields] == [("global", "size", "blue")]


def test_invalid_metafields_are_refused_with_all_other_errors(api: ApiClient) -> None:
    body = {"email": "x", "metafields": [METAFIELD, {**METAFIELD, "key": "k" * 31}]}

    response = api.post("customers.json", {"customer": body})

    assert get_errors(response) == {
        "email": ["is invalid"],
        "metafields.1.key": ["is too long (maximum is 30 characters)"],
    }
