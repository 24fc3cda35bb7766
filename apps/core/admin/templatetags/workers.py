"""The warning that no worker is running."""

from django import template

from apps.core.admin.pages.workers import get_worker_context
from apps.core.admin.staff_request import Context

register = template.Library()


@register.inclusion_tag("panel/worker_status.html")
def worker_status() -> Context:
    return get_worker_context()
