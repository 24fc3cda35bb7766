from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.store_imports.domain import background_runs, connections

periodic_task("store_imports.continue_stalled_runs", Every.MINUTE)(background_runs.continue_stalled_runs)
periodic_task("store_imports.delete_expired_tokens", Every.HOUR)(connections.delete_expired_tokens)
