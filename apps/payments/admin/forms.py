"""The panel form for a payment handler.

Known members of the configuration have form fields. Other members are edited as JSON.
"""

import json
import re

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.forms import PanelForm, Values
from apps.core.admin.theme import ThemedTextarea
from apps.core.i18n.error_messages import format_bytes
from apps.core.i18n.messages import translate
from apps.core.strict_json import InvalidJson, UnstorableText, parse_json
from apps.core.types import Attrs, Errors
from apps.payments.domain import entry_validation, handlers, schemas
from apps.payments.models import PaymentHandlerConfig

Environment = PaymentHandlerConfig.Environment

# Maps form fields to members of the configuration.
CONFIG_FIELDS = {
    "wallet_shop": "shop_id",
    "merchant_id": "merchant_id",
    "merchant_name": "merchant_name",
    "wallet_environment": "environment",
    "supported_currencies": "supported_currencies",
    "supported_countries": "supported_countries",
}
_LISTS = ("supported_currencies", "supported_countries")
_ENTRY_FIELDS = {"id": "handler_id", "version": "handler_version", "available_instruments": "instruments"}
_FIELDS = {f"config.{member}": field for field, member in CONFIG_FIELDS.items()} | _ENTRY_FIELDS


class CodesField(forms.CharField):
    """A field for codes separated by commas or spaces. The codes are converted to uppercase."""

    def to_python(self, value: str | None) -> list[str]:  # type: ignore[override]
        return re.findall(r"[^\s,;]+", (value or "").upper())

    def prepare_value(self, value: object) -> object:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def has_changed(self, initial: object, data: object) -> bool:
        return self.to_python(str(self.prepare_value(initial) or "")) != self.to_python(str(data or ""))


class JsonTextField(forms.CharField):
    """A field for a JSON value of the type ``kind``. Blank text is converted to None."""

    widget = ThemedTextarea(attrs={"rows": 5, "spellcheck": "false", "class": "bo-mono"})

    def __init__(self, kind: type, **options: object) -> None:
        super().__init__(required=False, strip=False, **options)  # type: ignore[arg-type]
        self.kind = kind

    def to_python(self, value: str | None) -> object:  # type: ignore[override]
        if not (value or "").strip():
            return None
        try:
            value_from_json = parse_json(str(value).encode(), limit=entry_validation.MAX_BYTES)
        except UnstorableText:
            raise forms.ValidationError(
                _("The text contains an invalid character. Remove the character and try again.")
            ) from None
        except (InvalidJson, UnicodeEncodeError) as error:
            raise forms.ValidationError(_("Enter valid JSON: {error}.").format(error=error)) from None
        if not isinstance(value_from_json, self.kind):
            raise forms.ValidationError(_("Enter a JSON list.") if self.kind is list else _("Enter a JSON object."))
        return value_from_json

    def prepare_value(self, value: object) -> object:
        return value if isinstance(value, str | None) else json.dumps(value, indent=2, ensure_ascii=False)

    def has_changed(self, initial: object, data: object) -> bool:
        try:
            return bool(entry_validation.convert_decimals(self.to_python(str(data or ""))) != initial)
        except forms.ValidationError:
            return True


