"""Customer columns that never contain personal data, for ``apps.ground.privacy_registry``."""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "customers.ConsentChange": ("collected_from", "actor"),
    "customers.CustomerProfile": ("email_marketing_state",),
    "customers.Customer": ("tax_exemptions", "last_order_name", "last_order_currency", "sms_marketing_collected_from"),
}
