"""The captions of a data set: which prompt each clip was made from."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from pixelgate.errors import InputError, Problem
from pixelgate.io.strict_json import load_json
from pixelgate.records import Note

SUFFIXES = (".mp4", ".mkv", ".mov", ".webm", ".avi", ".gif")
"""Endings of a clip's name, in any case; the rest of the name is its id."""

WORDS = 24
"""A prompt of more words than this is likely to have more than the 32 tokens that ViCLIP reads."""

_MEND = 'Write {"<id>.mp4": "prompt"}, each clip once.'


def read_captions(path: Path) -> dict[str, str]:
    """Read ``captions.json``, an object of file names and prompts: ``{"001.mp4": "a dog runs"}``.

    Args:
        path: the file, JSON in UTF-8.

    Returns:
        id -> prompt, as written, in the file's order. The id is the name without its suffix.

    Raises:
        InputError: ``not-a-file``, ``not-readable``; ``captions`` for every entry that is wrong: no JSON object, a name
            twice, two names with one id, a name with a folder or without a clip's suffix, a prompt that is no
            string, is empty, or holds half a character. All wrong entries are listed at once.
    """
    content = load_json(path, "captions", _MEND)
    if not isinstance(content, dict):
        raise InputError(Problem(str(path), "captions", f"holds a {type(content).__name__}, no object.", _MEND))
    prompts: dict[str, str] = {}
    problems = []
    for name, prompt in content.items():
        sample = clip_id(name)
        found = _name_fault(name, sample, prompts) or _prompt_fault(name, prompt)
        if found is None and sample is not None:
            prompts[sample] = prompt
        else:
            problems.append(Problem(str(path), "captions", str(found), _MEND))
    if problems:
        raise InputError(problems)
    if not prompts:
        raise InputError(Problem(str(path), "captions", "holds no caption.", _MEND))
    return prompts


def caption_of(path: Path, prompts: dict[str, str], sample: str) -> str:
    """The prompt of one sample; `InputError` ``missing-caption`` where the file at `path` has none."""
    if sample not in prompts:
        found = f"has no caption of the clip {sample!r} (it has {len(prompts)} others)."
        raise InputError(Problem(str(path), "missing-caption", found, f'Add "{sample}.mp4": "prompt".'))
    return prompts[sample]


def clip_id(name: str) -> str | None:
    """The name without a clip's suffix; None where it has none, or nothing before it."""
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() in SUFFIXES and path.stem else None


def long_prompt(sample: str, prompt: str) -> Note | None:
    """A note for a prompt that ViCLIP may not read to its end.

    Counts words, which is a rough sign only: ViCLIP cuts after 32 tokens without a word, and long or rare words are
    several tokens.
    """
    words = len(prompt.split())
    if words <= WORDS:
        return None
    message = (
        f"the prompt has {words} words; ViCLIP reads 32 tokens and drops the rest. The number of words is only a "
        f"rough sign (more than {WORDS} is noted): tokens were not counted."
    )
    return Note(sample, "long-prompt", message)


def _name_fault(name: str, sample: str | None, seen: dict[str, str]) -> str | None:
    if any(0xD800 <= ord(character) <= 0xDFFF or ord(character) < 32 for character in name):
        return f"names {name!r}, which no file can be called: it has control characters or half a surrogate pair."
    if "/" in name or "\\" in name:
        return f"names {name!r} with a folder."
    if sample is None:
        return f"names {name!r}, which does not end like a clip ({', '.join(SUFFIXES)})."
    if sample in seen:
        return f"has two names for the clip {sample!r}; {name!r} is the second."
    return None


def _prompt_fault(name: str, prompt: Any) -> str | None:
    if not isinstance(prompt, str):
        return f"gives {name!r} a {type(prompt).__name__} as its prompt, no string."
    if not prompt.strip():
        return f"gives {name!r} an empty prompt."
    if any(0xD800 <= ord(character) <= 0xDFFF for character in prompt):
        return f"gives {name!r} a prompt with half a surrogate pair, which is no Unicode text."
    return None
