"""Check that the ledgers of gift cards add up to the balances."""

from collections.abc import Iterator
from itertools import groupby

from apps.core.money import ZERO
from apps.gift_cards.models import GiftCard, GiftCardAdjustment


def check_gift_card_balances() -> Iterator[str]:
    """Yield a message for each card with a balance or an initial value that differs from its ledger."""
    rows = GiftCardAdjustment.objects.order_by("card_id", "number")
    ledgers = groupby(rows.values_list("card_id", "number", "amount", "balance").iterator(), key=lambda row: row[0])
    card_id, ledger = next(ledgers, (None, None))
    cards = GiftCard.objects.order_by("pk").values_list("pk", "shop_id", "initial_value", "balance")
    for pk, shop, initial_value, balance in cards.iterator():
        total, first, problem = ZERO, ZERO, ""
        if card_id == pk and ledger is not None:
            for position, (_, number, amount, after) in enumerate(ledger, start=1):
                total += amount
                first = amount if position == 1 else first
                if number != position or after != total:
                    problem = problem or f"adjustment {number} has the balance {after:f}, expected {total:f}"
            card_id, ledger = next(ledgers, (None, None))
        if first != initial_value:
            problem = problem or f"the initial value is {initial_value:f}, the ledger begins with {first:f}"
        if balance != total:
            problem = problem or f"the balance is {balance:f}, the ledger adds up to {total:f}"
        if problem:
            yield f"shop {shop}, gift card {pk}: {problem}"
