from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from apps.bulk_edits.models import BulkEdit
from apps.catalog.models import Product
from apps.content.domain import articles
from apps.content.models import Blog, MobilePlatformApplication
from apps.core.events.recording import record_event
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Installation, Membership, Shop
from apps.core.types import Attrs
from apps.documents.domain.issue import issue_invoice
from apps.imports_exports.models import Export, Import
from apps.inventory.models import Location
from apps.metafields.domain.write import set_metafields
from apps.orders.models import Order
from apps.refunds.models import Refund
from apps.shops.domain import app_installation
from apps.store_imports.models import StoreImport
from apps.webhooks.models import Subscription
from tests.support import factories
from tests.support.factories.catalog import make_custom, make_image, make_product, make_smart
from tests.support.factories.content import make_blog, make_comment, make_page, make_redirect, make_store_file
from tests.support.factories.customers import make_address, make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.draft_orders import make_draft_order
from tests.support.factories.fulfillment import make_service, route_order_now, set_status
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.inventory import make_item, make_location, make_receipt, make_transfer, set_stock
from tests.support.factories.orders import make_order
from tests.support.factories.payments import make_handler
from tests.support.factories.refunds import create_bogus_order, refund_amount
from tests.support.webhooks import make_delivery, make_subscription

Make = Callable[[Shop, int], object]

FIRST, LAST = "Maximiliane-Friederike", "von Hohenstein-Zollernburg"
TITLE = "Hand-thrown stoneware breakfast bowl, speckled glaze"
TAGS = "breakfast, dishwasher-safe, gift, hand-made, stoneware, summer sale 2026"
SYNC = "Warehouse and parcels synchronisation"
VENDOR = "Töpferei Grünwald & Söhne GmbH"
MANY_PLACES = ("Warehouse Rotterdam", "Shop in the Old Town", "Depot North")
ADDRESS: Attrs = {
    "first_name": FIRST,
    "last_name": LAST,
    "address1": "Alte Landstraße 117, Hinterhaus",
    "city": "Garmisch-Partenkirchen",
    "zip": "82467",
    "country_code": "DE",
}


def _mail(number: int) -> str:
    return f"maximiliane.hohenstein.{number}@post.example.com"


def _order(shop: Shop, number: int) -> Order:
    lines = [{"title": f"{TITLE}, {size}", "price": Decimal("1249.90"), "quantity": 3} for size in ("S", "M", "L")]
    person = {"first_name": f"{FIRST} {number}", "last_name": LAST, "email": _mail(number)}
    currency = {"presentment_currency": "EUR", "exchange_rate": Decimal("0.92")}
    texts = {"email": _mail(number), "phone": "+49 89 1234 5678", "tags": TAGS, "source_name": "marketplace-europe"}
    return make_order(
        shop, lines=lines, shipping_address=ADDRESS, customer=person, financial_status="paid", **currency, **texts
    )


def _draft_order(shop: Shop, number: int) -> None:
    customer = make_customer(first_name=f"{FIRST} {number}", last_name=LAST, email=_mail(number))
    make_draft_order(customer_id=customer.pk, email=_mail(number), tags=TAGS, shipping_address=ADDRESS)


def _product(shop: Shop, number: int) -> Product:
    attrs = {"vendor": VENDOR, "product_type": "Breakfast crockery", "tags": TAGS}
    product = make_product(f"{TITLE}, no. {number}", prices=("1249.90", "1349.90", "1449.90"), **attrs)
    make_image(product)
    for variant in product.variants.all():
        for name in MANY_PLACES:
            place = Location.objects.filter(name=name).first() or make_location(shop, name=name)
            set_stock(variant.inventory_item, place, 120 + number)
    return product


def _article(shop: Shop, number: int) -> None:
    blog = make_blog() if number == 0 else Blog.objects.latest("id")
    attrs = {"title": f"{TITLE}: how it is made, part {number}", "author": f"{FIRST} {LAST}", "tags": TAGS}
    articles.create_article(blog.pk, attrs, actor="system", at=timezone.now())


def _bulk_edit(shop: Shop, number: int) -> None:
    user = factories.make_member(shop, first_name=FIRST, last_name=LAST)
    values = {"total": 12_000 + number, "state": BulkEdit.State.DONE, "finished_at": timezone.now()}
    BulkEdit.objects.create(shop=shop, kind="products", actor=f"staff:{user.pk}", **values)


