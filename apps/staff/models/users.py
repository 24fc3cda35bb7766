"""The people who use the panel."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.ground.phrases import TAKEN


class UserManager(BaseUserManager["User"]):
    """Makes users, who are known by their e-mail address."""

    use_in_migrations = True

    def create_user(self, email: str, password: str | None = None, **extra: Any) -> "User":
        """Create a staff member; without a password nobody can log in as them."""
        if not email:
            raise ValueError("A user needs an e-mail address.")
        user = self.model(email=self.normalize_email(email).lower(), **extra)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> "User":
        """Create an operator, who sees every shop."""
        return self.create_user(email, password, is_superuser=True, **extra)

    def get_by_natural_key(self, username: str | None) -> "User":
        """Find a user by e-mail address, ignoring case."""
        return self.get(email=(username or "").lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person of the staff of one or more shops; an operator (superuser) sees all of them."""

    email = models.EmailField(gettext_lazy("email"), max_length=255, unique=True, error_messages={"unique": TAKEN})
    first_name = models.CharField(gettext_lazy("first name"), max_length=150, blank=True)
    last_name = models.CharField(gettext_lazy("last name"), max_length=150, blank=True)
    phone = models.CharField(max_length=50, blank=True)
    url = models.URLField(max_length=2048, blank=True)
    bio = models.TextField(blank=True)
    locale = models.CharField(max_length=10, default="en")
    # In which the person reads the panel and its mails; empty: as the browser asks.
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    # Since when the panel offers its tour no more.
    tour_ended_at = models.DateTimeField(null=True, blank=True, editable=False)
    is_active = models.BooleanField(gettext_lazy("active"), default=True)
    date_joined = models.DateTimeField(default=timezone.now, editable=False)
    last_shop = models.ForeignKey(
        "shops.Shop", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", editable=False
    )

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    def __str__(self) -> str:
        return self.get_full_name() or self.email

    def get_full_name(self) -> str:
        """First and last name, as far as known."""
        return f"{self.first_name} {self.last_name}".strip()

    def get_short_name(self) -> str:
        """The first name, else the address."""
        return self.first_name or self.email

    @property
    def is_staff(self) -> bool:
        """Everyone here works in the panel; what they see there, their memberships say."""
        return self.is_active
