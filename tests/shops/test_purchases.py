import json
from datetime import timedelta
from decimal import Decimal
from io import StringIO

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.shops.domain import app_installation, purchases
from apps.shops.models import AppPurchase
from apps.webhooks.domain.engine import fan_out
from apps.webhooks.models import Delivery
from tests.support import factories
from tests.support.factories import make_purchase
from tests.support.types import JsonObject
from tests.support.webhooks import make_subscription

TOPIC = "app_purchases_one_time/update"
BY: JsonObject = {"actor": "system", "at": timezone.now()}
MEMBERS = {"admin_graphql_api_id", "name", "status", "admin_graphql_api_shop_id", "created_at", "updated_at"}


def get_deliveries(shop: Shop) -> list[tuple[int, JsonObject]]:
    while fan_out.create_deliveries().events:
        continue
    with shop_scope(shop):
        rows = Delivery.objects.filter(topic=TOPIC).select_related("payload").order_by("pk")
        return [(row.app_id, orjson.loads(bytes(row.payload.body))["app_purchase_one_time"]) for row in rows]


def test_webhooks_for_every_step_go_to_the_requesting_app_only(shop: Shop) -> None:
    mine, other = factories.make_installation(shop, ()), factories.make_installation(shop, ())
    for installation in (mine, other):
        make_subscription(installation, f"https://apps.example.com/{installation.pk}", topic=TOPIC)
    with all_shops_scope():
        mine = Installation.objects.select_related("shop").get(pk=mine.pk)

    purchase = make_purchase(mine, name="Setting up")
    with shop_scope(mine.shop):
        purchases.decide_purchase(purchase, approve=True, **BY)

    deliveries = get_deliveries(shop)
    assert [app for app, _ in deliveries] == [mine.app_id, mine.app_id]
    assert [payload["status"] for _, payload in deliveries] == ["PENDING", "ACTIVE"]
    first = deliveries[0][1]
    assert first.keys() == MEMBERS
    assert first["admin_graphql_api_id"] == f"gid://platform/AppPurchaseOneTime/{purchase.pk}"
    assert (first["name"], first["admin_graphql_api_shop_id"]) == ("Setting up", f"gid://platform/Shop/{shop.pk}")


def test_a_purchase_is_decided_once(in_shop: Shop) -> None:
    purchase = make_purchase(factories.make_installation(in_shop, ()))
    stale = AppPurchase.objects.get(pk=purchase.pk)
    purchases.decide_purchase(purchase, approve=False, **BY)

    with pytest.raises(purchases.AlreadyDecided, match=r"^The purchase is already declined\.$"):
        purchases.decide_purchase(stale, approve=True, **BY)

    assert AppPurchase.objects.get().status == "declined"
    assert Event.objects.filter(topic=TOPIC).count() == 2


def test_an_undecided_purchase_expires_after_two_days(in_shop: Shop) -> None:
    now = timezone.now()
    installation = factories.make_installation(in_shop, ())
    late = make_purchase(installation, at=now - timedelta(days=2))
    newer_purchase = make_purchase(installation, at=now - timedelta(days=1, hours=23))

    with all_shops_scope():
        expired = [purchases.expire_purchases(now) for _ in range(2)]

    assert expired == [1, 0]
    assert dict(AppPurchase.objects.values_list("pk", "status")) == {late.pk: "expired", newer_purchase.pk: "pending"}
    assert Event.objects.filter(topic=TOPIC).count() == 3


def test_invalid_purchases_are_refused_with_their_field(in_shop: Shop) -> None:
    installation = factories.make_installation(in_shop, ())
    for values, field in (
        ({"name": "  "}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"price": Decimal(-1)}, "price"),
        ({"price": Decimal(0)}, "price"),
        ({"price": Decimal("1.001")}, "price"),
        ({"price": Decimal("NaN")}, "price"),
        ({"price": Decimal(10) ** 12}, "price"),
        ({"currency": "ABC"}, "currency"),
        ({"currency": "JPY", "price": Decimal("1.5")}, "price"),
    ):
        with pytest.raises(purchases.InvalidPurchase) as refused:
            make_purchase(installation, **values)
        assert list(refused.value.errors) == [field], values
    app_installation.uninstall_app(installation, **BY)
    with pytest.raises(app_installation.NotInstalled):
        make_purchase(installation)

    assert not AppPurchase.objects.exists()
    assert not Event.objects.filter(topic=TOPIC).exists()


def test_the_command_asks_and_decides(shop: Shop) -> None:
    installation = factories.make_installation(shop, ())
    out = StringIO()
    where = ("--app", installation.app.api_key, "--shop", shop.domain)

    call_command("create_app_purchase", "offer", "Import", *where, "--price", "12.50", "--json", stdout=out)
    output = json.loads(out.getvalue())
    call_command("create_app_purchase", "approve", str(output["id"]), stdout=StringIO())

    assert (output["price"], output["status"]) == ("12.50 USD", "pending")
    with shop_scope(shop):
        assert AppPurchase.objects.get().status == "active"
    for step, text in (
        (["decline", str(output["id"])], "already approved"),
        (["decline", "1"], "There is no purchase 1"),
        (["offer", "x", "--app", "none", "--shop", shop.domain, "--price", "1"], "No app with the API key none"),
        (["offer", "x", *where, "--price", "abc"], "abc is not a valid amount"),
    ):
        with pytest.raises(CommandError, match=text):
            call_command("create_app_purchase", *step)
