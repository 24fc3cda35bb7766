from apps.customers.domain.merge import MergePart, merge_parts
from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.gift_cards.domain import privacy

personal_data_parts.register(
    "gift_cards", PersonalData(export=privacy.export_gift_cards, redact=privacy.redact_gift_cards)
)
merge_parts.register("gift_cards", MergePart(rows=privacy.get_customer_cards, move=privacy.move_gift_cards))
