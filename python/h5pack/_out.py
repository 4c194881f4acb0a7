"""Batches as arrays of PyTorch or NumPy that show the reader's memory, or as they are."""
import importlib.util

from h5pack import _native
from h5pack._options import fail

NUMBERS = "biuf"


def chosen(out):
    """`out`, or "torch" where PyTorch is installed, else "numpy"."""
    if out is None:
        return "torch" if importlib.util.find_spec("torch") else "numpy"
    if out not in ("torch", "numpy", "dlpack"):
        fail("out", f"{out!r} is none of 'torch', 'numpy', 'dlpack'")
    return out


def _to_numpy():
    from numpy import asarray

    return lambda part: asarray(memoryview(part))  # of what has no buffer it raises BufferError


def _to_torch():
    try:
        from torch.utils.dlpack import from_dlpack
    except ImportError:
        fail("out", "'torch' needs PyTorch, which cannot be imported here: out='numpy' does "
                    "without")
    to_numpy = _to_numpy()
    kinds = {}  # whether it is of numbers, by the name of the type

    def to_torch(part):
        name = part.typestr
        is_number = kinds.get(name)
        if is_number is None:
            has = name[1] in NUMBERS and name[1:] not in ("f12", "f16")  # PyTorch has no long ones
            is_number = kinds[name] = has or name == "bfloat16"
        # of the capsule: asked for here, in place of many questions about the part
        return from_dlpack(part.__dlpack__()) if is_number else to_numpy(part)

    return to_torch


def _of_nchw(images):
    """The axes of ... x H x W x C, as those of ... x C x H x W."""
    n = images.ndim  # 4, or 5 where samples are boxes
    return (*range(n - 3), n - 1, n - 3, n - 2)


def maker(out, layout, has_channels):
    """A function that makes a tuple of arrays of a Batch. Gray images have no axis of channels."""
    one = {"numpy": _to_numpy, "torch": _to_torch, "dlpack": lambda: _native_part}[out]()
    if layout == "channels_last" and out == "dlpack":
        fail("layout", "'channels_last' is of torch and numpy; 'nhwc' is the same memory")
    if layout != "channels_last" or not has_channels:
        return lambda batch: tuple(map(one, batch.parts))

    def make(batch):
        images, *others = batch.parts
        images = one(images)
        axes = _of_nchw(images)
        return (images.permute(axes) if out == "torch" else images.transpose(axes),
                *map(one, others))

    return make


def _native_part(part: _native.Part):
    return part
