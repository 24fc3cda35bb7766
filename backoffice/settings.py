"""The settings, read from environment variables. An invalid value prevents the start.

Without any variables, the product uses SQLite, a file-based message broker and a local folder for uploads, all in
``BACKOFFICE_DATA_DIR``. ``docs/operators.md`` lists all variables.
"""

import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
from django.core.exceptions import ImproperlyConfigured
from django.http.request import split_domain_port

from backoffice.configuration import env
from backoffice.configuration.admin import (  # noqa: F401 - settings too
    ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS,
    CSRF_FAILURE_VIEW,
    FORMAT_MODULE_PATH,
    UNFOLD,
    find_languages,
    get_static_bundles,
)
from backoffice.configuration.databases import get_database_settings, get_replica_settings
from backoffice.configuration.private_files import make_folder_private
from backoffice.configuration.storages import get_storage_settings
from backoffice.observability.logs import FORMATS, LEVELS, get_logging_settings
from backoffice.observability.sentry import configure_sentry

django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.get_folder("BACKOFFICE_DATA_DIR", BASE_DIR / "var")
make_folder_private(DATA_DIR)


def _get_secret_key() -> str:
    """Return the key from the environment or from the data folder, where the first start creates a random key."""
    value = env.get_text("BACKOFFICE_SECRET_KEY")
    if value:
        return value
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

BRAND = env.get_text("BACKOFFICE_BRAND", "platform").lower()
if not (BRAND.isascii() and BRAND.isalpha()):
    raise ImproperlyConfigured(f"BACKOFFICE_BRAND must be one word of the letters A to Z, not {BRAND!r}.")

API_VERSIONS = ("2024-10", "2025-01", "2025-04", "2025-07", "2025-10", "2026-01", "2026-04", "2026-07", "2026-10")
API_BODY_LIMIT = 1024 * 1024
API_UPLOAD_BODY_LIMIT = 30 * 1024 * 1024
API_RENDER_CACHE_BYTES = env.get_integer("BACKOFFICE_RENDER_CACHE_MB", 48) * 1024 * 1024

RATE_LIMIT = env.get_flag("BACKOFFICE_RATE_LIMIT", default=True)
RATE_LIMIT_BURST = env.get_integer("BACKOFFICE_RATE_LIMIT_BURST", 40, least=1)
RATE_LIMIT_PER_SECOND = env.get_number("BACKOFFICE_RATE_LIMIT_PER_SECOND", 2.0)

# The address of the web server, and the maximum numbers of concurrent requests and jobs.
HOST = env.get_text("HOST", "127.0.0.1")
PORT = env.get_integer("PORT", 8000, least=1, most=65_535)
WEB_PROCESSES = env.get_integer("WEB_PROCESSES", 2, least=1, most=256)
WEB_THREADS = env.get_integer("WEB_THREADS", 4, least=1, most=256)
WORKERS = env.get_integer("WORKERS", 2, least=1, most=256)

# The public URL of this installation, which all links in responses and emails begin with.
BASE_URL = env.get_url("BACKOFFICE_BASE_URL", f"http://127.0.0.1:{PORT}", ("http", "https")).rstrip("/")

# The URL of the published schemas of the payment handler, and the path of a shop's payment discovery document.
SCHEMAS_URL = env.get_url("BACKOFFICE_SCHEMAS_URL", f"{BASE_URL}/schemas", ("http", "https")).rstrip("/")
DISCOVERY_PATH = env.get_text("BACKOFFICE_DISCOVERY_PATH", "/.well-known/ucp").lstrip("/")

OUTGOING_ALLOW = env.get_list("BACKOFFICE_OUTGOING_ALLOW")
# Outgoing requests must never reach the installation's own services.
OUTGOING_BLOCKED_HOSTS = sorted(
    {
        host.hostname
        for name in ("DATABASE_URL", "BACKOFFICE_REPLICA_URL", "BROKER_URL", "CACHE_URL")
        for host in env.parse_hosts(env.get_text(name))
        if host.hostname
    }
)
OUTGOING_BLOCKED_HOST_CHECK = "apps.core.tenancy.shops.is_shop_domain"

