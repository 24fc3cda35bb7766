from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.core.rest.requests.idempotency import delete_expired_keys

periodic_task("api.delete_expired_keys", Every.HOUR)(delete_expired_keys)
