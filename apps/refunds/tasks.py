"""The background work of refunds."""

from apps.jobs.domain import queue as jobs
from apps.jobs.domain.duties import each_night
from apps.refunds import mails
from apps.refunds.domain import comparing, settling


def register_all() -> None:
    """Add the tasks."""
    jobs.register("refunds.payment", settling.pay)
    jobs.register("refunds.notification", mails.send)
    each_night.register("differences with payment gateways", comparing.report)
