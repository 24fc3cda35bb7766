from decimal import Decimal

import pytest

from apps.core.tenancy.models import Shop
from apps.shops.models import AppPurchase, RecurringCharge
from tests.support import factories
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")
PAGE = "shops_installation_charge"


@pytest.fixture
def charge(shop: Shop) -> RecurringCharge:
    installation = factories.make_installation(shop, ())
    return factories.make_charge(installation, trial_days=7, return_url="https://app.example/done", terms="Per email")


def test_staff_with_the_permission_approve_a_charge(admin_client_with: PanelWith, charge: RecurringCharge) -> None:
    panel = admin_client_with("billing_application_charges")

    page = panel.get(PAGE, charge.installation_id, charge.pk)
    for text in ("9.50 USD", "100.00 USD", "Per email", "7 days", "app.example", "does not process the payment"):
        assert text in page.content.decode()
    assert "https://app.example" in page["Content-Security-Policy"]
    response = panel.post(PAGE, charge.installation_id, charge.pk, decision="approve", leave="1")

    assert response["Location"] == f"https://app.example/done?charge_id={charge.pk}"
    charge.refresh_from_db()
    assert charge.status == "active"


def test_other_staff_do_not_decide(admin_client_with: PanelWith, charge: RecurringCharge) -> None:
    panel = admin_client_with("applications")

    assert panel.post(PAGE, charge.installation_id, charge.pk, decision="approve").status_code == 403
    charge.refresh_from_db()
    assert charge.status == "pending"


def test_staff_decide_about_a_higher_maximum(owner_client: Panel, shop: Shop) -> None:
    row = factories.make_charge(factories.make_installation(shop, ()), approved=True, requested_capped_amount="200")

    assert "200.00 USD" in owner_client.get(PAGE, row.installation_id, row.pk).content.decode()
    app_page = owner_client.get("shops_installation_change", row.installation_id).content.decode()
    assert "Higher maximum requested" in app_page
    # A page that shows an earlier amount decides nothing.
    owner_client.post(PAGE, row.installation_id, row.pk, decision="approve", requested="150.000")
    row.refresh_from_db()
    assert (row.capped_amount, row.requested_capped_amount) == (Decimal(100), Decimal(200))
    owner_client.post(PAGE, row.installation_id, row.pk, decision="decline", requested="200.000")

    row.refresh_from_db()
    assert (row.status, row.capped_amount, row.requested_capped_amount) == ("active", Decimal(100), None)


def test_a_decided_charge_is_shown_without_buttons(owner_client: Panel, charge: RecurringCharge) -> None:
    owner_client.post(PAGE, charge.installation_id, charge.pk, decision="decline")

    assert "Declined" in owner_client.get(PAGE, charge.installation_id, charge.pk).content.decode()
    response = owner_client.post(PAGE, charge.installation_id, charge.pk, decision="approve", leave="1")
    assert "app.example" not in response["Location"]
    charge.refresh_from_db()
    assert charge.status == "declined"


def test_one_time_charges_have_a_page(owner_client: Panel, shop: Shop) -> None:
    purchase = factories.make_purchase(factories.make_installation(shop, ()), return_url="https://app.example/done")
    arguments = "shops_installation_decide", purchase.installation_id, purchase.pk

    assert "49.00 USD" in owner_client.get(*arguments).content.decode()
    response = owner_client.post(*arguments, decision="approve", leave="1")

    assert response["Location"].startswith("https://app.example/done?charge_id=")
    assert AppPurchase.objects.get().status == "active"
