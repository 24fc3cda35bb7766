"""A message broker that needs no server and stores messages as files, based on kombu's filesystem transport."""

import time
import uuid
from pathlib import Path
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport.filesystem import Channel, Transport
from kombu.utils.json import dumps

# At this interval in seconds, a worker checks for new messages and a stop request.
POLL_SECONDS = 0.25


class FolderChannel(Channel):
    """A channel that writes messages atomically.

    kombu's own channel creates a file and then writes the message into it. A worker that reads the file in between
    finds no message and stops (https://github.com/celery/kombu/issues/1551).
    """

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Write a message to a temporary file, and rename the file to the name that readers expect."""
        folder = Path(self.data_folder_out)
        part = folder / f"{uuid.uuid4()}.part"
        try:
            part.write_text(dumps(payload))  # type: ignore[no-untyped-call]
            part.replace(folder / f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg")
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ChannelError(f"Cannot add a message to {folder}") from error


class FolderTransport(Transport):
    """A transport that polls four times a second.

    kombu's own transport polls once a second, and it can take up to four seconds to notice a stop request.
    """

    Channel = FolderChannel
    polling_interval = POLL_SECONDS

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        """Deliver the next message. If ``timeout`` is set, raise ``socket.timeout`` after at most two polls."""
        max_wait = None if timeout is None else min(timeout, POLL_SECONDS)
        super().drain_events(connection, timeout=max_wait)  # type: ignore[no-untyped-call]
