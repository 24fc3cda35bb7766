"""Settings, read from the environment; a bad value stops the start.

Without any variable set the product runs on SQLite, a broker made of files and a local folder for uploads, all below
``BACKOFFICE_DATA_DIR``. ``docs/operators.md`` lists every variable.
"""

import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
import environ
from django.core.exceptions import ImproperlyConfigured
from django.http.request import split_domain_port

from backoffice import variables
from backoffice.databases import database_of, replica
from backoffice.incidents import report_to
from backoffice.languages import of_catalogues
from backoffice.logs import FORMATS, LEVELS, logging_to_console
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
DATA_DIR = variables.folder("BACKOFFICE_DATA_DIR", BASE_DIR / "var")


def _secret_key() -> str:
    """The key from the environment, else one made at the first start and kept beside the data."""
    given = variables.text("BACKOFFICE_SECRET_KEY")
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
        raise ImproperlyConfigured(f"{path} is empty; delete it or set BACKOFFICE_SECRET_KEY.")
    return key


# --- the product -----------------------------------------------------------------------------------------------------

BRAND = variables.text("BACKOFFICE_BRAND", "platform").lower()
if not (BRAND.isascii() and BRAND.isalpha()):
    raise ImproperlyConfigured(f"BACKOFFICE_BRAND must be one word of plain letters, not {BRAND!r}.")

API_VERSIONS = ("2024-10", "2025-01", "2025-04", "2025-07", "2025-10", "2026-01", "2026-04", "2026-07")
API_BODY_LIMIT = 1024 * 1024
API_UPLOAD_BODY_LIMIT = 30 * 1024 * 1024
API_RENDER_CACHE_BYTES = variables.whole("BACKOFFICE_RENDER_CACHE_MB", 48) * 1024 * 1024

RATE_LIMIT = variables.switch("BACKOFFICE_RATE_LIMIT", default=True)
RATE_LIMIT_SIZE = variables.whole("BACKOFFICE_RATE_LIMIT_SIZE", 40, least=1)
RATE_LIMIT_LEAK = variables.number("BACKOFFICE_RATE_LIMIT_LEAK", 2.0)

# How the web processes listen, and how many requests they and how many jobs the workers do at once.
HOST = variables.text("HOST", "127.0.0.1")
PORT = variables.whole("PORT", 8000, least=1, most=65_535)
WEB_PROCESSES = variables.whole("WEB_PROCESSES", 2, least=1, most=256)
WEB_THREADS = variables.whole("WEB_THREADS", 4, least=1, most=256)
WORKERS = variables.whole("WORKERS", 2, least=1, most=256)

# The address under which people reach this installation; links in answers and mails start with it where no request
# says better.
BASE_URL = variables.url("BACKOFFICE_BASE_URL", f"http://127.0.0.1:{PORT}", ("http", "https")).rstrip("/")

# Where the schemas of the payment handler are published, and the path at which a shop's domain tells what it takes.
SCHEMAS_URL = variables.url("BACKOFFICE_SCHEMAS_URL", f"{BASE_URL}/schemas", ("http", "https")).rstrip("/")
DISCOVERY_PATH = variables.text("BACKOFFICE_DISCOVERY_PATH", "/.well-known/ucp").lstrip("/")

OUTGOING_ALLOW = variables.words("BACKOFFICE_OUTGOING_ALLOW")
# Our own parts are no targets for an address that somebody gave us, wherever they stand.
OUTGOING_REFUSED_HOSTS = sorted(
    {
        place.hostname
        for name in ("DATABASE_URL", "BACKOFFICE_REPLICA_URL", "BROKER_URL", "CACHE_URL")
        for place in variables.hosts(variables.text(name))
        if place.hostname
    }
)
OUTGOING_REFUSED_HOST_CHECK = "apps.shops.domain.hosts.is_shop_domain"

JOB_LEASE_SECONDS = 30
JOB_SWEEP_SECONDS = 10
# How many jobs of a shop are in work at a time, on all machines together; 0 where it may have all workers.
JOBS_PER_SHOP = variables.whole("BACKOFFICE_JOBS_PER_SHOP", 0, most=1000)

# An extract of a payload that repeats what its subscription got within so many seconds is not sent; 0 sends all.
WEBHOOK_DEBOUNCE_SECONDS = variables.whole("BACKOFFICE_WEBHOOK_DEBOUNCE_SECONDS", 5, most=60)
# How many deliveries a second go out at most when what a subscription missed is sent once more.
WEBHOOK_RECOVERIES_PER_SECOND = variables.whole("BACKOFFICE_WEBHOOK_RECOVERIES_PER_SECOND", 50, least=1, most=1000)
# A subscription whose deliveries all failed for hours is deleted, as long as the interface made it, and not disabled.
WEBHOOK_DELETE_FAILING = variables.switch("BACKOFFICE_WEBHOOK_DELETE_FAILING", default=False)
# Where deliveries can go besides the web: message brokers by name, and partner event sources of Amazon's.
WEBHOOK_BROKERS = variables.brokers("BACKOFFICE_WEBHOOK_BROKERS")
WEBHOOK_EVENTBRIDGE = variables.switch("BACKOFFICE_WEBHOOK_EVENTBRIDGE", default=False)

# How many active locations a shop can have.
LOCATION_LIMIT = variables.whole("BACKOFFICE_LOCATION_LIMIT", 200, least=1)

# What watches the processes: who knows the token reads /metrics; a line of log per request; where traces go.
METRICS_TOKEN = variables.text("BACKOFFICE_METRICS_TOKEN")
ACCESS_LOG = variables.switch("BACKOFFICE_ACCESS_LOG", default=False)
TRACES_ENDPOINT = variables.collector("OTEL_EXPORTER_OTLP_ENDPOINT")

