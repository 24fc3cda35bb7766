"""``manage.py check_stock``: compare inventory levels with the ledger, orders and fulfillment orders."""

from django.core.management.base import BaseCommand, CommandError

from apps.core.jobs import consistency_checks

# The names of the nightly checks that compare stock. Higher apps register most of these checks.
STOCK_CHECKS = ("stock", "variant quantities", "stock of orders", "stock of fulfillment orders", "oversold items")


class Command(BaseCommand):
    """Run the nightly checks of stock, and exit with code 1 if there are differences."""

    help = "Compare inventory levels with the inventory changes, orders and fulfillment orders, in all shops."

    def handle(self, *args: object, **options: object) -> None:
        count = 0
        for difference in consistency_checks.find_differences(STOCK_CHECKS):
            self.stderr.write(difference)
            count += 1
        if count:
            raise CommandError(f"Differences: {count}.")
        self.stdout.write(f"No differences. Checked: {', '.join(STOCK_CHECKS)}.")
