from django.utils import timezone

from apps.core.tenancy.models import Installation
from apps.core.types import Attrs
from apps.shops.domain.storefront_tokens import create_storefront_token
from apps.shops.models import RecurringCharge
from tests.samples import SampleContext, register_resource, register_sample
from tests.support.factories import (
    add_deprecated_call,
    make_charge,
    make_credit,
    make_marketing_event,
    make_purchase,
    make_usage,
)
from tests.support.factories.catalog import make_product

FEEDBACK: Attrs = {
    "resource_feedback": {
        "state": "requires_action",
        "messages": ["Connect your account."],
        "feedback_generated_at": "2026-03-01T10:00:00Z",
    }
}
PRODUCT_FEEDBACK: Attrs = {
    "resource_feedback": {**FEEDBACK["resource_feedback"], "resource_updated_at": "2026-03-01T10:00:00Z"}
}


MARKETING_EVENT: Attrs = {
    "event_type": "newsletter",
    "started_at": "2026-03-01T10:00:00Z",
    "utm_campaign": "spring",
    "utm_source": "email",
    "utm_medium": "newsletter",
    "marketing_channel": "email",
    "referring_domain": "mail.example",
    "paid": False,
    "budget": "100.00",
    "currency": "EUR",
    "marketed_resources": [{"type": "product", "id": 1}],
}
ENGAGEMENTS: Attrs = {
    "engagements": [
        {"occurred_on": "2026-03-01", "views_count": 7, "clicks_count": 2, "ad_spend": "1.50", "is_cumulative": False}
    ]
}


def make_marketing_event_id(world: SampleContext) -> Attrs:
    return {"id": make_marketing_event(world.installation).pk}


def make_deprecated_call(world: SampleContext) -> Attrs:
    add_deprecated_call(world.installation, "products/{product_id}/images.json")
    return {}


CREDIT: Attrs = {"description": "Refund of May", "amount": "5.00"}


def make_credit_id(world: SampleContext) -> Attrs:
    return {"id": make_credit(world.installation).pk}


def make_token_id(world: SampleContext) -> Attrs:
    return {"id": create_storefront_token(world.installation, "Phone", actor="system", at=timezone.now()).pk}


def make_product_parent(world: SampleContext) -> Attrs:
    return {"product_id": make_product().pk}


CHARGE: Attrs = {"name": "Pro", "price": "9.50", "return_url": "https://app.example/done", "test": True}
RECURRING: Attrs = {**CHARGE, "trial_days": 7, "capped_amount": "100.00", "terms": "$1 for 1000 emails"}
USAGE: Attrs = {"usage_charge": {"description": "1000 emails", "price": "1.00"}}


def make_application_charge_id(world: SampleContext) -> Attrs:
    return {"id": make_purchase(world.installation, return_url="https://app.example/done").pk}


def make_charge_of_app(world: SampleContext) -> RecurringCharge:
    """Create an active charge, or a pending charge if the app has an active charge, which must stay active."""
    is_first = not RecurringCharge.objects.filter(status="active").exists()
    return make_charge(world.installation, approved=is_first)


def make_active_charge_id(world: SampleContext) -> Attrs:
    return {"id": make_charge_of_app(world).pk}


def make_usage_ids(world: SampleContext) -> Attrs:
    charge = make_charge_of_app(world)
    if charge.status == "pending":
        # An installation has at most one active charge, but the app's former installations have charges too.
        at = timezone.now()
        former = Installation.objects.create(shop=world.shop, app=world.installation.app, uninstalled_at=at)
        RecurringCharge.objects.filter(pk=charge.pk).update(
            installation=former, status="active", activated_on=at.astimezone(world.shop.tzinfo).date()
        )
    return {"recurring_charge_id": charge.pk, "id": make_usage(charge).pk}


register_sample("GET application_charges.json", arrange=make_application_charge_id)
register_sample("POST application_charges.json", {"application_charge": CHARGE}, status=201)
register_sample("GET application_charges/<id>.json", arrange=make_application_charge_id)
register_sample("GET application_credits.json", arrange=make_credit_id)
register_sample("POST application_credits.json", {"application_credit": CREDIT}, status=201)
register_sample("GET application_credits/<id>.json", arrange=make_credit_id)
register_sample("GET recurring_application_charges.json", arrange=make_active_charge_id)
register_sample("POST recurring_application_charges.json", {"recurring_application_charge": RECURRING}, status=201)
register_sample("GET recurring_application_charges/<id>.json", arrange=make_active_charge_id)
register_sample("DELETE recurring_application_charges/<id>.json", arrange=make_active_charge_id)
register_sample(
    "PUT recurring_application_charges/<id>/customize.json",
    arrange=make_active_charge_id,
    query={"recurring_application_charge[capped_amount]": "200"},
    bodiless=True,
)
register_sample("POST recurring_application_charges/<id>/activate.json", arrange=make_active_charge_id, bodiless=True)
USAGE_PATH = "recurring_application_charges/<recurring_charge_id>/usage_charges"
register_sample(f"GET {USAGE_PATH}.json", arrange=make_usage_ids)
register_sample(f"POST {USAGE_PATH}.json", USAGE, arrange=make_usage_ids, status=201)
register_sample(f"GET {USAGE_PATH}/<id>.json", arrange=make_usage_ids)
register_sample("GET storefront_access_tokens.json", arrange=make_token_id)
register_sample("POST storefront_access_tokens.json", {"storefront_access_token": {"title": "Phone"}}, status=201)
register_sample("DELETE storefront_access_tokens/<id>.json", arrange=make_token_id)
register_resource(
    "marketing_events",
    {"marketing_event": MARKETING_EVENT},
    {"marketing_event": {"utm_campaign": "autumn", "budget": "250.00", "budget_type": "daily", "currency": "EUR"}},
    make_marketing_event_id,
)
register_sample("POST marketing_events/<id>/engagements.json", ENGAGEMENTS, arrange=make_marketing_event_id, status=201)
register_sample("GET deprecated_api_calls.json", arrange=make_deprecated_call)
register_sample("GET resource_feedback.json")
register_sample("POST resource_feedback.json", FEEDBACK, status=202)
register_sample("GET products/<product_id>/resource_feedback.json", arrange=make_product_parent)
register_sample(
    "POST products/<product_id>/resource_feedback.json", PRODUCT_FEEDBACK, arrange=make_product_parent, status=202
)
