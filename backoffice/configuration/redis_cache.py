"""The cache of an installation with ``CACHE_URL``."""

from typing import Any

from django.conf import settings
from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.redis import RedisCache, RedisCacheClient

from apps.core.cache.redis_client import OUTAGES, TIMEOUTS, ImpatientRedis
from backoffice.configuration.caches import MAX_SHARED_ENTRIES, SHARED_KEYS, MachineCache


class _Client(RedisCacheClient):
    def __init__(self, servers: list[str], **options: Any) -> None:
        super().__init__(servers, **{**options, **TIMEOUTS})
        self._client = ImpatientRedis


class SharedCache(RedisCache):
    """A Redis cache. While Redis is down, only the keys of logins are available, from files on each machine."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _Client
        self._files = MachineCache(str(settings.DATA_DIR / "cache"), {"max_entries": MAX_SHARED_ENTRIES})

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        try:
            return super().add(key, value, timeout, version)
        except OUTAGES as error:
            return self._get_files(key, error).add(key, value, timeout, version)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        try:
            return super().get(key, default, version)
        except OUTAGES as error:
            return self._get_files(key, error).get(key, default, version)

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        try:
            super().set(key, value, timeout, version)
        except OUTAGES as error:
            self._get_files(key, error).set(key, value, timeout, version)

    def delete(self, key: str, version: int | None = None) -> bool:
        try:
            return super().delete(key, version)
        except OUTAGES as error:
            return self._get_files(key, error).delete(key, version)

    def _get_files(self, key: str, error: Exception) -> MachineCache:
        """Return the files for a key of logins. Raise the error again for other keys."""
        if not key.startswith(SHARED_KEYS):
            raise error
        return self._files
