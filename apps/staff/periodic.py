from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.core.tenancy.sessions import delete_expired_sessions
from apps.staff.domain.submitted_forms import delete_old_submissions

periodic_task("staff.delete_expired_sessions", Every.HOUR)(delete_expired_sessions)
periodic_task("staff.delete_old_submissions", Every.HOUR)(delete_old_submissions)
