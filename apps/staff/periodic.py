from apps.core.jobs.periodic_tasks import hourly_tasks
from apps.core.tenancy.sessions import delete_expired_sessions
from apps.staff.domain.submitted_forms import delete_old_submissions

hourly_tasks.register("expired sessions", delete_expired_sessions)
hourly_tasks.register("sent forms", delete_old_submissions)
