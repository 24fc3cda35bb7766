import os
import subprocess
import sys

from django.conf import settings

from apps.core.jobs.models import Job
from tests.support.servers.live import get_database_url

_WORKER = """
import os, signal, sys, uuid
import django
django.setup()
from django.db import connection
from apps.core.jobs import leases, queue

left = int(sys.argv[2])
def counted(execute, sql, params, many, context):
    global left
    left -= sys.argv[3] in sql
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(sql, params, many, context)

connection.ensure_connection()
with connection.execute_wrapper(counted):
    queue.run_job(uuid.UUID(sys.argv[1]))
"""


def run_killed_worker(job: Job, moment: int, statement: str = "", **env: str) -> int:
    """Run a worker that kills itself (``SIGKILL``) before it executes a statement with this text the n-th time.

    Returns:
        The exit code of the worker's process, 0 if the job ended first.
    """
    env = {
        **os.environ,
        "DATABASE_URL": get_database_url(),
        "DJANGO_SETTINGS_MODULE": "backoffice.settings",
        "BACKOFFICE_SECRET_KEY": settings.SECRET_KEY,
        **env,
    }
    command = [sys.executable, "-c", _WORKER, str(job.key), str(moment), statement]
    return subprocess.run(command, cwd=settings.BASE_DIR, env=env, check=False, timeout=120).returncode
