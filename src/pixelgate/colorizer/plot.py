"""Curves over the hint ratio as a picture: one panel per metric, one line per method, with intervals."""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelgate.colorizer.record import PROTOCOL
from pixelgate.colorizer.result import ColorizerResult
from pixelgate.errors import InputError, MissingExtra, Problem, ProtocolError
from pixelgate.io.files import atomic_write
from pixelgate.metrics.registry import get_metric
from pixelgate.protocols import Protocol, load_protocol
from pixelgate.stats.curves import Curve

FORMATS = (".png", ".svg")
Curves = Mapping[str, Curve]
"""Metric id -> its curve."""

# Okabe and Ito's colours, told apart with any colour vision; markers and dashes tell lines apart without colour.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"
_COLUMNS = 3
_GREY = "#555555"
_BAND = 0.13


def plot_curves(
    results: ColorizerResult | Mapping[str, ColorizerResult | Curves],
    path: Path | str,
    *,
    title: str = "",
    protocol: str = PROTOCOL,
    oracles: Sequence[str] = (),
) -> Path:
    """Draw every metric's curve, with its bootstrap interval where there is one, and write it as a picture.

    Args:
        results: one result, or label -> result or label -> (metric id -> `Curve`), for several methods.
        path: the file, ``.png`` or ``.svg``; missing folders are made.
        title: a line above the panels.
        protocol: the protocol that the metric ids belong to, for titles, units and directions.
        oracles: labels of methods that saw the ground truth, where the results do not say so; they are dashed and
            marked.

    Returns:
        The file.

    Raises:
        MissingExtra: matplotlib is not installed.
        InputError: another format, nothing to draw, or the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        found = f"curves cannot be drawn as {path.suffix or 'a file without suffix'}."
        raise InputError(Problem(str(path), "plot-format", found, f"Name it {' or '.join(FORMATS)}."))
    lines = {"": results} if isinstance(results, ColorizerResult) else dict(results)
    curves = {label: one.curves if isinstance(one, ColorizerResult) else one for label, one in lines.items()}
    metrics = list(dict.fromkeys(metric for one in curves.values() for metric in one))
    if not metrics:
        raise InputError(Problem(str(path), "plot-empty", "no metric has a curve.", "Score at least one metric."))
    marked = {label for label, one in lines.items() if isinstance(one, ColorizerResult) and one.oracle}
    figure = _figure(curves, metrics, _rules(protocol), marked | set(oracles), title)
    atomic_write(path, _encoded(figure, path.suffix.lower()))
    return path


def _figure(
    curves: Mapping[str, Curves], metrics: Sequence[str], rules: Protocol | None, oracles: set[str], title: str
) -> Any:
    figures = _matplotlib("figure")
    columns = min(len(metrics), _COLUMNS)
    rows = -(-len(metrics) // columns)
    figure = figures.Figure(figsize=(3.6 * columns + 0.4, 2.9 * rows + 0.7), dpi=144, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for place, metric in enumerate(metrics):
        _panel(grid[place // columns][place % columns], metric, curves, rules, oracles)
    for place in range(len(metrics), rows * columns):
        grid[place // columns][place % columns].set_visible(False)
    figure.supxlabel("share of regions with a hint", fontsize="medium")
    handles = {
        label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if handles:
        # The legend carries the title: two things above the panels would lie on each other.
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside upper center",
            ncols=min(len(handles), 4),
            frameon=False,
            title=title or None,
            title_fontsize="large",
        )
    elif title:
        figure.suptitle(title, fontsize="large")
    return figure


def _panel(axes: Any, metric: str, curves: Mapping[str, Curves], rules: Protocol | None, oracles: set[str]) -> None:
    for place, (label, one) in enumerate(curves.items()):
        if metric not in one:
            continue
        curve, colour = one[metric], _COLOURS[place % len(_COLOURS)]
        oracle = label in oracles
        shown = f"{label} (oracle)".strip() if oracle else label
        axes.plot(
            curve.ratios,
            [point.mean for point in curve.points],
            color=colour,
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=3.5,
            linewidth=1.4,
            linestyle="--" if oracle else "-",
            label=shown,
        )
        bounds = [(point.low, point.high) for point in curve.points]
        if all(low is not None for low, _ in bounds):
            low, high = zip(*bounds, strict=True)
            axes.fill_between(curve.ratios, low, high, color=colour, alpha=_BAND, linewidth=0)
            for edge in (low, high):
                axes.plot(curve.ratios, edge, color=colour, alpha=0.5, linewidth=0.5)
    axes.set_title(_heading(metric, rules), fontsize="medium")
    axes.set_xlim(-0.02, 1.02)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.tick_params(labelsize="small", colors=_GREY)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _heading(metric: str, rules: Protocol | None) -> str:
    if rules is None:
        return metric
    try:
        column = rules.metric(metric)
    except ProtocolError:
        return metric
    definition = get_metric(column.metric)
    unit = f" ({definition.unit})" if definition.unit else ""
    return f"{column.title} {definition.arrow}{unit}"


def _rules(protocol: str) -> Protocol | None:
    return load_protocol(protocol) if protocol else None


def _encoded(figure: Any, suffix: str) -> bytes:
    matplotlib = _matplotlib()
    stream = io.BytesIO()
    # A fixed salt and no date: the same curves give the same file.
    settings = {"svg.hashsalt": "pixelgate", "svg.fonttype": "path"}
    with matplotlib.rc_context(settings):
        metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
        figure.savefig(stream, format=suffix[1:], metadata=metadata, facecolor="white")
    return stream.getvalue()


def _matplotlib(module: str = "") -> Any:
    try:
        return importlib.import_module(f"matplotlib.{module}" if module else "matplotlib")
    except ImportError as error:
        raise MissingExtra(f"curves are drawn with matplotlib: pip install 'pixelgate[plot]' ({error})") from None
