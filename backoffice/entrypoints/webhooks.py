"""``python -m backoffice.entrypoints.webhooks``: the webhook dispatcher."""

import os

from backoffice.configuration.env import exit_on_configuration_error


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    with exit_on_configuration_error():
        import django
        from django.core.management import call_command

        from backoffice.observability import heartbeat

        django.setup()
        heartbeat.start_heartbeat("webhooks")
        call_command("run_webhooks")


if __name__ == "__main__":
    main()
