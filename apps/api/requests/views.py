"""The frame of every route: who calls, in which version, at what rate, and in which shop."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import orjson
from django.conf import settings
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.viewsets import ViewSet

from apps.api.context import Context
from apps.api.errors import CONTENT_TYPE, ApiError, exception_handler, reason
from apps.api.requests import freshness, idempotency, throttling
from apps.api.requests.access import SAFE, check_scope
from apps.api.requests.authentication import Access, open_door
from apps.api.requests.bodies import accepts_json, check_length, read_json, read_query, unwrap
from apps.api.requests.deprecations import Deprecation
from apps.api.resources.serializers import Resource
from apps.api.shapes import Data, Schema
from apps.api.versions import ALWAYS, Gate, UnknownVersion, newest, resolve
from apps.events.domain.context import cause
from apps.ground.outages import is_undone
from apps.ground.phrases import LIMIT_EXCEEDED
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop

# What an action answers: the resource under its singular name, without a name, or many under the plural.
ONE, BARE, MANY = "one", "bare", "many"

# Every resource's singular name, to tell a second wrapper in a body from an unknown key.
SINGULARS: set[str] = set()


class ApiView(ViewSet):
    """A view of the interface: authenticated, versioned, scoped to one shop, always JSON.

    Attributes:
        serializer_class: What it shows and takes, where that is a resource.
        singular, plural: The resource's names in bodies; ``plural`` also begins its topics.
        scope: The word of the access scope, e.g. ``script_tags``; None where any token will do.
        gates: By action, the versions that have it.
        deprecated: By action, why it is deprecated.
        takes_uploads: Whether bodies may hold base64 files (30 MiB instead of 1).
        bodies: By action, what it takes where that is not the resource: the fields of a flat body, or a JSON schema.
        answers: By action, what it gives where that does not follow from the action's name: ``ONE``, ``BARE``, ``MANY``
            or a JSON schema.
        beside: By action, what its answer names beside the resource: by name, its JSON schema.
        queries: By action of its own, the parameters that its query may have.
        statuses: By action, the status of its success where that is not 200, or 201 for a create.
    """

    serializer_class: ClassVar[Resource]
    singular: ClassVar[str]
    plural: ClassVar[str]
    scope: ClassVar[str | None] = None
    gates: ClassVar[Mapping[str, Gate]] = {}
    deprecated: ClassVar[Mapping[str, Deprecation]] = {}
    takes_uploads: ClassVar[bool] = False
    bodies: ClassVar[Mapping[str, Schema]] = {}
    answers: ClassVar[Mapping[str, Schema | str]] = {}
    beside: ClassVar[Mapping[str, Mapping[str, Schema]]] = {}
    queries: ClassVar[Mapping[str, Sequence[str]]] = {}
    statuses: ClassVar[Mapping[str, int]] = {}
    http_method_names = ("get", "post", "put", "delete", "head")

    access: Access
    version: str

    def scopes_for(self, method: str) -> tuple[str, ...]:
        """The scopes of which one is enough for a method; none where any token will do."""
        if self.scope is None:
            return ()
        return (f"{'read' if method in SAFE else 'write'}_{self.scope}",)

    def check_permissions(self, request: Request) -> None:
        """The caller holds the scope that the route asks for."""
        check_scope(self.access, self.scopes_for(request.method or "GET"))

    def initialize_request(self, request: HttpRequest, *args: object, **kwargs: object) -> Request:
        """DRF's request; parsing and authentication are the kit's."""
        self.action = self.action_map.get((request.method or "").lower(), "")
        return Request(request)

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Answer a request."""
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request)
        self.at = timezone.now()
        self.version = newest()
        self.level = throttling.Level(0, settings.RATE_LIMIT_SIZE, admitted=True)
        try:
            response = self._answer(request)
        except Exception as error:
            response = exception_handler(error)
            # In a transaction around the request nothing can be repeated.
            request.undone = is_undone(error) and not connection.in_atomic_block  # type: ignore[attr-defined]
        if request.method not in SAFE and hasattr(self, "access"):
            freshness.note_write(self.access)
        return self._stamp(response)

    def _answer(self, request: HttpRequest) -> HttpResponse:
        self.access = open_door(request)
        self.request.auth = self.access
        self.level = self.pour()
        if not self.level.admitted:
            raise ApiError(LIMIT_EXCEEDED, status=429, headers={"Retry-After": str(throttling.RETRY_AFTER)})
        self._resolve_version()
        method = (request.method or "").lower()
        if method not in self.http_method_names or not hasattr(self, method):
            raise ApiError(reason(405), status=405, headers={"Allow": ", ".join(self.allowed_methods)})
        self.check_permissions(self.request)
        if not accepts_json(request):
            raise ApiError(reason(406), status=406)
        with (
            shop_scope(self.shop),
            cause(request_id=getattr(request, "request_id", ""), address=request.META.get("REMOTE_ADDR") or None),
        ):
            handler: Callable[..., HttpResponse] = getattr(self, method)
            if request.method in SAFE:
                return freshness.read(self.access, lambda: self._opened(handler))
            if method == "post" and idempotency.HEADER in request.META:
                check_length(request, uploads=self.takes_uploads)
                return idempotency.once(
                    request,
                    self.access,
                    self._get_ready,
                    lambda: handler(self.request, **self.kwargs),
                    at=self.at,
                    keep=self.kept,
                    restore=self.restored,
                )
            self.open()
            if method in {"post", "put"}:
                self.prepare()
            return handler(self.request, **self.kwargs)

    def _opened(self, handler: Callable[..., HttpResponse]) -> HttpResponse:
        self.open()
        return handler(self.request, **self.kwargs)

    def pour(self) -> throttling.Level:
        """Count the call; a view with limits of its own counts otherwise."""
        return throttling.pour(app_id=self.access.installation.app_id, shop=self.shop)

    def _get_ready(self) -> None:
        """What is done before the work and not for a replay, whose parent may be gone by now."""
        self.open()
        self.prepare()

    def _resolve_version(self) -> None:
        try:
            self.version = resolve(self.kwargs.pop("version", newest()))
        except UnknownVersion:
            raise Http404 from None
        if not self.gates.get(self.action or "", ALWAYS).admits(self.version):
            raise Http404

    def _stamp(self, response: HttpResponse) -> HttpResponse:
        """The headers that every answer has."""
        brand = settings.BRAND.capitalize()
        response[f"X-{brand}-API-Version"] = self.version
        response[f"X-{brand}-Shop-Api-Call-Limit"] = self.level.header
        note = self.deprecated.get(getattr(self, "action", None) or "")
        if note is not None and note.applies(self.version):
            response[f"X-{brand}-API-Deprecated-Reason"] = note.url
        return response

    def open(self) -> None:
        """Load what the path names, e.g. the parent; raises ``Http404`` where this shop has none."""

    def kept(self, answer: bytes) -> bytes:
        """What of an answer's bytes is stored for a replay; a view whose answer holds a secret leaves that out."""
        return answer

    def restored(self, stored: bytes) -> bytes:
        """The answer of a replay, out of what was stored."""
        return stored

    def prepare(self) -> None:
        """Slow work of a write, such as downloads, before its transaction opens."""

    @property
    def shop(self) -> Shop:
        """The shop that the token belongs to."""
        return self.access.shop

    @property
    def actor(self) -> str:
        """The caller's name in the audit trail."""
        return self.access.actor

    @cached_property
    def query(self) -> dict[str, str]:
        """The query's parameters."""
        return read_query(self.request._request)

    @cached_property
    def body(self) -> object:
        """The body's JSON value; None where there is none."""
        return read_json(self.request._request, uploads=self.takes_uploads)

    def unwrapped(self, singular: str) -> Data:
        """The body's object under a name."""
        return unwrap(self.body, singular, SINGULARS)

    @property
    def context(self) -> Context:
        """What rendering depends on besides the rows."""
        return Context(self.shop, self.version)

    def json(self, value: object, status: int = 200, **headers: str) -> HttpResponse:
        """An answer with a JSON value."""
        return self.bytes(orjson.dumps(value), status, **headers)

    def bytes(self, body: bytes, status: int = 200, **headers: str) -> HttpResponse:
        """An answer with a rendered body."""
        return HttpResponse(body, status=status, content_type=CONTENT_TYPE, headers=headers)
