"""Tensors that show the reader's memory; skipped where PyTorch is not installed."""
import gc
import threading
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no PyTorch here") from None

import numpy
from files import N, h5py, raised, take, write

import h5pack


def loader(tmp_path, batch_size=8, **options):
    if not (tmp_path / "x.h5").exists():
        write(tmp_path / "x.h5")
    return h5pack.Loader(tmp_path / "x.h5", batch_size, **options)


def test_tensors_are_the_default_and_show_the_same_memory(tmp_path):
    pixels = write(tmp_path / "x.h5")
    for images, labels in loader(tmp_path):
        assert images.dtype == torch.uint8 and labels.dtype == torch.int64
        assert (images.numpy() == pixels[labels.numpy()]).all()


def test_tensors_outlive_the_loader_and_can_be_written(tmp_path):
    pixels = write(tmp_path / "x.h5")
    kept = [images for images, _ in loader(tmp_path, order="sequential")]
    gc.collect()
    kept[0].fill_(3)
    assert (kept[1].numpy() == pixels[8:16]).all() and (kept[0] == 3).all()


def test_the_slot_is_used_again_when_the_last_tensor_is_gone(tmp_path):
    addresses = {images.data_ptr() for images, _ in loader(tmp_path, 2)}
    assert len(addresses) <= 6


def test_a_tensor_that_dies_in_another_thread_gives_its_slot_back(tmp_path):
    under_test = loader(tmp_path, 2, memory="2M")

    def drop(tensors):
        tensors.clear()

    for _ in range(3):
        for images, _ in under_test:
            held = [images]
            del images
            thread = threading.Thread(target=drop, args=(held,))
            thread.start()
            thread.join()


def test_bfloat16_and_channels_last(tmp_path):
    pixels = write(tmp_path / "x.h5")
    images, labels = next(iter(loader(tmp_path, normalize=((0.5,) * 3, (0.25,) * 3),
                                      dtype=torch.bfloat16, layout="channels_last")))
    assert images.dtype == torch.bfloat16 and images.shape == (8, 3, 8, 9)
    assert images.is_contiguous(memory_format=torch.channels_last)
    want = (pixels[labels.numpy()].transpose(0, 3, 1, 2) / 255 - 0.5) / 0.25
    assert numpy.abs(images.float().numpy() - want).max() < 0.02


def test_truth_values_are_tensors_of_bool(tmp_path):
    values = numpy.arange(40).reshape(20, 2) % 3 == 0
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"], file["labels"] = values, values[:, 1]
    masks, labels = next(iter(loader(tmp_path, 20, order="sequential")))
    assert masks.dtype == labels.dtype == torch.bool
    assert (masks.numpy() == values).all() and (labels.numpy() == values[:, 1]).all()


def test_dlpack_parts_are_taken_by_torch_and_numpy(tmp_path):
    write(tmp_path / "x.h5")
    iteration = iter(loader(tmp_path, out="dlpack"))
    part, _ = next(iteration)
    tensor, array = torch.from_dlpack(part), numpy.asarray(part)
    assert tensor.data_ptr() == array.ctypes.data == part.address
    if numpy.lib.NumpyVersion(numpy.__version__) >= "1.26.0":
        assert (numpy.from_dlpack(part) == array).all()
    capsule = part.__dlpack__(max_version=(1, 0))
    raised(BufferError, part.__dlpack__, dl_device=(2, 0))
    raised(BufferError, part.__dlpack__, copy=True)
    del part, tensor, array, capsule  # nobody took it


class Wrapped(torch.utils.data.IterableDataset):
    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        return iter(self.inner)


def test_one_dataloader_worker_reads_and_several_are_told(tmp_path):
    for context in ("fork", "spawn"):
        wrapped = Wrapped(loader(tmp_path, order="sequential"))
        data = torch.utils.data.DataLoader(wrapped, batch_size=None, num_workers=1,
                                           multiprocessing_context=context)
        labels = [label for _, labels in data for label in labels.tolist()]
        assert labels == list(range(N))
    data = torch.utils.data.DataLoader(wrapped, batch_size=None, num_workers=2)
    assert "each would give every sample" in raised(RuntimeError, list, data)


def test_the_rank_is_found(tmp_path):
    import os

    os.environ.update(RANK="1", WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
    try:
        found = loader(tmp_path, rank="auto", out="numpy")
    finally:
        for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
            del os.environ[name]
    said = loader(tmp_path, rank=1, world=2, out="numpy")
    assert take(found)[1].tolist() == take(said)[1].tolist()
