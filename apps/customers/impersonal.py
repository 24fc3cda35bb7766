"""Columns that hold no words of customers: what is counted of customers.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
    "customers.ConsentChange": ("collected_from", "actor"),
    "customers.CustomerProfile": ("email_marketing_state",),
    "customers.Customer": ("tax_exemptions", "last_order_name", "last_order_currency", "sms_marketing_collected_from"),
}
