"""On a real GPU, what test_cuda.py asks of a stand-in; skipped where there is none."""
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no PyTorch here") from None

if not torch.cuda.is_available():
    raise unittest.SkipTest("no GPU here")

import gc
import itertools
import threading

import numpy
from files import h5py, raised

import h5pack
from h5pack import _cuda

N, HEIGHT, WIDTH, BATCH = 1000, 112, 104, 32  # batches of 1.1 MB, which are registered
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CYCLES = 3_000_000  # about 2 ms of a GPU's time


def write(path):
    pixels = numpy.random.default_rng(7).integers(0, 256, (N, HEIGHT, WIDTH, 3), numpy.uint8)
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=pixels, chunks=(1, HEIGHT, WIDTH, 3))
        file["labels"] = numpy.arange(N)
    return torch.from_numpy(pixels).cuda()


def rows(labels):
    return sorted(labels) == list(range(N))


def test_bytes_arrive_as_they_are_while_the_buffers_are_used_again(tmp_path):
    pixels = write(tmp_path / "x.h5")
    for pin, layout in itertools.product((True, False), (None, "nchw", "channels_last")):
        loader = h5pack.Loader(tmp_path / "x.h5", BATCH, device="cuda", pin=pin, layout=layout,
                               memory="24M")
        for _ in range(4):
            right, seen = [], []
            for images, labels in loader:
                torch.cuda._sleep(CYCLES // 10)  # the GPU is behind
                want = pixels[labels]
                if layout:
                    want = want.permute(0, 3, 1, 2)
                assert images.shape == want.shape and images.dtype == torch.uint8
                assert images.is_cuda and labels.is_cuda
                right.append((images == want).all())
                seen.append(labels)
                del images, labels, want
            assert torch.stack(right).all(), (pin, layout)
            assert rows(torch.cat(seen).tolist())


def test_what_was_let_go_of_is_not_written_over_while_the_gpu_has_to_read_it(tmp_path):
    pixels = write(tmp_path / "x.h5")
    loader = h5pack.Loader(tmp_path / "x.h5", BATCH, device="cuda")
    sums, want = [], []
    for images, labels in loader:
        torch.cuda._sleep(CYCLES)
        sums.append(images.sum(dtype=torch.int64))  # long after `images` is gone here
        want.append(labels)
        del images, labels
    for got, labels in zip(sums, want):
        assert got == pixels[labels].sum(dtype=torch.int64)


def test_batches_are_used_on_another_stream(tmp_path):
    pixels = write(tmp_path / "x.h5")
    stream, right = torch.cuda.Stream(), []
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for images, labels in h5pack.Loader(tmp_path / "x.h5", BATCH, device="cuda"):
            torch.cuda._sleep(CYCLES // 10)
            right.append((images == pixels[labels]).all())
            del images, labels
        assert torch.stack(right).all()


def test_normalized_values_are_those_that_the_threads_make_without_a_gpu(tmp_path):
    write(tmp_path / "x.h5")
    worst = {}
    for layout, dtype in itertools.product(("nchw", "nhwc", "channels_last"),
                                           ("float32", "float16", "bfloat16")):
        how = {"normalize": (MEAN, STD), "layout": layout, "dtype": dtype, "seed": 3,
               "resized_crop": 64, "flip": True}
        host = h5pack.Loader(tmp_path / "x.h5", BATCH, out="torch", **how)
        device = h5pack.Loader(tmp_path / "x.h5", BATCH, device="cuda", **how)
        for (want, at), (got, label) in zip(host, device):
            assert got.dtype == want.dtype and got.shape == want.shape
            assert got.stride() == want.stride() and label.tolist() == at.tolist()
            away = (got.cpu().double() - want.double()).abs().max().item()
            worst[dtype] = max(worst.get(dtype, 0), away)
    # as one addition and one multiplication are rounded, together or each by itself
    assert worst["float32"] < 1e-6 and worst["float16"] < 4e-3 and worst["bfloat16"] < 4e-2, worst


def test_memory_of_batches_is_pinned_unless_told(tmp_path):
    write(tmp_path / "x.h5")
    real, pinned = _cuda.Mover.start, []

    def start(self, host):
        pinned.append(host[0].is_pinned())
        real(self, host)

    _cuda.Mover.start = start
    try:
        for pin in (True, False):
            pinned.clear()
            for _ in h5pack.Loader(tmp_path / "x.h5", BATCH, device="cuda", pin=pin):
                pass
            assert len(pinned) == -(-N // BATCH) and set(pinned) == {pin}
    finally:
        _cuda.Mover.start = real


def test_it_can_be_left_and_gone_on_with_at_any_time(tmp_path):
    pixels = write(tmp_path / "x.h5")
    want = [labels.tolist() for _, labels in h5pack.Loader(tmp_path / "x.h5", BATCH, seed=2)]
    for stop in (0, 1, 5, len(want) - 1):
        loader = h5pack.Loader(tmp_path / "x.h5", BATCH, seed=2, device="cuda")
        kept = [images for images, _ in itertools.islice(loader, stop)]
        state = loader.state_dict()
        del loader
        gc.collect()
        again = h5pack.Loader(tmp_path / "x.h5", BATCH, seed=2, device="cuda")
        again.load_state_dict(state)
        rest = [labels.tolist() for _, labels in again]
        assert rest == want[stop:]
        again.close()
        for images, labels in zip(kept, want):
            assert (images == pixels[torch.tensor(labels)]).all()


def test_many_batches_are_kept_on_the_gpu(tmp_path):
    pixels = write(tmp_path / "x.h5")
    loader = h5pack.Loader(tmp_path / "x.h5", BATCH, device="cuda", memory="16M")
    kept = list(loader)  # of more memory than the reader has
    assert all((images == pixels[labels]).all() for images, labels in kept)


def test_loaders_in_several_threads(tmp_path):
    pixels = write(tmp_path / "x.h5")
    right = []

    def read(seed):
        loader = h5pack.Loader(tmp_path / "x.h5", BATCH, device="cuda", seed=seed, memory="32M")
        for _ in range(2):
            right.append(all([bool((images == pixels[labels]).all()) for images, labels in loader]))

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 6


def test_a_gpu_that_is_not_there_is_named(tmp_path):
    write(tmp_path / "x.h5")
    for device in (f"cuda:{torch.cuda.device_count()}", "cuda:99"):
        loader = h5pack.Loader(tmp_path / "x.h5", BATCH, device=device)
        said = raised(h5pack.ArgumentError, iter, loader)
        assert device in said and "numbered from 0" in said, said
    # and nothing is broken by it
    assert torch.ones(1, device="cuda").item() == 1
