"""The client that reads a store through its REST API, within the rate limit of the other installation.

All requests go through the guarded HTTP client. Failed requests are repeated: after a 429 as long as ``Retry-After``
says, and after server errors, timeouts and truncated or unexpected responses with increasing pauses.
"""

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

from apps.core.http.errors import ADDRESS_NOT_ALLOWED, HttpRequestFailed, HttpRequestRefused
from apps.core.http.sync_client import MIB, CallbackResponse, Limits, send_request
from apps.core.i18n.messages import as_message, define_message, define_text
from apps.core.strict_json import InvalidJson, parse_json
from apps.core.timestamps import InvalidDate, parse_rfc_2822, parse_timestamp
from apps.core.types import Attrs
from apps.store_imports.domain.errors import SourceUnreachable, SourceUnreadable

# An object of the REST API, as decoded JSON.
SourceObject: TypeAlias = dict[str, Any]

PAGE_SIZE = 250
# The lease of an import must outlast a request.
LIMITS = Limits(max_bytes=64 * MIB, total_seconds=40)
MAX_ATTEMPTS = 8
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 60.0
MAX_RETRY_AFTER_SECONDS = 300.0
# When the bucket has capacity for fewer calls than this, the client waits until one call has leaked.
MIN_FREE_CALLS = 2
LEAK_SECONDS = 0.5
_CALL_LIMIT = re.compile(r"([0-9]{1,9})/([0-9]{1,9})", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
_CALL_LIMIT_HEADER = "-shop-api-call-limit"
_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})

# The characters of an access token.
_VISIBLE_ASCII = re.compile(r"[!-~]+")
_INVALID_TOKEN = define_text(
    "store_imports.invalid_token",
    "The access token contains spaces or special characters. Copy it from the store again.",
)
_NO_ADDRESS = define_text("store_imports.no_address", "Enter the address of the store, such as https://shop.example.")
_UNREACHABLE = define_message(
    "store_imports.unreachable", "{url} could not be reached after {attempts} attempts: {reason}."
)
_REFUSED = define_message("store_imports.refused", "{url} can't be read: {reason}")
_PRIVATE_ADDRESS = define_message(
    "store_imports.private_address",
    "{url} is not a public internet address. Enter the full address of the store, such as https://shop.example. "
    "For a store in your own network, ask the operator to allow the address.",
)
_BAD_TOKEN = define_text(
    "store_imports.bad_token",
    "The store does not accept the token. Check the token and --brand, the word in the name of the token's header.",
)
_NO_SCOPE = define_message(
    "store_imports.no_scope", "The app of the token may not read {path}. Grant the app the access scope, and run again."
)
_STATUS = define_message("store_imports.status", "The store responded to {path} with the status {status}.")
_TOO_LARGE = define_message("store_imports.too_large", "The response to {path} is larger than {limit} MB.")
_NOT_JSON = define_text("store_imports.not_json", "the response is no JSON object")
_NO_LIST = define_message("store_imports.no_list", "the response has no list {name}")
_MALFORMED = define_message(
    "store_imports.malformed",
    "The store's object {number} of {stream} can't be read: {reason}. Check --api-version, and run the import again.",
)
_MISSING_MEMBER = define_message("store_imports.missing_member", "the member {name} is missing")
_INVALID_MEMBER = define_text("store_imports.invalid_member", "a member has an unexpected value")
MAX_ID = 2**63
DEFAULT_PORTS = {"http": 80, "https": 443}
_STATUS_REASON = define_message("store_imports.status_reason", "status {status}")


class TokenRefused(SourceUnreadable):
    """Raised when the store does not accept the access token."""


class ScopeMissing(SourceUnreadable):
    """Raised when the app of the access token may not read objects of the store."""


class ObjectGone(Exception):
    """Raised when the store responds with 404, because the object was deleted since it was listed."""


@contextmanager
def refuse_malformed(stream: str, row: SourceObject) -> Iterator[None]:
    """Turn errors that missing members and unexpected values of a source object cause into ``SourceUnreadable``.

    The message names the stream and the object, but no values, which may be personal data.
    """
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = _MISSING_MEMBER(name=str(error.args[0])) if isinstance(error, KeyError) else _INVALID_MEMBER
        raise SourceUnreadable(
            _MALFORMED(stream=stream, number=str(row.get("id")), reason=as_message(reason))
        ) from error


