"""The product's configuration of gunicorn, with much time for clients that send their next request when it stops."""

from backoffice.server import worker
from backoffice.server.gunicorn_config import *  # noqa: F403

worker.STOP_IDLE_SECONDS = 20.0
