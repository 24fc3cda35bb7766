from apps.core.tenancy.permissions import allow, grants
from apps.gift_cards.admin import customer_page, gift_cards

grants.add(allow("gift_cards", "vac", "gift_cards.giftcard"))