JOB_LEASE_SECONDS = 30
JOB_SWEEP_SECONDS = 10
# The maximum number of jobs of a shop that are sent to one queue and not finished. 0 means the default.
MAX_JOBS_PER_SHOP = env.get_integer("BACKOFFICE_MAX_JOBS_PER_SHOP", 0, most=1000) or max(4, 2 * WORKERS)

# Workers read these queues. The first one is for all tasks that no route names.
TASK_QUEUES = ("default", "webhooks", "bulk")
TASK_ROUTES_OF_OPERATOR = env.get_choices("BACKOFFICE_TASK_ROUTES", TASK_QUEUES)
# Patterns of task names with their queues. The first pattern that matches decides.
TASK_ROUTES = {
    **TASK_ROUTES_OF_OPERATOR,
    "webhooks.deliver": "webhooks",
    "imports_exports.*": "bulk",
    "store_imports.run_import": "bulk",
    "bulk_edits.*": "bulk",
    "content.extract_theme": "bulk",
    "customers.clear_erased_text": "bulk",
    "customers.erase_customer": "bulk",
    "customers.merge_customers": "bulk",
    "webhooks.replay_deliveries": "bulk",
}

# A subscription with selected fields does not receive the same payload again within this many seconds. 0 means that
# every payload is sent.
WEBHOOK_DEBOUNCE_SECONDS = env.get_integer("BACKOFFICE_WEBHOOK_DEBOUNCE_SECONDS", 5, most=60)
# How many processes of all workers deliver webhooks at the same time.
WEBHOOK_RUNS = env.get_integer("BACKOFFICE_WEBHOOK_RUNS", 1, least=1, most=32)
# The maximum number of deliveries per second in a replay.
WEBHOOK_REPLAYS_PER_SECOND = env.get_integer("BACKOFFICE_WEBHOOK_REPLAYS_PER_SECOND", 50, least=1, most=1000)
# If a subscription that an app created fails for hours, it is deleted (True) or disabled (False).
WEBHOOK_DELETE_FAILING = env.get_flag("BACKOFFICE_WEBHOOK_DELETE_FAILING", default=False)
# Endpoints that do not use HTTPS: the message brokers, keyed by name, and a flag that enables Amazon EventBridge.
WEBHOOK_BROKERS = env.get_brokers("BACKOFFICE_WEBHOOK_BROKERS")
WEBHOOK_EVENTBRIDGE = env.get_flag("BACKOFFICE_WEBHOOK_EVENTBRIDGE", default=False)

# More fonts for PDF documents, for scripts that the bundled fonts lack.
DOCUMENT_FONTS = env.get_fonts("BACKOFFICE_DOCUMENT_FONTS")

# The maximum number of active locations of a shop.
LOCATION_LIMIT = env.get_integer("BACKOFFICE_LOCATION_LIMIT", 200, least=1)

# Settings for monitoring: the token for /metrics, the access log and the trace collector.
METRICS_TOKEN = env.get_text("BACKOFFICE_METRICS_TOKEN")
ACCESS_LOG = env.get_flag("BACKOFFICE_ACCESS_LOG", default=False)
TRACES_ENDPOINT = env.get_collector_url("OTEL_EXPORTER_OTLP_ENDPOINT")

# --- Django ----------------------------------------------------------------------------------------------------------

SECRET_KEY = _get_secret_key()
SECRET_KEY_FALLBACKS = env.get_list("BACKOFFICE_SECRET_KEY_FALLBACKS")
DEBUG = env.get_flag("BACKOFFICE_DEBUG", default=False)

