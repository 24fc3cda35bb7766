"""What every table stands on: tenancy, rows, statements, locks and refusals."""
