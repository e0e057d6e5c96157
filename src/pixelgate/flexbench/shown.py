"""Side-by-side clips of a scored case, to look at."""

from __future__ import annotations

from pathlib import Path

from pixelgate.engine import Engine, Progress
from pixelgate.errors import InputError
from pixelgate.scores import CaseScores


def show_case(
    scores: CaseScores, engine: Engine, folder: Path, progress: Progress | None = None
) -> tuple[list[Path], list[str]]:
    """Write a clip and a contact sheet of every scored sample, ``<folder>/<id>.mp4`` and ``.png``.

    Args:
        scores: the case.
        engine: what scored it.
        folder: where the files go.
        progress: as for `Engine`.

    Returns:
        The files; and what could not be shown, one sentence each. Nothing for groups that have nothing to show.

    Raises:
        MissingExtra: PyAV is not installed, or Pillow has no FreeType.
    """
    from pixelgate.clips.show import SHOWN_GROUPS, write_show

    group = engine.data.group
    files: list[Path] = []
    faults: list[str] = []
    for done, scored in enumerate(scores.samples if group in SHOWN_GROUPS else ()):
        if progress is not None:
            progress(f"{scores.case.id}, video", done, len(scores.samples), scored.sample)
        try:
            read, params = engine.clip_files(scored, scores.case)
            shown = write_show(group, read, params, folder / f"{scored.sample}.mp4")
            files += [shown.video, shown.sheet]
        except InputError as error:
            faults += [f"{group}: {scored.sample} cannot be shown: {problem}" for problem in error.problems]
    return files, faults
