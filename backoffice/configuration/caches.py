"""The cache of an installation without ``CACHE_URL``."""

import fcntl
from pathlib import Path
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache

# Limits for login attempts and used codes would not limit anything if each process counted for itself.
SHARED_KEYS = ("allauth", "login-")
MAX_SHARED_ENTRIES = 2_000


class MachineCache(FileBasedCache):
    """A file cache with an atomic ``add``."""

    def __init__(self, folder: str, params: dict[str, Any]) -> None:
        super().__init__(folder, params)
        self._lock = Path(folder, "lock")

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        with self._lock.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return super().add(key, value, timeout, version)


class ProcessCache(LocMemCache):
    """Caches in the memory of each process. Only the keys of logins are in files, which all processes share."""

    def __init__(self, folder: str, params: dict[str, Any]) -> None:
        super().__init__(folder, params)
        self._files = MachineCache(folder, {**params, "MAX_ENTRIES": MAX_SHARED_ENTRIES})

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        if key.startswith(SHARED_KEYS):
            return self._files.add(key, value, timeout, version)
        return super().add(key, value, timeout, version)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        if key.startswith(SHARED_KEYS):
            return self._files.get(key, default, version)
        return super().get(key, default, version)

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        if key.startswith(SHARED_KEYS):
            self._files.set(key, value, timeout, version)
        else:
            super().set(key, value, timeout, version)

    def delete(self, key: str, version: int | None = None) -> bool:
        if key.startswith(SHARED_KEYS):
            return self._files.delete(key, version)
        return super().delete(key, version)

    def clear(self) -> None:
        super().clear()
        self._files.clear()
