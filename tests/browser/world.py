"""A shop with something on every page."""

from datetime import timedelta

from django.utils import timezone

from apps.content.models import ScriptTag
from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.inventory.models import InventoryItem, Location
from apps.jobs.models import Job
from apps.metafields.domain.setting import set_many
from apps.metafields.models import Metafield
from apps.shops.domain import tokens
from apps.shops.models import AccessToken, Installation, Shop
from apps.staff.models import Membership, SavedView
from tests import factories
from tests.inventory.factories import make_item, make_location, put

METAFIELD = {"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "Cold"}


def furnish(shop: Shop) -> Installation:
    """Apps with tokens, scripts, jobs in every state, colleagues; returns the first app's installation."""
    now = timezone.now()
    installation = factories.make_installation(shop, ("read_products", "write_orders"), name="Warehouse sync")
    factories.make_installation(shop, (), name="Reviews")
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
        put(make_item(shop, sku=f"MUG-{number}", tracked=number != 1), depot, number * 7)
    with shop_scope(shop):
        set_many(shop, [METAFIELD], actor="system", at=now)
        Job.objects.bulk_create(Job(shop=shop, task="orders.export", state="done") for _ in range(25))
        keeper = Membership.objects.get(account_owner=True).user
        for name, query in (("Broken", "state__exact=failed"), ("Exports", "q=export")):
            SavedView.objects.create(shop=shop, user=keeper, screen="jobs.job", name=name, query=query, shared=True)
    factories.make_member(shop, "orders", "customers", email="sam@example.com", last_name="Rivera")
    factories.make_member(shop, email="alex@example.com", first_name="Alex", is_active=False)
    return installation


def pages(shop: Shop, installation: Installation) -> list[tuple[str, tuple[object, ...]]]:
    """Every kind of page, with the arguments of an example."""
    with shop_scope(shop):
        token = AccessToken.objects.filter(installation=installation, revoked_at=None).first()
        member = Membership.objects.filter(account_owner=False).first()
        job = Job.objects.get(state=Job.State.FAILED)
        depot, item = Location.objects.get(name="Depot"), InventoryItem.objects.order_by("id")[0]
        metafield = Metafield.objects.get()
        tag, event = ScriptTag.objects.first(), Event.objects.order_by("-id").first()
    assert token
    assert member
    assert tag
    assert event
    return [
        ("index", ()),
        ("shops_shop_change", (shop.pk,)),
        ("shops_shop_history", (shop.pk,)),
        ("shops_installation_changelist", ()),
        ("shops_installation_add", ()),
        ("shops_installation_change", (installation.pk,)),
        ("shops_installation_scopes", (installation.pk,)),
        ("shops_installation_delete", (installation.pk,)),
        ("shops_installation_revoke", (installation.pk, token.pk)),
        ("inventory_location_changelist", ()),
        ("inventory_location_change", (depot.pk,)),
        ("inventory_location_activation", (depot.pk,)),
        ("inventory_inventoryitem_changelist", ()),
        ("inventory_inventoryitem_change", (item.pk,)),
        ("inventory_stockmovement_changelist", ()),
        ("metafields_metafield_changelist", ()),
        ("metafields_metafield_change", (metafield.pk,)),
        ("content_scripttag_changelist", ()),
        ("content_scripttag_change", (tag.pk,)),
        ("staff_membership_changelist", ()),
        ("staff_membership_add", ()),
        ("staff_membership_change", (member.pk,)),
        ("staff_membership_delete", (member.pk,)),
        ("events_event_changelist", ()),
        ("events_event_change", (event.pk,)),
        ("jobs_job_changelist", ()),
        ("jobs_job_change", (job.pk,)),
    ]
