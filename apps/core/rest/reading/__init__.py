"""Read rows: query plans, keyset pagination and the render cache."""
