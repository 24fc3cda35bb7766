import re
from html import unescape

import pytest

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.payments.models import PaymentHandlerConfig
from tests.support.api_client import Response
from tests.support.databases.snapshots import snapshot_database
from tests.support.factories.payments import VERSION, make_handler
from tests.support.panel.add_forms import get_edit_form
from tests.support.panel.client import Panel, PanelWith
from tests.support.subtests import Subtests

pytestmark = pytest.mark.usefixtures("in_shop")

SCREEN = "payments_paymenthandlerconfig"
TYPED = {
    "handler_id": "wallet_pay",
    "handler_version": VERSION,
    "enabled": "on",
    "wallet_environment": "production",
    "wallet_shop": "942252",
    "merchant_name": "Acme",
    "supported_currencies": "eur, usd",
    "supported_countries": "US",
    "instruments": '[{"type": "wallet_pay"}]',
    "other": '{"loyalty": {"rate": 0.1}}',
    "reason": "The contract is signed",
}
STORED = {
    "shop_id": "942252",
    "merchant_name": "Acme",
    "environment": "production",
    "supported_currencies": ["EUR", "USD"],
    "supported_countries": ["US"],
    "loyalty": {"rate": 0.1},
}


@pytest.fixture
def handler_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("platform_payments_accounts")


def get_page_text(response: Response) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", response.content.decode())).split())


def change_handler(panel: Panel, handler: PaymentHandlerConfig, **typed: str) -> Response:
    data = get_edit_form(panel, SCREEN, handler.pk).data | {name: [value] for name, value in typed.items()}
    return panel.http.post(panel.url(f"{SCREEN}_change", handler.pk), data)


def test_typed_values_are_published(handler_client: Panel) -> None:
    response = handler_client.post(f"{SCREEN}_add", **TYPED)

    assert response.status_code == 302, get_page_text(response)
    handler = PaymentHandlerConfig.objects.get()
    assert (handler.config, handler.available_instruments) == (STORED, [{"type": "wallet_pay"}])
    assert (handler.handler_id, handler.enabled, handler.environment) == ("wallet_pay", True, "production")
    event, actor = Event.objects.get(topic="payment_handlers/create"), f"staff:{handler_client.user.pk}"
    assert (event.message, event.actor) == ("Payment handler created: The contract is signed", actor)


def test_a_form_shows_what_is_stored_and_saved_untouched_changes_nothing(handler_client: Panel) -> None:
    handler = make_handler(config={"shop_id": "1", "x": {"y": [0.1, "é"]}, "environment": "sandbox"})
    silent = make_handler(handler_id="b", config={"shop_id": "1"}, enabled=False)
    versions = [handler.version, silent.version]

    form = get_edit_form(handler_client, SCREEN, handler.pk).data
    answers = [change_handler(handler_client, row) for row in (handler, silent)]

    assert (form["wallet_shop"], form["wallet_environment"]) == (["1"], ["sandbox"])
    assert '"é"' in form["other"][0]
    assert [response.status_code for response in answers] == [302, 302]
    assert list(PaymentHandlerConfig.objects.order_by("id").values_list("version", flat=True)) == versions


def test_unchanged_fields_keep_their_values(handler_client: Panel) -> None:
    config = {"shop_id": "1", "x": 1, "environment": "sandbox"}
    handler = make_handler(config=config, available_instruments=None)

    response = change_handler(handler_client, handler, merchant_name="Acme", supported_countries="fr us")

    assert response.status_code == 302, get_page_text(response)
    stored = PaymentHandlerConfig.objects.get().config
    assert stored == config | {"merchant_name": "Acme", "supported_countries": ["FR", "US"]}
    assert Event.objects.get(topic="payment_handlers/update").changes["config"] == [config, stored]


REFUSED: list[tuple[dict[str, str], str, str]] = [
    ({"handler_id": ""}, "handler_id", "This field is required."),
    ({"wallet_shop": ""}, "wallet_shop", "This field is required."),
    ({"wallet_shop": "a b"}, "wallet_shop", "This value is invalid."),
    ({"merchant_name": "x" * 101}, "merchant_name", "This value is too long (maximum is 100 characters)."),
    ({"supported_currencies": "EUR, QQQ"}, "supported_currencies", "Entry 2 is not included in the list."),
    ({"supported_countries": "FRA"}, "supported_countries", "Entry 1 is invalid."),
    ({"instruments": "{}"}, "instruments", "Enter a JSON list."),
    ({"instruments": '[{"type": "card"}]'}, "instruments", "0.type is not included in the list."),
    ({"other": "{"}, "other", "Enter valid JSON: Expecting property name enclosed in double quotes"),
    ({"other": "[1]"}, "other", "Enter a JSON object."),
    ({"other": '{"a": "\\u0000"}'}, "other", "The text contains an invalid character."),
    ({"other": '{"shop_id": "1"}'}, "other", "Enter shop_id in the fields above, not here."),
    ({"other": '{"deep": {"API_KEY": "x"}}'}, "other", "deep.API_KEY must not be published"),
    ({"other": '{"x": 1e400}'}, "other", "x is invalid."),
    ({"other": '{"x": "' + "y" * 16_300 + '"}'}, "other", "This value is too large (maximum is 16 KB)."),
    ({"reason": ""}, "reason", "Enter a reason. This change affects production."),
    ({"handler_version": "2026-08-25"}, "handler_version", "Select a valid choice."),
]


def test_unpublishable_values_are_refused_at_their_fields(handler_client: Panel) -> None:
    with Subtests() as checks:
        for typed, field, message in REFUSED:
            with checks(field, message):
                response = handler_client.post(f"{SCREEN}_add", **TYPED | typed)
                assert response.status_code == 200
                assert message in " ".join(response.context["adminform"].form.errors[field])
                assert not PaymentHandlerConfig.objects.exists()


