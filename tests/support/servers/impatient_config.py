"""The product's configuration of gunicorn with short time limits."""

from backoffice.server import adapter, worker
from backoffice.server.gunicorn_config import *  # noqa: F403

worker.HEAD_SECONDS = 1.0
worker.SEND_SILENCE_SECONDS = 2.0
adapter.BODY_SILENCE_SECONDS = 1.0
keepalive = 60
# Replace a process after its event loop has been blocked for 3 seconds.
timeout = 3
