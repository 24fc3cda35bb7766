"""``manage.py check_money``: check all order amounts against their sources."""

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.jobs.domain import consistency_checks
from apps.orders.domain.consistency_checks import repair_customers

# The names of the nightly checks that compare amounts and quantities.
MONEY_CHECKS = (
    "totals of orders",
    "payments of orders",
    "refunds of orders",
    "customers' orders",
    "stock",
    "quantities of variants",
    "sold units",
    "units of fulfillment orders",
    "units sent",
)


class Command(BaseCommand):
    """Run the nightly checks about money; exits with code 1 if a check fails."""

    help = "Check totals of orders and customers, refunds and inventory of every shop."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add ``--mend-customers``."""
        parser.add_argument(
            "--mend-customers",
            action="store_true",
            help="first recalculate wrong order totals of customers; change nothing else",
        )

    def handle(self, *args: object, **options: object) -> None:
        """Run the checks and list the differences."""
        if options["mend_customers"]:
            for line in repair_customers():
                self.stdout.write(line)
        count = 0
        for difference in consistency_checks.find_differences(MONEY_CHECKS):
            self.stderr.write(difference)
            count += 1
        if count:
            raise CommandError(f"{count} differences.")
        self.stdout.write(f"No differences. Checked: {', '.join(MONEY_CHECKS)}.")
