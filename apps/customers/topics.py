"""The topics that customers publish."""

from datetime import UTC

from django.conf import settings
from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.api.context import Context
from apps.api.openapi.schemas import resource_schema
from apps.api.rows.plans import plan_for
from apps.api.shapes import Schema
from apps.api.topics import PLAIN, register_resource
from apps.customers.api.customers import CustomerSerializer
from apps.customers.domain import personal_data
from apps.customers.domain.compliance import DATA_REQUEST, REDACT
from apps.customers.domain.customers import TAGS_ADDED, TAGS_REMOVED
from apps.customers.domain.merging import TOPIC as MERGED
from apps.customers.models import Customer
from apps.events.domain import topics
from apps.events.models import Event
from apps.ground.attrs import Attrs
from apps.ground.tenancy import current_shop

SCOPE = "read_customers"
_IDS: Schema = {"type": "array", "items": {"type": "integer"}}


def _shown(instance: Model, version: str, *names: str) -> Attrs:
    plan = plan_for(CustomerSerializer, version, frozenset(names))
    shown: Attrs = plan.read_one(instance.pk, Context(current_shop(), version))
    return shown


def _email_consent(instance: Model, version: str) -> Attrs:
    shown = _shown(instance, version, "email", "email_marketing_consent")
    return {
        "customer_id": instance.pk,
        "email_address": shown["email"],
        "email_marketing_consent": shown["email_marketing_consent"],
    }


def _sms_consent(instance: Model, version: str) -> Attrs:
    return _shown(instance, version, "id", "phone", "sms_marketing_consent")


def _email_shape(version: str) -> Schema:
    known: dict[str, Schema] = resource_schema(CustomerSerializer, version)["properties"]
    names = {"customer_id": "id", "email_address": "email", "email_marketing_consent": "email_marketing_consent"}
    return _object({name: known[of] for name, of in names.items()})


def _sms_shape(version: str) -> Schema:
    known: dict[str, Schema] = resource_schema(CustomerSerializer, version)["properties"]
    return _object({name: known[name] for name in ("id", "phone", "sms_marketing_consent")})


def _account(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    return {"id": instance.pk, "state": instance.state}


def _tags(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    assert instance.told_at is not None
    moment = instance.told_at.astimezone(UTC).isoformat(timespec="milliseconds")
    return {
        "customerId": f"gid://{settings.BRAND}/Customer/{instance.pk}",
        "tags": list(instance.told_tags),
        "occurredAt": moment.replace("+00:00", "Z"),
    }


def _tags_shape(version: str) -> Schema:
    text: Schema = {"type": "string"}
    moment: Schema = {"type": "string", "format": "date-time"}
    return _object({"customerId": text, "tags": {"type": "array", "items": text}, "occurredAt": moment})


def _merged(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    kept, deleted = (f"gid://{settings.BRAND}/Customer/{pk}" for pk in (instance.pk, instance.merged_id))
    return {
        "admin_graphql_api_customer_kept_id": kept,
        "admin_graphql_api_customer_deleted_id": deleted,
        "admin_graphql_api_job_id": None,
        "status": "completed",
        "errors": [],
    }


def _merged_shape(version: str) -> Schema:
    text: Schema = {"type": "string"}
    return _object(
        {
            "admin_graphql_api_customer_kept_id": text,
            "admin_graphql_api_customer_deleted_id": text,
            "admin_graphql_api_job_id": {"type": ["string", "null"]},
            "status": text,
            "errors": {"type": "array", "items": {"type": "object"}},
        }
    )


def _one_merged() -> Customer | None:
    customer = Customer.objects.order_by("pk").first()
    if customer is not None:
        customer.merged_id = customer.pk + 1
    return customer


def _one_tagged() -> Customer | None:
    customer = Customer.objects.exclude(tags="").order_by("pk").first()
    if customer is not None:
        customer.told_tags, customer.told_at = customer.tags.split(", "), customer.created_at
    return customer


def _asked(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    requests = Event.objects.filter(subject_type=Customer._meta.label_lower, subject_id=instance.pk)
    request = requests.filter(topic="customers/export").order_by("-pk").values_list("pk", flat=True).first()
    ids = personal_data.ids_of(instance, "orders")
    return {**_about(instance), "orders_requested": ids, "data_request": {"id": request}}


def _forgotten(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    return {**_about(instance), "orders_to_redact": personal_data.ids_of(instance, "orders")}


def _about(customer: Customer) -> Attrs:
    shop = current_shop()
    contact = {"id": customer.pk, "email": customer.email or None, "phone": customer.phone or None}
    return {"shop_id": shop.pk, "shop_domain": shop.domain, "customer": contact}


def _about_shape(**further: Schema) -> Schema:
    whole = {"type": "integer"}
    contact = {"id": whole, "email": {"type": ["string", "null"]}, "phone": {"type": ["string", "null"]}}
    members = {"shop_id": whole, "shop_domain": {"type": "string"}, "customer": _object(contact), **further}
    return _object(members)


def _object(members: Schema) -> Schema:
    return {"type": "object", "properties": members}


def _asked_shape(version: str) -> Schema:
    return _about_shape(orders_requested=_IDS, data_request=_object({"id": {"type": ["integer", "null"]}}))


def _forgotten_shape(version: str) -> Schema:
    return _about_shape(orders_to_redact=_IDS)


def register_all() -> None:
    """Add the topics."""
    verbs = {
        **PLAIN,
        "enable": gettext_noop("Customer account activated"),
        "disable": gettext_noop("Customer account disabled"),
    }
    register_resource("customers", gettext_noop("Customer"), CustomerSerializer, scope=SCOPE, verbs=verbs)
    for name, render, shape, label in (
        (
            "customers_email_marketing_consent/update",
            _email_consent,
            _email_shape,
            gettext_noop("E-mail marketing consent changed"),
        ),
        ("customers_marketing_consent/update", _sms_consent, _sms_shape, gettext_noop("SMS marketing consent changed")),
    ):
        topics.register(name, scope=SCOPE, render=render, shape=shape, label=label, example=Customer)
    for name, label in (
        (TAGS_ADDED, gettext_noop("Tags added to a customer")),
        (TAGS_REMOVED, gettext_noop("Tags taken off a customer")),
    ):
        topics.register(name, scope=SCOPE, render=_tags, shape=_tags_shape, label=label, example=_one_tagged, each=True)
    label = gettext_noop("Another customer merged into this one")
    topics.register(
        MERGED, scope=SCOPE, render=_merged, shape=_merged_shape, label=label, example=_one_merged, each=True
    )
    for name, label in (
        ("customers/invite", gettext_noop("Invitation sent")),
        ("customers/activation_url", gettext_noop("Activation link made")),
        ("customers/export", gettext_noop("Personal data handed over")),
        ("customers/erase", gettext_noop("Personal data erased")),
    ):
        # For the audit trail alone: no scope opens them to subscribers.
        topics.register(name, scope="", render=_account, label=label)
    # What the law has apps told; they come from an app's configuration file alone. Who asks is shown with the contact.
    label = gettext_noop("Apps asked for a customer's data")
    topics.register(
        DATA_REQUEST, scope=SCOPE, render=_asked, shape=_asked_shape, label=label, offered=False, example=Customer
    )
    label = gettext_noop("Apps asked to forget a customer")
    topics.register(REDACT, scope="", render=_forgotten, shape=_forgotten_shape, label=label, example=Customer)
