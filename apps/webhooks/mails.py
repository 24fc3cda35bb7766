"""The mails about subscriptions that fail: half of the way to being disabled, at three quarters, and once they are."""

from typing import Any

from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from apps.ground import languages
from apps.ground.retelling import retold
from apps.ground.tenancy import current_shop, every_shop
from apps.jobs.domain import letters
from apps.jobs.models import Job
from apps.webhooks.domain.engine.outcomes import STAGES
from apps.webhooks.models import Health, Subscription


def send_warning(job: Job, **arguments: Any) -> None:
    """Tell the shop, unless the subscription is well again or somebody ended it."""
    shop, stage, is_deleted = current_shop(), arguments["stage"], arguments.get("is_deleted", False)
    with every_shop():
        subscription = Subscription.objects.select_related("app").filter(pk=arguments["subscription_id"]).first()
        health = Health.objects.filter(subscription=subscription).first()
    if subscription is None or (subscription.deleted_at is not None and not is_deleted):
        return
    is_disabled = subscription.state == Subscription.State.DISABLED
    if stage < STAGES[-1] and (health is None or health.warned < stage):
        return
    with languages.speaking(shop.primary_locale):
        text = render_to_string(
            "webhooks/warning.txt",
            {
                "subscription": subscription,
                "health": health,
                "last_error": retold(health.last_error) if health else "",
                "reason": retold(subscription.reason),
                "stage": stage,
                "is_disabled": is_disabled,
                "is_deleted": is_deleted,
            },
        )
        stopped, failing = _("Webhooks of {app} for {shop} were stopped"), _("Webhooks of {app} for {shop} fail")
        said = (stopped if is_disabled or is_deleted else failing).format(app=subscription.app.name, shop=shop.name)
    subject = " ".join(said.split())
    letters.send(EmailMessage(subject=subject, body=text, from_email=shop.email, to=[shop.email]))
