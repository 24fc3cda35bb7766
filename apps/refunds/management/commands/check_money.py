"""``manage.py check_money``: does every amount of every order say what it was worked out from?"""

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.jobs.domain import reconciliation
from apps.orders.domain.reconciliation import mend_customers

# Those of the nightly checks that are about money and the goods that it stands for.
CHECKS = (
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
    """Runs the checks of the nightly reconciliation that are about money; ends with exit code 1 where one fails."""

    help = "Checks orders' and customers' totals, refunds against transactions, and stock of every shop."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to mend what can be worked out anew."""
        parser.add_argument(
            "--mend-customers",
            action="store_true",
            help="first work out anew what customers show of their orders, where it is wrong; changes nothing else",
        )

    def handle(self, *args: object, **options: object) -> None:
        """Check, and list what differs."""
        if options["mend_customers"]:
            for mended in mend_customers():
                self.stdout.write(mended)
        found = 0
        for difference in reconciliation.differences(CHECKS):
            self.stderr.write(difference)
            found += 1
        if found:
            raise CommandError(f"{found} differences.")
        self.stdout.write(f"All money agrees. Checked: {', '.join(CHECKS)}.")
