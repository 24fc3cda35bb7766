from apps.payments.admin import payment_handlers
