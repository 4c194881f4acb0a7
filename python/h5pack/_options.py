"""What is said in a Loader's arguments, as the dictionaries that h5pack._native reads."""
import math
import operator
import os
import sys
import zlib
from collections.abc import Mapping

from h5pack import _native

FLIP = 0.5


def fail(argument, sentence):
    error = _native.ArgumentError(f"{argument}: {sentence}")
    error.param = argument
    raise error


def whole(argument, number, least=0, most=2**64 - 1):
    """A whole number of any type."""
    try:
        value = operator.index(number)
    except TypeError:
        fail(argument, f"{number!r} is no whole number")
    if not least <= value <= most:
        fail(argument, f"{number!r} is not from {least} to {most}")
    return value


COUNT_MAX = 2**32 - 1  # of ranks, workers, samples of a batch


def is_flag(given):
    """Python's, NumPy's of any version."""
    return type(given).__name__ in ("bool", "bool_")


def flag(argument, given):
    """True or False, of NumPy too; a text like "no" would be true."""
    try:
        value = bool(given) if is_flag(given) else operator.index(given)
    except TypeError:
        value = None
    if value not in (0, 1):
        fail(argument, f"{given!r} is neither True nor False")
    return bool(value)


def array(argument, given):
    """Of a list, a tensor, or whatever speaks DLPack."""
    import numpy

    try:
        if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
            return numpy.from_dlpack(given)
        return numpy.asarray(given)
    except (TypeError, ValueError, RuntimeError, BufferError, AttributeError) as why:
        fail(argument, f"no array: {why}")


def row(argument, given, what):
    """An array of one axis; `what` says of what."""
    made = array(argument, given)
    if made.ndim == 0:  # NumPy makes one object of a set, a generator or a slice
        fail(argument, f"{given!r} is no list or array: {what}; list() makes one of a set or a "
                       "generator")
    if made.ndim != 1:
        fail(argument, f"have {made.ndim} axes: {what}")
    return made


def numbers(argument, given):
    """A tuple of floats."""
    try:
        return tuple(float(number) for number in given)
    except (TypeError, ValueError):
        fail(argument, f"{given!r} are no numbers")


def name(argument, given):
    """The path of a dataset."""
    if isinstance(given, bytes):
        given = os.fsdecode(given)
    if not isinstance(given, str) or "\0" in given:
        fail(argument, f"{given!r} is no path of a dataset")
    try:
        given.encode()
    except UnicodeEncodeError:
        fail(argument, f"{given!r} is no text that UTF-8 can hold")
    return given


def names(argument, given):
    """Paths of datasets."""
    if given is None:
        return ()
    if isinstance(given, (str, bytes)):
        given = (given,)
    try:
        given = tuple(given)
    except TypeError:
        fail(argument, f"{given!r} is neither a path of a dataset nor several")
    return tuple(name(argument, one) for one in given)


def sides(argument, size):
    """(height, width) of 224 or (224, 192)."""
    try:
        if isinstance(size, (tuple, list)):
            height, width = (operator.index(side) for side in size)
        else:
            height = width = operator.index(size)
    except (TypeError, ValueError):
        fail(argument, f"{size!r} is no size: 224, or (height, width)")
    if not 0 < height < 2**32 or not 0 < width < 2**32:
        fail(argument, f"{size!r} is no size: sides are 1 or more")
    return height, width


def byte_count(argument, size):
    """1073741824 of "1G" or of itself."""
    if isinstance(size, str):
        try:
            size = _native.parse_bytes(size)
        except _native.Error as why:
            fail(argument, why)
    try:
        operator.index(size)
    except TypeError:
        fail(argument, f"{size!r} is no size: '1G', or a number of bytes")
    return whole(argument, size, 1)


def paths(given):
    """Names of files, in bytes as the system has them."""
    if isinstance(given, (str, bytes, os.PathLike)):
        given = (given,)
    try:
        found = tuple(os.fsencode(path) for path in given)
    except (TypeError, UnicodeError):
        fail("path", f"{given!r} is neither a path nor several")
    for path in found:
        if b"\0" in path:
            fail("path", f"{path!r} is no name of a file")
    return found


