"""The reasons that several streams have not to compare a member with that of the store."""

CREATED_NOW = "imported objects get the time of the import"
KEEPS_HANDLE = "an object that was imported keeps its handle when the store changes it"
OWN_ADDRESS = "each shop serves its images at its own address"
