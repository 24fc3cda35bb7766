"""What only PostgreSQL has: poolers, replicas, limits for waits, and prepared statements."""
