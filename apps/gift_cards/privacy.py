from functools import partial

from apps.customers.domain.merge import MergePart, merge_parts, move_rows
from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.gift_cards.domain import privacy
from apps.gift_cards.domain.gift_cards import UPDATED

personal_data_parts.register(
    "gift_cards", PersonalData(export=privacy.export_gift_cards, redact=privacy.redact_gift_cards)
)
merge_parts.register(
    "gift_cards",
    MergePart(
        rows=privacy.get_customer_cards,
        move=partial(move_rows, topic=UPDATED, columns=("customer_id", "recipient_id")),
    ),
)
