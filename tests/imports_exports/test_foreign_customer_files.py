"""Tests for customer files that other systems and spreadsheets wrote."""

from pathlib import Path

import pytest

from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.customers import make_customer
from tests.support.files.import_export import export_text, get_row_results, import_text

pytestmark = [pytest.mark.usefixtures("media_root"), pytest.mark.django_db]

ONE_NEW = "Done: 1 new, 0 changed, 0 skipped, 0 failed.\n"
PRESENT = """\
Customer ID,First Name,Last Name,Email,Accepts Email Marketing,Default Address Company,Default Address Address1,\
Default Address Address2,Default Address City,Default Address Province Code,Default Address Country Code,\
Default Address Zip,Default Address Phone,Phone,Accepts SMS Marketing,Total Spent,Total Orders,Note,Tax Exempt,Tags
'6549,Ada,Lovelace,ada@example.com,yes,Engines,1 Main St,Floor 2,Albany,NY,US,'12207,'+15185550102,'+15185550101,yes,\
12.50,1,Likes blue,yes,"vip, gift"
"""
EARLIER = """\
First Name,Last Name,Email,Company,Address1,Address2,City,Province,Province Code,Country,Country Code,Zip,Phone,\
Accepts Marketing,Total Spent,Total Orders,Tags,Note,Tax Exempt,Default Address Phone,Accepts SMS Marketing
Ada,Lovelace,ada@example.com,Engines,1 Main St,Floor 2,Albany,New York,NY,United States,US,12207,+15185550101,yes,\
12.50,1,"vip, gift",Likes blue,yes,+15185550102,true
"""
GERMAN = """\
Vorname;Nachname;E-Mail;Telefon;Firma;Straße;Adresszusatz;PLZ;Ort;Bundesland;Land;Newsletter;SMS-Werbung;\
Address phone;Bemerkung;Schlagwörter;Steuerbefreit
Ada;Lovelace;ada@example.com;+15185550101;Engines;1 Main St;Floor 2;12207;Albany;New York;Vereinigte Staaten;ja;ja;\
+15185550102;Likes blue;vip, gift;ja
"""
FULL_NAME = """\
Customer Name,Mail,Phone Number,Company Name,Street Address,Address Line 2,Postcode,Town,State,Country/Region,\
Subscribed,Accepts SMS Marketing,Address phone,Notes,Tag,Tax exempt
Ada Lovelace,ada@example.com,+15185550101,Engines,1 Main St,Floor 2,12207,Albany,NY,USA,x,x,+15185550102,Likes blue,\
"vip, gift",1
"""


@pytest.mark.parametrize("table", [PRESENT, EARLIER, GERMAN, FULL_NAME])
def test_the_same_customer_in_four_layouts_is_imported_equally(
    in_shop: Shop, api: ApiClient, tmp_path: Path, table: str
) -> None:
    report = import_text(in_shop, table, tmp_path, "in.csv")

    assert report.removeprefix("Ignored unsupported columns: Customer ID\n") == ONE_NEW
    [customer] = api.get("customers.json").json()["customers"]
    expected = {
        "first_name": "Ada",
        "last_name": "Lovelace",
        "email": "ada@example.com",
        "phone": "+15185550101",
        "note": "Likes blue",
        "tags": "gift, vip",
        "tax_exempt": True,
        "orders_count": 0,
    }
    assert {name: customer[name] for name in expected} == expected
    states = [customer[f"{channel}_marketing_consent"]["state"] for channel in ("email", "sms")]
    assert states == ["subscribed", "subscribed"]
    address = {
        "first_name": "Ada",
        "last_name": "Lovelace",
        "company": "Engines",
        "address1": "1 Main St",
        "address2": "Floor 2",
        "city": "Albany",
        "zip": "12207",
        "province": "New York",
        "province_code": "NY",
        "country": "United States",
        "country_code": "US",
        "phone": "+15185550102",
    }
    assert {name: customer["default_address"][name] for name in address} == address


def test_an_export_keeps_the_phone_of_the_address_and_the_sms_consent(
    in_shop: Shop, other_shop: Shop, tmp_path: Path
) -> None:
    user: User = factories.make_member(in_shop, "export_customers")
    import_text(in_shop, PRESENT, tmp_path, "in.csv")
    make_customer(email="no-address@example.com", phone="+14155550101")

    import_text(other_shop, export_text(in_shop, user, "customers", "csv"), tmp_path, "out.csv")

    with shop_scope(other_shop):
        ada, other = Customer.objects.order_by("email")
        assert ada.default_address is not None
        assert (ada.phone, ada.default_address.phone) == ("+15185550101", "+15185550102")
        assert (ada.sms_marketing_state, other.sms_marketing_state) == ("subscribed", "not_subscribed")
        assert other.default_address is None


def test_an_sms_consent_without_a_phone_number_is_noted(in_shop: Shop, tmp_path: Path) -> None:
    import_text(in_shop, "Email,Accepts SMS Marketing\nada@example.com,yes\nbob@example.com,no\n", tmp_path, "in.csv")

    [first, second] = get_row_results(in_shop)
    assert first[1] == "new"
    assert "The SMS marketing consent was not imported" in first[2]
    assert second[1:] == ("new", "")


def test_a_last_name_may_be_called_name(in_shop: Shop, tmp_path: Path) -> None:
    import_text(in_shop, "Vorname;Name;E-Mail;Ort\nAda;Lovelace;ada@example.com;Bonn\n", tmp_path, "in.csv")

    customer = Customer.objects.get()
    assert (customer.first_name, customer.last_name) == ("Ada", "Lovelace")


def test_countries_and_provinces_are_known_in_the_languages_of_the_panel(in_shop: Shop, tmp_path: Path) -> None:
    rows = [
        ("Deutschland", "", "DE", ""),
        ("Österreich", "", "AT", ""),
        ("Frankreich", "", "FR", ""),
        ("Bundesrepublik Deutschland", "", "DE", ""),
        ("Vereinigte Staaten", "Kalifornien", "US", "CA"),
    ]
    lines = [
        f"ada{number}@example.com;{country};{province}" for number, (country, province, *_codes) in enumerate(rows)
    ]

    import_text(in_shop, "\n".join(["E-Mail;Land;Bundesland", *lines, ""]), tmp_path, "in.csv")

    found = Customer.objects.order_by("email").values_list(
        "default_address__country_code", "default_address__province_code"
    )
    assert list(found) == [tuple(row[2:]) for row in rows]
