from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from django.conf import settings
from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.core.events.models import Event
from apps.core.events.topics import Topic, topics
from apps.core.money import format_decimal
from apps.core.rest.openapi.schemas import build_resource_schema
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.rest.webhook_topics import DEFAULT_LABELS, build_resource_topics
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, Schema
from apps.customers.api.customers import CustomerSerializer
from apps.customers.domain import personal_data
from apps.customers.domain.customers import TAGS_ADDED, TAGS_REMOVED
from apps.customers.domain.lookup import MERGE_TOPIC as MERGED
from apps.customers.domain.lookup import PURCHASING_SUMMARY
from apps.customers.domain.privacy_webhooks import DATA_REQUEST, REDACT
from apps.customers.models import Customer

SCOPES = ("read_customers",)
_IDS_SCHEMA: Schema = {"type": "array", "items": {"type": "integer"}}


# The members of the consent payloads, with their names in the customer resource.
_EMAIL_CONSENT = {"customer_id": "id", "email_address": "email", "email_marketing_consent": "email_marketing_consent"}
_SMS_CONSENT = {name: name for name in ("id", "phone", "sms_marketing_consent")}


def _render_consent(members: Mapping[str, str], instance: Model, version: str) -> Attrs:
    plan = get_read_plan(CustomerSerializer, version, frozenset(members.values()))
    values = plan.read_one(instance.pk, RenderContext(get_current_shop(), version))
    return {name: values[of] for name, of in members.items()}


def _consent_schema(members: Mapping[str, str], version: str) -> Schema:
    properties: dict[str, Schema] = build_resource_schema(CustomerSerializer, version)["properties"]
    return _object_schema({name: properties[of] for name, of in members.items()})


