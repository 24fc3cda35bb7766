import sys

from tests.support.dependency_audit import run_audit

lines, status = run_audit()
sys.stdout.write("\n".join([*lines, ""]))
sys.exit(status)
