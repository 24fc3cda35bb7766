"""Shared building blocks: tenancy, base models, SQL, locks, translations and domain errors."""
