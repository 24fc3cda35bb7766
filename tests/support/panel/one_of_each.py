from apps.bulk_edits.models import BulkEdit
from apps.catalog.models import Variant
from apps.content.models import MobilePlatformApplication
from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.tenancy.models import AccessToken, Membership, Shop
from apps.core.tenancy.scope import shop_scope
from apps.documents.domain.issue import issue_invoice
from apps.documents.domain.settings import build_logo, change_settings
from apps.imports_exports.models import Export, Import
from apps.inventory.models import StockMovement
from apps.metafields.domain.write import set_metafields
from apps.shops.domain import app_installation
from apps.store_imports.models import StoreImport
from apps.webhooks.domain.subscriptions import create_staff_subscription
from tests.support import factories
from tests.support.factories import make_charge, make_purchase
from tests.support.factories.catalog import make_custom, make_product, make_smart
from tests.support.factories.content import (
    make_article,
    make_blog,
    make_comment,
    make_draft,
    make_page,
    make_policy,
    make_redirect,
    make_rewritten,
    make_store_file,
)
from tests.support.factories.countries import make_country
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code
from tests.support.factories.draft_orders import make_draft_order
from tests.support.factories.fulfillment import make_event, make_fulfillment_order, make_service
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.inventory import (
    get_first_location,
    make_item,
    make_location,
    make_receipt,
    make_transfer,
    set_stock,
)
from tests.support.factories.orders import make_order
from tests.support.factories.payments import make_handler
from tests.support.factories.refunds import get_transaction, refund_amount
from tests.support.files.images import make_plain_image
from tests.support.webhooks import make_delivery

WEBHOOK = {"topic": "orders/create", "uri": "https://erp.example.com/hooks", "api_version": "2026-10"}
METAFIELD = {"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "Cold"}

# The arguments of a page's URL, by the kind of object that the page shows.
Things = dict[str, tuple[object, ...]]


def make_one_of_each(shop: Shop) -> Things:
    installation = factories.make_installation(shop, ("read_products",))
    own = app_installation.create_app(name="Own", owner=shop)
    factories.make_token(installation)
    member = factories.make_member(shop)
    item, location = make_item(shop), get_first_location(shop)
    set_stock(item, location, 1)
    with shop_scope(shop):
        export = Export.objects.create(shop=shop, kind="orders", format="csv", user=member)
        product = make_product(prices=("1.00", "2.00"))
        tag = factories.ScriptTagFactory.create(shop=shop, app=installation.app)
        draft, version = make_draft()
        delivery = make_delivery(installation)
        work, happened = make_fulfillment_order(), make_event()
        service = make_service(installation.app)
        refund = refund_amount(make_order(shop, financial_status="paid"), "1.00")
        comment = make_comment()
        discount_code = make_code("SUMMER")
        document = issue_invoice(make_order(shop), actor="system", at=shop.created_at)
        logo = build_logo(make_plain_image("PNG", (20, 10)))
        document_settings = change_settings(
            {"logo": logo}, issues_automatically=False, actor="system", at=shop.created_at
        )
        return {
            "": (),
            "shop": (shop.pk,),
            "country": (make_country().pk,),
            "app": (own.pk,),
            "installation": (installation.pk,),
            "token": (installation.pk, AccessToken.objects.get(installation=installation).pk),
            "purchase": (installation.pk, make_purchase(installation).pk),
            "charge": (installation.pk, make_charge(installation).pk),
            "tag": (tag.pk,),
            "store_import": (StoreImport.objects.create(shop=shop, source_url="https://old.example").pk,),
            "location": (location.pk,),
            "item": (item.pk,),
            "receipt": (make_receipt(item).pk,),
            "transfer": (make_transfer(item, make_location(shop)).pk,),
            "product": (product.pk,),
            "variant": (Variant.objects.filter(product=product).latest("id").pk,),
            "custom": (make_custom("Kitchen", product).pk,),
            "smart": (make_smart("Mugs", ("title", "contains", "mug")).pk,),
            "movement": (StockMovement.objects.get().pk,),
            "order": (make_order(shop).pk,),
            "draft_order": (make_draft_order().pk,),
            "discount": (discount_code.rule_id,),
            "discount_code": (discount_code.rule_id, discount_code.pk),
            "document": (document.pk,),
            "document_settings": (document_settings.pk,),
            "logo": (document_settings.logo_id,),
            "refund": (refund.pk,),
            "refund_payment": (refund.pk, get_transaction(refund).pk),
            "bulk_edit": (BulkEdit.objects.create(shop=shop, kind="products", actor="system").pk,),
            "export": (export.pk,),
            "export_file": (export.pk, export.key),
            "import": (Import.objects.create(shop=shop, name="in.csv", format="csv", actor="system").pk,),
            "metafield": (set_metafields(shop, [METAFIELD], actor="system", at=shop.created_at)[0].pk,),
            "event": (Event.objects.order_by("id")[0].pk,),
            "job": (Job.objects.create(shop=shop, task="x.y").pk,),
            "membership": (Membership.objects.get(user=member).pk,),
            "customer": (make_customer().pk,),
            "gift_card": (make_gift_card().pk,),
            "blog": (make_blog().pk,),
            "article": (make_article().pk,),
            "article_version": make_rewritten(),
            "comment": (comment.pk,),
            "comment_action": (comment.pk, "approve"),
            "page": (make_page().pk,),
            "policy": (make_policy().pk,),
            "redirect": (make_redirect().pk,),
            "store_file": (make_store_file().pk,),
            "theme": (draft.pk,),
            "version": (draft.pk, version.pk),
            "payment_handler": (make_handler(config={"shop_id": f"s{shop.pk}"}).pk,),
            "subscription": (delivery.subscription_id,),
            "staff_subscription": (create_staff_subscription(shop, WEBHOOK, actor="system", at=shop.created_at).pk,),
            "delivery": (delivery.pk,),
            "fulfillment_order": (work.pk,),
            "fulfillment_action": (work.pk, "hold"),
            "fulfillment_of": (work.order_id,),
            "parcel_action": (happened.fulfillment_id, "tracking"),
            "parcel": (happened.fulfillment_id,),
            "parcel_event": (happened.pk,),
            "service": (service.pk,),
            "service_pull": (service.pk, "stock"),
            "mobile": (MobilePlatformApplication.objects.create(shop=shop, platform="ios", application_id="x").pk,),
        }
