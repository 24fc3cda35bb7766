"""Webhooks that staff added move with the shop and its secret. A staging copy has none until staff add new ones."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apps.core.tenancy.models import App, Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain.app_secrets import get_valid_secrets
from apps.shops.models import RetiringSecret
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.subscriptions import create_staff_subscription
from apps.webhooks.models import Subscription
from tests.backups.test_shop_moves import empty_installation, run_command
from tests.support import factories

VALUES = {"topic": "orders/create", "uri": "https://erp.example.com/hooks", "api_version": "2026-10"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
@pytest.mark.parametrize("copy", [(), ("--as-copy", "staging.example")], ids=["move", "copy"])
def test_staff_webhooks_work_after_a_move(media_root: Path, tmp_path: Path, copy: tuple[str, ...]) -> None:
    shop = factories.make_shop()
    with shop_scope(shop):
        before = create_staff_subscription(shop, VALUES, actor="system", at=timezone.now())
    run_command("export_shop", shop.domain, tmp_path / "archive")
    empty_installation()
    run_command("import_shop", tmp_path / "archive", *copy)

    moved = Shop.objects.get()
    with shop_scope(moved):
        at = timezone.now()
        assert Subscription.objects.count() == (0 if copy else 1)
        if not copy:
            subscriptions.update_subscription(Subscription.objects.get(), {"filter": "id:>1"}, actor="system", at=at)
        create_staff_subscription(moved, {**VALUES, "topic": "products/create"}, actor="system", at=at)
        app = App.objects.get()
        assert (app.pk, app.owner, app.api_secret) == (before.app_id, moved, before.app.api_secret)
        assert Installation.objects.filter(uninstalled_at=None).count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_an_imported_shop_does_not_use_the_secret_of_a_deleted_shop(media_root: Path, tmp_path: Path) -> None:
    """The deleted shop had the same ID. The archive's secret is the one that the receivers of its webhooks know."""
    shop = factories.make_shop()
    with shop_scope(shop):
        before = create_staff_subscription(shop, VALUES, actor="system", at=timezone.now())
    run_command("export_shop", shop.domain, tmp_path / "archive")
    empty_installation()
    left = App.objects.create(name="Backoffice", api_key=before.app.api_key, api_secret="known to the deleted shop")
    RetiringSecret.objects.create(
        app=left, secret="known as well", until=timezone.now() + timedelta(days=1), created_at=timezone.now()
    )

    run_command("import_shop", tmp_path / "archive")

    app = App.objects.get()
    assert app.owner == Shop.objects.get()
    assert get_valid_secrets(app, timezone.now()) == [before.app.api_secret]
    with shop_scope(Shop.objects.get()):
        assert Subscription.objects.get().app == app
