"""See checks A12 to A14 in docs/reliability.md."""

import re
from datetime import timedelta
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlencode

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth import hashers
from django.core import mail
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.rest.models import IdempotencyKey
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import accounts
from apps.customers.models import Customer, Invitation
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories.customers import make_customer, post_customer

PASSWORD = {"password": "correct horse", "password_confirmation": "correct horse"}


@pytest.fixture
def customer(shop: Shop) -> Customer:
    with shop_scope(shop):
        return make_customer(email="anna@example.com", first_name="Anna")


def get_activation_link(api: ApiClient, customer: Customer) -> str:
    response = api.post(f"customers/{customer.pk}/account_activation_url.json")
    assert response.status_code == 200, response.content
    url: str = response.json()["account_activation_url"]
    return url.removeprefix(settings.BASE_URL)


def invite(api: ApiClient, customer: Customer, body: object = None) -> Response:
    return api.post(f"customers/{customer.pk}/send_invite.json", body)


def reload_customer(customer: Customer) -> Customer:
    with shop_scope(customer.shop):
        customer.refresh_from_db()
    return customer


def run_jobs(shop: Shop) -> None:
    with shop_scope(shop):
        keys = list(Job.objects.filter(state=Job.State.WAITING).order_by("id").values_list("key", flat=True))
    for key in keys:
        assert jobs.run_job(key)


def test_a_customer_activates_the_account_in_a_browser(api: ApiClient, shop: Shop, customer: Customer) -> None:
    url, browser = get_activation_link(api, customer), Client(enforce_csrf_checks=True)

    page = browser.get(url)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.content.decode())
    assert token is not None
    response = browser.post(url, {**PASSWORD, "csrfmiddlewaretoken": token[1]})

    assert (page.status_code, response.status_code) == (200, 200)
    assert b"Activate your account at Acme" in page.content
    assert b"Your account is active" in response.content
    assert (page["Referrer-Policy"], "no-store" in page["Cache-Control"]) == ("no-referrer", True)
    assert (reload_customer(customer).state, customer.password[:6]) == ("enabled", "argon2")
    assert customer.check_password("correct horse")
    assert api.get(f"customers/{customer.pk}.json").json()["customer"]["state"] == "enabled"
    with shop_scope(shop):
        event = Event.objects.get(topic="customers/enable")
    assert event.actor == f"customer:{customer.pk}"


