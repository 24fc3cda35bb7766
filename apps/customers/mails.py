"""The mails that customers get: asked for by name in the transaction of the change, sent by a worker."""

from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.customers.domain.accounts import activation_url
from apps.customers.models import Customer, Invitation
from apps.ground import languages
from apps.ground.tenancy import current_shop
from apps.jobs.domain import letters
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job


def send_invite(job: Job, **arguments: int) -> None:
    """Send an invitation, unless it was sent, or its link was used or replaced meanwhile."""
    wanted = Invitation.objects.filter(pk=arguments["invitation_id"], sent_at=None)
    invitation = wanted.select_related("customer").first()
    if invitation is None or invitation.customer.activation_nonce != invitation.nonce:
        return
    shop = current_shop()
    with languages.speaking(shop.primary_locale):
        text = render_to_string(
            "customers/invite.txt",
            {"shop": shop, "invitation": invitation, "url": activation_url(invitation.customer, invitation.nonce)},
        )
    letters.send(
        EmailMessage(
            subject=invitation.subject,
            body=text,
            from_email=invitation.from_address,
            to=[invitation.to_address],
            bcc=invitation.bcc,
        )
    )
    Invitation.objects.filter(pk=invitation.pk).update(sent_at=timezone.now())


def send_welcome(job: Job, **arguments: int) -> None:
    """Welcome a customer, unless the customer or the e-mail is gone."""
    customer = Customer.objects.filter(pk=arguments["customer_id"]).exclude(email="").first()
    if customer is None:
        return
    shop = current_shop()
    with languages.speaking(shop.primary_locale):
        text = render_to_string("customers/welcome.txt", {"shop": shop, "customer": customer})
        subject = _("Welcome to {shop}").format(shop=shop.name)
    letters.write(customer.email, subject, text)


def register_all() -> None:
    """Add the tasks."""
    jobs.register("customers.send_invite", send_invite, gettext_lazy("Invitation of a customer"))
    jobs.register("customers.send_welcome", send_welcome, gettext_lazy("Welcome to a customer"))
