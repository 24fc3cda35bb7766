from apps.customers.models.addresses import Address
from apps.customers.models.consents import ConsentChange, ConsentState, OptInLevel
from apps.customers.models.customers import NEVER_ORDERED, SEARCH_COLUMNS, Customer, Invitation
from apps.customers.models.ranks import CustomerProfile, CustomerRank, CustomerWords
