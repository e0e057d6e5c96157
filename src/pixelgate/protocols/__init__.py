"""Protocols: one YAML each, and the class that reads them."""

from __future__ import annotations

from pixelgate.protocols.backend import choose_backend
from pixelgate.protocols.protocol import (
    Protocol,
    ProtocolMetric,
    available_protocols,
    load_protocol,
    parse_protocol,
    register_protocol,
)

__all__ = [
    "Protocol",
    "ProtocolMetric",
    "available_protocols",
    "choose_backend",
    "load_protocol",
    "parse_protocol",
    "register_protocol",
]
