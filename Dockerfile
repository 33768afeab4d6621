# One image for every process; docker-compose.yml and deploy/ say which command each of them runs.
FROM python:3.13-slim-bookworm AS build
WORKDIR /build
COPY requirements-runtime.lock .
# Wheels alone: nothing is compiled, so neither stage needs a compiler.
RUN python -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes --only-binary :all: \
    -r requirements-runtime.lock

FROM python:3.13-slim-bookworm
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin restartscope
COPY --from=build /opt/venv /opt/venv
WORKDIR /app
# What goes in is listed in .dockerignore.
COPY . .
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["uvicorn", "dashboard.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "off", "--no-access-log", "--no-server-header", "--timeout-graceful-shutdown", "5"]