class PaymentHandlerForm(PanelForm[PaymentHandlerConfig]):
    """The form, with the values to save and the findings: errors of the published entry, keyed by form field."""

    attrs: Attrs
    findings: Errors

    handler_version = forms.ChoiceField(label=gettext_lazy("Schema version"))
    wallet_shop = forms.CharField(
        label=gettext_lazy("Shop ID"),
        help_text=gettext_lazy("The ID that the wallet assigned to the shop at registration. This ID is public."),
    )
    merchant_id = forms.CharField(
        label=gettext_lazy("Merchant ID"),
        required=False,
        help_text=gettext_lazy("The account that receives the money, if it is not the shop's own account."),
    )
    merchant_name = forms.CharField(
        label=gettext_lazy("Merchant name"),
        required=False,
        help_text=gettext_lazy("The name that customers see in the wallet."),
    )
    wallet_environment = forms.ChoiceField(
        label=gettext_lazy("Environment"), choices=Environment.choices, initial=Environment.SANDBOX
    )
    supported_currencies = CodesField(
        required=False,
        help_text=gettext_lazy("For example EUR, USD. Leave blank for all currencies."),
        label=gettext_lazy("Currencies"),
    )
    supported_countries = CodesField(
        required=False,
        help_text=gettext_lazy("For example FR, US. Leave blank for all countries."),
        label=gettext_lazy("Countries"),
    )
    instruments = JsonTextField(
        list,
        label=gettext_lazy("Available instruments"),
        help_text=gettext_lazy('For example [{"type": "wallet_pay"}]. Leave blank for all instruments.'),
    )
    other = JsonTextField(
        dict,
        label=gettext_lazy("Other settings"),
        help_text=format_lazy(
            gettext_lazy(
                "A JSON object with additional settings, up to {size} in total. "
                "These settings are public. Don't include keys or passwords."
            ),
            size=format_bytes(entry_validation.MAX_BYTES),
        ),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("The reason for this change. Required for changes to production."),
    )

    def prepare(self) -> None:
        self.set_choices("handler_version", [(version, version) for version in schemas.get_schema_versions()])
        if self.instance._state.adding:
            return
        config = self.instance.config
        for field, member in CONFIG_FIELDS.items():
            self.initial[field] = config.get(member, "")
        self.initial["wallet_environment"] = handlers.get_environment(config)
        self.initial["other"] = {
            name: value for name, value in config.items() if name not in CONFIG_FIELDS.values()
        } or None
        self.initial["instruments"] = self.instance.available_instruments

    def clean(self) -> Values | None:
        cleaned = super().clean() or self.cleaned_data
        self.attrs = {
            "handler_id": cleaned.get("handler_id") or "",
            "handler_version": cleaned.get("handler_version") or "",
            "enabled": cleaned.get("enabled", False),
            "available_instruments": cleaned.get("instruments"),
            "config": self._config(cleaned),
        }
        self.findings = group_errors_by_field(
            entry_validation.find_entry_errors(handlers.build_entry(None, self.attrs))
        )
        for field, messages in self.findings.items():
            if field not in self.errors:
                self.add_error(field, messages)
        if not cleaned.get("reason") and self.has_changed() and self._concerns_production(cleaned):
            self.add_error("reason", _("Enter a reason. This change affects production."))
        return cleaned

    def _config(self, cleaned: Values) -> Attrs:
        other = cleaned.get("other") or {}
        if duplicates := sorted(other.keys() & set(CONFIG_FIELDS.values())):
            self.add_error(
                "other", _("Enter {names} in the fields above, not here.").format(names=", ".join(duplicates))
            )
        members = {member: cleaned.get(field) for field, member in CONFIG_FIELDS.items()}
        may_write_production = self.instance._state.adding or "environment" in self.instance.config
        if members["environment"] == Environment.PRODUCTION and not may_write_production:
            del members["environment"]
        return {**other, **{member: value for member, value in members.items() if value not in ("", [], None)}}

    def _concerns_production(self, cleaned: Values) -> bool:
        before = "" if self.instance._state.adding else handlers.get_environment(self.instance.config)
        return Environment.PRODUCTION in (before, cleaned.get("wallet_environment"))


def group_errors_by_field(errors: Errors) -> Errors:
    """Convert errors of an entry to full sentences, grouped by form field."""
    errors_by_field: Errors = {}
    for path, messages in errors.items():
        field, rest = _split_path(path)
        errors_by_field.setdefault(field, []).extend(
            _("{subject} {fault}.").format(subject=_subject(field, rest), fault=translate(message))
            for message in messages
        )
    return errors_by_field


def _split_path(path: str) -> tuple[str, str]:
    for prefix, field in _FIELDS.items():
        if path == prefix or path.startswith(f"{prefix}."):
            return field, path[len(prefix) + 1 :]
    return "other", path.removeprefix("config").removeprefix(".")


def _subject(field: str, rest: str) -> str:
    if not rest:
        return _("This value")
    return _("Entry {number}").format(number=int(rest) + 1) if field in _LISTS else rest
