#!/usr/bin/env python
"""Runs Backoffice's management commands."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")

    from django.core.management import execute_from_command_line

    from backoffice.variables import told_in_a_sentence

    with told_in_a_sentence():
        execute_from_command_line(sys.argv)
