"""A prediction that is the reference's own file is refused: it would score as perfect."""

from __future__ import annotations

from pathlib import Path

from pixelgate.errors import InputError, Problem


def refuse_reference(predicted: Path, reference: Path) -> None:
    """Raise `InputError`, rule ``prediction-is-reference``, where both paths lead to one file."""
    if predicted.exists() and predicted.samefile(reference):
        found = "is the reference itself, where a prediction from the generated clip is wanted."
        mend = "Name the folder of the predictions, not the data set's."
        raise InputError(Problem(str(predicted), "prediction-is-reference", found, mend))
