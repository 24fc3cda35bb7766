#!/usr/bin/env python
"""Run Backoffice's management commands."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")

    from django.core.management import execute_from_command_line

    from backoffice.configuration.env import exit_on_configuration_error

    with exit_on_configuration_error():
        execute_from_command_line(sys.argv)
