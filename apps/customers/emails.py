from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.i18n import formats
from apps.core.jobs import emails
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.core.tenancy.scope import get_current_shop
from apps.customers.domain.accounts import build_activation_url
from apps.customers.models import Customer, Invitation


@job_task(
    "customers.send_invitation",
    title=gettext_lazy("Customer invitation email"),
    former_names=("customers.send_invite",),
)
def send_invitation_email(job: Job, *, invitation_id: int) -> None:
    """Send an invitation unless it was already sent or its link was used or replaced."""
    pending = Invitation.objects.filter(pk=invitation_id, sent_at=None)
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


@job_task("customers.send_welcome", title=gettext_lazy("Customer welcome email"))
def send_welcome_email(job: Job, *, customer_id: int) -> None:
    """Send a welcome email unless the customer or the email address was deleted."""
    customer = Customer.objects.filter(pk=customer_id).exclude(email="").first()
    if customer is None:
        return
    shop = get_current_shop()
    with formats.language_override(shop.primary_locale):
        text = render_to_string("customers/welcome.txt", {"shop": shop, "customer": customer})
        subject = _("Welcome to {shop}").format(shop=shop.name)
    emails.send_customer_email(customer.email, subject, text)
