"""Background jobs for refunds."""

from django.utils.translation import gettext_lazy

from apps.jobs.domain import queue as jobs
from apps.jobs.domain.periodic_tasks import nightly_tasks
from apps.refunds import emails
from apps.refunds.domain import gateway_processing, gateway_reconciliation


def register_refund_tasks() -> None:
    jobs.register_task("refunds.payment", gateway_processing.process_refund_payment, gettext_lazy("Refund payment"))
    jobs.register_task("refunds.notification", emails.send_refund_email, gettext_lazy("Refund email"))
    nightly_tasks.register("differences with payment gateways", gateway_reconciliation.log_gateway_differences)
