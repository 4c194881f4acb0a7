"""How busy a GPU is that trains from an HDF5 file: gpu.py --samples N --rounds N --workers N.

ResNet-50 (in bfloat16, of images of 224x224) is trained on images of 256x256x3, chunks of one, that
lie in the page cache: with random resized crops and flips by h5pack.Loader and by PyTorch's
DataLoader over h5py, both normalized on the GPU. The ceiling is the same training on one batch that
never leaves the GPU. The same without a network: how fast batches arrive; their ceiling is a copy
out of pinned memory, back to back. All in turns, medians of --rounds epochs behind the first.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy
import torch
from torch.utils.data import DataLoader, Dataset

import h5pack

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIDE, SIZE = 256, 224


def make(path, n):
    random = numpy.random.default_rng(1)
    with h5py.File(path, "w") as file:
        images = file.create_dataset("images", (n, SIDE, SIDE, 3), "u1", chunks=(1, SIDE, SIDE, 3))
        for i in range(0, n, 512):
            count = min(512, n - i)
            images[i:i + count] = numpy.frombuffer(random.bytes(count * SIDE * SIDE * 3), "u1") \
                .reshape(count, SIDE, SIDE, 3)
        file["labels"] = random.integers(0, 1000, n)


class Images(Dataset):
    """As users write it; crops by torchvision where they are asked for."""

    def __init__(self, path, is_cropped):
        self.path, self.file, self.crop = path, None, None
        with h5py.File(path, "r") as file:
            self.n = file["images"].shape[0]
        if is_cropped:
            from torchvision.transforms import v2

            self.crop = v2.Compose([v2.RandomResizedCrop(SIZE, antialias=True),
                                    v2.RandomHorizontalFlip()])

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.file is None:
            torch.set_num_threads(1)
            self.file = h5py.File(self.path, "r")
            self.images, self.labels = self.file["images"], self.file["labels"]
        image = torch.from_numpy(self.images[i]).permute(2, 0, 1)
        return self.crop(image) if self.crop else image, self.labels[i]


class Stock:
    """Batches of a DataLoader, on the GPU."""

    def __init__(self, path, batch, workers, is_cropped):
        self.loader = DataLoader(Images(path, is_cropped), batch_size=batch, shuffle=True,
                                 num_workers=workers, persistent_workers=True, pin_memory=True,
                                 drop_last=True)

    def __iter__(self):
        for images, labels in self.loader:
            yield images.cuda(non_blocking=True), labels.cuda(non_blocking=True)


class Kept:
    """The same batch again and again."""

    def __init__(self, batch, n_batches):
        images = torch.randint(0, 256, (batch, 3, SIZE, SIZE), dtype=torch.uint8, device="cuda")
        self.batch = images.contiguous(memory_format=torch.channels_last), \
            torch.randint(0, 1000, (batch,), device="cuda")
        self.n_batches = n_batches

    def __iter__(self):
        return iter([self.batch] * self.n_batches)


class Network:
    def __init__(self):
        import torchvision

        self.model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01, momentum=0.9)
        self.mean, self.std = (torch.tensor(v, device="cuda").view(1, 3, 1, 1) * 255
                               for v in (MEAN, STD))

    def step(self, images, labels):
        if images.dtype == torch.uint8:
            images = ((images.float() - self.mean) / self.std).to(torch.bfloat16)
        images = images.contiguous(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.model(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def epoch(batches, step):
    """Samples per second, and the share of the time for which the GPU computed a step."""
    torch.cuda.synchronize()
    n, events, begin = 0, [], time.perf_counter()
    for images, labels in batches:
        pair = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        pair[0].record()
        if step:
            step(images, labels)
        pair[1].record()
        n += len(labels)
        events.append(pair)
        del images, labels
        if len(events) > 2:
            events[-3][1].synchronize()  # as reading the loss now and then does
    torch.cuda.synchronize()
    took = time.perf_counter() - begin
    return n / took, sum(a.elapsed_time(b) for a, b in events) / 1e3 / took


def compare(title, rows, step, rounds):
    """The first row is the ceiling."""
    print(f"        {title}")
    rates = {name: [] for name in rows}
    for number in range(rounds + 1):
        for name, batches in rows.items():
            rates[name].append(epoch(batches, step))
    ceiling = None
    for name, measured in rates.items():
        rate = sorted(r for r, _ in measured[1:])
        busy = statistics.median(b for _, b in measured[1:])
        median = statistics.median(rate)
        ceiling = ceiling or median
        said = f", GPU busy {100 * busy:.1f} %" if step else ""
        print(f"          {name}: {median:.0f} samples/s ({rate[0]:.0f} to {rate[-1]:.0f}), "
              f"{median / ceiling:.3f} of the ceiling{said}", flush=True)
    return 1e3 / ceiling


def readbench(path, args, ms):
    """The same by h5readbench, whose kernel computes for as long as a step of the network."""
    print(f"        h5readbench, a step of {ms:.1f} ms, and as fast as it can")
    for name, options in (
            ("workers with HDF5", ["--engine", "hdf5"]),
            ("as DataLoader hands over", ["--engine", "hdf5", "--hand-over", "pytorch"]),
            ("libpack's reader", ["--engine", "libpack"])):
        said = []
        for step in (f"{ms * 1000:.0f}us", None):
            command = ["h5readbench", path, "--with", "labels", "-c", "cuda", "-b", args.batch, "-w",
                       args.workers, "--crop", f"{SIZE}x{SIZE}", "--precision", "bf16", "-e",
                       args.rounds + 1, "--drop-last", "--no-trial", "-q", "--json", *options,
                       *(["--step", step] if step else [])]
            done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True)
            said.append(json.loads(done.stdout) if done.stdout else None)
        print(f"          {name}: {figures(said[0])}; {figures(said[1])}", flush=True)


def figures(report):
    return "failed" if report is None else \
        f"busy {100 * report['measured']['busy_rate']:.1f} %, " \
        f"{report['measured']['samples_per_s']:.0f} samples/s"


class Bus:
    """Copies out of pinned memory, of the bytes of batches of the whole images."""

    def __init__(self, batch, n_batches):
        self.host = torch.randint(0, 256, (batch, SIDE, SIDE, 3), dtype=torch.uint8).pin_memory()
        self.n_batches, self.labels = n_batches, torch.zeros(batch, device="cuda")

    def __iter__(self):
        for _ in range(self.n_batches):
            yield self.host.to("cuda", non_blocking=True), self.labels


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=16384)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(f"gpu     {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, "
          f"{os.cpu_count()} processors, batches of {args.batch}")
    n_batches = args.samples // args.batch
    with tempfile.TemporaryDirectory(prefix="h5pack-bench.") as folder:
        path = os.path.join(folder, "train.h5")
        make(path, args.samples)
        common = {"device": "cuda", "drop_last": True, "threads": args.workers}
        whole = h5pack.Loader(path, args.batch, **common)
        compare("batches of whole images, without a network", {
            "a copy out of pinned memory": Bus(args.batch, n_batches),
            "h5pack.Loader": whole,
            f"DataLoader over h5py, {args.workers} workers":
                Stock(path, args.batch, args.workers, False)}, None, args.rounds)
        print(f"          {whole.advice()}")
        whole.close()
        crops = h5pack.Loader(path, args.batch, resized_crop=SIZE, flip=True,
                              normalize=(MEAN, STD), dtype="bfloat16", layout="channels_last",
                              **common)
        ms = compare("ResNet-50, random resized crops and flips", {
            "one batch again and again": Kept(args.batch, n_batches),
            "h5pack.Loader": crops,
            f"DataLoader over h5py, {args.workers} workers":
                Stock(path, args.batch, args.workers, True)}, Network().step, args.rounds)
        print(f"          {crops.advice()}")
        crops.close()
        readbench(path, args, ms * args.batch)


if __name__ == "__main__":
    sys.exit(main())
