"""Settings, read from the environment; a bad value stops the start.

Without any variable set the product runs on SQLite, a broker made of files and a local folder for uploads, all below
``BACKOFFICE_DATA_DIR``. ``docs/operators.md`` lists every variable.
"""

import secrets
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
import environ
from django.core.exceptions import ImproperlyConfigured

from backoffice.logs import logging_to_console
from backoffice.panel import (  # noqa: F401 - settings too
    ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS,
    CSRF_FAILURE_VIEW,
    FORMAT_MODULE_PATH,
    UNFOLD,
)
from backoffice.storages import file_storages

django_stubs_ext.monkeypatch()

env = environ.Env()

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(env.str("BACKOFFICE_DATA_DIR", default=str(BASE_DIR / "var"))).resolve()
DATA_DIR.mkdir(parents=True, exist_ok=True)


def _secret_key() -> str:
    """The key from the environment, else one made at the first start and kept beside the data."""
    given = env.str("BACKOFFICE_SECRET_KEY", default="")
    if given:
        return given
    path = DATA_DIR / "secret_key"
    try:
        with path.open("x") as file:
            path.chmod(0o600)
            file.write(secrets.token_urlsafe(64))
    except FileExistsError:
        pass
    key = path.read_text()
    if not key:
        raise ImproperlyConfigured(f"{path} is empty; delete it or set BACKOFFICE_SECRET_KEY")
    return key


def _on_or_off(name: str, *, default: bool) -> bool:
    value = env.str(name, default="on" if default else "off").lower()
    if value not in {"on", "off"}:
        raise ImproperlyConfigured(f"{name} must be on or off, not {value!r}")
    return value == "on"


def _day(name: str) -> date | None:
    value = env.str(name, default="")
    try:
        return date.fromisoformat(value) if value else None
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a day such as 2026-12-31, not {value!r}") from None


# --- the product -----------------------------------------------------------------------------------------------------

BRAND = env.str("BACKOFFICE_BRAND", default="platform").lower()
if not (BRAND.isascii() and BRAND.isalpha()):
    raise ImproperlyConfigured("BACKOFFICE_BRAND must be one word of plain letters")

API_VERSIONS = ("2024-10", "2025-01", "2025-04", "2025-07", "2025-10", "2026-01", "2026-04", "2026-07")
API_BODY_LIMIT = 1024 * 1024
API_UPLOAD_BODY_LIMIT = 30 * 1024 * 1024
API_RENDER_CACHE_BYTES = env.int("BACKOFFICE_RENDER_CACHE_MB", default=48) * 1024 * 1024

RATE_LIMIT = _on_or_off("BACKOFFICE_RATE_LIMIT", default=True)
RATE_LIMIT_SIZE = env.int("BACKOFFICE_RATE_LIMIT_SIZE", default=40)
RATE_LIMIT_LEAK = env.float("BACKOFFICE_RATE_LIMIT_LEAK", default=2.0)
if RATE_LIMIT_SIZE < 1 or RATE_LIMIT_LEAK <= 0:
    raise ImproperlyConfigured("BACKOFFICE_RATE_LIMIT_SIZE must be at least 1 and BACKOFFICE_RATE_LIMIT_LEAK above 0")

# The address under which people reach this installation; links in answers and mails start with it where no request
# says better.
BASE_URL = env.str("BACKOFFICE_BASE_URL", default=f"http://127.0.0.1:{env.int('PORT', default=8000)}").rstrip("/")

OUTGOING_ALLOW = env.list("BACKOFFICE_OUTGOING_ALLOW", default=[])
# Our own parts are no targets for an address that somebody gave us, wherever they stand.
OUTGOING_REFUSED_HOSTS = sorted(
    {
        host
        for name in ("DATABASE_URL", "BROKER_URL", "CACHE_URL")
        if (host := urlsplit(env.str(name, default="")).hostname)
    }
)
OUTGOING_REFUSED_HOST_CHECK = "apps.shops.domain.hosts.is_shop_domain"

JOB_LEASE_SECONDS = 30
JOB_SWEEP_SECONDS = 10

# How many active locations a shop can have.
LOCATION_LIMIT = env.int("BACKOFFICE_LOCATION_LIMIT", default=200)

# --- Django ----------------------------------------------------------------------------------------------------------

SECRET_KEY = _secret_key()
SECRET_KEY_FALLBACKS = env.list("BACKOFFICE_SECRET_KEY_FALLBACKS", default=[])
DEBUG = _on_or_off("BACKOFFICE_DEBUG", default=False)

