from django.core.management.base import BaseCommand, CommandError

from apps.core.jobs import consistency_checks


class Command(BaseCommand):
    help = "Check inventory, totals, payments and derived customer and product data in every shop. Nothing is changed."

    def handle(self, *args: object, **options: object) -> None:
        count = 0
        for difference in consistency_checks.find_differences():
            self.stderr.write(difference)
            count += 1
        names = ", ".join(consistency_checks.consistency_checks)
        if count:
            raise CommandError(f"Differences: {count}. Checked: {names}.")
        self.stdout.write(f"No differences. Checked: {names}.")
