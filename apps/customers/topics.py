"""The topics that customers publish."""

from django.db.models import Model

from apps.api.context import Context
from apps.api.rows.plans import plan_for
from apps.api.topics import PLAIN, register_resource
from apps.customers.api.customers import CustomerSerializer
from apps.customers.models import Customer
from apps.events.domain import topics
from apps.ground.attrs import Attrs
from apps.ground.tenancy import current_shop

SCOPE = "read_customers"


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


def _account(instance: Model, version: str) -> Attrs:
    assert isinstance(instance, Customer)
    return {"id": instance.pk, "state": instance.state}


def register_all() -> None:
    """Add the topics."""
    verbs = {**PLAIN, "enable": "account activated", "disable": "account disabled"}
    register_resource("customers", "Customer", CustomerSerializer, scope=SCOPE, verbs=verbs)
    for name, render, label in (
        ("customers_email_marketing_consent/update", _email_consent, "E-mail marketing consent changed"),
        ("customers_marketing_consent/update", _sms_consent, "SMS marketing consent changed"),
    ):
        topics.register(name, scope=SCOPE, render=render, label=label)
    for name, label in (
        ("customers/invite", "Invitation sent"),
        ("customers/activation_url", "Activation link made"),
        ("customers/export", "Personal data handed over"),
        ("customers/redact", "Personal data erased"),
    ):
        # For the audit trail alone: no scope opens them to subscribers.
        topics.register(name, scope="", render=_account, label=label)
