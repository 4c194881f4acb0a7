"""pack, advise, audit, facts: the programs, run as functions.

What an option means and whether it fits is known in one place, the program: keyword arguments
become options word by word, and a refusal is the program's own sentence.
"""
import contextlib
import functools
import json
import numbers
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from h5pack import _native, _options

PROGRAMS = ("h5pack", "h5advise", "h5audit", "h5readbench", "h5rechunk")
Path = str | bytes | os.PathLike
Progress = bool | None | Callable[[dict[str, Any]], object]
OURS = ("json", "progress", "help", "version", "quiet")  # options that are not the caller's
UNREADABLE = ("truncated", "marked-open", "hdf5-crashes", "unreadable")  # findings of a file
LAST_END_S = 30.0  # in which a program that was told to end has ended


class JobError(_native.Error):
    """A program could not do it; the text is its own sentence.

    program  its name
    status   its exit status: 2, or 128 + the number of a signal
    remarks  all sentences that it said
    report   what it printed all the same, as audit() of several files of which one cannot be
             read does; None: nothing
    """

    program: str
    status: int
    remarks: tuple[str, ...]
    report: "Report | None"

    def __init__(self, text, program="", status=2, remarks=(), report=None):
        super().__init__(text)
        self.program, self.status, self.remarks = program, status, tuple(remarks)
        self.report = report

    def __reduce__(self):
        return type(self), (str(self), self.program, self.status, self.remarks, self.report)


class Report(dict):
    """What a program says with --json, as its manual page defines it.

    status   0: done; 1: done, and there is something to look at
    remarks  the sentences that it said on standard error
    """

    status: int
    remarks: tuple[str, ...]

    def __init__(self, json_object, status=0, remarks=()):
        super().__init__(json_object)
        self.status, self.remarks = status, tuple(remarks)

    def __reduce__(self):
        return type(self), (dict(self), self.status, self.remarks)


# ------------------------------------------------------------------ the programs


def _places(name):
    """Where a program may be: beside the package (a wheel), in H5PACK_BUILD, in PATH."""
    yield pathlib.Path(__file__).parent / "bin" / name
    if os.environ.get("H5PACK_BUILD"):
        yield pathlib.Path(os.environ["H5PACK_BUILD"]) / "tools" / name
    found = shutil.which(name)
    if found:
        yield pathlib.Path(found)


def _started(start, line, **how):
    """Of subprocess: one of another machine, or with more words than the system takes, is told of."""
    try:
        return start(line, **how)
    except OSError as why:
        raise JobError(f"cannot run '{line[0]}': {why.strerror}", os.path.basename(line[0])) from why


@functools.lru_cache(maxsize=None)
def _version(path, changed_ns):
    """"0.1.0" of "h5pack (h5pack) 0.1.0"; changed_ns: a program replaced is asked again."""
    said = _started(subprocess.run, [path, "--version"], stdin=subprocess.DEVNULL,
                    capture_output=True, text=True, check=False)
    return said.stdout.partition("\n")[0].rpartition(" ")[2]


@functools.lru_cache(maxsize=None)
def _valued(path, changed_ns):
    """Options that take a value, of a program's --help: "  -o, --output FILE  what it is"."""
    said = subprocess.run([path, "--help"], capture_output=True, text=True, check=False)
    return frozenset(re.findall(r"^ +(?:-\w, )?--([\w-]+) \S", said.stdout, re.MULTILINE))


def find(name: str) -> str:
    """The path of a program of this version. Raises JobError when there is none."""
    for place in _places(name):
        if not os.access(place, os.X_OK) or place.is_dir():
            continue
        version = _version(str(place), place.stat().st_mtime_ns)
        if version != _native.version:
            raise JobError(f"'{place}' is of version {version or 'unknown'}, this package of "
                           f"{_native.version}", name)
        return str(place)
    raise JobError(f"there is no program {name} beside the package, in H5PACK_BUILD or in PATH",
                   name)


# ------------------------------------------------------------------ words


def _text(option, value):
    """(224, 224) is "224x224"; numbers, paths and text are themselves."""
    if isinstance(value, (str, os.PathLike, bytes)):
        text = os.fsdecode(value)
        if "\0" in text:
            _options.fail(option, f"{text!r}: no option has a 0 in it")
        return text
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, tuple) and value and all(isinstance(n, numbers.Integral) for n in value):
        return "x".join(str(int(n)) for n in value)
    raise TypeError(f"{option}={value!r}: an option takes True, a number, text, a path, a tuple "
                    "of whole numbers (a shape), or a list of these")