def normalize_token(text: str) -> str:
    """Return the access token without surrounding spaces.

    Raises:
        SourceUnreadable: The text is no access token.
    """
    token = text.strip()
    if not _VISIBLE_ASCII.fullmatch(token):
        raise SourceUnreadable(_INVALID_TOKEN)
    return token


def normalize_source_url(text: str) -> str:
    """Return the scheme, host and port of a store's address. A missing scheme means HTTPS.

    The default port of the scheme is left out, so that equal addresses are one import.

    Raises:
        SourceUnreadable: The text is no address.
    """
    try:
        parts = urlsplit(text.strip() if "://" in text else f"https://{text.strip()}")
        port = parts.port
    except ValueError:
        raise SourceUnreadable(_NO_ADDRESS) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
        raise SourceUnreadable(_NO_ADDRESS)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if port == DEFAULT_PORTS[parts.scheme]:
        port = None
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}"


@dataclass
class StoreClock:
    """The clock of the store, as the header ``Date`` of its last response shows."""

    _date: datetime | None = None
    _recorded: float = 0.0

    def record(self, header: str) -> None:
        with suppress(ValueError):
            if (date := parse_rfc_2822(header)) is not None:
                self._date, self._recorded = date, time.monotonic()

    def now(self) -> datetime | None:
        """Return the time, or None if the store's responses have no date."""
        return None if self._date is None else self._date + timedelta(seconds=time.monotonic() - self._recorded)


@dataclass
class SourceClient:
    """Reads from one store with one access token.

    ``sleep`` waits for the given seconds and keeps the lease alive. ``limits`` and ``attempts`` are those of a request.
    """

    url: str
    token: str = field(repr=False)
    brand: str
    version: str
    sleep: Callable[[float], None] = time.sleep
    limits: Limits = LIMITS
    attempts: int = MAX_ATTEMPTS
    clock: StoreClock = field(default_factory=StoreClock)

    def get(self, path: str, **query: object) -> SourceObject:
        """Return the JSON object at a path after the version, such as ``shop.json``.

        Raises:
            ObjectGone: The store responded with 404.
            SourceUnreadable: The store refuses the request, or all attempts failed.
        """
        return self._get_with_link(path, query)[0]

    def get_list(self, path: str, name: str, **query: object) -> list[SourceObject]:
        """Return the objects of a list without pages. ``name`` is the key of the list in the response."""
        return list(self._get_with_link(path, query, name)[0][name])

    def _get_with_link(self, path: str, query: Mapping[str, object], name: str = "") -> tuple[SourceObject, str]:
        """Return the JSON object and the ``page_info`` of the next page, or a blank string for the last page.

        The object must have the list ``name``, if it is not blank.
        """
        url = f"{self.url}/admin/api/{self.version}/{path}"
        if query:
            url = f"{url}?{urlencode(query)}"
        reason, pause = "", 0.0
        for attempt in range(self.attempts):
            self.sleep(pause)
            pause = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**attempt) * random.uniform(0.5, 1.0)  # noqa: S311
            try:
                response = send_request("GET", url, headers=self._get_headers(), limits=self.limits)
            except HttpRequestRefused as error:
                if str(error) == ADDRESS_NOT_ALLOWED:
                    raise SourceUnreadable(_PRIVATE_ADDRESS(url=self.url)) from None
                raise SourceUnreadable(_REFUSED(url=self.url, reason=as_message(str(error)))) from None
            except HttpRequestFailed as error:
                reason = as_message(str(error))
                continue
            self.clock.record(response.headers.get("Date", ""))
            if response.status in _RETRYABLE:
                reason = _STATUS_REASON(status=str(response.status))
                pause = max(pause, _get_retry_after(response)) if response.status != 429 else _get_retry_after(response)
                continue
            _check_response(response, path)
            data = _parse_object(response.body)
            if data is None:
                reason = _NOT_JSON
                continue
            if name and not _is_list_of_objects(data.get(name)):
                reason = _NO_LIST(name=name)
                continue
            self._respect_limit(response.headers)
            return data, _find_next_page(response.headers.get("Link", ""))
        raise SourceUnreachable(_UNREACHABLE(url=self.url, attempts=self.attempts, reason=as_message(reason)))

    def iterate_pages(self, path: str, name: str, **query: object) -> Iterator[SourceObject]:
        """Yield the objects of all pages of a list, which are linked. ``name`` is the key of the list in a response."""
        while True:
            data, next_page = self._get_with_link(path, {"limit": PAGE_SIZE, **query}, name)
            yield from data[name]
            if not next_page:
                return
            # The link contains the filters of the first page.
            query = {"page_info": next_page}

    def get_page(self, path: str, name: str, *, since_id: int, limit: int, **query: object) -> list[SourceObject]:
        """Return the objects after an id, in ascending order of ids, even if the response is not sorted."""
        return sort_by_id(name, self.get_list(path, name, limit=limit, since_id=since_id, **query), since_id)

    def count(self, path: str, **query: object) -> int | None:
        """Return the number of objects, or None if the store does not count them."""
        try:
            count = self.get(path, **query).get("count")
        except ObjectGone:
            return None
        return count if isinstance(count, int) else None

    def _get_headers(self) -> Mapping[str, str]:
        return {f"X-{self.brand.capitalize()}-Access-Token": self.token, "Accept": "application/json"}

    def _respect_limit(self, headers: Mapping[str, str]) -> None:
        """Wait if the store's bucket of calls is nearly full, so that other apps of the store keep some capacity."""
        header = next((value for name, value in headers.items() if name.lower().endswith(_CALL_LIMIT_HEADER)), "")
        match = _CALL_LIMIT.fullmatch(header.strip())
        if match and int(match[2]) - int(match[1]) < MIN_FREE_CALLS and int(match[2]) > MIN_FREE_CALLS:
            self.sleep(LEAK_SECONDS)


