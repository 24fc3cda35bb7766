"""``manage.py check_consistency``: check that derived data agrees with its source data."""

from django.core.management.base import BaseCommand, CommandError

from apps.jobs.domain import consistency_checks


class Command(BaseCommand):
    """Runs every nightly consistency check; exits with code 1 if something differs."""

    help = (
        "Check inventory, totals, payments, and derived data of customers and products of every shop; changes nothing."
    )

    def handle(self, *args: object, **options: object) -> None:
        count = 0
        for difference in consistency_checks.find_differences():
            self.stderr.write(difference)
            count += 1
        names = ", ".join(consistency_checks.get_check_names())
        if count:
            raise CommandError(f"{count} differences. Checked: {names}.")
        self.stdout.write(f"No differences. Checked: {names}.")
