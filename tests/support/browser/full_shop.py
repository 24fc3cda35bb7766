from datetime import timedelta

from django.utils import timezone

from apps.content.models import ScriptTag
from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import AccessToken, App, Installation, Membership, SavedView, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.fulfillment.models import Fulfillment, FulfillmentOrder, FulfillmentService, PullAttempt
from apps.inventory.models import InventoryItem, Location
from apps.metafields.domain.write import set_metafields
from apps.metafields.models import Metafield
from apps.payments.models import PaymentHandlerConfig
from apps.refunds.models import Refund
from apps.shops.domain import app_registration, app_secrets, tokens
from apps.webhooks.models import Delivery
from tests.support import factories
from tests.support.factories.fulfillment import make_event, make_fulfillment, make_fulfillment_order, make_service
from tests.support.factories.inventory import make_item, make_location, set_stock
from tests.support.factories.orders import MUG
from tests.support.factories.payments import make_handler
from tests.support.factories.refunds import create_bogus_order, refund_amount
from tests.support.webhooks import make_attempt, make_delivery, make_subscription

PAGES_WITHOUT_ARGUMENTS = """
    index help shops_app_changelist shops_app_add shops_installation_changelist shops_installation_add
    fulfillment_fulfillmentorder_changelist inventory_location_changelist inventory_inventoryitem_changelist
    inventory_stockmovement_changelist refunds_refund_changelist orders_order_report refunds_refund_report
    refunds_refund_taxes
    metafields_metafield_changelist content_scripttag_changelist payments_paymenthandlerconfig_changelist
    webhooks_subscription_changelist webhooks_delivery_changelist webhooks_delivery_live staff_membership_changelist
    staff_membership_add events_event_changelist jobs_job_changelist
"""
METAFIELD = {"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "Cold"}


def create_app_rows(shop: Shop) -> Installation:
    now = timezone.now()
    installation = factories.make_installation(shop, ("read_products", "write_orders"), name="Warehouse sync")
    factories.make_installation(shop, (), name="Reviews")
    App.objects.filter(pk=installation.app_id).update(scopes=["write_products", "read_customers"])
    own = {"name": "Own app", "redirect_urls": ["https://app.example/callback"], "scopes": ["write_orders"]}
    app_secrets.rotate_secret(app_registration.register_app(own, owner=shop, actor="system", at=now), at=now)
    for _ in range(3):
        factories.make_token(installation)
    with shop_scope(shop):
        _, middle, oldest = AccessToken.objects.filter(installation=installation).order_by("-id")
        tokens.revoke_token(oldest, actor="system", at=now)
        AccessToken.objects.filter(pk=middle.pk).update(expires_at=now + timedelta(days=1), last_used_at=now)
        for _ in range(3):
            factories.ScriptTagFactory.create(shop=shop, app=installation.app)
        for state in Job.State.values:
            error = "The archive holds 12,001 files; 10,000 are allowed." if state == "failed" else ""
            Job.objects.create(shop=shop, task="themes.unpack", state=state, error=error, progress_total=20)
    depot = make_location(shop)
    for number in range(3):
        set_stock(make_item(shop, sku=f"MUG-{number}", tracked=number != 1), depot, number * 7)
    refund_amount(create_bogus_order(shop), "5.00")
    with shop_scope(shop):
        set_metafields(shop, [METAFIELD], actor="system", at=now)
        make_handler(config={"shop_id": "942252", "x": {"y": 1}})
        create_deliveries(installation)
        create_fulfillment_rows(installation)
        Job.objects.bulk_create(Job(shop=shop, task="imports_exports.write_export", state="done") for _ in range(25))
        keeper = Membership.objects.get(account_owner=True).user
        for name, query in (("Broken", "state__exact=failed"), ("Exports", "q=export")):
            SavedView.objects.create(shop=shop, user=keeper, screen="jobs.job", name=name, query=query, shared=True)
    factories.make_member(shop, "orders", "customers", email="sam@example.com", last_name="Rivera")
    factories.make_member(shop, email="alex@example.com", first_name="Alex", is_active=False)
    return installation


def create_fulfillment_rows(installation: Installation) -> None:
    address = {"first_name": "Ada", "last_name": "Lovelace", "address1": "1 Main Street", "city": "Ottawa"}
    bowl = {**MUG, "title": "Bowl", "quantity": 3}
    service = make_service(installation.app, name="Far depot", inventory_management=True)
    PullAttempt.objects.create(
        shop=service.shop, service=service, kind="stock", number=1, url="https://depot.example/fetch_stock",
        outcome="bad_answer", status=200, message="The response is not valid JSON.", excerpt="<html>",
    )  # fmt: skip
    row = make_fulfillment_order(
        lines=[MUG, bowl], email="ada@example.com", shipping_address=address, note="Ring twice"
    )
    line = row.lines.order_by("pk")[0]
    make_event(make_fulfillment(row, lines=[{"id": line.pk, "quantity": 1}]))
    FulfillmentOrder.objects.filter(pk=row.pk).update(fulfill_by=timezone.now() - timedelta(days=2))
    make_fulfillment_order(service, request_status="submitted")
    make_fulfillment_order(status="on_hold")


def create_deliveries(installation: Installation) -> None:
    now, address = timezone.now(), "https://warehouse.example.com/hooks"
    well = make_subscription(
        installation, address, topic="products/update", include_fields=["id", "title", "updated_at"]
    )
    failing = make_subscription(installation, f"{address}/orders", topic="orders/create")
    for minutes in range(3):
        delivery = make_delivery(
            installation, well, attempts=1, state="done", finished_at=now - timedelta(minutes=minutes)
        )
        make_attempt(
            delivery, connect_ms=3, remote_ip="203.0.113.7", response_headers={"Server": "nginx"}, excerpt="ok"
        )
    dead = make_delivery(installation, failing, attempts=9, state="dead", finished_at=now, error="status_500")
    for number in range(1, 10):
        make_attempt(dead, number=number, outcome="status", status=500, excerpt="Internal Server Error")
    make_delivery(installation, failing, attempts=2, state="retry", error="timeout")


def get_pages(shop: Shop, installation: Installation) -> list[tuple[str, tuple[object, ...]]]:
    with shop_scope(shop):
        token = AccessToken.objects.filter(installation=installation, revoked_at=None).order_by("-id")[0]
        member = Membership.objects.filter(account_owner=False).order_by("id")[0]
        job = Job.objects.get(state=Job.State.FAILED)
        depot, item = Location.objects.get(name="Depot"), InventoryItem.objects.order_by("id")[0]
        metafield, handler = Metafield.objects.get(), PaymentHandlerConfig.objects.get()
        delivery = Delivery.objects.get(state=Delivery.State.DEAD)
        refund = Refund.objects.get()
        tag, event = ScriptTag.objects.order_by("id")[0], Event.objects.order_by("-id")[0]
        work = FulfillmentOrder.objects.order_by("id")[0]
        service, parcel = FulfillmentService.objects.get(), Fulfillment.objects.get()
    own = App.objects.get(owner=shop)
    with_arguments: list[tuple[str, tuple[object, ...]]] = [
        ("help_page", ("imports",)),
        ("orders_order_change", (work.order_id,)),
        ("orders_order_change orders_order_cancel refunds_refund_new", (refund.order_id,)),
        ("shops_shop_change shops_shop_history", (shop.pk,)),
        ("shops_app_change shops_app_install shops_app_delete", (own.pk,)),
        ("shops_installation_review shops_installation_change", (installation.pk,)),
        ("shops_installation_scopes shops_installation_delete", (installation.pk,)),
        ("shops_installation_revoke", (installation.pk, token.pk)),
        ("fulfillment_fulfillmentorder_fulfill", (work.order_id,)),
        ("fulfillment_fulfillmentorder_act", (work.pk, "set_fulfillment_deadline")),
        ("fulfillment_fulfillmentorder_parcel", (parcel.pk, "event")),
        ("fulfillment_fulfillmentorder_parcel_slip", (parcel.pk,)),
        ("fulfillment_fulfillmentservice_change fulfillment_fulfillmentservice_records", (service.pk,)),
        ("fulfillment_fulfillmentservice_delete", (service.pk,)),
        ("inventory_location_change inventory_location_activation", (depot.pk,)),
        ("inventory_inventoryitem_change", (item.pk,)),
        ("refunds_refund_change", (refund.pk,)),
        ("metafields_metafield_change", (metafield.pk,)),
        ("content_scripttag_change", (tag.pk,)),
        ("payments_paymenthandlerconfig_change", (handler.pk,)),
        ("webhooks_subscription_change", (delivery.subscription_id,)),
        ("webhooks_delivery_change", (delivery.pk,)),
        ("staff_membership_change staff_membership_delete", (member.pk,)),
        ("events_event_change", (event.pk,)),
        ("jobs_job_change", (job.pk,)),
    ]
    return [
        *((name, ()) for name in PAGES_WITHOUT_ARGUMENTS.split()),
        *((name, arguments) for names, arguments in with_arguments for name in names.split()),
    ]


def run_jobs() -> None:
    with all_shops_scope():
        keys = list(Job.objects.filter(state=Job.State.WAITING).order_by("pk").values_list("key", flat=True))
    for key in keys:
        queue.run_job(key)
