"""The form of a payment handler: fields for what the schema knows, and JSON for the rest."""

import json
import re

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.ground.attrs import Attrs, Errors
from apps.ground.phrases import size_of
from apps.ground.strict_json import BadJson, Unstorable, parse_json
from apps.panel.screens.forms import PanelForm, Values
from apps.panel.theme import ThemedTextarea
from apps.payments.domain import configuring, entries, publishing
from apps.payments.models import PaymentHandlerConfig

Environment = PaymentHandlerConfig.Environment

# By field of the form, the member of the configuration that it holds.
MEMBERS = {
    "wallet_shop": "shop_id",
    "merchant_id": "merchant_id",
    "merchant_name": "merchant_name",
    "wallet_environment": "environment",
    "supported_currencies": "supported_currencies",
    "supported_countries": "supported_countries",
}
_LISTS = ("supported_currencies", "supported_countries")
_OF_ENTRY = {"id": "handler_id", "version": "handler_version", "available_instruments": "instruments"}
_FIELDS = {f"config.{member}": field for field, member in MEMBERS.items()} | _OF_ENTRY


class CodesField(forms.CharField):
    """Codes in capital letters, with commas or blanks between them."""

    def to_python(self, value: str | None) -> list[str]:  # type: ignore[override]
        """The codes."""
        return re.findall(r"[^\s,;]+", (value or "").upper())

    def prepare_value(self, value: object) -> object:
        """As they are typed."""
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def has_changed(self, initial: object, data: object) -> bool:
        """Whether other codes are meant."""
        return self.to_python(str(self.prepare_value(initial) or "")) != self.to_python(str(data or ""))


class JsonBox(forms.CharField):
    """A JSON value as it is typed; empty for none."""

    widget = ThemedTextarea(attrs={"rows": 5, "spellcheck": "false", "class": "bo-mono"})

    def __init__(self, kind: type, **options: object) -> None:
        """Name the kind of value, and how it is called."""
        super().__init__(required=False, strip=False, **options)  # type: ignore[arg-type]
        self.kind = kind

    def to_python(self, value: str | None) -> object:  # type: ignore[override]
        """The value.

        Raises:
            ValidationError: It is no JSON, or of another kind.
        """
        if not (value or "").strip():
            return None
        try:
            found = parse_json(str(value).encode(), limit=entries.MAX_BYTES)
        except Unstorable:
            raise forms.ValidationError(_("This holds a character that cannot be stored.")) from None
        except (BadJson, UnicodeEncodeError) as error:
            raise forms.ValidationError(_("This is no JSON: {error}.").format(error=error)) from None
        if not isinstance(found, self.kind):
            raise forms.ValidationError(
                _("This must be a list.") if self.kind is list else _("This must be an object.")
            )
        return found

    def prepare_value(self, value: object) -> object:
        """Indented, as it is read."""
        return value if isinstance(value, str | None) else json.dumps(value, indent=2, ensure_ascii=False)

    def has_changed(self, initial: object, data: object) -> bool:
        """Whether another value is meant."""
        try:
            return bool(entries.storable(self.to_python(str(data or ""))) != initial)
        except forms.ValidationError:
            return True