def test_a_reason_is_asked_for_where_production_is_concerned(handler_client: Panel) -> None:
    live = make_handler()
    sandbox = make_handler(handler_id="test", config={"shop_id": "942252", "environment": "sandbox"})

    unexplained = change_handler(handler_client, live, enabled="", merchant_name="New")
    moved = change_handler(handler_client, sandbox, wallet_environment="production")
    free = change_handler(handler_client, sandbox, merchant_name="New")
    explained = change_handler(handler_client, live, merchant_name="New", reason="Rebranding")

    assert [response.status_code for response in (unexplained, moved, free, explained)] == [200, 200, 302, 302]
    events = Event.objects.filter(topic="payment_handlers/update").order_by("id")
    assert [event.message for event in events] == ["", "Payment handler updated: Rebranding"]


def test_domain_errors_come_back_on_their_field(handler_client: Panel, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        make_handler(config={"shop_id": "taken"})
    make_handler()

    response = handler_client.post(f"{SCREEN}_add", **TYPED | {"handler_id": "b", "wallet_shop": "taken"})
    second = handler_client.post(f"{SCREEN}_add", **TYPED | {"handler_id": "b"})
    same = handler_client.post(f"{SCREEN}_add", **TYPED | {"enabled": ""})

    assert response.context["adminform"].form.errors == {"wallet_shop": ["This value has already been taken."]}
    assert second.context["adminform"].form.errors == {
        "enabled": ["Cannot be enabled: another handler with this name is already enabled in this environment."]
    }
    assert "already been taken" in str(same.context["adminform"].form.errors)


def test_the_second_of_two_editors_sees_a_conflict(handler_client: Panel, admin_client_with: PanelWith) -> None:
    handler = make_handler(config={"shop_id": "1", "environment": "sandbox"})
    other = admin_client_with("platform_payments_accounts")
    opened = get_edit_form(handler_client, SCREEN, handler.pk).data

    first = change_handler(other, handler, merchant_name="Theirs")
    second = handler_client.http.post(
        handler_client.url(f"{SCREEN}_change", handler.pk), opened | {"merchant_name": ["Mine"]}
    )

    assert (first.status_code, second.status_code) == (302, 200)
    assert "changed this in the meantime" in get_page_text(second)
    assert PaymentHandlerConfig.objects.get().config["merchant_name"] == "Theirs"


def test_a_handler_that_takes_money_is_switched_off_before_it_is_removed(handler_client: Panel) -> None:
    handler = make_handler()

    refused = handler_client.post(f"{SCREEN}_delete", handler.pk, post="yes")
    selected = {"action": "delete_selected", "_selected_action": str(handler.pk), "post": "yes"}
    bulk = handler_client.post(f"{SCREEN}_changelist", **selected)
    assert PaymentHandlerConfig.objects.count() == 1
    change_handler(handler_client, handler, enabled="", reason="No longer offered")
    removed = handler_client.post(f"{SCREEN}_delete", handler.pk, post="yes")

    assert [response.status_code for response in (refused, bulk, removed)] == [302, 302, 302]
    assert not PaymentHandlerConfig.objects.exists()
    with all_shops_scope():
        assert Event.objects.filter(topic="payment_handlers/delete").count() == 1


# --- the preview ---


def test_the_preview_shows_what_would_be_published_and_stores_nothing(handler_client: Panel) -> None:
    handler_client.get(f"{SCREEN}_add")
    before = snapshot_database()

    output, off, elsewhere = (
        get_page_text(handler_client.post(f"{SCREEN}_preview", **TYPED | typed))
        for typed in ({}, {"enabled": "", "reason": ""}, {"supported_countries": "JP"})
    )

    assert snapshot_database() == before
    parts = ('"id": "wallet_pay"', '"rate": 0.1', '"token_binding": { "checkout_id": "example" }')
    assert all(part in output for part in (*parts, "The profile will be published when you save"))
    assert "while this payment handler is disabled" in off
    assert "This payment handler is not available to a customer in" in elsewhere


def test_the_preview_of_a_stored_handler_names_what_is_wrong(handler_client: Panel) -> None:
    handler = make_handler()
    typed = get_edit_form(handler_client, SCREEN, handler.pk).data | {"other": ['{"x": "</script><b>"}']}
    address = f"{handler_client.url(f'{SCREEN}_preview')}?of={handler.pk}"

    wrong = handler_client.http.post(address, typed | {"wallet_shop": ["a b"]})
    right = handler_client.http.post(address, typed | {"wallet_shop": ["942252"]})

    assert get_page_text(wrong) == "Shop ID : This value is invalid."
    assert b"</script><b>" not in right.content
    assert "</script><b>" in unescape(right.content.decode())


def test_the_preview_of_what_is_none_is_not_found(handler_client: Panel) -> None:
    address = f"{handler_client.url(f'{SCREEN}_preview')}?of="

    answers = [handler_client.http.post(f"{address}{identity}", TYPED) for identity in ("0", "abc", "9" * 30, "-1")]

    assert [response.status_code for response in answers] == [404] * 4


def test_other_permissions_configure_no_payments(admin_client_with: PanelWith) -> None:
    other = admin_client_with("preferences", "orders", "edit_orders")

    assert other.post(f"{SCREEN}_preview", **TYPED).status_code == 403
    assert other.forge(f"{SCREEN}_add", **TYPED).status_code == 403
    assert not PaymentHandlerConfig.objects.exists()