def one_path(argument, given):
    """The name of one file, as text."""
    if isinstance(given, (list, tuple, set)):
        fail(argument, f"{given!r} is a {type(given).__name__}, and a path is wanted here; each of "
                       "several is an argument of its own where that can be, f(*paths)")
    if not isinstance(given, (str, bytes, os.PathLike)):
        fail(argument, f"{given!r} is no path")
    path = os.fsdecode(given)
    if "\0" in path:
        fail(argument, f"{path!r} is no path: names of files have no 0 in them")
    return path


def absolute(path):
    """The same file after os.chdir(). What is a URL stays one; links and ".." are the system's."""
    if os.path.isabs(path) or ("://" in path if isinstance(path, str) else b"://" in path):
        return path
    try:
        return os.path.join(os.getcwd() if isinstance(path, str) else os.getcwdb(), path)
    except FileNotFoundError:  # this folder was removed, and with it what is relative
        return path


# ------------------------------------------------------------------ transforms


RESIZED = ("size", "scale", "ratio", "filter")


def _resized(given):
    options = dict(given) if isinstance(given, Mapping) else {"size": given}
    unknown = [key for key in options if key not in RESIZED]
    if unknown or "size" not in options:
        fail("resized_crop", f"{', '.join(map(repr, unknown)) or 'a size is missing'}: its keys are "
                             f"{', '.join(RESIZED)}")
    height, width = sides("resized_crop", options.pop("size"))
    made = {"crop": "resized", "height": height, "width": width}
    for key in ("scale", "ratio"):
        if key in options:
            made[key] = numbers("resized_crop", options.pop(key))
            if len(made[key]) != 2:
                fail("resized_crop", f"{key} is two numbers, from and to, not {len(made[key])}")
            if made[key] == (0, 0):  # to libpack as if it was not given
                fail("resized_crop", f"{key} from 0 to 0 leaves nothing of an image")
    if "filter" in options:
        made["filter"] = str(options.pop("filter"))
    return made


def _cut(crop, centre_crop, resize, resized_crop):
    asked = [name for name, value in (("crop", crop), ("centre_crop", centre_crop),
                                      ("resize", resize), ("resized_crop", resized_crop))
             if value is not None]
    if len(asked) > 1:
        fail(asked[1], f"there is {asked[0]} already, and images are cut once")
    if not asked:
        return {}
    if resized_crop is not None:
        return _resized(resized_crop)
    size = crop if crop is not None else centre_crop if centre_crop is not None else resize
    height, width = sides(asked[0], size)
    kind = {"crop": "random", "centre_crop": "centre", "resize": "none"}[asked[0]]
    return {"crop": kind, "height": height, "width": width}


def _flip(flip):
    try:
        probability = FLIP if is_flag(flip) and flip else float(flip or 0)
    except (TypeError, ValueError):
        fail("flip", f"{flip!r} is neither True nor a probability")
    if not 0 <= probability <= 1:
        fail("flip", f"{flip!r} is no probability from 0 to 1")
    return {"flip": (probability,)} if probability else {}


def _per_channel(argument, values):
    given = numbers(argument, values if hasattr(values, "__len__") else (values,))
    if not given:
        fail(argument, "there is no number in it")
    return given


def mean_and_std(normalize):
    """Of `normalize`, in units of 0 to 255; None: those of the dataset."""
    if normalize is True:
        return None
    try:
        mean, std = normalize
    except (TypeError, ValueError):
        fail("normalize", f"{normalize!r} is neither True nor (mean, std)")
    mean, std = _per_channel("normalize", mean), _per_channel("normalize", std)
    if len(mean) != len(std):
        fail("normalize", f"{len(mean)} means and {len(std)} standard deviations")
    for name, values in ("mean", mean), ("standard deviation", std):
        for channel, value in enumerate(values):
            if not math.isfinite(value) or (values is std and value <= 0):
                fail("normalize", f"the {name} of channel {channel} is {value:g}, and is to be a finite "
                                  f"number{' above 0' if values is std else ''}")
    if max(map(abs, mean)) > 1 or max(std) > 1:
        fail("normalize", "mean and std are those of values from 0 to 1, as torchvision's are")
    return tuple(255 * m for m in mean), tuple(255 * s for s in std)


