"""Tests for the file system broker: readers receive a message only after its file is complete."""

from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu.connection import Connection

from backoffice.kombu_filesystem import FolderTransport


class ReadWhileWritten:
    """A message that calls a reader while the message is being written."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader

    def __json__(self) -> str:
        with pytest.raises(Empty):
            self.reader._get("letters")
        return "Dear Ada"


def test_a_message_that_is_being_written_is_not_taken(tmp_path: Path) -> None:
    for name in ("messages", "control"):
        (tmp_path / name).mkdir()
    where = str(tmp_path / "messages")
    options = {"data_folder_in": where, "data_folder_out": where, "control_folder": tmp_path / "control"}
    connection: Any = Connection(transport=FolderTransport, transport_options=options)  # type: ignore[no-untyped-call]
    with connection, connection.channel() as writer, connection.channel() as reader:
        writer._put("letters", ReadWhileWritten(reader))

        assert reader._get("letters") == "Dear Ada"

    assert list((tmp_path / "messages").iterdir()) == []
