"""The cache of an installation without ``CACHE_URL``."""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache

# Limits for login attempts and used codes would not limit anything if each process counted for itself.
SHARED_KEYS = ("allauth", "login-")
MAX_SHARED_ENTRIES = 2_000


class MachineCache(FileBasedCache):
    """A file cache with an atomic ``add``. If it is full, the oldest entries are deleted."""

    def __init__(self, folder: str, params: dict[str, Any]) -> None:
        super().__init__(folder, params)
        self._lock = Path(folder, "lock")

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        with self._lock.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return super().add(key, value, timeout, version)

    def _cull(self) -> None:
        # Django would delete random entries.
        names, ages = self._list_cache_files(), dict[str, float]()  # type: ignore[attr-defined]
        if len(names) < self._max_entries:
            return
        for name in names:
            with contextlib.suppress(FileNotFoundError), Path(name).open("rb") as file:
                if not self._is_expired(file):  # type: ignore[attr-defined]
                    ages[name] = os.fstat(file.fileno()).st_mtime
        if len(ages) >= self._max_entries:
            for name in sorted(ages, key=ages.__getitem__)[: len(ages) // self._cull_frequency]:
                self._delete(name)  # type: ignore[attr-defined]


class ProcessCache(LocMemCache):
    """Caches in the memory of each process. Only the keys of logins are in files, which all processes share."""

    def __init__(self, folder: str, params: dict[str, Any]) -> None:
        super().__init__(folder, params)
        self._files = MachineCache(folder, {**params, "max_entries": MAX_SHARED_ENTRIES})

    def _get_store(self, key: str) -> Any:
        return self._files if key.startswith(SHARED_KEYS) else super()

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> Any:
        return self._get_store(key).add(key, value, timeout, version)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return self._get_store(key).get(key, default, version)

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        self._get_store(key).set(key, value, timeout, version)

    def touch(self, key: str, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> Any:
        return self._get_store(key).touch(key, timeout, version)

    def delete(self, key: str, version: int | None = None) -> Any:
        return self._get_store(key).delete(key, version)

    def has_key(self, key: str, version: int | None = None) -> Any:
        return self._get_store(key).has_key(key, version)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> Any:
        return self._get_store(key).incr(key, delta, version)

    def clear(self) -> None:
        super().clear()
        self._files.clear()
