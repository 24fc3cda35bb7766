"""Gift cards with a ledger of all changes to the balance."""
