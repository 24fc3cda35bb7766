from apps.core.jobs.consistency_checks import register_check
from apps.gift_cards.domain import consistency_checks

register_check(
    "gift card balances",
    consistency_checks.check_gift_card_balances,
    "Compare the card with a backup, and correct the balance with an adjustment.",
)
register_check(
    "gift card payments",
    consistency_checks.check_gift_card_payments,
    "Compare the order and the card with a backup, and correct the balance with an adjustment.",
)
