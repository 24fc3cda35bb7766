from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import TAKEN


class UserManager(BaseUserManager["User"]):
    use_in_migrations = True

    def create_user(self, email: str, password: str | None = None, **extra: Any) -> "User":
        """Create a user. A user without a password cannot log in."""
        if not email:
            raise ValueError("A user needs an email address.")
        user = self.model(email=self.normalize_email(email).lower(), **extra)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> "User":
        """Create an operator, who may open every shop."""
        return self.create_user(email, password, is_superuser=True, **extra)

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return a user by email address, ignoring case."""
        return self.get(email=(username or "").lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A staff member of one or more shops, or an operator (superuser) with access to all shops."""

    email = models.EmailField(gettext_lazy("email"), max_length=255, unique=True, error_messages={"unique": TAKEN})
    first_name = models.CharField(gettext_lazy("first name"), max_length=150, blank=True)
    last_name = models.CharField(gettext_lazy("last name"), max_length=150, blank=True)
    phone = models.CharField(max_length=50, blank=True)
    url = models.URLField(max_length=2048, blank=True)
    bio = models.TextField(blank=True)
    locale = models.CharField(max_length=10, default="en")
    # The language of the panel and emails. An empty value means the browser's language.
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    # The time when the user ended the tour.
    tour_ended_at = models.DateTimeField(null=True, blank=True, editable=False)
    is_active = models.BooleanField(gettext_lazy("active"), default=True)
    date_joined = models.DateTimeField(default=timezone.now, editable=False)
    last_shop = models.ForeignKey(
        "shops.Shop", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", editable=False
    )

    non_personal_fields = ("password", "email", "first_name", "last_name", "phone", "url", "bio", "locale", "language")

    objects = UserManager()

    class Meta:
        app_label = "staff"

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    def __str__(self) -> str:
        return self.get_full_name() or self.email

    def get_full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    def get_short_name(self) -> str:
        return self.first_name or self.email

    @property
    def is_staff(self) -> bool:
        """Return True for all active users. Memberships decide which shops and pages a user can open."""
        return self.is_active
