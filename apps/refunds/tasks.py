"""The background work of refunds."""

from django.utils.translation import gettext_lazy

from apps.jobs.domain import queue as jobs
from apps.jobs.domain.duties import each_night
from apps.refunds import mails
from apps.refunds.domain import comparing, settling


def register_all() -> None:
    """Add the tasks."""
    jobs.register("refunds.payment", settling.pay, gettext_lazy("Paying a refund"))
    jobs.register("refunds.notification", mails.send, gettext_lazy("Mail about a refund"))
    each_night.register("differences with payment gateways", comparing.report)
