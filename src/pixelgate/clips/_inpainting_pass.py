"""One pass through a generated clip, its reference and its mask, frame by frame, in which everything is scored."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from pixelgate.clips._diagnosis import Diagnosis, Turned, exchanged
from pixelgate.clips._shift import REACH
from pixelgate.io.fill import fill_bilinear_support, fill_coverage, fill_geometry, fill_resize
from pixelgate.io.video import VideoReader
from pixelgate.metrics._bands import available_cpus
from pixelgate.metrics.inpainting import (
    Definition,
    FrameBatches,
    FrameScores,
    Region,
    checked,
    definition,
    region,
    score_frame,
)
from pixelgate.metrics.registry import Runtime

Frame = NDArray[np.uint8]
Bools = NDArray[np.bool_]
Size = tuple[int, int]
Item = TypeVar("Item")
Step = tuple[Frame | None, Frame, Frame | None]

COLUMNS = ("generated", "reference", "mask")


@dataclass
class Pass:
    """Scores the frames that three clips share; holds two frames of each at most.

    With two threads or more, one of them reads while the others score; the numbers are the same.

    Attributes:
        threshold: a pixel of the mask's clip is masked where its channel mean is above.
        union: whether a pixel is masked too where `fill_resize` blends it from a masked one.
        rules: PSNR's and SSIM's parameters.
        with_ssim: whether to compute SSIM.
        batches: LPIPS, where it is asked for.
        threads: as `Runtime.threads`.
        diagnosis: what may be wrong with the clip as a whole.
    """

    threshold: float
    union: bool
    rules: Definition
    with_ssim: bool
    batches: FrameBatches | None
    threads: int | None
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    levels: MaskLevels = field(default_factory=lambda: MaskLevels())  # defined below
    _scores: list[FrameScores] = field(default_factory=list)
    _last: tuple[Bools, Size, Region] | None = None

    def run(self, clips: Mapping[str, VideoReader]) -> list[FrameScores]:
        """Read all three clips to their ends and score the frames that they share.

        Raises:
            InputError: what `VideoReader.__iter__` raises.
            MissingExtra, WeightsError: LPIPS cannot run here.
        """
        with closing(_steps(clips) if self.threads == 1 else ahead(_steps(clips))) as steps:
            for generated, reference, mask in steps:
                if generated is None or mask is None:
                    self._look_on(reference)
                else:
                    self._take(generated, reference, mask)
        if self.batches is None:
            return self._scores
        self.batches.flush()
        pairs = zip(self._scores, self.batches.distances, strict=True)
        return [replace(frame, lpips=distance) for frame, distance in pairs]

    def _take(self, generated: Frame, reference: Frame, mask: Frame) -> None:
        size = generated.shape[0], generated.shape[1]
        masked = above(mask, self.threshold)
        self.levels.add(mask)
        kept = self.region_of(masked, size)
        filled = filled_reference(reference, size)
        turned = Turned(reference, masked) if exchanged(size, (reference.shape[0], reference.shape[1])) else None
        self.diagnosis.add(generated, filled, kept.keep, turned)
        self._scores.append(
            score_frame(generated, filled, kept, self.rules, with_ssim=self.with_ssim, threads=self._others)
        )
        if self.batches is not None:
            self.batches.add(generated, filled, kept.keep)

    @property
    def _others(self) -> int:
        """Threads that are left to the scores while another one reads."""
        return max(1, (self.threads or available_cpus()) - 1)

    def _look_on(self, reference: Frame) -> None:
        """The first frames past the clip's end tell whether its last ones are late."""
        if self._last is not None:
            _, size, kept = self._last
            self.diagnosis.add_later(filled_reference(reference, size), kept.keep)

    def region_of(self, masked: Bools, size: Size) -> Region:
        """The kept pixels of a generated frame of this size, for the mask at its own size."""
        # Most masks stand still, and to compare is cheaper than to map and to erode.
        if self._last is None or not np.array_equal(self._last[0], masked):
            geometry = fill_geometry((masked.shape[0], masked.shape[1]), size)
            mapped = fill_coverage(masked, geometry)
            if self.union:
                mapped |= fill_bilinear_support(masked, geometry)
            self._last = masked, size, region(~mapped)
        return self._last[2]


def make_pass(params: Mapping[str, Any], names: Sequence[str], runtime: Runtime) -> Pass:
    """A pass for the group's section of a protocol and the names of the metrics that are wanted.

    Raises:
        ProtocolError: a parameter that the group does not have, or a value that it cannot have.
    """
    known = checked(params)
    return Pass(
        threshold=float(known["mask_threshold"]),
        union=known["mask_mapping"] == "union",
        rules=definition(params),
        with_ssim="ssim" in names,
        batches=FrameBatches(known["lpips"]["net"], runtime) if "lpips" in names else None,
        threads=runtime.threads,
    )


def ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """The same items, each made in a thread of its own while the one before is worked on."""
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="pixelgate") as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield cast(Item, item)


def _steps(clips: Mapping[str, VideoReader]) -> Generator[Step, None, None]:
    """Frames of the generated clip, the reference and the mask that belong together, up to the end of one of them.

    Where the generated clip ends first, the next frames of the reference follow alone. All clips are read to their end.
    """
    references, masks = iter(clips["reference"]), iter(clips["mask"])
    for generated in clips["generated"]:
        reference, mask = next(references, None), next(masks, None)
        if reference is None or mask is None:
            break
        yield generated, reference, mask
    else:
        for reference in islice(references, REACH):
            yield None, reference, None
    for reader in clips.values():
        reader.drain()


@dataclass
class MaskLevels:
    """What a mask's pixels are: white ones mask, black ones keep, and anything between is neither.

    Attributes:
        white, between: sampled pixels whose channel mean is above 192, and from 64 to 192.
    """

    white: int = 0
    between: int = 0

    def add(self, mask: Frame) -> None:
        """Look at every fourth pixel of every fourth row, at least."""
        mean = mask[::4, ::4].astype(np.uint16).sum(axis=2)
        self.white += int(np.count_nonzero(mean > 3 * 192))
        self.between += int(np.count_nonzero((mean >= 3 * 64) & (mean <= 3 * 192)))


def above(mask: Frame, threshold: float) -> Bools:
    """Where the mean of the three channels is above the threshold, 0 to 255."""
    total = mask[:, :, 0].astype(np.uint16)
    total += mask[:, :, 1]
    total += mask[:, :, 2]
    return np.asarray(total > 3.0 * threshold)


def filled_reference(reference: Frame, size: Size) -> NDArray[np.uint8] | NDArray[np.float32]:
    """The reference at the generated size: float32 and not rounded where it was resized, else as it is."""
    geometry = fill_geometry((reference.shape[0], reference.shape[1]), size)
    # Without a resize the values stay whole numbers, for which sums are exact.
    return reference if geometry.unchanged else fill_resize(reference, geometry)
