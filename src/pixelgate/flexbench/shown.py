"""Side-by-side clips of a scored case, to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pixelgate.clips.evaluator import ClipFiles
from pixelgate.columns import Settings
from pixelgate.engine import Engine
from pixelgate.errors import InputError
from pixelgate.measuring import Clips
from pixelgate.scores import CaseScores

Progress = Callable[[str, int, int, str], None]


def show_case(
    scores: CaseScores, engine: Engine, settings: Settings, folder: Path, progress: Progress | None = None
) -> tuple[list[Path], list[str]]:
    """Write a clip and a contact sheet of every scored sample, ``<folder>/<id>.mp4`` and ``.png``.

    Args:
        scores: the case.
        engine: what scored it.
        settings: what the engine was told.
        folder: where the files go.
        progress: as for `Engine`.

    Returns:
        The files; and what could not be shown, one sentence each. Nothing for groups that have nothing to show.

    Raises:
        MissingExtra: PyAV is not installed, or Pillow has no FreeType.
    """
    from pixelgate.clips.show import SHOWN_GROUPS, write_show

    group = engine.data.group
    if group not in SHOWN_GROUPS:
        return [], []
    clips = Clips(engine.protocol, group, (), settings, engine.samples)
    samples = {sample.id: sample for sample in engine.samples}
    files: list[Path] = []
    faults: list[str] = []
    for done, scored in enumerate(scores.samples):
        if progress is not None:
            progress(f"{scores.case.id}, video", done, len(scores.samples), scored.sample)
        sample, output = samples[scored.sample], Path(scored.output.file)
        try:
            read = ClipFiles(
                sample.id, output, clips.reference_files(sample), clips.companions(scores.case, sample, output)
            )
            shown = write_show(group, read, clips.params(scores.case), folder / f"{sample.id}.mp4")
            files += [shown.video, shown.sheet]
        except InputError as error:
            faults += [f"{group}: {sample.id} cannot be shown: {problem}" for problem in error.problems]
    return files, faults
