from apps.core.jobs.consistency_checks import register_check
from apps.core.jobs.periodic_tasks import Every, periodic_task
from apps.refunds.domain import gateway_reconciliation
from apps.refunds.domain.checks.amounts import find_wrong_amounts
from apps.refunds.domain.checks.quantities import find_wrong_quantities
from apps.refunds.domain.checks.refunds import check_refunds
from apps.refunds.domain.checks.taxes import check_taxes

periodic_task("refunds.log_gateway_differences", Every.NIGHT)(gateway_reconciliation.log_gateway_differences)
register_check(
    "order refunds", check_refunds, "Compare the refunds of the order with the records of its payment gateway."
)
register_check(
    "taxes by rate",
    check_taxes,
    "Run manage.py check_money --repair-taxes. If the message stays, compare the taxes with the refunded items.",
)
register_check(
    "refund amounts",
    find_wrong_amounts,
    "Correct the booked refunds and taxes of the order by the difference.",
)
register_check(
    "current quantities",
    find_wrong_quantities,
    "Compare the order's items with its timeline: edits, refunds, fulfillments and cancellations. Before you ship or"
    " refund more, correct the quantities in the database.",
)
