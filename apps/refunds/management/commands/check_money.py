from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.core.jobs import consistency_checks
from apps.orders.domain.consistency_checks import repair_customers
from apps.refunds.domain.checks.tax_repair import repair_taxes

# The names of the nightly checks that compare amounts and quantities.
MONEY_CHECKS = (
    "order totals",
    "order payments",
    "order refunds",
    "taxes by rate",
    "refund amounts",
    "current quantities",
    "customer totals",
    "stock",
    "stock of orders",
    "stock of fulfillment orders",
    "oversold items",
    "variant quantities",
    "units sold",
    "fulfillment order quantities",
    "fulfillment order states",
    "fulfilled quantities",
)


class Command(BaseCommand):
    """Run the nightly checks of amounts and quantities, and exit with code 1 if there are differences."""

    help = "Check order totals, customer totals, refunds and inventory in all shops."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--repair-customers",
            action="store_true",
            help="first recalculate the wrong order totals of customers, without changing anything else",
        )
        parser.add_argument(
            "--repair-taxes",
            action="store_true",
            help="first fill in the taxes by rate that refunds of an earlier release do not have",
        )

    def handle(self, *args: object, **options: object) -> None:
        for name, repair in (("repair_customers", repair_customers), ("repair_taxes", repair_taxes)):
            if options[name]:
                for line in repair():
                    self.stdout.write(line)
        count = 0
        for difference in consistency_checks.find_differences(MONEY_CHECKS):
            self.stderr.write(difference)
            count += 1
        if count:
            raise CommandError(f"{count} differences.")
        self.stdout.write(f"No differences. Checked: {', '.join(MONEY_CHECKS)}.")
