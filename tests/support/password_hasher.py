from django.contrib.auth.hashers import Argon2PasswordHasher


class CheapArgon2PasswordHasher(Argon2PasswordHasher):
    """Hash with Argon2 at the lowest cost. The product's cost takes a quarter of a second for each hash."""

    time_cost = 1
    memory_cost = 8
    parallelism = 1
