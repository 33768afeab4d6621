"""Routes of the site: the app's pages, and the form that chooses the language."""

from django.urls import include, path

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include("jobs.web.urls")),
]

# What Django itself finds wrong is told in the same shapes as our own answers.
handler400 = "jobs.web.views.errors.bad_request"
handler404 = "jobs.web.views.errors.not_found"
