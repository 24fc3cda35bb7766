from apps.customers.domain.merge import MergePart, merge_parts
from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.discounts.domain import privacy

personal_data_parts.register(
    "discounts", PersonalData(export=privacy.export_discount_uses, redact=privacy.redact_discount_uses)
)
merge_parts.register("discounts", MergePart(rows=privacy.get_customer_items, move=privacy.move_discounts))
