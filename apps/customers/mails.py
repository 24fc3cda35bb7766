"""The mails that customers get: asked for in the transaction of the change, sent by a worker."""

from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils import timezone

from apps.customers.models import Customer, Invitation
from apps.ground.tenancy import current_shop
from apps.jobs.domain.queue import enqueue

INVITE = "customers.send_invite"
WELCOME = "customers.send_welcome"


def invite(invitation: Invitation, *, actor: str) -> None:
    """Ask for an invitation to be sent."""
    enqueue(INVITE, actor=actor, invitation_id=invitation.pk)


def welcome(customer: Customer, *, actor: str) -> None:
    """Ask for a welcome to be sent."""
    enqueue(WELCOME, actor=actor, customer_id=customer.pk)


def send_invite(*, invitation_id: int) -> None:
    """Send an invitation, unless it was sent, or its link was used or replaced meanwhile."""
    from apps.customers.domain.accounts import activation_url

    invitation = Invitation.objects.select_related("customer").filter(pk=invitation_id, sent_at=None).first()
    if invitation is None or invitation.customer.activation_nonce != invitation.nonce:
        return
    shop = current_shop()
    text = render_to_string(
        "customers/invite.txt",
        {"shop": shop, "invitation": invitation, "url": activation_url(invitation.customer, invitation.nonce)},
    )
    EmailMessage(
        subject=invitation.subject,
        body=text,
        from_email=invitation.from_address,
        to=[invitation.to_address],
        bcc=invitation.bcc,
    ).send()
    Invitation.objects.filter(pk=invitation.pk).update(sent_at=timezone.now())


def send_welcome(*, customer_id: int) -> None:
    """Welcome a customer, unless the customer or the e-mail is gone."""
    customer = Customer.objects.filter(pk=customer_id).exclude(email="").first()
    if customer is None:
        return
    shop = current_shop()
    text = render_to_string("customers/welcome.txt", {"shop": shop, "customer": customer})
    subject = " ".join(f"Welcome to {shop.name}".split())
    EmailMessage(subject=subject, body=text, from_email=shop.customer_email or shop.email, to=[customer.email]).send()
