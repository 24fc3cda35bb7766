"""Shared building blocks for tenancy, base models, SQL, locks, translations and domain errors."""