def channel_axis(facts):
    """1 or 3, of images N x H x W x C or N x C x H x W, as libpack sees them; None: it cannot be
    seen, or they have no such axis."""
    shape, labels = facts["shape"], facts["labels"]
    if len(shape) != 4:
        return None
    for axis in (1, 3):
        if len(labels) == 4 and labels[axis] == "C":
            return axis
    said = {"INTERLACE_PLANE": 1, "INTERLACE_PIXEL": 3}.get(facts["interlace_mode"])
    is_first, is_last = (shape[axis] in (1, 3, 4) for axis in (1, 3))
    return said or (None if is_first == is_last else 1 if is_first else 3)


def check_channels(normalize, facts, where):
    """As many means as channels; `where` names the dataset."""
    shape, axis = facts["shape"], channel_axis(facts)
    if normalize is None or isinstance(normalize, bool) or (len(shape) != 3 and axis is None):
        return
    n_channels = 1 if axis is None else shape[axis]
    n_means = len(mean_and_std(normalize)[0])
    if n_means != n_channels:
        fail("normalize", f"mean and std of {n_means}, and images of {n_channels} channels in "
                          f"{where}")


def dtype_name(dtype):
    """"float32" of None, "float32", torch.float32 or numpy.float32."""
    name = "float32" if dtype is None else getattr(dtype, "__name__", str(dtype))
    name = name.removeprefix("torch.")
    if name not in ("float32", "float16", "bfloat16"):
        fail("dtype", f"{dtype!r} is none of float32, float16, bfloat16")
    return name


def _normalised(normalize, dtype):
    if normalize is None or normalize is False:
        if dtype is not None:
            fail("dtype", "goes with normalize; values are bytes without")
        return {}
    made = {"values": dtype_name(dtype)}
    given = mean_and_std(normalize)
    if given:
        made["mean"], made["std"] = given
    return made


# Members of struct pack_reader_transform, and the arguments that set them.
MEMBERS = {"scale": "resized_crop", "ratio": "resized_crop", "filter": "resized_crop",
           "flip": "flip", "channels": "layout", "values": "normalize", "mean": "normalize",
           "std": "normalize"}


def transform_argument(member, asked):
    """The argument at fault, of those that were given."""
    return MEMBERS.get(member) or asked[0]


CHANNELS = {None: "keep", "nchw": "first", "nhwc": "last", "channels_last": "last"}


def transform(crop, centre_crop, resize, resized_crop, flip, normalize, dtype, layout, device):
    """None when nothing is made of the images. With a device, that is where they become floats."""
    if not isinstance(layout, (str, type(None))) or layout not in CHANNELS:
        fail("layout", f"{layout!r} is none of 'nchw', 'nhwc', 'channels_last'")
    normalised = _normalised(normalize, dtype)
    made = {**_cut(crop, centre_crop, resize, resized_crop), **_flip(flip),
            **({} if device else normalised)}
    if layout is not None:
        made["channels"] = CHANNELS[layout]
    return made or None


# ------------------------------------------------------------------ order


def _weighted(order, weights):
    import numpy

    if order == "shuffle":
        order = "weighted"
    if order.partition(":")[0] != "weighted" or "by=" in order:
        fail("weights", f"go with order='weighted' or 'weighted:draws=N', not with {order!r}")
    weights = row("weights", weights, "it is one number for each sample")
    if weights.dtype.kind == "c":
        fail("weights", "are complex numbers")
    try:
        weights = weights.astype(numpy.float64)  # a copy: the caller may change his
    except (TypeError, ValueError):
        fail("weights", "are no numbers")
    return f"{order}{',' if ':' in order else ':'}by=weights", numpy.ascontiguousarray(weights)


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as why:
        fail("order", f"cannot read '{path}': {why.strerror}")


def _of_file(order):
    """What the file of "weighted:by=FILE" or "trace:FILE" holds."""
    if order.startswith("trace:"):
        return {"trace": _read(order.removeprefix("trace:"))}
    if order.startswith("weighted:") and "by=" in order:
        import numpy

        words = _read(order.partition("by=")[2]).split()
        try:
            return {"weights": numpy.array([float(word) for word in words], numpy.float64)}
        except ValueError as why:
            fail("order", f"weights: {why}")
    return {}


