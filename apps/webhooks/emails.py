"""Send warning emails when a subscription fails for a while, is disabled or is deleted."""

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.reverse import get_panel_url
from apps.core.i18n import formats
from apps.core.i18n.messages import translate
from apps.core.jobs import emails
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, get_current_shop
from apps.webhooks.domain.engine.subscription_health import SEND_APP_WARNING, SEND_WARNING, WARNING_STAGES
from apps.webhooks.models import Health, Subscription


@job_task(SEND_WARNING, title=gettext_lazy("Warning about failing webhooks"), former_names=("webhooks.warn",))
def send_warning(job: Job, *, subscription_id: int, stage: int, is_deleted: bool = False) -> None:
    """Email the shop about a failing subscription, unless deliveries succeed again or the subscription was deleted."""
    shop = get_current_shop()
    with all_shops_scope():
        subscription = Subscription.objects.select_related("app").filter(pk=subscription_id).first()
        health = Health.objects.filter(subscription=subscription).first()
    if subscription is None or (subscription.deleted_at is not None and not is_deleted):
        return
    is_disabled = subscription.state == Subscription.State.DISABLED
    if stage < WARNING_STAGES[-1] and (health is None or health.warned < stage):
        return
    with formats.language_override(shop.primary_locale):
        text = render_to_string(
            "webhooks/warning.txt",
            {
                "subscription": subscription,
                "health": health,
                "last_error": translate(health.last_error) if health else "",
                "reason": translate(subscription.reason),
                "stage": stage,
                "is_disabled": is_disabled,
                "is_deleted": is_deleted,
                "url": "" if is_deleted else _get_url(shop, subscription),
            },
        )
        stopped, failing = _("{app} webhooks for {shop} have been disabled"), _("{app} webhooks for {shop} are failing")
        title = (stopped if is_disabled or is_deleted else failing).format(app=subscription.app.name, shop=shop.name)
    subject = " ".join(title.split())
    emails.send_email(EmailMessage(subject=subject, body=text, from_email=shop.email, to=[shop.email]))


def _get_url(shop: Shop, subscription: Subscription) -> str:
    return f"{settings.BASE_URL}{get_panel_url(shop, 'admin:webhooks_subscription_change', subscription.pk)}"


@job_task(SEND_APP_WARNING, title=gettext_lazy("Email to an app about a disabled webhook"))
def send_app_warning(job: Job, *, subscription_id: int, is_deleted: bool) -> None:
    """Email the app's contact address about a disabled or deleted subscription, unless it was resumed."""
    shop = get_current_shop()
    with all_shops_scope():
        subscription = Subscription.objects.select_related("app__owner").get(pk=subscription_id)
        health = Health.objects.filter(subscription=subscription).first()
    app, is_disabled = subscription.app, subscription.state == Subscription.State.DISABLED
    if not app.contact_email or not (is_deleted or is_disabled):
        return
    with formats.language_override((app.owner or shop).primary_locale):
        text = render_to_string(
            "webhooks/app_warning.txt",
            {
                "subscription": subscription,
                "shop": shop,
                "last_error": translate(health.last_error) if health else "",
                "reason": translate(subscription.reason),
                "is_deleted": is_deleted,
            },
        )
        title = _("{app}: webhook {topic} disabled for {shop}")
    title = title.format(app=app.name, topic=subscription.topic, shop=shop.name)
    subject = " ".join(title.split())
    emails.send_email(EmailMessage(subject=subject, body=text, from_email=shop.email, to=[app.contact_email]))
