"""Serializers with a field per column and nested serializers."""

from typing import Any

from django.db import transaction
from rest_framework import serializers

from benchmarks.floors.create_customer import build_search_columns
from benchmarks.naive.models import Address, Customer, Event


class AddressSerializer(serializers.ModelSerializer):
    name = serializers.SerializerMethodField()
    country_name = serializers.CharField(source="country", read_only=True)
    default = serializers.SerializerMethodField()

    class Meta:
        model = Address
        fields = (
            "id",
            "customer_id",
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
            "name",
            "province_code",
            "country_code",
            "country_name",
            "default",
        )

    def get_name(self, address: Address) -> str:
        return f"{address.first_name} {address.last_name}".strip()

    def get_default(self, address: Address) -> bool:
        return address.pk == address.customer.default_address_id


class EmailConsentSerializer(serializers.ModelSerializer):
    state = serializers.CharField(source="email_marketing_state")
    opt_in_level = serializers.CharField(source="email_marketing_opt_in_level")
    consent_updated_at = serializers.DateTimeField(source="email_marketing_updated_at")

    class Meta:
        model = Customer
        fields = ("state", "opt_in_level", "consent_updated_at")


class SmsConsentSerializer(serializers.ModelSerializer):
    state = serializers.CharField(source="sms_marketing_state")
    opt_in_level = serializers.CharField(source="sms_marketing_opt_in_level")
    consent_updated_at = serializers.DateTimeField(source="sms_marketing_updated_at")
    consent_collected_from = serializers.CharField(source="sms_marketing_collected_from")

    class Meta:
        model = Customer
        fields = ("state", "opt_in_level", "consent_updated_at", "consent_collected_from")


class CustomerSerializer(serializers.ModelSerializer):
    total_spent = serializers.DecimalField(max_digits=20, decimal_places=2, read_only=True)
    currency = serializers.CharField(source="last_order_currency", read_only=True)
    addresses = AddressSerializer(many=True)
    default_address = AddressSerializer(read_only=True)
    email_marketing_consent = EmailConsentSerializer(source="*", read_only=True)
    sms_marketing_consent = SmsConsentSerializer(source="*", read_only=True)
    admin_graphql_api_id = serializers.SerializerMethodField()

    class Meta:
        model = Customer
        fields = (
            "id",
            "email",
            "created_at",
            "updated_at",
            "first_name",
            "last_name",
            "orders_count",
            "state",
            "total_spent",
            "last_order_id",
            "note",
            "verified_email",
            "multipass_identifier",
            "tax_exempt",
            "tags",
            "last_order_name",
            "currency",
            "phone",
            "addresses",
            "tax_exemptions",
            "email_marketing_consent",
            "sms_marketing_consent",
            "admin_graphql_api_id",
            "default_address",
        )

    def get_admin_graphql_api_id(self, customer: Customer) -> str:
        return f"gid://platform/Customer/{customer.pk}"

    @transaction.atomic
    def create(self, validated_data: dict[str, Any]) -> Customer:
        search = build_search_columns(validated_data)
        input_addresses = validated_data.pop("addresses")
        shop_id = validated_data["shop_id"]
        customer = Customer.objects.create(email_key=validated_data["email"].lower(), **search, **validated_data)
        addresses = [Address.objects.create(customer=customer, shop_id=shop_id, **item) for item in input_addresses]
        customer.default_address = addresses[0]
        customer.save()
        Event.objects.create(
            shop_id=shop_id,
            topic="customers/create",
            subject_type="customers.customer",
            subject_id=customer.pk,
            subject_label=f"Customer {customer.pk}",
            actor="app:1",
        )
        return customer
