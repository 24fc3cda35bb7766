"""The background work of customers."""

from typing import Any

from apps.customers import mails
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job


def send_invite(job: Job, **arguments: Any) -> None:
    """Send an invitation; ``invitation_id`` names it."""
    mails.send_invite(invitation_id=arguments["invitation_id"])


def send_welcome(job: Job, **arguments: Any) -> None:
    """Welcome a customer; ``customer_id`` names the one."""
    mails.send_welcome(customer_id=arguments["customer_id"])


def register_all() -> None:
    """Add the tasks."""
    jobs.register(mails.INVITE, send_invite)
    jobs.register(mails.WELCOME, send_welcome)
