"""Background jobs for orders."""

from apps.orders import emails


def register_order_tasks() -> None:
    emails.register_order_emails()
