"""Routes of the site: the app's pages, and the form that chooses the language."""

from django.urls import include, path

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include("jobs.web.urls")),
]
