"""Address columns of CSV files."""

# Address columns in the order of the file.
ADDRESS_COLUMNS = (
    "first_name",
    "last_name",
    "company",
    "address1",
    "address2",
    "city",
    "province",
    "country",
    "zip",
    "phone",
)
# Our column names, keyed by the names that other systems use.
ADDRESS_ALIASES = {
    "Given Name": "first_name",
    "Forename": "first_name",
    "Surname": "last_name",
    "Family Name": "last_name",
    "Company Name": "company",
    "Address": "address1",
    "Street": "address1",
    "Street Address": "address1",
    "Address Line 1": "address1",
    "Address 1&2": "address1",
    "Address Line 2": "address2",
    "Town": "city",
    "State": "province",
    "State Code": "province",
    "Region": "province",
    "County": "province",
    "Province Code": "province",
    "Country Code": "country",
    "Country/Region": "country",
    "Postcode": "zip",
    "Postal Code": "zip",
    "Zip Code": "zip",
    "Telephone": "phone",
    "Phone Number": "phone",
    "Mobile": "phone",
}
