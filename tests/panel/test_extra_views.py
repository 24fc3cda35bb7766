"""Tests for the extra pages of model admins."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse

from apps.background_jobs.admin.jobs import JobAdmin
from apps.core.jobs.models import Job


class OwnJobAdmin(JobAdmin):
    def retry_view(self, request: HttpRequest, job: Job) -> HttpResponse:
        return super().retry_view(request, job)


def test_an_overridden_page_without_decorator_keeps_its_route_and_checks() -> None:
    own, original = ({url.name for url in cls(Job, admin.site).get_urls()} for cls in (OwnJobAdmin, JobAdmin))

    assert "jobs_job_retry" in own
    assert own == original
