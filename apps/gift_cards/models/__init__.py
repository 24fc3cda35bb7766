from apps.gift_cards.models.gift_cards import GiftCard, GiftCardAdjustment

__all__ = ["GiftCard", "GiftCardAdjustment"]
