"""What is asked of CUDA, and when, by a stand-in: no GPU is needed (test_gpu.py)."""
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no PyTorch here") from None

import contextlib
import weakref

import numpy
from files import N, h5py, raised, write

import h5pack
from h5pack import _cuda
from h5pack._loader import Iteration

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Event:
    def __init__(self, gpu):
        self.gpu, self.happened = gpu, False

    def query(self):
        return self.happened

    def synchronize(self):
        self.gpu.look()


class StandIn:
    """A slow GPU: copies are made when somebody calls look(). It holds no tensors, as CUDA does
    not: what is copied has to be there till then."""

    def __init__(self, device):
        self.torch, self.device = torch, torch.device("cpu")
        self.under_way, self.registered = [], {}
        StandIn.last = self

    def register(self, address, size):
        assert address not in self.registered
        self.registered[address] = size
        return True

    def unregister(self, address):
        del self.registered[address]

    def copy(self, tensors):
        copies = tuple(torch.full_like(tensor, 99) for tensor in tensors)
        event = Event(self)
        self.under_way.append((event, copies, [weakref.ref(tensor) for tensor in tensors]))
        return copies, event

    def wait_for(self, event, copies):
        """What comes behind sees the copies, though nothing here waits for them."""
        for done, there, here in self.under_way:
            for to, of in zip(there, here):
                assert of() is not None, "a batch was let go of before it was copied"
                to.copy_(of())
            if done is event:
                return

    def look(self):
        """Now the copies were really made."""
        for event, copies, tensors in self.under_way:
            self.wait_for(event, copies)
            event.happened = True
        self.under_way.clear()

    finish = look


@contextlib.contextmanager
def stand_in(least=1):
    real = _cuda.Cuda, _cuda.REGISTERED_LEAST
    _cuda.Cuda, _cuda.REGISTERED_LEAST = StandIn, least
    try:
        yield
    finally:
        _cuda.Cuda, _cuda.REGISTERED_LEAST = real


def test_batches_arrive_in_order_and_normalized(tmp_path):
    pixels = write(tmp_path / "x.h5")
    options = {"normalize": (MEAN, STD), "layout": "channels_last", "order": "shuffle"}
    with stand_in():
        loader = h5pack.Loader(tmp_path / "x.h5", 8, device="cuda", **options)
        for _ in range(2):
            seen = []
            for images, labels in loader:
                assert images.shape[1:] == (3, 8, 9) and images.dtype == torch.float32
                assert images.is_contiguous(memory_format=torch.channels_last)
                if len(seen) % 3 == 0:
                    StandIn.last.look()
                seen += labels.tolist()
                want = (pixels[labels.numpy()] / 255 - MEAN) / STD
                assert numpy.abs(images.permute(0, 2, 3, 1).numpy() - want).max() < 1e-5
            assert sorted(seen) == list(range(N))


def test_gray_images_are_normalized_in_every_layout(tmp_path):
    pixels = numpy.arange(9 * 4 * 5, dtype="u1").reshape(9, 4, 5)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"] = pixels
    with stand_in():
        for layout in (None, "nchw", "nhwc", "channels_last"):
            batches = h5pack.Loader(tmp_path / "x.h5", 4, device="cuda", layout=layout,
                                    order="sequential", normalize=(0.5, 0.5))
            got = numpy.concatenate([images.numpy() for images, in batches])
            assert numpy.abs(got - (pixels / 255 - 0.5) / 0.5).max() < 1e-5, layout


def test_channels_are_normalized_where_the_file_says_that_they_are():
    facts = {"shape": (9, 3, 8, 3), "labels": [], "interlace_mode": ""}
    said = raised(h5pack.ArgumentError, _cuda.channel_axis, facts, None)
    assert "images of 9x3x8x3" in said, said
    facts["interlace_mode"] = "INTERLACE_PLANE"
    assert _cuda.channel_axis(facts, None) == 1 and _cuda.channel_axis(facts, "nhwc") == 3


def test_a_dataset_s_own_mean_and_std_are_taken_where_both_are_of_every_channel(tmp_path):
    pixels = write(tmp_path / "x.h5")
    for attributes, mean, std in (
            ({"mean": [1, 2, 3], "std": [4, 5, 6]}, numpy.array([1, 2, 3]), numpy.array([4, 5, 6])),
            ({"mean": [1, 2, 3]}, 0, 255), ({"std": [4, 5, 6]}, 0, 255),
            ({"mean": [1], "std": [4]}, 0, 255), ({"mean": [1, 2, 3], "std": [4, 5]}, 0, 255)):
        with h5py.File(tmp_path / "x.h5", "a") as file:
            for name in list(file["images"].attrs):
                del file["images"].attrs[name]
            file["images"].attrs.update(attributes)
        with stand_in():
            images, labels = next(iter(h5pack.Loader(tmp_path / "x.h5", 8, device="cuda",
                                                     normalize=True, layout="nhwc")))
        want = (pixels[labels.numpy()] - mean) / std
        assert numpy.abs(images.numpy() - want).max() < 1e-4, attributes
    with h5py.File(tmp_path / "x.h5", "a") as file:
        file["images"].attrs.update({"mean": [1, 2, 3], "std": [4, 0, 6]})
    with stand_in():
        said = raised(h5pack.ArgumentError, h5pack.Loader, tmp_path / "x.h5", 8, device="cuda",
                      normalize=True)
    assert "'images' of '" in said and "x.h5': channel 1 has mean 2 and standard deviation 0" in said, said