class PaymentHandlerForm(PanelForm[PaymentHandlerConfig]):
    """A payment handler; where production changes, staff say why.

    Attributes:
        attrs: What is to be stored, by column.
        findings: What is wrong with it, by field of the form.
    """

    attrs: Attrs
    findings: Errors

    handler_version = forms.ChoiceField(label=gettext_lazy("Schema version"))
    wallet_shop = forms.CharField(
        label=gettext_lazy("Shop ID"),
        help_text=gettext_lazy("The shop as the wallet knows it, given at registration. Public."),
    )
    merchant_id = forms.CharField(
        label=gettext_lazy("Merchant ID"),
        required=False,
        help_text=gettext_lazy("The account that receives the money, where it is not the shop itself."),
    )
    merchant_name = forms.CharField(
        label=gettext_lazy("Merchant name"),
        required=False,
        help_text=gettext_lazy("The name that buyers see in the wallet."),
    )
    wallet_environment = forms.ChoiceField(
        label=gettext_lazy("Environment"), choices=Environment.choices, initial=Environment.SANDBOX
    )
    supported_currencies = CodesField(
        required=False,
        help_text=gettext_lazy("Such as EUR, USD. Empty: every currency."),
        label=gettext_lazy("Currencies"),
    )
    supported_countries = CodesField(
        required=False, help_text=gettext_lazy("Such as FR, US. Empty: every country."), label=gettext_lazy("Countries")
    )
    instruments = JsonBox(
        list,
        label=gettext_lazy("Available instruments"),
        help_text=gettext_lazy('Such as [{"type": "wallet_pay"}]. Empty: everything that the handler knows.'),
    )
    other = JsonBox(
        dict,
        label=gettext_lazy("Other settings"),
        help_text=format_lazy(
            gettext_lazy(
                "An object with further members of the configuration, at most {size} in all. "
                "Everybody can read them: no keys, no passwords."
            ),
            size=size_of(entries.MAX_BYTES),
        ),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("Why you change it. Needed where production is concerned."),
    )

    def prepare(self) -> None:
        """The versions to choose from, and the configuration in its fields."""
        self.offer("handler_version", [(version, version) for version in publishing.versions()])
        if self.instance._state.adding:
            return
        config = self.instance.config
        for field, member in MEMBERS.items():
            self.initial[field] = config.get(member, "")
        self.initial["wallet_environment"] = configuring.environment_of(config)
        self.initial["other"] = {name: value for name, value in config.items() if name not in MEMBERS.values()} or None
        self.initial["instruments"] = self.instance.available_instruments

    def clean(self) -> Values | None:
        """What must not be published, beside the fields; and the reason."""
        cleaned = super().clean() or self.cleaned_data
        self.attrs = {
            "handler_id": cleaned.get("handler_id") or "",
            "handler_version": cleaned.get("handler_version") or "",
            "enabled": cleaned.get("enabled", False),
            "available_instruments": cleaned.get("instruments"),
            "config": self._config(cleaned),
        }
        self.findings = by_field(entries.refusals(configuring.entry_of(None, self.attrs)))
        for field, messages in self.findings.items():
            if field not in self.errors:
                self.add_error(field, messages)
        if not cleaned.get("reason") and self.has_changed() and self._concerns_production(cleaned):
            self.add_error("reason", _("Say why: this concerns production."))
        return cleaned

    def _config(self, cleaned: Values) -> Attrs:
        other = cleaned.get("other") or {}
        if doubled := sorted(other.keys() & set(MEMBERS.values())):
            self.add_error("other", _("There is a field above for {names}.").format(names=", ".join(doubled)))
        typed = {member: cleaned.get(field) for field, member in MEMBERS.items()}
        unsaid = self.instance._state.adding or "environment" in self.instance.config
        if typed["environment"] == Environment.PRODUCTION and not unsaid:
            del typed["environment"]
        return {**other, **{member: value for member, value in typed.items() if value not in ("", [], None)}}

    def _concerns_production(self, cleaned: Values) -> bool:
        before = "" if self.instance._state.adding else configuring.environment_of(self.instance.config)
        return Environment.PRODUCTION in (before, cleaned.get("wallet_environment"))


def by_field(errors: Errors) -> Errors:
    """What is wrong with an entry, in sentences by field of the form."""
    found: Errors = {}
    for path, messages in errors.items():
        field, rest = _place(path)
        found.setdefault(field, []).extend(
            _("{subject} {fault}.").format(subject=_subject(field, rest), fault=_(message)) for message in messages
        )
    return found


def _place(path: str) -> tuple[str, str]:
    """The field of the form that holds a member of an entry, and the path within it."""
    for prefix, field in _FIELDS.items():
        if path == prefix or path.startswith(f"{prefix}."):
            return field, path[len(prefix) + 1 :]
    return "other", path.removeprefix("config").removeprefix(".")


def _subject(field: str, rest: str) -> str:
    if not rest:
        return _("This")
    return _("Number {number}").format(number=int(rest) + 1) if field in _LISTS else rest
