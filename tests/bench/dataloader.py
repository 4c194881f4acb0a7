"""PyTorch's DataLoader over h5py, as users write it: dataloader.py FILE BATCH WORKERS EPOCHS
prints the samples per second of each epoch; dataloader.py --make FILE SAMPLES SIDE writes
one of square images."""
import sys
import time

import h5py
import numpy
import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, path):
        self.path, self.images = path, None
        with h5py.File(path, "r") as file:
            self.n = file["images"].shape[0]

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.images is None:  # in the worker: each has a handle and a cache of its own
            self.images = h5py.File(self.path, "r")["images"]
        return torch.from_numpy(self.images[i])


def make(path, n, side):
    random = numpy.random.default_rng(1)
    with h5py.File(path, "w") as file:
        images = file.create_dataset("images", (n, side, side, 3), "u1", chunks=(1, side, side, 3))
        for i in range(0, n, 256):
            count = min(256, n - i)
            images[i:i + count] = random.integers(0, 256, (count, side, side, 3), "u1")


def main():
    if sys.argv[1] == "--make":
        return make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    path, batch, workers, epochs = sys.argv[1], *map(int, sys.argv[2:5])
    loader = DataLoader(Images(path), batch_size=batch, shuffle=True, num_workers=workers,
                        persistent_workers=workers > 0)
    for _ in range(epochs):
        begin, n = time.perf_counter(), 0
        for images in loader:
            n += len(images)
            images.view(-1)[::4096].sum()  # whoever takes a batch looks at it
        print(f"{n / (time.perf_counter() - begin):.1f}")


main()
