from apps.core.jobs.consistency_checks import register_check
from apps.discounts.domain import consistency_checks

register_check(
    "uses of discount codes",
    consistency_checks.check_usage_counts,
    "Compare the uses with a backup, and set the counter to the number of uses.",
)
