"""Shared foundations: tenancy, base models, SQL, locks, translations and domain errors."""
