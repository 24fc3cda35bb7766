from apps.core.jobs.consistency_checks import consistency_checks
from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.refunds.domain import gateway_reconciliation
from apps.refunds.domain.consistency_checks import check_refunds

periodic_task("refunds.log_gateway_differences", Every.NIGHT)(gateway_reconciliation.log_gateway_differences)
consistency_checks.register("order refunds", check_refunds)
