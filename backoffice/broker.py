"""The broker of a machine without servers: messages as files of a folder, through kombu's transport."""

import time
import uuid
from pathlib import Path
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport.filesystem import Channel, Transport
from kombu.utils.json import dumps

# A worker looks so often for messages, and whether it has been told to stop.
LOOK_SECONDS = 0.25


class FolderChannel(Channel):
    """Puts messages into the folder whole.

    kombu's own makes the file before it writes it; a worker that takes it in between finds no message and ends.
    """

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Write a message beside its name, then give it the name that readers look for."""
        folder = Path(self.data_folder_out)
        part = folder / f"{uuid.uuid4()}.part"
        try:
            part.write_text(dumps(payload))  # type: ignore[no-untyped-call]
            part.replace(folder / f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg")
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ChannelError(f"Cannot add a message to {folder}") from error


class FolderTransport(Transport):
    """Looks four times a second; kombu's own looks once, and hears of a stop after up to four seconds."""

    Channel = FolderChannel
    polling_interval = LOOK_SECONDS

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        """Hand on the next message; ``socket.timeout`` after a look or two, however long the caller would wait."""
        patience = None if timeout is None else min(timeout, LOOK_SECONDS)
        super().drain_events(connection, timeout=patience)  # type: ignore[no-untyped-call]
