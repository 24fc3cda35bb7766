from apps.gift_cards.domain.gateway import GiftCardGateway
from apps.gift_cards.domain.payments import GIFT_CARD, GiftCardPayments
from apps.orders.domain.hooks import payment_hooks
from apps.refunds.domain.gateways import built_in_gateways

built_in_gateways.register(GIFT_CARD, GiftCardGateway())
payment_hooks.register(GIFT_CARD, GiftCardPayments())
