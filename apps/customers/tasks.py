"""The background work of customers."""

from django.utils.translation import gettext_lazy

from apps.customers import mails
from apps.customers.domain import compliance, erasing, full_text, merging
from apps.jobs.domain import queue


def register_all() -> None:
    """Add the tasks."""
    mails.register_all()
    queue.register(compliance.TELL, compliance.tell, gettext_lazy("Telling apps to erase a customer"))
    queue.register(erasing.ERASE, erasing.run, gettext_lazy("Erasure of personal data"))
    queue.register(merging.MERGE, merging.run, gettext_lazy("Merging customers"))
    queue.register(full_text.SHRED, full_text.clear_traces, gettext_lazy("Clearing what was erased from the search"))
