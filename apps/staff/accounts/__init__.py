"""Account pages of staff: login, password, second factor and profile."""
