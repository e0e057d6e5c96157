"""Which of the files that may be a sample's are its own, where names end in words that ids may end in too.

``001_pose.npy`` is the keypoints of the clip ``001``, or of a clip that is itself called ``001_pose``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from pixelgate.tracks.patterns import id_in


def own_files(sample: str, places: Sequence[str], exists: Callable[[str], bool], ids: Collection[str]) -> list[str]:
    """The files that fit a sample and no other one better.

    Args:
        sample: the sample's id.
        places: file patterns with ``{id}``, relative to one folder.
        exists: whether a file of that name is there.
        ids: all samples' ids.

    Returns:
        One name where the sample has its file, none where it has none. Several where it has more than one; one name
        twice where the file may as well be another sample's that has no other: the caller refuses both.
    """
    found = _there(sample, places, exists)
    fitting = {name: {_id(place, name) for place in places} & set(ids) - {sample} for name in found}
    exclusive = [name for name in found if not fitting[name]]
    if exclusive:
        return exclusive
    # All of them fit another sample too; they are this one's where each of the others has a file beside them.
    own = [name for name in found if all(set(_there(o, places, exists)) - set(found) for o in fitting[name])]
    return own or [*found, *found]


def _there(sample: str, places: Sequence[str], exists: Callable[[str], bool]) -> list[str]:
    names = (place.replace("{id}", sample) for place in places)
    return [name for name in dict.fromkeys(names) if exists(name)]


def _id(place: str, name: str) -> str:
    folder, _, last = place.rpartition("/")
    inside, _, file = name.rpartition("/")
    return id_in(last, file) or "" if folder == inside else ""
