from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def media_dir(media_root: Path) -> Path:
    return media_root