def test_each_buffer_is_registered_once_and_let_go_of_at_the_end(tmp_path):
    write(tmp_path / "x.h5")
    with stand_in():
        loader = h5pack.Loader(tmp_path / "x.h5", 8, device="cuda")
        for _ in range(3):
            for _ in loader:
                assert 1 <= len(StandIn.last.registered) <= 16
        cuda = StandIn.last
        del loader
        assert cuda.registered == {}


class Runtime:
    """torch, as far as memory is registered with it; a failure is told at the next kernel."""

    def __init__(self, status):
        self.status, self.current, self.error, self.calls = status, "cuda:0", 0, []
        self.cuda = self

    @contextlib.contextmanager
    def device(self, device):
        before, self.current = self.current, device
        yield
        self.current = before

    def cudart(self):
        return self

    def cudaHostRegister(self, address, size, flags):
        self.calls.append((self.current, address, size))
        self.error = self.status
        return self.status

    def cudaHostUnregister(self, address):
        self.calls.append((self.current, address))

    def ones(self, size, device):
        error, self.error = self.error, 0
        if error:
            raise RuntimeError("CUDA error")


def test_memory_is_registered_where_batches_go_and_a_failure_is_nobody_else_s():
    for status in (0, 1):
        cuda = object.__new__(_cuda.Cuda)
        cuda.torch, cuda.device = Runtime(status), "cuda:1"
        assert cuda.register(64, 5) == (status == 0)
        cuda.unregister(64)
        assert cuda.torch.calls == [("cuda:1", 64, 5), ("cuda:1", 64)]
        assert cuda.torch.error == 0 and cuda.torch.current == "cuda:0"


def test_a_state_counts_what_was_handed_out_not_what_is_under_way(tmp_path):
    write(tmp_path / "x.h5")
    with stand_in():
        loader = h5pack.Loader(tmp_path / "x.h5", 8, device="cuda")
        iteration = iter(loader)
        for _ in range(3):
            next(iteration)
        assert loader.state_dict()["batches"] == 3
        again = h5pack.Loader(tmp_path / "x.h5", 8, device="cuda")
        again.load_state_dict(loader.state_dict())
        rest = [labels.tolist() for _, labels in again]
        assert rest == [labels.tolist() for _, labels in iteration] and len(rest) == 10


def test_batches_under_way_are_not_those_of_the_next_epoch(tmp_path):
    write(tmp_path / "x.h5")
    with stand_in():
        want = [labels.tolist() for _ in range(2)
                for _, labels in h5pack.Loader(tmp_path / "x.h5", 8, order="sequential")][:13]
        loader = h5pack.Loader(tmp_path / "x.h5", 8, device="cuda", order="sequential")
        for number, _ in enumerate(loader):
            if number == len(loader) - 3:
                break
        assert [labels.tolist() for _, labels in loader] == want


def test_where_memory_is_full_those_under_way_come_first(tmp_path):
    write(tmp_path / "x.h5")
    with stand_in():
        loader = h5pack.Loader(tmp_path / "x.h5", 8, device="cuda", order="sequential")
        iteration = iter(loader)
        got = [next(iteration)[1].tolist()]
        real, made = Iteration._made, []

        def full(self, loader):
            made.append(0)
            if len(made) % 2:
                raise h5pack.LimitError("full")
            return real(self, loader)

        Iteration._made = full
        try:
            got += [labels.tolist() for _, labels in iteration]
        finally:
            Iteration._made = real
        assert sum(got, []) == list(range(N))


class Gpus:
    """torch, as far as devices are named."""

    def __init__(self, n):
        self.device, self.cuda, self.n = torch.device, self, n

    def device_count(self):
        return self.n


def test_a_gpu_that_is_not_there_is_named():
    for name in ("cuda", "cuda:0", "cuda:1"):
        assert str(_cuda._device(Gpus(2), name)) == name
    for name in ("cuda:2", "cuda:99"):
        said = raised(h5pack.ArgumentError, _cuda._device, Gpus(2), name)
        assert f"there is no '{name}'; PyTorch sees 2" in said, said
    for name in ("meta", "cud", "0", "cuda:x", ""):
        said = raised(h5pack.ArgumentError, _cuda._device, Gpus(2), name)
        assert repr(name) in said and "none of 'cuda'" in said, said


def test_the_cpu_is_no_device_of_its_own(tmp_path):
    pixels = write(tmp_path / "x.h5")
    for device in ("cpu", "cpu:0", torch.device("cpu")):
        loader = h5pack.Loader(tmp_path / "x.h5", 8, device=device, order="sequential")
        images, _ = next(iter(loader))
        assert (images.numpy() == pixels[:8]).all()
        loader = h5pack.Loader(tmp_path / "x.h5", 8, device=device, order="sequential",
                               normalize=(MEAN, STD))
        images, _ = next(iter(loader))
        assert numpy.abs(images.numpy() - (pixels[:8] / 255 - MEAN) / STD).max() < 1e-5
        said = raised(h5pack.ArgumentError, h5pack.Loader, tmp_path / "x.h5", 8, device=device,
                      pin=True)
        assert "pin" in said, said


def test_without_a_gpu_it_is_said(tmp_path):
    write(tmp_path / "x.h5")
    if torch.cuda.is_available():
        raise unittest.SkipTest("there is a GPU")
    loader = h5pack.Loader(tmp_path / "x.h5", 8, device="cuda")
    assert "no GPU" in raised(h5pack.ArgumentError, iter, loader)
    said = raised(h5pack.ArgumentError, h5pack.Loader, tmp_path / "x.h5", 8, device="cuda",
                  out="numpy")
    assert "device" in said
