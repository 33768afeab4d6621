"""Routes of the app. The site's own error handlers are in jobs.web.views.errors."""

from django.urls import path, re_path

from jobs.web.accounts import SignIn, SignOut
from jobs.web.live.streams import job_events, list_events
from jobs.web.views import (
    api,
    custom,
    evidence,
    exitcodes,
    experiments,
    health,
    job,
    jobs,
    listing,
    runs,
    timeline,
    watchers,
)

app_name = "jobs"

urlpatterns = [
    path("", jobs.job_list, name="list"),
    path("jobs/rows/", jobs.job_rows, name="rows"),
    path("jobs/facets/", jobs.job_facets, name="facets"),
    path("jobs/<str:uid>/", job.job_page, name="job"),
    path("jobs/<str:uid>/header/", job.job_header, name="job-header"),
    path("jobs/<str:uid>/kubectl.txt", job.job_kubectl, name="job-kubectl"),
    path("jobs/<str:uid>/tab/<slug:tab>/", job.job_tab, name="job-tab"),
    path("jobs/<str:cluster>/<str:namespace>/<str:kind>/<str:name>/", job.named_job, name="named"),
    path("exit-codes/", exitcodes.exit_codes, name="exit-codes"),
    path("watchers/", watchers.watchers, name="watchers"),
    path("experiments/", experiments.catalogue, name="experiments"),
    path("experiments/audit/", runs.audit, name="audit"),
    path("experiments/custom/", custom.custom_page, name="custom"),
    path("experiments/runs/<uuid:run_id>/", runs.run_page, name="run"),
    path("experiments/runs/<uuid:run_id>/panel/", runs.run_panel, name="run-panel"),
    path("experiments/runs/<uuid:run_id>/stop/", runs.stop, name="run-stop"),
    path("experiments/runs/<uuid:run_id>/clean-up/", runs.clean_up, name="run-clean-up"),
    path("experiments/<slug:name>/", experiments.experiment_form, name="experiment"),
    path("experiments/<slug:name>/launch/", experiments.quick, name="experiment-launch"),
    path("experiments/<slug:name>/manifest/", experiments.manifest, name="experiment-manifest"),
    path("experiments/<slug:name>/manifest.yaml", experiments.manifest_file, name="experiment-file"),
    path("sign-in/", SignIn.as_view(), name="sign-in"),
    path("sign-out/", SignOut.as_view(), name="sign-out"),
    path("healthz", health.healthz, name="healthz"),
    path("api/jobs/", listing.jobs, name="api-jobs"),
    path("api/jobs.json", listing.jobs_json, name="api-json"),
    path("api/jobs.csv", listing.jobs_csv, name="api-csv"),
    path("api/facets/", listing.job_facets, name="api-facets"),
    path("api/exit-codes/", exitcodes.exit_codes_json, name="api-exit-codes"),
    path("api/openapi.json", api.openapi, name="api-openapi"),
    path("api/complete/", listing.completion, name="api-complete"),
    path("api/jobs/events", list_events, name="list-events"),
    path("api/jobs/<str:uid>/", api.job, name="api-job"),
    path("api/jobs/<str:uid>/timeline/", timeline.job_timeline, name="api-timeline"),
    path("api/jobs/<str:uid>/evidence/", evidence.evidence, name="api-evidence"),
    path("api/jobs/<str:uid>/events", job_events, name="job-events"),
    re_path(r"^api/(?P<path>.*)$", api.not_found),
]
