"""A PST50 of four samples, as the hub on loopback serves it."""

from __future__ import annotations

from hub_server import sha256

REPOSITORY = "zrgong/PST50"
FIRST = "6ed86e3" + "0a" * 16 + "0"
SECOND = "1234567" + "0b" * 16 + "0"
FOLDERS = {"content_709": "in", "content_log": "in", "paired_style": "tar", "paired_gt": "gt"}
SAMPLES = 4


def picture(name: str, size: int = 3_000) -> bytes:
    seed = sha256(name.encode()).encode()
    return (seed * (size // len(seed) + 1))[:size]


def files(salt: str = "") -> dict[str, bytes]:
    pictures = {
        f"{folder}/{stem}{number}.png": picture(f"{salt}{folder}{number}", 2_000 + 300 * number)
        for folder, stem in FOLDERS.items()
        for number in range(1, SAMPLES + 1)
    }
    return {**pictures, "README.md": b"about " + salt.encode(), "video/clip.mp4": b"not asked for"}


def wanted(*folders: str) -> list[str]:
    return sorted(name for name in files() if name.split("/")[0] in folders)


PAIRED = wanted("content_709", "paired_style", "paired_gt")
