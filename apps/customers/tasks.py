"""The background work of customers."""

from apps.customers import mails
from apps.customers.domain import compliance, erasing, full_text, merging
from apps.jobs.domain import queue


def register_all() -> None:
    """Add the tasks."""
    mails.register_all()
    queue.register(compliance.TELL, compliance.tell)
    queue.register(erasing.ERASE, erasing.run)
    queue.register(merging.MERGE, merging.run)
    queue.register(full_text.SHRED, full_text.clear_traces)
