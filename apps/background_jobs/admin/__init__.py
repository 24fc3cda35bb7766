from apps.background_jobs.admin.jobs import JobAdmin