# Hosts are checked by ``backoffice.middleware.known_host``, which also knows the shops' own domains.
ALLOWED_HOSTS = ["*"]
HOSTS = env.list("BACKOFFICE_HOSTS", default=["127.0.0.1", "localhost", "[::1]", "testserver"])
# The proxies in front that set X-Forwarded-Proto; without it, nothing a client sends is believed.
if _on_or_off("BACKOFFICE_BEHIND_TLS_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 31_536_000
# The proxy redirects to https; subdomains and the browsers' preload list are the domain owner's to decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]

INSTALLED_APPS = [
    "apps.staff.apps.StaffConfig",
    "unfold.apps.BasicAppConfig",  # the default one would put its own site in place of ours
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "apps.panel.apps.PanelConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_filters",
    "rest_framework",
    "drf_spectacular",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "apps.shops",
    "apps.outgoing",
    "apps.api",
    "apps.events",
    "apps.jobs",
    "apps.metafields",
    "apps.inventory",
    "apps.catalog",
    "apps.content",
    "apps.customers",
    "apps.orders",
    "apps.exchange",
]

MIDDLEWARE = [
    "backoffice.middleware.boundary",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "apps.panel.middleware.ShopMiddleware",
]

ROOT_URLCONF = "backoffice.urls"
WSGI_APPLICATION = "backoffice.wsgi.application"
APPEND_SLASH = True

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


def _database() -> dict[str, Any]:
    """The database of ``DATABASE_URL``: SQLite tuned for several writers, or PostgreSQL with lasting connections."""
    database: dict[str, Any] = env.db_url("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'backoffice.sqlite3'}")
    options = database.setdefault("OPTIONS", {})
    if database["ENGINE"] == "django.db.backends.sqlite3":
        # A write transaction takes its lock when it begins; one that starts as a reader could not be granted it later.
        options.setdefault("transaction_mode", "IMMEDIATE")
        # Tests use a file as well: databases in memory lock by other rules.
        database["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
        options.setdefault("timeout", 20)
        options.setdefault(
            "init_command",
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
            "PRAGMA mmap_size=134217728; PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-16000;",
        )
    elif database["ENGINE"] == "django.db.backends.postgresql":
        options.setdefault("connect_timeout", 5)
        # Without a threshold psycopg prepares nothing, not even what asks for it.
        options.setdefault("prepare_threshold", 5)
        options.setdefault(
            "options",
            f"-c statement_timeout={env.int('BACKOFFICE_STATEMENT_TIMEOUT_MS', default=60_000)} -c lock_timeout=5000"
            " -c idle_in_transaction_session_timeout=60000"
            # The prepared statements look rows up by keys: PostgreSQL need not plan them anew for each set of values.
            " -c plan_cache_mode=force_generic_plan",
        )
    else:
        raise ImproperlyConfigured("DATABASE_URL must be a sqlite: or a postgres: URL")
    database["CONN_MAX_AGE"] = None
    database["CONN_HEALTH_CHECKS"] = True
    return database


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHE_URL = env.str("CACHE_URL", default="")
CACHES: dict[str, dict[str, Any]] = {
    "default": (
        {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": CACHE_URL,
            # A Redis that accepts and never answers must not hold a request.
            "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1},
        }
        if CACHE_URL
        else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    )
}

AUTH_USER_MODEL = "staff.User"
AUTHENTICATION_BACKENDS = ["apps.staff.backends.MembershipBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_REDIRECT_URL = "/admin/"
LOGIN_URL = "/accounts/login/"
LOGOUT_REDIRECT_URL = "/accounts/login/"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "apps.staff.accounts.adapter.StaffAccountAdapter"
ACCOUNT_RATE_LIMITS = {"login_failed": "30/m/ip,5/5m/key", "login": "60/m/ip"}
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_PREVENT_ENUMERATION = True
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Backoffice"
# From this day on, everybody in the panel needs a second factor; a shop may ask for it sooner (Shop.two_factor_from).
TWO_FACTOR_FROM = _day("BACKOFFICE_TWO_FACTOR_FROM")

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

EMAIL_CONFIG = env.email_url("EMAIL_URL", default="consolemail://")
vars().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.str("BACKOFFICE_MAIL_FROM", default="Backoffice <no-reply@localhost>")

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = DATA_DIR / "media"
STORAGES = {
    **file_storages(env.str("STORAGE_URL", default=""), MEDIA_ROOT),
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
# Until the files are collected (tests, a fresh clone) they are served from where they lie.
WHITENOISE_USE_FINDERS = not (STATIC_ROOT / "staticfiles.json").exists()
if WHITENOISE_USE_FINDERS:
    STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
DATA_UPLOAD_MAX_MEMORY_SIZE = 60 * 1024 * 1024

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        # Alpine, on which the panel's theme stands, compiles its attributes with the Function constructor.
        "script-src": ["'self'", "'unsafe-eval'"],
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:", "blob:"],
        "font-src": ["'self'"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "object-src": ["'none'"],
    }
}

# --- workers ---------------------------------------------------------------------------------------------------------

BROKER_URL = env.str("BROKER_URL", default="filesystem://")
BROKER_DIR = DATA_DIR / "broker"
if BROKER_URL == "filesystem://":
    for folder in ("queue", "processed", "control"):
        (BROKER_DIR / folder).mkdir(parents=True, exist_ok=True)

# --- logs ------------------------------------------------------------------------------------------------------------

LOGGING = logging_to_console(env.str("BACKOFFICE_LOG_LEVEL", default="INFO"))

# --- the REST kit ----------------------------------------------------------------------------------------------------

# The kit authenticates, parses and renders by itself (apps/api/requests/).
REST_FRAMEWORK: dict[str, str | list[str] | None] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "apps.api.openapi.operations.ResourceSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Backoffice",
    "DESCRIPTION": "The store administration interface.",
    "OAS_VERSION": "3.1.0",
    "DEFAULT_GENERATOR_CLASS": "apps.api.openapi.documents.VersionGenerator",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": r"/admin/api/[^/]+",
}

FORMS_URLFIELD_ASSUME_HTTPS = True
