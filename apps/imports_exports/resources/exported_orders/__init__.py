"""Export orders completely as JSON lines, and import the exported orders with their whole history."""