def _is_shape(value):
    """facts() gives shapes as lists; no option is given several whole numbers."""
    return isinstance(value, list) and len(value) > 1 and all(
        isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in value)


def words(options: dict[str, Any]) -> list[str]:
    """The command line that keyword arguments stand for: with_="labels" is "--with=labels"."""
    line = []
    for option, value in options.items():
        name = option.rstrip("_").replace("_", "-")
        if name in OURS:
            raise TypeError(f"{option}: is set by h5pack itself")
        value = tuple(value) if _is_shape(value) else value
        for one in value if isinstance(value, list) else [value]:
            if one is True:
                line.append(f"--{name}")
            elif one is not None and one is not False:
                line.append(f"--{name}={_text(option, one)}")
    return line


def _check_flags(path, options):
    """A bare option that takes a value would take the next word of the line."""
    flags = [option for option, value in options.items()
             if any(one is True for one in (value if isinstance(value, list) else [value]))]
    valued = _valued(path, os.stat(path).st_mtime_ns) if flags else ()
    for option in flags:
        if option.rstrip("_").replace("_", "-") in valued:
            raise TypeError(f"{option}=True: it takes a value")


# ------------------------------------------------------------------ progress


class _Bars:
    """A bar of tqdm for each stage."""

    def __init__(self, tqdm):
        self._tqdm, self._bar, self._stage = tqdm, None, None

    def __call__(self, event):
        if event["progress"] != self._stage:
            self.close()
            self._stage = event["progress"]
            self._bar = self._tqdm(desc=event["progress"], unit=f" {event['unit']}",
                                   total=event["total"], leave=False)
        self._bar.total = event["total"]
        self._bar.update(event["done"] - self._bar.n)
        if event["note"]:
            self._bar.set_postfix_str(event["note"])

    def close(self):
        if self._bar is not None:
            self._bar.close()
        self._bar = self._stage = None