def _customer(shop: Shop, number: int) -> None:
    customer = make_customer(
        first_name=f"{FIRST} {number}", last_name=LAST, email=_mail(number), phone=f"+4989123456{number:02}", tags=TAGS
    )
    make_address(customer, **ADDRESS)


def _gift_card(shop: Shop, number: int) -> None:
    customer = make_customer(first_name=f"{FIRST} {number}", last_name=LAST, email=f"gift-{_mail(number)}")
    make_gift_card("150.00", customer_id=customer.pk, note="For the anniversary")


def _discount(shop: Shop, number: int) -> None:
    code = make_code(f"SUMMER-BREAKFAST-{number}", make_rule(title="Breakfast bowls for regulars", usage_limit=1_000))
    make_code(f"WINTER-{number}", code.rule)


def _delivery(shop: Shop, number: int) -> None:
    """Create a failed delivery. All failed deliveries have the same subscription."""
    installation = Installation.objects.filter(shop=shop).first() or _installation(shop, number)
    subscription = Subscription.objects.first()
    make_delivery(installation, subscription, state="failed", attempts=5, error="certificate_expired")


def _document(shop: Shop, number: int) -> None:
    issue_invoice(_order(shop, number), actor="system", at=timezone.now())


def _event(shop: Shop, number: int) -> None:
    order = Order.objects.first() or _order(shop, 0)
    changes = {name: ["before", "after"] for name in ("tags", "note", "email", "phone", "shipping_address")}
    by = factories.make_member(shop, first_name=f"{FIRST} {number}", last_name=LAST)
    record_event("orders/updated", order, actor=f"staff:{by.pk}", at=timezone.now(), changes=changes)


def _export(shop: Shop, number: int) -> None:
    """Create an export for the account owner. Other staff members cannot see this export."""
    user = Membership.objects.get(account_owner=True).user
    at = timezone.now() + timedelta(days=3)
    ready = {"state": Export.State.READY, "row_count": 1_234_567, "expires_at": at, "file": f"orders-{number}.csv"}
    Export.objects.create(shop=shop, kind="orders", format="csv", user=user, **ready)


def _handler(shop: Shop, number: int) -> None:
    name = f"example.garmisch.wallet_{number}"
    make_handler(handler_id=f"wallet-{number}", handler_name=name, config={"shop_id": f"garmisch-{number}"})


def _import(shop: Shop, number: int) -> None:
    user = factories.make_member(shop, first_name=FIRST, last_name=LAST)
    name = f"products of the warehouse in Rotterdam, season {number}, second try.csv"
    finished_values = {"state": Import.State.DONE, "total": 120_000, "done": 120_000, "finished_at": timezone.now()}
    Import.objects.create(shop=shop, name=name, format="csv", actor=f"staff:{user.pk}", **finished_values)


def _installation(shop: Shop, number: int) -> Installation:
    return factories.make_installation(shop, name=f"{SYNC} {number}")


def _variants(shop: Shop, number: int) -> None:
    """Create a product with three variants, but only for every third number."""
    if number % 3 == 0:
        _product(shop, number)


def _job(shop: Shop, number: int) -> None:
    state = {"state": Job.State.FAILED, "attempts": 5, "error": "The receiver closed the connection. " * 3}
    Job.objects.create(shop=shop, task="webhooks.deliver", progress_done=number, progress_total=100, **state)


def _receipt(shop: Shop, number: int) -> None:
    place = Location.objects.filter(name=MANY_PLACES[0]).first() or make_location(shop, name=MANY_PLACES[0])
    make_receipt(make_item(shop), 120 + number, location_id=place.pk, note=f"{VENDOR}, delivery note 2026-{number:04}")


def _transfer(shop: Shop, number: int) -> None:
    place = Location.objects.filter(name=MANY_PLACES[0]).first() or make_location(shop, name=MANY_PLACES[0])
    make_transfer(make_item(shop), place, 120 + number, note=f"Pallet {number} for the summer sale")


def _location(shop: Shop, number: int) -> None:
    make_location(shop, name=f"Warehouse Rotterdam, hall {number}", address1="Alte Landstraße 117, Hinterhaus")


def _member(shop: Shop, number: int) -> None:
    names = ("orders", "products", "customers", "edit_orders", "refund_orders")
    factories.make_member(shop, *names, first_name=f"{FIRST} {number}", last_name=LAST, email=_mail(number))


