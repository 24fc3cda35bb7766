"""The email with the code of a gift card. A worker sends it after the card is committed."""

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.i18n import formats
from apps.core.jobs import emails
from apps.core.jobs.job_tasks import job_task
from apps.core.jobs.models import Job
from apps.core.tenancy.scope import get_current_shop
from apps.gift_cards.domain import codes, delivery
from apps.gift_cards.models import GiftCard


@job_task(delivery.SEND_TASK, title=gettext_lazy("Gift card email"), on_give_up=delivery.record_failure)
def send_code(job: Job, *, card_id: int, sealed_code: str = "") -> None:
    """Send the code of a card, unless it was already sent or the card was disabled in the meantime."""
    card = GiftCard.objects.filter(pk=card_id, disabled_at=None).select_related("recipient").first()
    if card is None or not sealed_code:
        delivery.discard_code(job)
        return
    address, code = delivery.get_address(card), delivery.open_code(sealed_code)
    shop = get_current_shop()
    with formats.language_override(shop.primary_locale):
        text = render_to_string(
            "gift_cards/code.txt",
            {
                "shop": shop,
                "recipient": card.recipient,
                "message": card.message,
                "code": codes.format_code(code),
                "value": formats.format_money(card.balance, card.currency),
                "expires_on": formats.format_date(card.expires_on, "j M Y") if card.expires_on else "",
            },
        )
        subject = _("Your gift card from {shop}").format(shop=shop.name)
    emails.send_customer_email(address, subject, text)
    delivery.record_delivery(job, card)
