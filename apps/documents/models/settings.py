"""A shop's settings for documents."""

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext, gettext_lazy

from apps.core.tenancy.shop_owned import ShopOwned

_PREFIX = RegexValidator(
    r"\A[\w./-]*\Z", gettext_lazy("Use only letters, digits, hyphens, slashes, dots and underscores.")
)


class Language(models.TextChoices):
    """The languages of documents, which ``domain/labels.toml`` translates."""

    CUSTOMER = "", gettext_lazy("The customer's language")
    GERMAN = "de", "Deutsch"
    ENGLISH = "en", "English"
    SPANISH = "es", "Español"
    FRENCH = "fr", "Français"
    ITALIAN = "it", "Italiano"
    DUTCH = "nl", "Nederlands"
    POLISH = "pl", "Polski"


class DocumentLogo(ShopOwned):
    """A logo that documents show. Rows never change, because issued documents refer to them.

    The image is stored in the database, so that an invoice and its logo are saved and backed up together.
    """

    digest = models.CharField(max_length=64, editable=False)
    content = models.BinaryField(help_text="A PNG image.")
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()

    non_personal_fields = ("digest", "content")

    class Meta:
        verbose_name = gettext_lazy("logo")
        verbose_name_plural = gettext_lazy("logos")
        ordering = ("id",)
        constraints = (models.UniqueConstraint(fields=("shop", "digest"), name="documents_documentlogo_stored_once"),)

    def __str__(self) -> str:
        return f"Logo {self.digest[:8]}"


class DocumentSettings(ShopOwned):
    """The settings for documents of a shop, one row per shop. A missing row means the defaults.

    The setting to issue invoices automatically is ``Shop.invoices_from``, because each payment reads it.
    """

    language = models.CharField(
        gettext_lazy("language"),
        max_length=2,
        choices=Language,
        default=Language.CUSTOMER,
        blank=True,
        help_text=gettext_lazy(
            "With “The customer's language”, documents in a language that is not in this list use the shop's language."
        ),
    )
    footer = models.TextField(
        gettext_lazy("footer"),
        max_length=1000,
        blank=True,
        help_text=gettext_lazy(
            "Appears at the bottom of all pages, for example with your VAT number, bank account and terms of payment. "
            "Up to 8 lines."
        ),
    )
    logo = models.ForeignKey(
        DocumentLogo,
        on_delete=models.RESTRICT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=gettext_lazy("logo"),
    )
    invoice_prefix = models.CharField(
        gettext_lazy("invoice number prefix"), max_length=12, blank=True, default="INV-", validators=[_PREFIX]
    )
    credit_note_prefix = models.CharField(
        gettext_lazy("credit note number prefix"), max_length=12, blank=True, default="CN-", validators=[_PREFIX]
    )

    non_personal_fields = ("footer", "invoice_prefix", "credit_note_prefix")

    class Meta:
        verbose_name = gettext_lazy("document settings")
        verbose_name_plural = gettext_lazy("document settings")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("shop",), name="documents_documentsettings_one_per_shop"),
            models.CheckConstraint(
                condition=~Q(invoice_prefix=F("credit_note_prefix")),
                name="documents_documentsettings_prefixes_differ",
                violation_error_code="credit_note_prefix",
                violation_error_message=gettext_lazy("Use different prefixes for invoices and credit notes."),
            ),
        )

    def __str__(self) -> str:
        return gettext("Document settings")
