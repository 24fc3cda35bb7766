"""Warn on pages that wait for background jobs while no worker is running."""

from django.conf import settings
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers

from apps.core.admin.staff_request import Context
from apps.core.jobs.worker_processes import find_queues_without_worker


def get_worker_context() -> Context:
    queues = find_queues_without_worker()
    return {"queues": queues, "is_any_worker_running": len(queues) < len(settings.TASK_QUEUES)}


def show_missing_workers(request: HttpRequest) -> TemplateResponse:
    """Return the warning as part of a page, or an empty part while each queue has a worker."""
    response = TemplateResponse(request, "panel/missing_workers.html", get_worker_context())
    add_never_cache_headers(response)
    return response
