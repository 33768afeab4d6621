"""Django's settings. What can be set is in dashboard/env.py; everything here is fixed or follows from it."""

import os
from typing import Any

import dj_database_url

from dashboard import data_folder, env, logs
from dashboard.brokers import celery_url

BASE_DIR = env.BASE_DIR
_values = env.read_or_exit(os.environ)

RESTARTSCOPE_DATA_DIR = _values["RESTARTSCOPE_DATA_DIR"]
RESTARTSCOPE_CLUSTERS: tuple[env.ClusterSource, ...] = _values["RESTARTSCOPE_CLUSTERS"]
RESTARTSCOPE_NAMESPACES: tuple[str, ...] = _values["RESTARTSCOPE_NAMESPACES"]
RESTARTSCOPE_READ_ONLY: bool = _values["RESTARTSCOPE_READ_ONLY"]
RESTARTSCOPE_DEMO_SIGN_IN: bool = _values["RESTARTSCOPE_DEMO_SIGN_IN"]
RESTARTSCOPE_POD_LOGS: bool = _values["RESTARTSCOPE_POD_LOGS"]
RESTARTSCOPE_STREAMING_LISTS: bool = _values["RESTARTSCOPE_STREAMING_LISTS"]
REDIS_URL: str = _values["REDIS_URL"]

DEBUG = _values["RESTARTSCOPE_DEBUG"]
ALLOWED_HOSTS = [*env.LOOPBACK_NAMES, *_values["RESTARTSCOPE_ALLOWED_HOSTS"]]
CSRF_TRUSTED_ORIGINS = list(_values["RESTARTSCOPE_CSRF_TRUSTED_ORIGINS"])
ROOT_URLCONF = "dashboard.urls"
ASGI_APPLICATION = "dashboard.asgi.application"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "jobs",
]
MIDDLEWARE = [
    "dashboard.middleware.SecurityHeadersMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "dashboard.middleware.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "jobs.web.accounts.DemoSignInMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- Database -------------------------------------------------------------------------------------------------------
SQLITE_OPTIONS = {
    # A write transaction that begins as a read can be refused half-way, with no wait that helps; take the lock first.
    "transaction_mode": "IMMEDIATE",
    "timeout": 30,  # seconds that a writer waits for another
    # Readers go on while one writes. NORMAL may lose the last moments at a power cut, but the cursor is lost with
    # the data, so they are read from the cluster again.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}


def _database(url: str) -> dict[str, Any]:
    """The database of a URL. Raises env.SettingError."""
    try:
        database: dict[str, Any] = dict(dj_database_url.parse(url))
    except ValueError:
        raise env.SettingError("DATABASE_URL cannot be understood; docs/configuration.md has examples.") from None
    if database["ENGINE"] == "django.db.backends.sqlite3":
        database["OPTIONS"] = database.get("OPTIONS", {}) | SQLITE_OPTIONS
    return database


try:
    DATABASES = {"default": _database(_values["DATABASE_URL"])}
    if str(DATABASES["default"]["NAME"]).startswith(f"{RESTARTSCOPE_DATA_DIR}/"):
        data_folder.make_directory(RESTARTSCOPE_DATA_DIR)
    SECRET_KEY = _values["RESTARTSCOPE_SECRET_KEY"] or data_folder.generated_secret_key(RESTARTSCOPE_DATA_DIR)
except env.SettingError as error:
    env.exit_with(error)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Language and time ----------------------------------------------------------------------------------------------
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["dashboard.formats"]
LANGUAGE_COOKIE_AGE = 365 * 86400  # seconds
LANGUAGE_COOKIE_SAMESITE = "Lax"

# --- Static files ---------------------------------------------------------------------------------------------------
# Served from where they lie, found once at the start: there is no collecting step that could be forgotten.
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False

# --- Security -------------------------------------------------------------------------------------------------------
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "jobs.web.views.errors.forged"
# A site whose forms come by HTTPS alone sends its cookies that way alone.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = bool(CSRF_TRUSTED_ORIGINS) and all(
    origin.startswith("https://") for origin in CSRF_TRUSTED_ORIGINS
)
# The throttle stands in front of whatever knows passwords.
AUTHENTICATION_BACKENDS = ["jobs.accounts.signin.ThrottleBackend", "django.contrib.auth.backends.ModelBackend"]
LOGIN_URL = "jobs:sign-in"
LOGIN_REDIRECT_URL = "jobs:experiments"
LOGOUT_REDIRECT_URL = "jobs:experiments"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]

# --- Logging --------------------------------------------------------------------------------------------------------
LOGGING = logs.config(_values["RESTARTSCOPE_LOG_LEVEL"])

# --- Celery (dashboard/celery.py reads what starts with CELERY_) ----------------------------------------------------
WATCH_QUEUE = "watch"
ENSURE_WATCHERS_SECONDS = 10
START_TASK_EXPIRES_SECONDS = 15
CARRY_ON_SECONDS = 2
MOST_WAITING = 20  # messages in the default queue from which beat waits for a worker

CELERY_BROKER_URL = celery_url(REDIS_URL)
CELERY_RESULT_BACKEND = CELERY_BROKER_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TIMEZONE = "UTC"
CELERY_ENABLE_UTC = True
CELERY_TASK_ACKS_LATE = False  # a watcher that died is started anew by ensure_watchers, not by the broker
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {"jobs.tasks.watch_session": {"queue": WATCH_QUEUE}}
# What is not acknowledged is delivered again after this; a watch session ends well before.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_BEAT_SCHEDULER = "dashboard.celery:BoundedScheduler"
CELERY_BEAT_SCHEDULE = {
    "ensure_watchers": {
        "task": "jobs.tasks.ensure_watchers",
        "schedule": ENSURE_WATCHERS_SECONDS,
        # While no worker runs, beat must not pile them up.
        "options": {"expires": START_TASK_EXPIRES_SECONDS},
    },
    "carry_experiments_on": {
        "task": "jobs.tasks.carry_experiments_on",
        "schedule": CARRY_ON_SECONDS,
        "options": {"expires": 2 * CARRY_ON_SECONDS},
    },
}