def _metafield(shop: Shop, number: int) -> None:
    field = {"namespace": "care_instructions", "key": f"washing_{number}", "value": TITLE * 3, "description": TAGS}
    set_metafields(shop, [{"type": "single_line_text_field", **field}], actor="system", at=timezone.now())


def _refund(shop: Shop, number: int) -> None:
    refund = refund_amount(create_bogus_order(shop, "1249.90"), "249.90")
    Refund.rows().filter(pk=refund.pk).update(note="The glaze of two bowls was cracked, see the pictures of the buyer.")


def _script_tag(shop: Shop, number: int) -> None:
    app = _installation(shop, number).app
    src = f"https://cdn.scripts.example/warehouse-and-parcels/synchronisation/{number}/main.min.js?shop=garmisch"
    factories.ScriptTagFactory.create(shop=shop, app=app, src=src)


def _service(shop: Shop, number: int) -> None:
    app = _installation(shop, number).app
    make_service(app, name=f"Fulfilment Rotterdam {number}", callback_url=f"https://parcels.example/rotterdam/{number}")


def _smart(shop: Shop, number: int) -> None:
    rules = (("title", "contains", "bowl"), ("vendor", "equals", VENDOR), ("tag", "equals", "gift"))
    make_smart(f"{TITLE}, all of no. {number}", *rules)


def _store_import(shop: Shop, number: int) -> None:
    StoreImport.objects.create(shop=shop, source_url=f"https://porcelain-and-stoneware-{number}.example")


def _subscription(shop: Shop, number: int) -> None:
    address = f"https://hooks.warehouse.example/rotterdam/parcels/{number}"
    make_subscription(_installation(shop, number), address, topic="orders/updated")


def _work(shop: Shop, number: int) -> None:
    """Create a fulfillment order of three items at a location with a long name. Every fifth one is on hold."""
    for row in route_order_now(_order(shop, number)):
        Location.objects.filter(pk=row.assigned_location_id).update(name="Warehouse Rotterdam, hall 4")
        set_status(row, "on_hold" if number % 5 == 0 else "open", "unsubmitted")


MAKE: dict[str, Make] = {
    "bulk_edits.bulkedit": _bulk_edit,
    "catalog.customcollection": lambda shop, number: make_custom(f"{TITLE}, all of no. {number}"),
    "catalog.product": _product,
    "catalog.smartcollection": _smart,
    "catalog.variant": _variants,
    "content.article": _article,
    "content.blog": lambda shop, number: make_blog(),
    "content.comment": lambda shop, number: make_comment(body=f"I knitted {number} pairs, and they still look new."),
    "content.page": lambda shop, number: make_page(title=f"How we dye our wool, part {number}"),
    "content.redirect": lambda shop, number: make_redirect(f"/collections/breakfast-{number}"),
    "content.mobileplatformapplication": lambda shop, number: MobilePlatformApplication.objects.create(
        shop=shop, platform="ios", application_id=f"X1Y2Z3W4V5.example.garmisch.store-{number}"
    ),
    "content.scripttag": _script_tag,
    "content.storefile": lambda shop, number: make_store_file(f"breakfast-bowl-speckled-glaze-{number}.png"),
    "customers.customer": _customer,
    "discounts.pricerule": _discount,
    "documents.issueddocument": _document,
    "draft_orders.draftorder": _draft_order,
    "events.event": _event,
    "imports_exports.export": _export,
    "imports_exports.import": _import,
    "fulfillment.fulfillmentorder": _work,
    "fulfillment.fulfillmentservice": _service,
    "gift_cards.giftcard": _gift_card,
    "inventory.location": _location,
    "inventory.stockmovement": _variants,
    "inventory.stockreceipt": _receipt,
    "inventory.stocktransfer": _transfer,
    "jobs.job": _job,
    "metafields.metafield": _metafield,
    "orders.order": _order,
    "payments.paymenthandlerconfig": _handler,
    "refunds.refund": _refund,
    "shops.app": lambda shop, number: app_installation.create_app(name=f"{SYNC} {number}", owner=shop),
    "shops.installation": _installation,
    "staff.membership": _member,
    "store_imports.storeimport": _store_import,
    "webhooks.delivery": _delivery,
    "webhooks.subscription": _subscription,
}
