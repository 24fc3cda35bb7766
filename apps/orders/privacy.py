from apps.customers.domain.personal_data import PersonalData, personal_data_parts
from apps.orders.domain import privacy

personal_data_parts.register(
    "orders",
    PersonalData(
        export=privacy.export_orders,
        redact=privacy.redact_orders,
        locked_before=privacy.get_orders_to_redact,
        ids=privacy.get_order_ids,
        redact_some=privacy.redact_next_orders,
    ),
)
