from apps.payments.admin import payment_handlers

__all__ = ["payment_handlers"]
