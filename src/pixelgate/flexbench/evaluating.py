"""Evaluating a folder of generated clips: FlexBench's groups, scored by the engine, and their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from pixelgate.aggregate import aggregate, bootstrap_settings
from pixelgate.cache import ScoreCache, default_cache_folder
from pixelgate.case import Case
from pixelgate.engine import Engine, Progress
from pixelgate.errors import InputError, PixelgateError, Problem
from pixelgate.flexbench.choices import Choices
from pixelgate.flexbench.combined import Combined, combine_groups
from pixelgate.flexbench.eval_files import VIDEOS, check_writable, write_group, write_run
from pixelgate.flexbench.evaluated import Evaluated, GroupOutcome, RunOutcome, not_run_text
from pixelgate.flexbench.folder import seed_of
from pixelgate.flexbench.planning import GroupPlan, RunPlan, Sources, plan_run
from pixelgate.flexbench.runs import EVAL
from pixelgate.flexbench.scored import group_results
from pixelgate.flexbench.shown import show_case
from pixelgate.flexbench.table_columns import label_of

Place = str | PathLike[str]


def evaluate(
    generated_dir: Place,
    *,
    dataset_dir: Place | None = None,
    conditions: Sequence[str] = (),
    groups: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    predictions: Place | None = None,
    output_dir: Place | None = None,
    allow_missing: bool = False,
    allow_deviations: Sequence[str] = (),
    allow_pickle: bool = False,
    depth_person_mask: str = "auto",
    person_mask_dilation: float | None = None,
    vbench_dimensions: Sequence[str] = (),
    metrics: Sequence[str] = (),
    lpips_net: str = "alex",
    shuffle_refs: bool = False,
    show_video: bool = False,
    verbose: bool = False,
    device: str = "cpu",
    weights: Place | None = None,
    cache: Place | bool = True,
    progress: Progress | None = None,
) -> Evaluated:
    """Evaluate a folder of generated clips, and write the combined table of each run.

    The same engine as ``pytest --bench-outputs``; what its cache holds is not computed again. A group's means stand for
    all samples that the data set names: where one cannot be scored, the group is in no table, unless missing samples
    are allowed. Nothing is raised for that: look at `Evaluated.failed`.

    Args:
        generated_dir: the run's folder with ``<id>.mp4`` or ``seed_<N>/<id>.mp4``, or one of its seeds' folders.
        dataset_dir: the data set's folder; None takes the one that ``manifest.json`` names.
        conditions: the run's conditions, before those of its manifest. Text and VBench always belong to a run.
        groups: evaluate these only.
        seeds: evaluate these only.
        predictions: folder of the networks' predictions; None takes ``predictions`` beside the clips.
        output_dir: where the files go, in place of ``<generated_dir>/eval``; with seeds ``<output_dir>/seed_<N>/eval``.
        allow_missing: average over the samples that are there; recorded as a deviation, with every n in the table.
        allow_deviations: rules of faults, such as ``frame-rate``, that do not fail the run.
        allow_pickle: read keypoints from pickled arrays too, through a restricted reader.
        depth_person_mask: leave people out of the depth scores: ``auto`` (where depth and pose are conditions),
            ``always`` or ``never``.
        person_mask_dilation: dilate their masks by this part of the shorter side, 0 to 1.
        vbench_dimensions: VBench's names of the dimensions to score.
        metrics: ids of the protocol's metrics to compute.
        lpips_net: ``alex``, ``vgg`` or ``squeeze``.
        shuffle_refs: hold each clip against the next sample's reference.
        show_video: write side-by-side clips of depth, pose and inpainting into ``show_video/<group>/``.
        verbose: keep every group's own files beside the table.
        device: ``cpu``, ``cuda`` or ``cuda:N``, for learned metrics.
        weights: file or folder with network weights, before every other source.
        cache: True for the user's score cache, False for none, or a folder.
        progress: called with (case id, samples done, samples in all, sample id).

    Returns:
        What was found of every run and group.

    Raises:
        InputError: as `pixelgate.flexbench.planning.plan_run`; ``not-writable``; ``not-run``: no group can be scored.
        MissingExtra, WeightsError, ProtocolError, TrackError: a metric cannot run here, or a name is unknown.
    """
    choices = Choices(
        metrics=tuple(metrics),
        vbench_dimensions=_texts(vbench_dimensions),
        depth_person_mask=depth_person_mask,
        person_mask_dilation=person_mask_dilation,
        lpips_net=lpips_net,
        allow_pickle=allow_pickle,
        allow_missing=allow_missing,
        allow_deviations=tuple(allow_deviations),
        shuffle_refs=shuffle_refs,
        device=device,
        weights=None if weights is None else str(weights),
    )
    plan = plan_run(
        Path(generated_dir),
        choices,
        Sources(_path(dataset_dir), _path(predictions)),
        conditions=conditions,
        groups=groups,
        seeds=seeds,
    )
    outputs = {name: _output(plan, name, _path(output_dir)) for name in plan.slices}
    evaluation = _Evaluation(plan, outputs, show_video, progress)
    return evaluation.run(cache, lambda run: _write_combined(run, verbose))


def evaluate_group(
    group: str,
    generated_dir: Place,
    *,
    dataset_dir: Place | None = None,
    choices: Choices | None = None,
    seeds: Sequence[int] | None = None,
    predictions: Place | None = None,
    size_dir: Place | None = None,
    output_dir: Place | None = None,
    show_video: bool = False,
    cache: Place | bool = True,
    progress: Progress | None = None,
) -> Evaluated:
    """Evaluate one group alone, and write its ``results.json``, ``results.csv`` and ``details.json``.

    Args:
        group: its name.
        generated_dir, seeds, predictions, show_video, cache, progress: as for `evaluate`.
        dataset_dir: the data set's folder, or the folder of the group's own references, such as ``<dataset>/depth`` or
            ``<dataset>/pose/raw``.
        choices: what the run chooses.
        size_dir: for poses: folder of the clips that tell the size in which the condition's keypoints were found.
        output_dir: where the files go, in place of ``<generated_dir>/eval/<group>``; with seeds
            ``<output_dir>/seed_<N>``.

    Raises:
        InputError, MissingExtra, WeightsError, ProtocolError, TrackError: as `evaluate`.
    """
    sources = Sources(_path(dataset_dir), _path(predictions), own_folder=True, size_dir=_path(size_dir))
    plan = plan_run(Path(generated_dir), choices or Choices(), sources, groups=[group], seeds=seeds)
    outputs = {name: _own_output(plan, name, group, _path(output_dir)) for name in plan.slices}
    return _Evaluation(plan, outputs, show_video, progress, alone=True).run(cache, _write_alone)


class _Evaluation:
    """One call: a plan, on its way to an outcome."""

    def __init__(
        self,
        plan: RunPlan,
        outputs: Mapping[str, Path],
        show_video: bool,
        progress: Progress | None,
        alone: bool = False,
    ) -> None:
        self._plan = plan
        self._outputs = outputs
        self._show_video = show_video
        self._told = progress or (lambda case, done, total, sample: None)
        self._alone = alone
        self._computed = 0

    def run(self, cache: Place | bool, write: Any) -> Evaluated:
        cases = {
            (one.group, name): self._plan.case(one, name) for one in self._plan.groups for name in self._plan.slices
        }
        _check_any_runs(self._plan, cases)
        for folder in self._outputs.values():
            check_writable(folder, "--output-dir")
        store = ScoreCache(_cache_folder(cache))
        try:
            engines = self._engines([key[0] for key, case in cases.items() if not case.not_run], store)
            # All seeds of a group after each other: its references are read anew for each, but hashed once.
            outcomes = {
                (one.group, name): self._outcome(one, cases[one.group, name], engines.get(one.group))
                for one in self._plan.groups
                for name in self._plan.slices
            }
            runs = [write(self._run_outcome(name, outcomes)) for name in self._plan.slices]
            if self._show_video:
                runs = [self._shown(run, engines) for run in runs]
        finally:
            store.close()
        return Evaluated(self._plan.folder, self._plan.dataset, tuple(runs))

    def _engines(self, groups: Sequence[str], store: ScoreCache) -> dict[str, Engine]:
        """The engines; all that is missing for any of them is told before anything is scored."""
        engines: dict[str, Engine] = {}
        problems: list[Problem] = []
        messages: dict[str, None] = {}
        for one in self._plan.groups:
            if one.group not in groups:
                continue
            settings = self._plan.choices.settings(one.track, one.protocol)
            try:
                engines[one.group] = Engine(one.data, one.protocol, settings, store, self._tell)
                assert engines[one.group].fingerprints
            except InputError as error:
                problems += error.problems
            except PixelgateError as error:
                messages.setdefault(str(error))
        if messages:
            raise PixelgateError("\n".join([*messages, *map(str, problems)]))
        if problems:
            raise InputError(problems)
        return engines

    def _outcome(self, plan: GroupPlan, case: Case, engine: Engine | None) -> GroupOutcome:
        if case.not_run or engine is None:
            return GroupOutcome(plan.group, case)
        self._computed = 0
        scores = engine.score(case)
        rules = plan.protocol.faults - set(self._plan.choices.allow_deviations)
        return GroupOutcome(
            group=plan.group,
            case=case,
            results=group_results(scores, plan.protocol),
            scores=scores,
            aggregates=aggregate(scores, bootstrap_settings(plan.protocol)[0]),
            faults=tuple(item for item in scores.deviations if item.rule in rules),
            revision=engine.data.revision,
            computed=self._computed,
        )

    def _run_outcome(self, name: str, outcomes: Mapping[tuple[str, str], GroupOutcome]) -> RunOutcome:
        groups = tuple(outcome for (_, own), outcome in outcomes.items() if own == name)
        table = None if self._alone else _table(groups)
        return RunOutcome(name, self._plan.slices[name], self._outputs[name], groups, table)

    def _shown(self, run: RunOutcome, engines: Mapping[str, Engine]) -> RunOutcome:
        files, faults = list(run.files), list(run.not_shown)
        for one in run.groups:
            if one.scores is not None:
                folder = run.output / VIDEOS if self._alone else run.output / VIDEOS / one.group
                written, wrong = show_case(one.scores, engines[one.group], folder, self._told)
                files += written
                faults += wrong
        return replace(run, files=tuple(files), not_shown=tuple(faults))

    def _tell(self, case: str, done: int, total: int, sample: str) -> None:
        self._computed += 1
        self._told(case, done, total, sample)


def _table(groups: Sequence[GroupOutcome]) -> Combined | None:
    complete = [one.results for one in groups if one.complete and one.results is not None]
    not_run = {label_of(one.group): one.not_run for one in groups if one.not_run}
    return combine_groups(complete, not_run=not_run) if complete else None


def _write_combined(run: RunOutcome, verbose: bool) -> RunOutcome:
    # A seed that was never generated gets no folder: its absence must stay visible.
    if not run.folder.is_dir():
        return run
    return replace(run, files=write_run(run.output, run.groups, run.table, keep_groups=verbose))


def _write_alone(run: RunOutcome) -> RunOutcome:
    if not run.folder.is_dir():
        return run
    return replace(run, files=tuple(file for one in run.groups for file in write_group(run.output, one)))


def _check_any_runs(plan: RunPlan, cases: Mapping[tuple[str, str], Case]) -> None:
    reasons = {f"{group} ({name})": case.not_run for (group, name), case in cases.items()}
    if reasons and all(reasons.values()):
        found = f"no group can be scored. {'. '.join(not_run_text(reasons))}."
        mend = "Put the references and the predictions there, or name their folders."
        raise InputError(Problem(str(plan.folder), "not-run", found, mend))


def _output(plan: RunPlan, name: str, output_dir: Path | None) -> Path:
    if output_dir is None:
        return plan.slices[name] / EVAL
    return output_dir if seed_of(name) is None else output_dir / plan.slices[name].name / EVAL


def _own_output(plan: RunPlan, name: str, group: str, output_dir: Path | None) -> Path:
    if output_dir is None:
        return plan.slices[name] / EVAL / group
    return output_dir if seed_of(name) is None else output_dir / plan.slices[name].name


def _cache_folder(cache: Place | bool) -> Path | None:
    if cache is True:
        return default_cache_folder()
    return Path(cache) if cache else None


def _path(place: Place | None) -> Path | None:
    return None if place is None else Path(place)


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