# Django accepts all hosts. ``backoffice.middleware.check_host`` checks the host, because it also knows the domains of
# shops.
ALLOWED_HOSTS = ["*"]
HOSTS = [
    *env.get_list("BACKOFFICE_HOSTS", "127.0.0.1,localhost,[::1],testserver"),
    split_domain_port(urlsplit(BASE_URL).netloc)[0],
]
# Headers such as X-Forwarded-For are trusted only if they come from one of these proxies.
TRUSTED_PROXIES = env.get_networks("BACKOFFICE_TRUSTED_PROXIES")
# Trust X-Forwarded-Proto only behind a proxy. Otherwise, a client could forge the header.
if env.get_flag("BACKOFFICE_BEHIND_TLS_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 31_536_000
# The proxy redirects to HTTPS. The owner of the domain decides whether to use HSTS for subdomains and HSTS preloading.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]

INSTALLED_APPS = [
    "apps.core",  # It imports the modules that fill registries, before other apps become ready.
    "apps.staff",
    "unfold.apps.BasicAppConfig",  # Unfold's default config would replace the product's admin site.
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "apps.core.admin.apps.PanelConfig",
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
    "apps.core.http",
    "apps.core.rest",
    "apps.core.events",
    "apps.core.jobs",
    "apps.shops",
    "apps.audit_log",
    "apps.background_jobs",
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
    "apps.gift_cards",
    "apps.discounts",
    "apps.draft_orders",
    "apps.notifications",
    "apps.imports_exports",
    "apps.documents",
    "apps.bulk_edits",
    "apps.store_imports",
    "apps.backups",
    "apps.demo",
]

# The text columns of third-party models. They contain data of staff and of the system, but no personal data of
# customers (see apps/core/privacy.py).
NON_PERSONAL_FIELDS = {
    "account.EmailAddress": ("email",),
    "account.EmailConfirmation": ("key",),
    "admin.LogEntry": ("object_id", "object_repr", "change_message"),
    "auth.Group": ("name",),
    "auth.Permission": ("name", "codename"),
    "contenttypes.ContentType": ("app_label", "model"),
    "mfa.Authenticator": ("data",),
    "sessions.Session": ("session_key", "session_data"),
    "usersessions.UserSession": ("ip", "session_key", "user_agent", "data"),
}

MIDDLEWARE = [
    *(["backoffice.observability.tracing.describe_request"] if TRACES_ENDPOINT else []),
    *(["backoffice.observability.metrics.requests.measure_requests"] if METRICS_TOKEN or ACCESS_LOG else []),
    "backoffice.middleware.request_boundary",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "backoffice.middleware.compress_pages",
    "backoffice.csp.ShopCSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.core.admin.languages.LanguageMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "apps.core.admin.middleware.ShopMiddleware",
]

ROOT_URLCONF = "backoffice.urls"
WSGI_APPLICATION = "backoffice.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            # Every template can use these libraries without loading them.
            "builtins": [
                "django.templatetags.i18n",
                "django.templatetags.l10n",
                "apps.core.admin.templatetags.bundles",
                "apps.core.admin.templatetags.dates",
                "apps.core.admin.templatetags.menu",
                "apps.core.admin.templatetags.messages",
                "apps.core.admin.templatetags.workers",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


DATABASES = {"default": get_database_settings(DATA_DIR), **get_replica_settings()}
# A replica is used only if its lag is at most this many seconds.
REPLICA_LAG_SECONDS = env.get_integer("BACKOFFICE_REPLICA_LAG_SECONDS", 10, least=1, most=3600)
# The statement timeout on PostgreSQL in seconds. 0 means no timeout.
STATEMENT_SECONDS = env.get_integer("BACKOFFICE_STATEMENT_TIMEOUT_MS", 60_000) / 1000
# The number of the range from which this installation assigns IDs (apps/core/db/id_sequences.py).
ID_RANGE = env.get_integer("BACKOFFICE_ID_RANGE", 0, most=9006)
if ID_RANGE and "sqlite" in DATABASES["default"]["ENGINE"]:
    raise ImproperlyConfigured(
        "BACKOFFICE_ID_RANGE needs PostgreSQL, because SQLite always continues after the highest ID of a table."
    )
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHE_URL = env.get_url("CACHE_URL", "", ("redis", "rediss"))
CACHES: dict[str, dict[str, Any]] = {
    "default": (
        {
            "BACKEND": "backoffice.configuration.redis_cache.SharedCache",
            "LOCATION": CACHE_URL,
        }
        if CACHE_URL
        else {"BACKEND": "backoffice.configuration.caches.ProcessCache", "LOCATION": DATA_DIR / "cache"}
    )
}

AUTH_USER_MODEL = "staff.User"
AUTHENTICATION_BACKENDS = ["apps.core.tenancy.backends.MembershipBackend"]
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
# Passwords have other limits (apps/staff/accounts/login_limits.py). "login_failed" limits codes of a second factor.
ACCOUNT_RATE_LIMITS = {"login_failed": "30/m/ip,5/5m/key", "login": "60/m/ip"}
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_PREVENT_ENUMERATION = True
# Email subjects have no prefix. The default prefix would be the host of the request.
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
MFA_ADAPTER = "apps.staff.accounts.adapter.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Backoffice"
# Starting on this date, every staff member needs a second factor. A shop can require it earlier (Shop.two_factor_from).
REQUIRE_TWO_FACTOR_FROM = env.get_date("BACKOFFICE_REQUIRE_TWO_FACTOR_FROM")

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
LOCALE_PATHS = [BASE_DIR / "locale"]
# English, and each language with a translation catalog.
LANGUAGES = find_languages(LOCALE_PATHS[0])

EMAIL_CONFIG = env.get_email_settings("EMAIL_URL", "consolemail://")
if EMAIL_CONFIG["EMAIL_BACKEND"] == "django.core.mail.backends.console.EmailBackend":
    EMAIL_CONFIG["EMAIL_BACKEND"] = "backoffice.email_backend.DemoEmailBackend"
vars().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env.get_text("BACKOFFICE_EMAIL_FROM", "Backoffice <no-reply@localhost>")

STATIC_URL = "/static/"
# Collected files are not in the data folder, because they are part of the release and every machine has its own copy.
STATIC_ROOT = Path(env.get_text("BACKOFFICE_STATIC_ROOT", str(BASE_DIR / "collected"))).resolve()
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = DATA_DIR / "media"
STORAGES = {
    **get_storage_settings(env.get_text("STORAGE_URL"), MEDIA_ROOT),
    "staticfiles": {"BACKEND": "backoffice.configuration.storages.StaticFilesStorage"},
}
STATIC_BUNDLES = get_static_bundles(LANGUAGES)
# Until files are collected (in tests or a fresh clone), they are served from their sources.
# The files in this folder have fixed URLs, such as /favicon.ico.
WHITENOISE_ROOT = BASE_DIR / "static_root"
WHITENOISE_MAX_AGE = 24 * 60 * 60
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_USE_FINDERS = not (STATIC_ROOT / "staticfiles.json").exists()
DATA_UPLOAD_MAX_MEMORY_SIZE = 60 * 1024 * 1024
# The refund form has several fields for each line item, and an order can have up to 500 line items.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 4000

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        # The script sources depend on the host of the request, so ``backoffice.csp`` adds them.
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

CELERY_APP = "backoffice.celery.app"
_BROKER_SCHEMES = ("filesystem", "redis", "rediss", "amqp", "amqps", "memory")
BROKER_URL = env.get_url("BROKER_URL", "filesystem://", _BROKER_SCHEMES, bare=("filesystem", "memory"))
BROKER_DIR = DATA_DIR / "broker"
if BROKER_URL == "filesystem://":
    for folder in ("queue", "processed", "control"):
        (BROKER_DIR / folder).mkdir(parents=True, exist_ok=True)

# --- logs ------------------------------------------------------------------------------------------------------------

LOGGING = get_logging_settings(
    env.get_choice("BACKOFFICE_LOG_LEVEL", "INFO", LEVELS),
    env.get_choice("BACKOFFICE_LOG_FORMAT", "LINE", FORMATS),
)

if SENTRY_DSN := env.get_text("SENTRY_DSN"):
    configure_sentry(SENTRY_DSN)

# --- the REST kit ----------------------------------------------------------------------------------------------------

# The product implements authentication, parsers and renderers in apps/core/rest/requests/, so the defaults are empty.
REST_FRAMEWORK: dict[str, str | list[str] | None] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "apps.core.rest.openapi.autoschema.ResourceSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Backoffice",
    "DESCRIPTION": "The store administration API.",
    "OAS_VERSION": "3.1.0",
    "DEFAULT_GENERATOR_CLASS": "apps.core.rest.openapi.generators.VersionGenerator",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": r"/admin/api/[^/]+",
}

FORMS_URLFIELD_ASSUME_HTTPS = True

# --- unknown variables -----------------------------------------------------------------------------------------------

env.warn_about_unknown_names()
