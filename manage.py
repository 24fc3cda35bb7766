#!/usr/bin/env python
"""Run Backoffice's management commands."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")

    try:
        from django.core.management import execute_from_command_line
    except ModuleNotFoundError:
        command = " ".join([".venv/bin/python", *sys.argv])
        sys.exit(f"{sys.executable} has no Django. Run: make .venv/runs && {command}")

    from backoffice.configuration.env import exit_on_configuration_error
    from backoffice.configuration.private_files import PUBLIC_COMMANDS, use_private_umask

    if PUBLIC_COMMANDS.isdisjoint(sys.argv[1:2]):
        use_private_umask()
    with exit_on_configuration_error():
        execute_from_command_line(sys.argv)
