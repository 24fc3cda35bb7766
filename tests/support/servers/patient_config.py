"""The product's configuration of gunicorn, with long time limits for tests on a slow machine.

Clients have more time to send their next request when the server stops, and requests may wait longer in the queue.
"""

from backoffice.server import adapter, worker
from backoffice.server.gunicorn_config import *  # noqa: F403

worker.STOP_IDLE_SECONDS = 20.0
adapter.WAITING_SECONDS = 60.0
