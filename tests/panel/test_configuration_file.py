"""An app's configuration file in the panel: what it changes is shown first, and applied as it was shown."""

from django.core.files.uploadedfile import SimpleUploadedFile

from apps.ground.tenancy import all_shops_scope
from apps.shops.domain import app_installation
from apps.shops.models import App, Shop
from apps.webhooks.domain import app_config
from apps.webhooks.models import Subscription
from tests import factories
from tests.conftest import Response
from tests.panel.conftest import Panel
from tests.panel.shown import forms_of
from tests.webhooks.test_configuration import FILE


def upload(owner: Panel, app: App, text: str) -> Response:
    """Send a file to the app's page; what the page says."""
    page = "webhooks_subscription_configuration"
    key = owner.form_key(page, app.pk)
    file = SimpleUploadedFile("app.toml", text.encode(), "application/toml")
    return owner.post(page, app.pk, form_key=key, file=file)


def test_staff_see_what_a_file_changes_before_it_is_applied(owner: Panel, shop: Shop) -> None:
    app = app_installation.create_app(name="Own", owner=shop)
    text = FILE.format(key=app.api_key)

    shown = upload(owner, app, text)

    assert "customers/redact" in shown.content.decode()
    with all_shops_scope():
        assert not Subscription.objects.filter(app=app).exists()
    sent = next(form for form in forms_of(shown.content) if "seen" in form.names).data | {"apply": "1"}
    stale = owner.post("webhooks_subscription_configuration", app.pk, **{**sent, "seen": ["other"]})
    assert "Someone else changed this" in stale.content.decode()
    done = owner.post("webhooks_subscription_configuration", app.pk, **sent)
    assert done.status_code == 302
    with all_shops_scope():
        assert Subscription.objects.filter(app=app, deleted_at=None).count() == 5
    again = upload(owner, app, text)
    assert "No changes. The app already matches this file." in again.content.decode()


def test_a_file_that_does_not_fit_is_refused_on_the_page(owner: Panel, shop: Shop) -> None:
    app = app_installation.create_app(name="Own", owner=shop)

    for text, said in (
        ("[webhooks", "This file is not valid TOML"),
        ('client_id = "another"', "client_id belongs to another app"),
        ("#" * (app_config.MAX_BYTES + 1), "The file is too large"),
    ):
        assert said in upload(owner, app, text).content.decode()
    foreign = app_installation.create_app(name="Foreign", owner=factories.make_shop())
    assert owner.get("webhooks_subscription_configuration", foreign.pk).status_code == 404
