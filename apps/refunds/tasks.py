from django.utils.translation import gettext_lazy

from apps.core.jobs.queue import Task, tasks
from apps.refunds.domain import gateways

tasks.register("refunds.payment", Task(gateways.process_refund_payment, gettext_lazy("Refund payment")))