def order(text, weights):
    """The keys `order`, `weights` and `trace`."""
    if not isinstance(text, str):
        fail("order", f"{text!r} is no text like 'shuffle' or 'block:chunks=32'")
    if weights is None:
        return {"order": text, **_of_file(text)}
    text, weights = _weighted(text, weights)
    return {"order": text, "weights": weights}


def check_indices(indices, n_samples):
    """Numbers are of samples that there are; a mask is of all."""
    given = array("indices", indices)
    if given.dtype == bool and given.size != n_samples:
        fail("indices", f"it is a mask of {given.size}, and there are {n_samples} samples")
    if given.dtype != bool and given.max() >= n_samples:
        place = int(given.argmax())
        fail("indices", f"{given[place]} at place {place} is no sample: they are 0 to {n_samples - 1}")


def subset(indices):
    """Numbers of samples, or True for each that takes part, as uint64."""
    import numpy

    if indices is None:
        return {}
    numbers = row("indices", indices, "they are numbers of samples")
    if numbers.dtype == bool:
        numbers = numpy.flatnonzero(numbers)
    elif numbers.size and numbers.dtype.kind not in "iu":
        fail("indices", f"are {numbers.dtype}: they are numbers of samples, or a mask of bool")
    if not numbers.size:
        fail("indices", "there are none, and an epoch has no samples then")
    if numbers.dtype.kind == "i" and numbers.min() < 0:
        fail("indices", f"{numbers.min()} is below 0: samples count from 0")
    return {"subset": numpy.array(numbers, numpy.uint64)}  # a copy: the caller may change his


def fail_empty(n_samples, order):
    """Of drop_last=True, where no batch is full: of no rank, as all have as many samples."""
    world, batch = order["world"], order["batch"]
    of = f"each of {world} ranks has {-(-n_samples // world)} of {n_samples} samples" if world > 1 \
        else f"there are {n_samples} samples"
    fail("drop_last", f"{of}, and a batch of {batch} is never full: an epoch would have none. Smaller "
                      "batches, or drop_last=False")


# ------------------------------------------------------------------ states


def check_state(state, own, later):
    """A state is of the same order; what is in `later` may be missing, as in older ones."""
    if not isinstance(state, Mapping):
        fail("state", f"{state!r} is no dictionary of state_dict()")
    for key, value in own.items():
        if state.get(key) != value and (key in state or key not in later):
            fail("state", f"it is of {key}={state.get(key)!r}, and here is {key}={value!r}")


def checksum(numbers):
    """Of bytes or an array; None of None."""
    return None if numbers is None else zlib.crc32(memoryview(numbers).cast("B"))


# ------------------------------------------------------------------ ranks

# Of Slurm, a step's: sbatch without srun sets SLURM_PROCID=0 and SLURM_NTASKS, for one process.
# Behind Open MPI: its mpirun starts a daemon on each node by srun, whose step all ranks inherit.
ENVIRONMENT = (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
               ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"))


def _of_environment(variable, least=0):
    value = os.environ[variable]
    if not value.isdecimal() or int(value) < least:
        fail("rank", f"{variable}={value!r} in the environment is no whole number of {least} or "
                     "more")
    return int(value)


def found_rank():
    """(rank, world) as torch.distributed, torchrun, Slurm or Open MPI say; (0, 1) without."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    for rank, world in ENVIRONMENT:
        if rank in os.environ and world in os.environ:
            return _of_environment(rank), _of_environment(world)
    return 0, 1


def rank_of(rank, world):
    if isinstance(rank, str):
        if rank != "auto":
            fail("rank", f"{rank!r} is neither a number nor 'auto'")
        if world is not None:
            fail("world", "rank='auto' finds it")
        return found_rank()
    if (rank is None) != (world is None):
        fail("world" if world is None else "rank", "rank and world are given together")
    if rank is None:
        return 0, 1
    return whole("rank", rank), whole("world", world, 1, most=COUNT_MAX)


def thread_count(threads, rank):
    """0: one for each processor. Ranks of torchrun on one machine share them."""
    if threads is not None:
        return whole("threads", threads, most=2**31 - 1)
    if not isinstance(rank, str) or not os.environ.get("LOCAL_WORLD_SIZE"):
        return 0
    beside = _of_environment("LOCAL_WORLD_SIZE", 1)
    return max(1, len(os.sched_getaffinity(0)) // beside)
