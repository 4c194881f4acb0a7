"""Figures of a Loader for TensorBoard and Prometheus."""
import contextlib
import os
import re
import tempfile
from collections.abc import Mapping
from typing import Any

from h5pack import _options
from h5pack._native import ExistsError

UNITS = (("_ns", "_seconds", 1e-9), ("_thread_s", "_thread_seconds", 1), ("_per_s", "_per_second", 1),
         ("_s", "_seconds", 1), ("_share", "_ratio", 1), ("_rate", "_ratio", 1))
HELP = {
    "batches": "Batches handed to the training loop.",
    "samples": "Samples handed to the training loop.",
    "waiting_s": "Time that the training loop waited for batches.",
    "working_s": "Time that the training loop spent between batches.",
    "waiting_share": "Part of the loop's time that it waited for batches, 0 to 1.",
    "samples_per_s": "Samples per second of the loop's time.",
    "hit_rate": "Chunks found decoded in memory, of all asked for, 0 to 1.",
    "threads": "Threads that read.",
    "memory_bytes": "Memory of the reader: chunks, batches ahead.",
    "file_reads": "Reads of the files.",
    "file_read_bytes": "Bytes read from the files.",
    "storage_read_bytes": "Bytes that this process read from storage, not from the page cache.",
    "loads": "Chunks read and decoded.",
    "hits": "Chunks found decoded in memory.",
    "visits": "Chunks asked for.",
}
BEGIN = b"# HELP "
NOW = ("waiting_share", "samples_per_s", "hit_rate", "threads", "memory_bytes")  # not counted up


def _numbers(stats, prefix=""):
    """(name, number) of all numbers; what is in a dictionary of its own with that one's name."""
    if not isinstance(stats, Mapping):
        _options.fail("stats", f"{stats!r} is no dictionary, as Loader.stats() gives")
    for key, value in stats.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{key}_")
        elif isinstance(value, (bool, int, float)):
            yield prefix + key, float(value)


def log_stats(writer: Any, stats: Mapping[str, Any], step: int | None = None,
              prefix: str = "h5pack/") -> None:
    """Gives each number of Loader.stats() to writer.add_scalar(prefix + name, number, step).

        writer = torch.utils.tensorboard.SummaryWriter()
        h5pack.log_stats(writer, loader.stats(), step)

    writer  whatever has add_scalar(tag, value, global_step): TensorBoard's, tensorboardX's,
            Lightning's logger.experiment
    step    number of the training step, or None
    """
    if not callable(getattr(writer, "add_scalar", None)):
        _options.fail("writer", f"{writer!r} has no add_scalar(tag, value, step), as TensorBoard's has")
    for name, number in _numbers(stats):
        writer.add_scalar(prefix + name, number, step)


def _metric(name):
    """"h5pack_loader_waiting_seconds", and what its numbers are to be multiplied with."""
    for ending, base, factor in UNITS:
        if name.endswith(ending):
            return f"h5pack_loader_{name.removesuffix(ending)}{base}", factor
    return f"h5pack_loader_{name}", 1


def _escaped(value):
    return str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def prometheus(stats: Mapping[str, Any], labels: Mapping[str, Any] | None = None) -> str:
    """Loader.stats() in Prometheus' text format, in base units, with HELP and TYPE.

    labels  a dictionary, {"job": "resnet", "rank": 0}; names are of letters, digits and "_"
    """
    if not isinstance(labels, (Mapping, type(None))):
        _options.fail("labels", f"{labels!r} is no dictionary, as {{'job': 'resnet', 'rank': 0}} is")
    for key in labels or {}:
        if not isinstance(key, str) or not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", key):
            _options.fail("labels", f"{key!r} is no name of a label for Prometheus")
    inside = ",".join(f'{key}="{_escaped(value)}"' for key, value in (labels or {}).items())
    lines = []
    for key, number in _numbers(stats):
        name, factor = _metric(key)
        kind = "gauge" if key in NOW else "counter"
        if kind == "counter":
            name += "_total"
        says = HELP.get(key, f"{key} of Loader.stats().")
        lines += [f"# HELP {name} {says}", f"# TYPE {name} {kind}",
                  f"{name}{'{' + inside + '}' if inside else ''} {number * factor:.15g}"]
    return "".join(f"{line}\n" for line in lines)


def write_prometheus(path: str | bytes | os.PathLike, stats: Mapping[str, Any],
                     labels: Mapping[str, Any] | None = None) -> None:
    """Writes prometheus(stats, labels) for node_exporter's textfile collector.

    The file is replaced in one step: who reads it sees the old figures or the new ones, complete.
    A file that does not begin as Prometheus' format does is not replaced: ExistsError.
    """
    path, figures = os.path.realpath(_options.one_path("path", path)), prometheus(stats, labels)
    if os.path.exists(path) and not os.path.isfile(path):
        raise ExistsError(f"'{path}' is not a regular file: it stays")
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        begin = file.read(len(BEGIN))
        if begin and begin != BEGIN:
            raise ExistsError(f"'{path}' is there, and holds no figures of Prometheus: it stays")
    try:
        _replace(path, figures)
    except OSError as why:
        raise type(why)(why.errno, why.strerror, path) from why


def _replace(path, text):
    folder, name = os.path.split(path)
    handle, part = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(part, 0o644)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