@pytest.mark.parametrize(
    "address", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
def test_the_page_of_an_activation_leads_nowhere_else(api: ApiClient, customer: Customer, address: str) -> None:
    text = f"{get_activation_link(api, customer)}?{urlencode({'next': address})}"

    for page in (Client().get(text), Client().post(text, {**PASSWORD, "next": address})):
        assert (page.status_code, "Location" in page) == (200, False)
        assert address not in page.content.decode()
        assert "evil.example" not in page.content.decode()


def test_the_page_needs_the_form_that_it_showed(api: ApiClient, customer: Customer) -> None:
    response = Client(enforce_csrf_checks=True).post(get_activation_link(api, customer), PASSWORD)

    assert response.status_code == 403
    assert reload_customer(customer).state == "disabled"


def test_a_bad_password_keeps_the_link(api: ApiClient, customer: Customer) -> None:
    url = get_activation_link(api, customer)

    for password, confirmation, says in (
        ("1234", "1234", "The password is too short (minimum is 5 characters)."),
        ("x" * 73, "x" * 73, "The password is too long (maximum is 72 characters)."),
        ("correct horse", "wrong", "The passwords don&#x27;t match."),
        ("", "", "The password is too short"),
    ):
        refused = Client().post(url, {"password": password, "password_confirmation": confirmation})
        assert (refused.status_code, says in refused.content.decode()) == (422, True)
        assert reload_customer(customer).state == "disabled"
    assert Client().post(url, PASSWORD).status_code == 200


def flip_bit(url: str, position: int) -> str:
    """Return the URL with one bit of one character flipped."""
    index = url.rindex("/") + 1 + position
    return url[:index] + chr(ord(url[index]) ^ 1) + url[index + 1 :]


def test_every_dead_link_is_refused_in_the_same_words(api: ApiClient, shop: Shop, customer: Customer) -> None:
    with shop_scope(shop):
        other, used_up = make_customer(), make_customer()
    used = get_activation_link(api, used_up)
    assert Client().post(used, PASSWORD).status_code == 200
    replaced = get_activation_link(api, customer)
    reloaded = get_activation_link(api, customer)
    token = reloaded.rsplit("/", 1)[1]
    with shop_scope(shop):
        nonce = reload_customer(customer).activation_nonce
    dead = {
        "used": used,
        "replaced": replaced,
        "other customer": reloaded.replace(f"/{customer.pk}/", f"/{other.pk}/"),
        "missing customer": reloaded.replace(f"/{customer.pk}/", "/999999/"),
        "other shop": reloaded.replace("/acme/", "/nowhere/"),
        "bit of the nonce": flip_bit(reloaded, 0),
        "bit of the signature": flip_bit(reloaded, len(token) - 2),
        "nonce alone": reloaded.replace(token, nonce),
        "no signature": reloaded.replace(token, f"{nonce}."),
        "not ascii": reloaded.replace(token, "ünïcode.x"),
    }

    answers = {
        (name, method): getattr(Client(), method)(url, PASSWORD if method == "post" else {})
        for name, url in dead.items()
        for method in ("get", "post")
    }

    assert {response.status_code for response in answers.values()} == {410}
    assert len({response.content for response in answers.values()}) == 1
    assert (reload_customer(customer).state, reload_customer(other).state) == ("disabled", "disabled")
    assert Client().post(reloaded, PASSWORD).status_code == 200


def test_a_link_lives_for_30_days(api: ApiClient, customer: Customer) -> None:
    with time_machine.travel(timezone.now()) as clock:
        url = get_activation_link(api, customer)
        clock.shift(timedelta(days=30, seconds=-5))
        alive = Client().get(url).status_code
        clock.shift(timedelta(seconds=10))
        dead = [Client().get(url).status_code, Client().post(url, PASSWORD).status_code]

    assert (alive, dead) == (200, [410, 410])


def test_the_link_of_a_later_password_is_dead(api: ApiClient, shop: Shop, customer: Customer) -> None:
    url = get_activation_link(api, customer)
    with shop_scope(shop):
        Customer.objects.filter(pk=customer.pk).update(state=Customer.State.ENABLED)

    assert Client().post(url, PASSWORD).status_code == 410


@pytest.mark.parametrize(("email", "status"), [("eve@example.com", 410), ("", 410), ("ANNA@example.com", 200)])
def test_a_link_that_went_to_another_email_is_dead(api: ApiClient, customer: Customer, email: str, status: int) -> None:
    url = get_activation_link(api, customer)

    api.put(f"customers/{customer.pk}.json", {"customer": {"email": email, "last_name": "Berg"}})

    assert [Client().get(url).status_code, Client().post(url, PASSWORD).status_code] == [status] * 2


def test_an_invitation_to_another_email_is_withdrawn(api: ApiClient, shop: Shop, customer: Customer) -> None:
    invite(api, customer)

    changed = api.put(f"customers/{customer.pk}.json", {"customer": {"email": "new@example.com"}})
    run_jobs(shop)

    # Nothing is sent, not even the email that was already waiting.
    assert mail.outbox == []
    assert changed.json()["customer"]["state"] == reload_customer(customer).state == "disabled"
    invite(api, customer)
    run_jobs(shop)
    assert [message.to for message in mail.outbox] == [["new@example.com"]]


def test_a_token_is_bound_to_its_purpose(shop: Shop) -> None:
    token = accounts.create_token("activation", shop_id=1, customer_id=2, nonce="n")

    loaded = {
        (purpose, shop_id, customer_id): accounts.verify_token(purpose, token, shop_id=shop_id, customer_id=customer_id)
        for purpose in ("activation", "password_reset", "email_change", "invite")
        for shop_id in (1, 3)
        for customer_id in (2, 4)
    }

    assert {key for key, nonce in loaded.items() if nonce is not None} == {("activation", 1, 2)}


def test_a_link_outlives_a_change_of_the_secret_key(api: ApiClient, customer: Customer, settings: Settings) -> None:
    url = get_activation_link(api, customer)
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another"
    refused = Client().get(url)
    settings.SECRET_KEY_FALLBACKS = [former]

    assert (refused.status_code, Client().get(url).status_code) == (410, 200)


def test_tokens_of_another_purpose_do_not_activate(api: ApiClient, shop: Shop, customer: Customer) -> None:
    url = get_activation_link(api, customer)
    nonce = reload_customer(customer).activation_nonce
    forged = accounts.create_token("password_reset", shop_id=shop.pk, customer_id=customer.pk, nonce=nonce)

    response = Client().post(url.rsplit("/", 1)[0] + "/" + forged, PASSWORD)

    assert response.status_code == 410
    assert reload_customer(customer).state == "disabled"


def test_a_wrong_link_takes_the_same_steps_whether_the_customer_exists(
    api: ApiClient, shop: Shop, customer: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = get_activation_link(api, customer)
    sign, make = Mock(wraps=accounts._signature), Mock(wraps=hashers.make_password)
    monkeypatch.setattr(accounts, "_signature", sign)
    monkeypatch.setattr(hashers, "make_password", make)
    steps = []
    for target in (flip_bit(url, 3), url.replace(f"/{customer.pk}/", "/999999/")):
        sign.reset_mock()
        with CaptureQueriesContext(connection) as queries:
            assert Client().post(target, PASSWORD).status_code == 410
        steps.append((len(queries), sign.call_count, make.call_count))

    assert steps == [(2, 1, 0), (2, 1, 0)]


def test_a_kept_answer_holds_no_activation_link(api: ApiClient, shop: Shop, customer: Customer) -> None:
    path = f"customers/{customer.pk}/account_activation_url.json"
    first = api.post(path, {}, Idempotency_Key="k")
    url = first.json()["account_activation_url"]
    nonce = reload_customer(customer).activation_nonce

    with shop_scope(shop):
        assert nonce.encode() not in bytes(IdempotencyKey.objects.get().body)
    assert api.post(path, {}, Idempotency_Key="k").content == first.content

    Client().post(url.removeprefix(settings.BASE_URL), PASSWORD)
    used = api.post(path, {}, Idempotency_Key="k")
    assert (used.status_code, used["Idempotent-Replayed"]) == (200, "true")
    assert used.json() == {"account_activation_url": None}
    api.delete(f"customers/{customer.pk}.json")
    assert api.post(path, {}, Idempotency_Key="k").json() == {}


def test_declining_ends_the_invitation(api: ApiClient, shop: Shop, customer: Customer) -> None:
    invite(api, customer)
    with shop_scope(shop):
        invited = reload_customer(customer)
        url = accounts.build_activation_url(invited, invited.activation_nonce).removeprefix(settings.BASE_URL)

    offered = Client().get(url)
    declined = Client().post(url, {"decline": "1"})

    assert b"Decline invitation" in offered.content
    assert (declined.status_code, reload_customer(customer).state) == (200, "declined")
    assert Client().get(url).status_code == 410


def test_an_enabled_account_gets_no_link_and_no_invitation(api: ApiClient) -> None:
    customer = post_customer(api, email="a@example.com", password="secret", password_confirmation="secret")

    answers = [
        api.post(f"customers/{customer['id']}/{name}.json") for name in ("account_activation_url", "send_invite")
    ]

    refusal = (422, {"errors": {"base": ["account already enabled"]}})
    assert customer["state"] == "enabled"
    assert [(response.status_code, response.json()) for response in answers] == [refusal] * 2


def test_customers_of_a_shop_without_accounts_are_not_invited(api: ApiClient, shop: Shop, customer: Customer) -> None:
    Shop.objects.filter(pk=shop.pk).update(customer_accounts="disabled")

    url = f"customers/{customer.pk}/account_activation_url.json"
    new = {"customer": {"email": "b@example.com", "send_email_invite": True}}

    answers = [invite(api, customer), api.post(url), api.post("customers.json", new)]

    assert [response.status_code for response in answers] == [422] * 3
    assert get_errors(answers[2]) == {"send_email_invite": ["customer accounts are disabled"]}
    assert reload_customer(customer).state == "disabled"


def test_links_are_dead_while_the_shop_has_no_accounts(api: ApiClient, shop: Shop, customer: Customer) -> None:
    url = get_activation_link(api, customer)
    statuses = []
    for accounts_setting in ("disabled", "optional"):
        Shop.objects.filter(pk=shop.pk).update(customer_accounts=accounts_setting)
        statuses.append((Client().get(url).status_code, reload_customer(customer).state))

    assert statuses == [(410, "disabled"), (200, "disabled")]


def test_disabling_makes_the_password_useless(api: ApiClient, shop: Shop) -> None:
    pk = post_customer(api, email="a@example.com", password="secret")["id"]
    with shop_scope(shop):
        customer = accounts.disable_account(Customer.objects.get(pk=pk), actor="staff:1", at=timezone.now())

        assert (customer.state, customer.check_password("secret")) == ("disabled", False)
        with pytest.raises(accounts.AccountNotActive):
            accounts.disable_account(customer, actor="staff:1", at=timezone.now())
        assert Event.objects.filter(topic="customers/disable").count() == 1


def test_passwords_are_nowhere_but_in_their_hash(api: ApiClient, shop: Shop) -> None:
    customer = post_customer(api, email="a@example.com", password="marker-password", send_email_welcome=True)

    with shop_scope(shop):
        stored_customer = Customer.objects.get(pk=customer["id"])
        traces = [*Event.objects.values_list("changes", "message"), *Job.objects.values_list("arguments")]
    assert stored_customer.check_password("marker-password")
    assert "marker-password" not in repr(traces) + repr(customer)


def test_an_invitation_says_what_was_used_and_is_sent(api: ApiClient, shop: Shop, customer: Customer) -> None:
    values = {"to": "other@example.com", "from": "shop@example.com", "subject": "Come in", "bcc": ["boss@example.com"]}
    values["custom_message"] = "We <3 you"

    response = invite(api, customer, {"customer_invite": values})
    run_jobs(shop)

    assert (response.status_code, response.json()) == (201, {"customer_invite": values})
    assert reload_customer(customer).state == "invited"
    [message] = mail.outbox
    sent = {"to": message.to[0], "from": message.from_email, "subject": message.subject, "bcc": message.bcc}
    assert {**sent, "custom_message": "We <3 you"} == values
    assert "We <3 you" in message.body
    url = re.search(rf"{settings.BASE_URL}(/account/activate/\S+)", str(message.body))
    assert url is not None
    assert Client().post(url[1], PASSWORD).status_code == 200


@pytest.mark.parametrize("body", [None, {}, {"customer_invite": {}}])
def test_an_invitation_is_filled_in(api: ApiClient, customer: Customer, body: Any) -> None:
    response = invite(api, customer, body)

    to, subject = {"to": "anna@example.com", "from": "owner@shop.example"}, "Activate your account at Acme"
    assert response.json() == {"customer_invite": {**to, "subject": subject, "custom_message": "", "bcc": []}}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("to", ["nobody"]),
        ("from", ["a@example.com\nBcc: b@example.com"]),
        ("subject", ["Hello\r\nBcc: b@example.com", "Hello\n", "\r"]),
        ("bcc", [["x"], "a@example.com", [f"{n}@example.com" for n in range(11)]]),
        ("custom_message", [{"a": 1}]),
    ],
)
def test_impossible_invitations_are_refused(
    api: ApiClient, shop: Shop, customer: Customer, field: str, values: list[object]
) -> None:
    answers = [invite(api, customer, {"customer_invite": {field: value}}) for value in values]

    assert [list(get_errors(response)) for response in answers] == [[field]] * len(values)
    assert reload_customer(customer).state == "disabled"
    with shop_scope(shop):
        assert not Invitation.objects.exists()
        assert not Job.objects.exists()


def test_an_invitation_is_sent_once_with_its_latest_link(api: ApiClient, shop: Shop, customer: Customer) -> None:
    invite(api, customer, {"customer_invite": {"subject": "First"}})
    invite(api, customer, {"customer_invite": {"subject": "Second"}})
    run_jobs(shop)
    with shop_scope(shop):
        Job.objects.update(state=Job.State.WAITING, due_at=Now())
    run_jobs(shop)

    assert [message.subject for message in mail.outbox] == ["Second"]


def test_creation_invites_and_welcomes_where_asked(api: ApiClient, shop: Shop) -> None:
    invited = post_customer(api, email="a@example.com", send_email_invite=True)
    welcomed = post_customer(api, email="b@example.com", first_name="Bo", password="secret", send_email_welcome=True)
    run_jobs(shop)

    assert (invited["state"], welcomed["state"]) == ("invited", "enabled")
    assert [(message.to, message.subject) for message in mail.outbox] == [
        (["a@example.com"], "Activate your account at Acme"),
        (["b@example.com"], "Welcome to Acme"),
    ]
    assert mail.outbox[1].body.startswith("Hello Bo,")
