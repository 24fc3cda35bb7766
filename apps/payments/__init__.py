"""Payments: how a shop's checkout is told which wallet it may pay with."""
