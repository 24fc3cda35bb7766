from apps.payments.models.payment_handlers import PaymentHandlerConfig, TokenRedemption, WalletShop
