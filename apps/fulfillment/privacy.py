from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.fulfillment.domain import privacy
from apps.orders.domain.hooks import erasure_hooks

erasure_hooks.add(privacy.erase_fulfillment_data)
personal_data_parts.register("calls to fulfillment services", PersonalData(redact=privacy.redact_attempts))
