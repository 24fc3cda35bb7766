"""The reasons that several streams have not to compare a member with that of the store."""

CREATED_NOW = "imported objects get the time of the import"
OWN_ADDRESS = "each shop serves its images at its own address"
