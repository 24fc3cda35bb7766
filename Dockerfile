# One image for all services. The command selects the process.
FROM python:3.13-slim-trixie AS build
WORKDIR /app
RUN pip install --no-cache-dir uv==0.13.9
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --no-cache --compile-bytecode --extra sentry --extra otel --extra amqp

FROM python:3.13-slim-trixie
# Backups need the programs of the database server's version (see the service db in compose.yaml).
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-client-17 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 10001 backoffice && install -d -o backoffice /data /backups
WORKDIR /app
COPY --from=build /app/.venv .venv
COPY . .
ENV PATH=/app/.venv/bin:$PATH BACKOFFICE_DATA_DIR=/data HOST=0.0.0.0 PORT=8000 PYTHONUNBUFFERED=1
RUN python -m compileall -q apps backoffice && BACKOFFICE_SECRET_KEY=build BACKOFFICE_DATA_DIR=/tmp/build python manage.py collectstatic --noinput --verbosity 0 -i rest_framework -i xregexp -i gis
USER 10001
VOLUME /data /backups
EXPOSE 8000
# The root file system can be read-only, because the processes only write to /data, /backups and /tmp. All processes
# except web need another health check (see compose.yaml).
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["python", "-m", "backoffice.observability.heartbeat", "web"]
CMD ["python", "-m", "backoffice.entrypoints.serve"]
