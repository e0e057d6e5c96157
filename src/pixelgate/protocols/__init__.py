"""Protocols: one YAML each, and the class that reads them."""
