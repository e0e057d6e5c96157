"""A protocol's decoding section, checked once and held as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pixelgate.errors import ProtocolError

_INTENTS = {"perceptual": 0, "relative-colorimetric": 1, "saturation": 2, "absolute-colorimetric": 3}
_ICC_POLICIES = ("convert-to-srgb", "refuse")
_ORIENTATIONS = ("apply", "ignore")
_FIXED = {"format": "png", "bit_depth": 8, "colour_type": "rgb"}
IGNORABLE_CHUNKS = ("gAMA", "cHRM", "sRGB", "cICP")


@dataclass(frozen=True)
class IccRules:
    """What happens to an embedded ICC profile.

    Attributes:
        policy: ``convert-to-srgb`` or ``refuse``, for a profile that is not sRGB.
        probe_levels: the probe is a grid of that many values a channel, from 0 to 255.
        probe_tolerance: a profile that moves no probe colour by more than this many levels is sRGB.
        intent: the rendering intent's ICC number, 0 to 3.
    """

    policy: str
    probe_levels: int
    probe_tolerance: int
    intent: int


@dataclass(frozen=True)
class DecodingRules:
    """A protocol's ``decoding`` section for one role.

    Attributes:
        apply_orientation: whether EXIF and XMP orientation is applied.
        icc: see `IccRules`.
        ignored_chunks: colour chunks that are not applied; one that is not named here refuses the picture.
    """

    apply_orientation: bool
    icc: IccRules
    ignored_chunks: frozenset[str]


def decoding_rules(rules: Mapping[str, Any], role: str) -> DecodingRules:
    """Read a ``decoding`` mapping.

    Args:
        rules: keys ``format``, ``bit_depth``, ``colour_type``, ``exif_orientation``, ``icc``, ``ignored_chunks``.
        role: ``output`` or ``reference``; it picks the profile policy.

    Raises:
        ProtocolError: a key is missing or has a value that this reader does not know.
    """
    for key, wanted in _FIXED.items():
        _one_of(rules, key, (wanted,), "decoding")
    icc = _get(rules, "icc", "decoding")
    if not isinstance(icc, Mapping):
        raise ProtocolError(f"decoding.icc must be a mapping, not {icc!r}")
    chunks = _get(rules, "ignored_chunks", "decoding")
    unknown = sorted(set(chunks) - set(IGNORABLE_CHUNKS))
    if unknown:
        raise ProtocolError(
            f"decoding.ignored_chunks: unknown {', '.join(unknown)}; known: {', '.join(IGNORABLE_CHUNKS)}"
        )
    return DecodingRules(
        apply_orientation=_one_of(rules, "exif_orientation", _ORIENTATIONS, "decoding") == "apply",
        icc=_icc_rules(icc, role),
        ignored_chunks=frozenset(chunks),
    )


def _icc_rules(icc: Mapping[str, Any], role: str) -> IccRules:
    if role not in ("output", "reference"):
        raise ValueError(f"role is 'output' or 'reference', not {role!r}")
    return IccRules(
        policy=_one_of(icc, role, _ICC_POLICIES, "decoding.icc"),
        probe_levels=_whole(icc, "srgb_probe_levels", 2, 64),
        probe_tolerance=_whole(icc, "srgb_probe_tolerance", 0, 255),
        intent=_INTENTS[_one_of(icc, "intent", tuple(_INTENTS), "decoding.icc")],
    )


def _get(rules: Mapping[str, Any], key: str, section: str) -> Any:
    try:
        return rules[key]
    except KeyError:
        raise ProtocolError(f"{section}.{key} is missing") from None


def _one_of(rules: Mapping[str, Any], key: str, known: tuple[Any, ...], section: str) -> Any:
    value = _get(rules, key, section)
    if value not in known:
        raise ProtocolError(f"{section}.{key}: {value!r} is not known here; known: {', '.join(map(str, known))}")
    return value


def _whole(rules: Mapping[str, Any], key: str, low: int, high: int) -> int:
    value = _get(rules, key, "decoding.icc")
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ProtocolError(f"decoding.icc.{key}: {value!r} is not a whole number from {low} to {high}")
    return value
