from apps.core.jobs.periodic_tasks import hourly_tasks
from apps.core.rest.requests.idempotency import delete_expired_keys

hourly_tasks.register("idempotency keys", delete_expired_keys)
