from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.i18n import formats
from apps.core.jobs import emails
from apps.core.jobs.models import Job
from apps.core.jobs.queue import Task, tasks
from apps.core.tenancy.scope import get_current_shop
from apps.customers.domain.accounts import build_activation_url
from apps.customers.models import Customer, Invitation


def send_invitation_email(job: Job, **arguments: int) -> None:
    """Send an invitation unless it was already sent or its link was used or replaced."""
    pending = Invitation.objects.filter(pk=arguments["invitation_id"], sent_at=None)
    invitation = pending.select_related("customer").first()
    if invitation is None or invitation.customer.activation_nonce != invitation.nonce:
        return
    shop = get_current_shop()
    with formats.language_override(shop.primary_locale):
        text = render_to_string(
            "customers/invite.txt",
            {
                "shop": shop,
                "invitation": invitation,
                "url": build_activation_url(invitation.customer, invitation.nonce),
            },
        )
    emails.send_email(
        EmailMessage(
            subject=invitation.subject,
            body=text,
            from_email=invitation.from_address,
            to=[invitation.to_address],
            bcc=invitation.bcc,
        )
    )
    Invitation.objects.filter(pk=invitation.pk).update(sent_at=timezone.now())


def send_welcome_email(job: Job, **arguments: int) -> None:
    """Send a welcome email unless the customer or the email address was deleted."""
    customer = Customer.objects.filter(pk=arguments["customer_id"]).exclude(email="").first()
    if customer is None:
        return
    shop = get_current_shop()
    with formats.language_override(shop.primary_locale):
        text = render_to_string("customers/welcome.txt", {"shop": shop, "customer": customer})
        subject = _("Welcome to {shop}").format(shop=shop.name)
    emails.send_customer_email(customer.email, subject, text)


tasks.register("customers.send_invite", Task(send_invitation_email, gettext_lazy("Customer invitation email")))
tasks.register("customers.send_welcome", Task(send_welcome_email, gettext_lazy("Customer welcome email")))
