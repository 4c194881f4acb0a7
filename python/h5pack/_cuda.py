"""Batches on their way to a GPU: uint8 over the bus, on a stream of their own, normalized there.

The reader's buffers are registered with CUDA, each once, so that the GPU fetches them itself. A
batch goes back to the reader when the event behind its copies has happened, and not before.
tests/test_gpu.py tries it on a GPU, test_cuda.py with a stand-in for what is called Cuda below.
"""
import collections
import contextlib
import math

from h5pack import _native, _options
from h5pack._options import fail

AHEAD = 2  # batches whose copies are under way
LEAVING_MAX = 4  # that were handed out, and may be copied still
REGISTERED_LEAST = 1 << 20  # smaller buffers share pages with others
NOTHING_KEPT = ((0.0,), (255.0,))  # what a dataset without mean and std is normalized by


class Cuda:
    """What is asked of CUDA, by way of PyTorch."""

    def __init__(self, device):
        try:
            import torch
        except ImportError:
            fail("device", f"{device!r} needs PyTorch, which cannot be imported here")
        if not torch.cuda.is_available():
            fail("device", f"{device!r}: PyTorch finds no GPU here")
        self.torch = torch
        self.device = _device(torch, device)
        self.stream = torch.cuda.Stream(self.device)

    def register(self, address, size):
        """Whether the memory is pinned now."""
        with self.torch.cuda.device(self.device):  # else a context is made on another GPU
            is_done = int(self.torch.cuda.cudart().cudaHostRegister(address, size, 0)) == 0
            if not is_done:
                self._forget_error()
        return is_done

    def _forget_error(self):
        """CUDA tells who starts the next kernel, which is this here, and not the caller."""
        with contextlib.suppress(RuntimeError):
            self.torch.ones(1, device=self.device)

    def unregister(self, address):
        with self.torch.cuda.device(self.device):
            self.torch.cuda.cudart().cudaHostUnregister(address)

    def copy(self, tensors):
        """Copies on the stream; the event behind them."""
        with self.torch.cuda.stream(self.stream):
            copies = tuple(tensor.to(self.device, non_blocking=True) for tensor in tensors)
            event = self.torch.cuda.Event()
            event.record(self.stream)
        return copies, event

    def wait_for(self, event, copies):
        """What the caller's stream does from now on comes behind the copies."""
        current = self.torch.cuda.current_stream(self.device)
        current.wait_event(event)
        for copy in copies:
            copy.record_stream(current)

    def finish(self):
        self.stream.synchronize()


def name_of(device):
    """"cuda:1" of that or of what PyTorch names so; None of none, and of the CPU."""
    name = None if device is None else str(device)
    if name is None or name.partition(":")[0] == "cpu":
        return None
    kind, _, number = name.partition(":")
    if kind != "cuda" or not (number.isdecimal() or name == kind):
        fail("device", f"{device!r} is none of 'cuda', 'cuda:0', 'cuda:1', ... and 'cpu'")
    return name


def _device(torch, name):
    """The GPU of that name."""
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type != "cuda":
        fail("device", f"{name!r} is none of 'cuda', 'cuda:0', 'cuda:1', ...")
    n_devices = torch.cuda.device_count()
    if (device.index or 0) >= n_devices:
        fail("device", f"there is no {name!r}; PyTorch sees {n_devices}, numbered from 0")
    return device


class Pins:
    """Buffers of a reader that are registered."""

    def __init__(self, cuda, buffer_bytes):
        self._cuda, self._bytes = cuda, buffer_bytes
        self._addresses = {}

    def add(self, part):
        address = part.address
        if self._bytes >= REGISTERED_LEAST and address not in self._addresses:
            self._addresses[address] = self._cuda.register(address, self._bytes)

    def release(self):
        """Before the memory goes."""
        self._cuda.finish()
        for address, is_registered in self._addresses.items():
            if is_registered:
                self._cuda.unregister(address)
        self._addresses.clear()


class Mover:
    """A queue of batches that are being copied; what cannot be had lies in it as an exception."""

    def __init__(self, cuda, normalize):
        self._cuda, self._normalize = cuda, normalize
        self._going = collections.deque()
        self._leaving = collections.deque()  # (event, host): copied from, maybe still

    def __len__(self):
        return len(self._going)

    def start(self, host):
        copies, event = self._cuda.copy(host)
        self._going.append((host, copies, event))

    def fail(self, error):
        self._going.append(error)

    def take(self):
        """The oldest one, on the GPU."""
        while self._leaving and self._leaving[0][0].query():
            self._leaving.popleft()
        if len(self._leaving) > LEAVING_MAX:  # a slow bus: no more memory for it
            self._leaving[0][0].synchronize()
            self._leaving.popleft()
        first = self._going.popleft()
        if isinstance(first, BaseException):
            raise first
        host, copies, event = first
        self._cuda.wait_for(event, copies)
        self._leaving.append((event, host))
        images, *others = copies
        return (self._normalize(images), *others)

    def clear(self):
        """Lets go of everything, when all copies are done."""
        self._cuda.finish()
        self._going.clear()
        self._leaving.clear()


# ------------------------------------------------------------------ normalizing


def channel_axis(facts, layout):
    """Of a batch as it is handed out; None: gray images without one."""
    if len(facts["shape"]) == 3:
        return None
    axis = _options.channel_axis(facts)
    if axis is None:
        extents = "x".join(map(str, facts["shape"]))
        fail("normalize", f"images of {extents} do not say which axis is that of channels: "
                          "DIMENSION_LABELS or INTERLACE_MODE would")
    return axis if layout is None else {"nchw": 1, "channels_last": 1, "nhwc": 3}[layout]


def _own(facts):
    """Mean and std that the dataset has, if both are of each channel."""
    axis = _options.channel_axis(facts)
    n_channels = 1 if axis is None else facts["shape"][axis]
    mean, std = facts["mean"], facts["std"]
    return (mean, std) if len(mean) == len(std) == n_channels else NOTHING_KEPT


def factors(facts, normalize):
    """y = x * scale + bias, per channel: as struct pack_reader_transform defines them."""
    mean, std = _options.mean_and_std(normalize) or _own(facts)
    for channel, (m, s) in enumerate(zip(mean, std)):
        if not s > 0 or not math.isfinite(s) or not math.isfinite(m):
            fail("normalize", f"channel {channel} has mean {m:g} and standard deviation {s:g}; the "
                              "latter must be above 0")
    return [1 / s for s in std], [-m / s for m, s in zip(mean, std)]


def check(facts, normalize, dtype, layout, where):
    """That normalizer() can do it; `where` names the dataset."""
    if normalize is None or normalize is False:
        return
    try:
        channel_axis(facts, layout)
        factors(facts, normalize)
    except _native.ArgumentError as why:
        fail("normalize", f"{where}: {str(why).removeprefix('normalize: ')}")


def normalizer(torch, device, facts, normalize, dtype, layout):
    """A function of tensors of bytes."""
    if normalize is None or normalize is False:
        return lambda images: images
    axis = channel_axis(facts, layout)
    shape = [1] * len(facts["shape"])
    if axis is not None:
        shape[axis] = -1
    scale, bias = (torch.tensor(numbers, dtype=torch.float32, device=device).reshape(shape)
                   for numbers in factors(facts, normalize))
    out = getattr(torch, _options.dtype_name(dtype))

    def apply(images):
        return torch.addcmul(bias, images.to(torch.float32), scale).to(out)

    return apply
