"""Which of a protocol's backends computes a run."""

from __future__ import annotations

from pixelgate.errors import MissingExtra
from pixelgate.protocols.protocol import Protocol

AUTO = "auto"


def choose_backend(protocol: Protocol, wanted: str = AUTO) -> Protocol:
    """The protocol as one backend computes it; a protocol without backends as it is.

    Args:
        protocol: as loaded.
        wanted: a backend's name, or ``auto``: the first that can run here, the published one before others.

    Raises:
        ProtocolError: the protocol has no such backend.
        MissingExtra: the named backend, or every one, lacks a package.
    """
    if not protocol.backends:
        return protocol
    if wanted != AUTO:
        return protocol.with_backend(wanted)
    # Reading pictures is not needed before this.
    from pixelgate.io.square import check_backend

    lacking = []
    for name in protocol.backends:
        try:
            check_backend(name)
        except MissingExtra as error:
            lacking.append(str(error))
            continue
        return protocol.with_backend(name)
    raise MissingExtra("\n".join(lacking))
