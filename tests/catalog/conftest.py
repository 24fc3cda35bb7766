"""Fixtures of the catalog's tests: pictures go to a folder of the test's own."""

from pathlib import Path
from typing import Any

import pytest

from backoffice.storages import file_storages


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    """Where uploads of the test lie."""
    folder = tmp_path / "media"
    settings.STORAGES = settings.STORAGES | {"default": file_storages("", folder)["default"]}
    return folder