# --- Django ----------------------------------------------------------------------------------------------------------

SECRET_KEY = _secret_key()
SECRET_KEY_FALLBACKS = variables.words("BACKOFFICE_SECRET_KEY_FALLBACKS")
DEBUG = variables.switch("BACKOFFICE_DEBUG", default=False)

# Hosts are checked by ``backoffice.middleware.known_host``, which also knows the shops' own domains.
ALLOWED_HOSTS = ["*"]
HOSTS = [
    *variables.words("BACKOFFICE_HOSTS", "127.0.0.1,localhost,[::1],testserver"),
    split_domain_port(urlsplit(BASE_URL).netloc)[0],
]
# The proxies in front, whose word about a client's address is believed.
TRUSTED_PROXIES = variables.networks("BACKOFFICE_TRUSTED_PROXIES")
# The proxies in front that set X-Forwarded-Proto; without it, nothing a client sends is believed.
if variables.switch("BACKOFFICE_BEHIND_TLS_PROXY", default=False):
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
    "apps.webhooks",
    "apps.inventory",
    "apps.catalog",
    "apps.content",
    "apps.customers",
    "apps.orders",
    "apps.fulfillment",
    "apps.refunds",
    "apps.payments",
    "apps.exchange",
    "apps.bulk",
    "apps.backups",
]

MIDDLEWARE = [
    *(["backoffice.traces.traced"] if TRACES_ENDPOINT else []),
    *(["backoffice.metrics.requests.observed"] if METRICS_TOKEN or ACCESS_LOG else []),
    "backoffice.middleware.boundary",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "backoffice.middleware.compressed",
    "backoffice.policy.ContentPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.panel.languages.LanguageMiddleware",
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
            # Every template speaks of people's languages and of how they write numbers.
            "builtins": [
                "django.templatetags.i18n",
                "django.templatetags.l10n",
                "apps.panel.templatetags.local_dates",
                "apps.panel.templatetags.retelling",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


DATABASES = {"default": database_of(DATA_DIR), **replica()}
# By how many seconds the replica may lag and still be read.
REPLICA_LAG_SECONDS = variables.whole("BACKOFFICE_REPLICA_LAG_SECONDS", 10, least=1, most=3600)
# After so many seconds PostgreSQL ends a statement; 0: never.
STATEMENT_SECONDS = variables.whole("BACKOFFICE_STATEMENT_TIMEOUT_MS", 60_000) / 1000
# Which range of ids this installation gives (apps/ground/ids.py).
CELL = variables.whole("BACKOFFICE_CELL", 0, most=9006)
if CELL and "sqlite" in DATABASES["default"]["ENGINE"]:
    raise ImproperlyConfigured("BACKOFFICE_CELL needs PostgreSQL: SQLite goes on after the highest id of a table.")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHE_URL = variables.url("CACHE_URL", "", ("redis", "rediss")) if variables.text("CACHE_URL") else ""
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
# By default it is the host that the request names.
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
MFA_ADAPTER = "apps.staff.accounts.adapter.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Backoffice"
# From this day on, everybody in the panel needs a second factor; a shop may ask for it sooner (Shop.two_factor_from).
TWO_FACTOR_FROM = variables.day("BACKOFFICE_TWO_FACTOR_FROM")

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "locale"]
# English, and each language that has a catalogue.
LANGUAGES = of_catalogues(LOCALE_PATHS[0])

EMAIL_CONFIG = env.email_url_config(
    variables.url("EMAIL_URL", "consolemail://", env.EMAIL_SCHEMES, bare=env.EMAIL_SCHEMES)
)
if EMAIL_CONFIG["EMAIL_BACKEND"] == "django.core.mail.backends.console.EmailBackend":
    EMAIL_CONFIG["EMAIL_BACKEND"] = "backoffice.mail.NoServer"
vars().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = variables.text("BACKOFFICE_MAIL_FROM", "Backoffice <no-reply@localhost>")

STATIC_URL = "/static/"
# Not beside the data: collected files belong to the release, and every machine has its own.
STATIC_ROOT = Path(variables.text("BACKOFFICE_STATIC_DIR", str(BASE_DIR / "collected"))).resolve()
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = DATA_DIR / "media"
STORAGES = {
    **file_storages(variables.text("STORAGE_URL"), MEDIA_ROOT),
    "staticfiles": {"BACKEND": "backoffice.storages.StaticFiles"},
}
# Until the files are collected (tests, a fresh clone) they are served from where they lie.
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_USE_FINDERS = not (STATIC_ROOT / "staticfiles.json").exists()
DATA_UPLOAD_MAX_MEMORY_SIZE = 60 * 1024 * 1024
# The form of a refund has some fields for each of the 500 lines that an order may have.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 4000

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        # Where scripts come from depends on the request's host: backoffice.policy.
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

_BROKERS = ("filesystem", "redis", "rediss", "amqp", "amqps", "memory")
BROKER_URL = variables.url("BROKER_URL", "filesystem://", _BROKERS, bare=("filesystem", "memory"))
BROKER_DIR = DATA_DIR / "broker"
if BROKER_URL == "filesystem://":
    for folder in ("queue", "processed", "control"):
        (BROKER_DIR / folder).mkdir(parents=True, exist_ok=True)

# --- logs ------------------------------------------------------------------------------------------------------------

LOGGING = logging_to_console(
    variables.choice("BACKOFFICE_LOG_LEVEL", "INFO", LEVELS), variables.choice("BACKOFFICE_LOG_FORMAT", "LINE", FORMATS)
)

if SENTRY_DSN := variables.text("SENTRY_DSN"):
    report_to(SENTRY_DSN)

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
