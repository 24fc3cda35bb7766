"""Tests for app configuration files in the panel: previewing and applying changes."""

from django.core.files.uploadedfile import SimpleUploadedFile

from apps.ground.tenancy import all_shops_scope
from apps.shops.domain import app_installation
from apps.shops.models import App, Shop
from apps.webhooks.domain import app_config
from apps.webhooks.models import Subscription
from tests import factories
from tests.conftest import Response
from tests.panel.conftest import Panel
from tests.panel.html_forms import get_forms
from tests.webhooks.test_configuration import FILE


def upload_configuration(owner: Panel, app: App, text: str) -> Response:
    """Upload a file on the app's page; return the text of the next page."""
    page = "webhooks_subscription_configuration"
    key = owner.form_key(page, app.pk)
    file = SimpleUploadedFile("app.toml", text.encode(), "application/toml")
    return owner.post(page, app.pk, form_key=key, file=file)


def test_staff_see_what_a_file_changes_before_it_is_applied(owner_client: Panel, shop: Shop) -> None:
    app = app_installation.create_app(name="Own", owner=shop)
    text = FILE.format(key=app.api_key)

    output = upload_configuration(owner_client, app, text)

    assert "customers/redact" in output.content.decode()
    with all_shops_scope():
        assert not Subscription.objects.filter(app=app).exists()
    data = next(form for form in get_forms(output.content) if "seen" in form.names).data | {"apply": "1"}
    stale = owner_client.post("webhooks_subscription_configuration", app.pk, **{**data, "seen": ["other"]})
    assert "Someone else changed this" in stale.content.decode()
    response = owner_client.post("webhooks_subscription_configuration", app.pk, **data)
    assert response.status_code == 302
    with all_shops_scope():
        assert Subscription.objects.filter(app=app, deleted_at=None).count() == 5
    second_output = upload_configuration(owner_client, app, text)
    assert "No changes. The app already matches this file." in second_output.content.decode()


def test_a_file_that_does_not_fit_is_refused_on_the_page(owner_client: Panel, shop: Shop) -> None:
    app = app_installation.create_app(name="Own", owner=shop)

    for text, expected_message in (
        ("[webhooks", "This file is not valid TOML"),
        ('client_id = "another"', "client_id belongs to another app"),
        ("#" * (app_config.MAX_BYTES + 1), "The file is too large"),
    ):
        assert expected_message in upload_configuration(owner_client, app, text).content.decode()
    foreign = app_installation.create_app(name="Foreign", owner=factories.make_shop())
    assert owner_client.get("webhooks_subscription_configuration", foreign.pk).status_code == 404