def _follower(progress):
    """What is called with each event, or None."""
    if callable(progress):
        return progress
    if progress is False or (progress is None and not sys.stderr.isatty()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return _Bars(tqdm)


# ------------------------------------------------------------------ running


def _shares_a_terminal():
    """Whether Ctrl-C on a terminal reaches this process, and its children with it."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _end(child, why):
    """One Ctrl-C for the child, which leaves what can be resumed; none where a terminal gave it, as
    a second one ends it at once."""
    rest = threading.Thread(target=child.stderr.read, daemon=True)  # nobody else reads it now
    rest.start()
    is_told = isinstance(why, KeyboardInterrupt) and _shares_a_terminal()
    patience_s = LAST_END_S if is_told else 0
    for patience_s, number in ((patience_s, signal.SIGINT), (LAST_END_S, signal.SIGKILL)):
        try:
            child.wait(patience_s)
            break
        except subprocess.TimeoutExpired:
            child.send_signal(number)
    child.wait()
    rest.join()


def _parsed_event(line):
    """None of half a line, as a program that was killed leaves."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _listen(child, name, follow):
    """The sentences that the program says, while events go to `follow`."""
    remarks = []
    for line in child.stderr:
        line = line.rstrip("\n")
        if line.startswith('{ "progress"'):
            event = _parsed_event(line)
            if follow is not None and event:
                follow(event)
        elif line:
            remarks.append(line.removeprefix(f"{name}: "))
    return remarks


def _named(argument, paths):
    return [_options.one_path(argument, path) for path in paths]


def run(name, operands, options, progress=None):
    """Runs a program with --json on paths as text; a Report. KeyboardInterrupt ends the program, too."""
    follow = _follower(progress)
    line = [find(name), "--json", *words(options)]
    _check_flags(line[0], options)
    if follow is not None:
        line.append("--progress=json")
    line += ["--", *operands]
    child = _started(subprocess.Popen, line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="surrogateescape")
    answer = []
    reader = threading.Thread(target=lambda: answer.append(child.stdout.read()), daemon=True)
    try:
        reader.start()
        remarks = _listen(child, name, follow)
        status = child.wait()
        reader.join()
    except BaseException as why:
        _end(child, why)
        raise
    finally:
        if hasattr(follow, "close"):
            follow.close()
        if child.poll() is not None:
            reader.join()
            child.stdout.close()
            child.stderr.close()
    return _judge(name, status, "".join(answer), remarks)


def _parsed(answer, status, remarks):
    try:
        return Report(json.loads(answer), status, remarks)
    except ValueError:
        return None


def _failures(report):
    """Those that h5audit tells of its files in its answer."""
    files = report.get("result", {}).get("files", []) if report else []
    return [f"{file['file']}: {file['failure']}" for file in files if file["failure"]]


def _ending(name, status):
    """What is said of a program that said nothing itself, as when it was killed."""
    if status <= 128:
        return f"{name} ended with status {status}"
    with contextlib.suppress(ValueError):
        number = signal.Signals(status - 128)
        why = ", as the system does where memory is short" if number == signal.SIGKILL else ""
        return f"{name} was ended by {number.name}{why}"
    return f"{name} was ended by signal {status - 128}"


def _judge(name, status, answer, remarks):
    status = 128 - status if status < 0 else status
    if status == 128 + signal.SIGINT:
        raise KeyboardInterrupt
    report = _parsed(answer, status, remarks)
    if status > 1:
        said = _failures(report) or remarks[-1:] or [_ending(name, status)]
        raise JobError("; ".join(said), name, status, remarks, report)
    if report is None:
        raise JobError(f"{name} did not print JSON: {answer[:80]!r}", name, status, remarks)
    return report


# ------------------------------------------------------------------ functions


def pack(*sources: Path, progress: Progress = None, **options: Any) -> Report:
    """Makes one HDF5 file of folders of images, as h5pack(1) does.

        h5pack.pack("imagenet/train", output="train.h5", shorter=256, crop=(224, 224))
        h5pack.pack(list="val.txt", output="val.h5", classes="train.h5", crop=224, shorter=256)

    sources   folders, one subfolder a class, or image files
    options   the program's, with "_" for "-": True is a flag, a tuple or list of whole numbers a
              shape, any other list an option given several times; a trailing "_" where the name
              is Python's (for_="shuffle")
    progress  None: a bar of tqdm where there is tqdm and a terminal; True: also without a
              terminal; False: none; or a function that is called with dictionaries
              {"progress": "packing", "unit": "images", "done": 24, "total": 401 or None,
              "bytes": 0, "note": None}

    Returns a Report, the dictionary under JSON OUTPUT in the manual page; its .status is 1 when
    images were rejected (.remarks says which). Raises JobError with the program's sentence;
    after Ctrl-C resume=True goes on.
    """
    return run("h5pack", _named("sources", sources), options, progress)


def advise(*subject: Path, progress: Progress = None, **options: Any) -> Report:
    """Which chunks, chunk cache and order a training is to use, as h5advise(1) says.

        h5pack.advise("train.h5", batch=256, workers=8, memory="4G")["result"]["rows"][0]
        h5pack.advise(shape=(50000, 32, 32, 3), no_measure=True)

    subject   "train.h5" or "train.h5:/images"; none with shape= or images=
    options, progress   as of pack()

    Returns a Report. Measuring takes seconds; no_measure=True assumes times.
    """
    return run("h5advise", _named("subject", subject), options, progress)


def audit(*files: Path, progress: Progress = None, **options: Any) -> Report:
    """What is wrong with HDF5 files, what it costs, what mends it, as h5audit(1) says.

        report = h5pack.audit("train.h5", workers=8)
        for finding in report["result"]["files"][0]["findings"]: ...

    files     paths, or "train.h5:/images"
    options, progress   as of pack()

    Returns a Report; its .status is 1 when there are findings of cost or hazard.
    """
    return run("h5audit", _named("files", files), options, progress)


def facts(file: Path, dataset: str | None = None) -> dict[str, Any]:
    """What is known of a file's datasets without reading their data.

        h5pack.facts("train.h5", "images")["chunk"]       # [1, 224, 224, 3]

    Returns h5audit's dictionary of the file: file_bytes, superblock_version, datasets (a list of
    dictionaries: path, type, extent and chunk in elements, layout, filters, index, logical_bytes,
    stored_bytes, chunks) and more; with `dataset`, the one of that path, or that a link of that path
    leads to: each is listed once, by one of its paths. Raises JobError when the file cannot be read
    or has no such dataset.
    """
    operand = _options.one_path("file", file)
    if dataset is not None:
        dataset = _options.name("dataset", dataset)
        operand = f"{operand}:/{dataset.lstrip('/')}"
    report = run("h5audit", [operand], {"fail_on": "hazard", "no_reader": True}, progress=False)
    found = report["result"]["files"][0]
    for finding in found["findings"]:
        if finding["id"] in UNREADABLE and not found["datasets"]:
            raise JobError(finding["text"], "h5audit", report.status, report.remarks, report)
    if dataset is None:
        return found
    return next(one for one in found["datasets"] if one["path"] == found["dataset"])
