"""Fixtures of the catalog's tests: pictures go to a folder of the test's own."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    """Where uploads of the test lie."""
    folder = tmp_path / "media"
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(folder)},
        }
    }
    return folder