def sort_by_id(stream: str, rows: Sequence[SourceObject], since_id: int) -> list[SourceObject]:
    """Return the objects after an id, in ascending order of ids."""
    numbered = []
    for row in rows:
        with refuse_malformed(stream, row):
            number = row["id"]
            if not isinstance(number, int) or not 0 < number < MAX_ID:
                raise ValueError
            numbered.append((number, row))
    numbered.sort(key=itemgetter(0))
    return [row for number, row in numbered if number > since_id]


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _find_next_page(link: str) -> str:
    """Return the ``page_info`` of the next page in a ``Link`` header. The rest of the link is not used."""
    for part in link.split(","):
        address, _, relation = part.partition(";")
        if 'rel="next"' in relation:
            return parse_qs(urlsplit(address.strip(" <>")).query).get("page_info", [""])[0]
    return ""


def _check_response(response: CallbackResponse, path: str) -> None:
    if response.status == 404:
        raise ObjectGone(path)
    if response.status == 401:
        raise TokenRefused(_BAD_TOKEN)
    if response.status == 403:
        raise ScopeMissing(_NO_SCOPE(path=path))
    if response.status != 200:
        raise SourceUnreadable(_STATUS(path=path, status=str(response.status)))
    if response.truncated:
        raise SourceUnreadable(_TOO_LARGE(path=path, limit=LIMITS.max_bytes // MIB))


def _parse_object(body: bytes) -> SourceObject | None:
    try:
        data = parse_json(body, limit=LIMITS.max_bytes)
    except InvalidJson:
        return None
    return data if isinstance(data, dict) else None


def _get_retry_after(response: CallbackResponse) -> float:
    """Return the seconds of ``Retry-After``, or 1 if the header is missing or is a date."""
    text = response.headers.get("Retry-After", "")
    return min(float(text), MAX_RETRY_AFTER_SECONDS) if _SECONDS.fullmatch(text) else FIRST_PAUSE_SECONDS


def parse_source_moment(text: object) -> datetime | None:
    """Return the time in an object of the source, or None if there is no valid time."""
    try:
        return parse_timestamp(text, UTC) if isinstance(text, str) else None
    except InvalidDate:
        return None


def read_creation_time(source_object: SourceObject, at: datetime) -> Attrs:
    """Return the time of creation as a value of ``created_at``, but no time in the future of this installation."""
    created_at = parse_source_moment(source_object.get("created_at"))
    return {"created_at": min(created_at, at)} if created_at else {}
