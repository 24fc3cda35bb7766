"""``python -m backoffice.webhooks``: the dispatcher of webhooks."""

import os

from backoffice.variables import told_in_a_sentence


def main() -> None:
    """Deliver until told to stop."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    with told_in_a_sentence():
        import django
        from django.core.management import call_command

        from backoffice import alive

        django.setup()
        alive.keep("webhooks")
        call_command("run_webhooks")


if __name__ == "__main__":
    main()
