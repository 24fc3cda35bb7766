# One image for web, worker and scheduler; the command says which.
FROM python:3.13-slim AS build
WORKDIR /app
RUN pip install --no-cache-dir uv
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --no-cache

FROM python:3.13-slim
RUN useradd --create-home --uid 10001 backoffice && install -d -o backoffice /data
WORKDIR /app
COPY --from=build /app/.venv .venv
COPY . .
ENV PATH=/app/.venv/bin:$PATH BACKOFFICE_DATA_DIR=/data HOST=0.0.0.0 PORT=8000 PYTHONUNBUFFERED=1
RUN BACKOFFICE_SECRET_KEY=build python manage.py collectstatic --noinput --verbosity 0 && chown -R backoffice /data
USER backoffice
VOLUME /data
EXPOSE 8000
HEALTHCHECK CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz')"
CMD ["python", "-m", "backoffice.serve"]
