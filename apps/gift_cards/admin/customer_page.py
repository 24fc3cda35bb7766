"""The gift cards of a customer on the customer page, and the link to issue one."""

from django.utils.translation import gettext_lazy

from apps.core.admin.model_admin.registry import inlines
from apps.customers.admin.extension_points import CustomerLink, customer_links
from apps.customers.models import Customer
from apps.gift_cards.admin.inlines import CustomerGiftCardsInline

inlines.register((Customer, "gift cards"), CustomerGiftCardsInline)
customer_links.add(CustomerLink(gettext_lazy("Issue gift card…"), "gift_cards_giftcard_add", "gift_cards.add_giftcard"))