def _render_account(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    return {"id": instance.pk, "state": instance.state}


def _render_tags(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    assert instance.tags_changed_at is not None
    return {
        "customerId": f"gid://{settings.BRAND}/Customer/{instance.pk}",
        "tags": list(instance.event_tags),
        "occurredAt": _format_moment(instance.tags_changed_at),
    }


def _tags_schema(version: str) -> Schema:
    text: Schema = {"type": "string"}
    moment: Schema = {"type": "string", "format": "date-time"}
    return _object_schema({"customerId": text, "tags": {"type": "array", "items": text}, "occurredAt": moment})


def _render_merge(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    kept_gid, deleted_gid = (
        f"gid://{settings.BRAND}/Customer/{pk}" for pk in (instance.pk, instance.merged_customer_id)
    )
    return {
        "admin_graphql_api_customer_kept_id": kept_gid,
        "admin_graphql_api_customer_deleted_id": deleted_gid,
        "admin_graphql_api_job_id": None,
        "status": "completed",
        "errors": [],
    }


def _merge_schema(version: str) -> Schema:
    text: Schema = {"type": "string"}
    return _object_schema(
        {
            "admin_graphql_api_customer_kept_id": text,
            "admin_graphql_api_customer_deleted_id": text,
            "admin_graphql_api_job_id": {"type": ["string", "null"]},
            "status": text,
            "errors": {"type": "array", "items": {"type": "object"}},
        }
    )


def _render_purchasing_summary(instance: Model, version: str) -> Attrs:
    (summary,) = _render_purchasing_summaries([instance], version)
    return summary


def _render_purchasing_summaries(instances: Sequence[Model], version: str) -> list[Attrs]:
    customers = Customer.objects.in_bulk({instance.pk for instance in instances})
    return [_build_purchasing_summary(customers[instance.pk]) for instance in instances]


def _build_purchasing_summary(customer: Customer) -> Attrs:
    shop, last = get_current_shop(), customer.last_order_id
    return {
        "customerId": f"gid://{settings.BRAND}/Customer/{customer.pk}",
        "numberOfOrders": customer.orders_count,
        "amountSpent": {
            "amount": format_decimal(customer.total_spent, shop.currency),
            "currencyCode": shop.currency,
        },
        "lastOrderId": f"gid://{settings.BRAND}/Order/{last}" if last else None,
        "occurredAt": _format_moment(customer.updated_at),
    }


def _purchasing_summary_schema(version: str) -> Schema:
    text: Schema = {"type": "string"}
    return _object_schema(
        {
            "customerId": text,
            "numberOfOrders": {"type": "integer"},
            "amountSpent": _object_schema({"amount": {"type": "string", "format": "decimal"}, "currencyCode": text}),
            "lastOrderId": {"type": ["string", "null"]},
            "occurredAt": {"type": "string", "format": "date-time"},
        }
    )


def _format_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _get_merge_example() -> Customer | None:
    customer = Customer.objects.order_by("pk").first()
    if customer is not None:
        customer.merged_customer_id = customer.pk + 1
    return customer


def _get_tags_example() -> Customer | None:
    customer = Customer.objects.exclude(tags="").order_by("pk").first()
    if customer is not None:
        customer.event_tags, customer.tags_changed_at = customer.tags.split(", "), customer.created_at
    return customer


def _render_data_request(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    requests = Event.objects.filter(subject_type=Customer._meta.label_lower, subject_id=instance.pk)
    request = requests.filter(topic="customers/export").order_by("-pk").values_list("pk", flat=True).first()
    ids = personal_data.get_part_ids(instance, "orders")
    return {**_render_contact(instance), "orders_requested": ids, "data_request": {"id": request}}


def _render_redact(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    return {**_render_contact(instance), "orders_to_redact": personal_data.get_part_ids(instance, "orders")}


def _render_contact(customer: Customer) -> Attrs:
    shop = get_current_shop()
    contact = {"id": customer.pk, "email": customer.email or None, "phone": customer.phone or None}
    return {"shop_id": shop.pk, "shop_domain": shop.domain, "customer": contact}


def _contact_schema(**extra_members: Schema) -> Schema:
    integer = {"type": "integer"}
    contact = {"id": integer, "email": {"type": ["string", "null"]}, "phone": {"type": ["string", "null"]}}
    members = {
        "shop_id": integer,
        "shop_domain": {"type": "string"},
        "customer": _object_schema(contact),
        **extra_members,
    }
    return _object_schema(members)


def _object_schema(members: Schema) -> Schema:
    return {"type": "object", "properties": members}


def _data_request_schema(version: str) -> Schema:
    return _contact_schema(
        orders_requested=_IDS_SCHEMA, data_request=_object_schema({"id": {"type": ["integer", "null"]}})
    )


def _redact_schema(version: str) -> Schema:
    return _contact_schema(orders_to_redact=_IDS_SCHEMA)


verbs = {
    **DEFAULT_LABELS,
    "enable": gettext_noop("Customer account activated"),
    "disable": gettext_noop("Customer account disabled"),
}
topics.add(
    *build_resource_topics("customers", gettext_noop("Customer"), CustomerSerializer, scopes=SCOPES, verbs=verbs)
)
for name, members, label in (
    ("customers_email_marketing_consent/update", _EMAIL_CONSENT, gettext_noop("Email marketing consent changed")),
    ("customers_marketing_consent/update", _SMS_CONSENT, gettext_noop("SMS marketing consent changed")),
):
    render, get_schema = partial(_render_consent, members), partial(_consent_schema, members)
    topics.add(Topic(name=name, scopes=SCOPES, render=render, get_schema=get_schema, label=label, example=Customer))
for name, label in (
    (TAGS_ADDED, gettext_noop("Tags added to a customer")),
    (TAGS_REMOVED, gettext_noop("Tags removed from a customer")),
):
    topics.add(
        Topic(
            name=name,
            scopes=SCOPES,
            render=_render_tags,
            get_schema=_tags_schema,
            label=label,
            example=_get_tags_example,
            is_cumulative=True,
        )
    )
topics.add(
    Topic(
        name=PURCHASING_SUMMARY,
        scopes=SCOPES,
        render=_render_purchasing_summary,
        render_together=_render_purchasing_summaries,
        get_schema=_purchasing_summary_schema,
        label=gettext_noop("Customer's orders or spending changed"),
        example=Customer,
    )
)
label = gettext_noop("Another customer merged into this one")
topics.add(
    Topic(
        name=MERGED,
        scopes=SCOPES,
        render=_render_merge,
        get_schema=_merge_schema,
        label=label,
        example=_get_merge_example,
        is_cumulative=True,
    )
)
for name, label in (
    ("customers/invite", gettext_noop("Invitation sent")),
    ("customers/activation_url", gettext_noop("Activation link created")),
    ("customers/export", gettext_noop("Personal data exported")),
    ("customers/erase", gettext_noop("Personal data erased")),
):
    # These topics are only for the audit log. They have no scope, so apps cannot subscribe to them.
    topics.add(Topic(name=name, render=_render_account, label=label))
# Apps can subscribe to the privacy topics only in their configuration file. The payload includes the customer's
# contact data.
label = gettext_noop("Customer data request sent to apps")
topics.add(
    Topic(
        name=DATA_REQUEST,
        scopes=SCOPES,
        render=_render_data_request,
        get_schema=_data_request_schema,
        label=label,
        is_offered=False,
        example=Customer,
    )
)
label = gettext_noop("Customer erasure request sent to apps")
topics.add(Topic(name=REDACT, render=_render_redact, get_schema=_redact_schema, label=label, example=Customer))
