"""A training of h5py and DataLoader, recorded, advised, and the advice applied, as a user does it:

    bench_trace.py FILE.h5 [ROUNDS]      FILE has `images` in chunks of one, uncompressed

makes of it files as people write them, and says of each what h5advise told of the training that
was recorded and what came of it: the gain told, the gain of interleaved pairs (median, lowest,
highest), and the one over the other."""
import json
import os
import subprocess
import sys
import time

TRAINING = '''
import sys, time
import h5py, torch  # training.py FILE EPOCHS STEPS [rdcc_nbytes=N ...]
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __init__(self, path, **cache):
        self.path, self.cache, self.images = path, cache, None
        with h5py.File(path) as file:
            self.n = len(file["images"])
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        if self.images is None:
            self.images = h5py.File(self.path, **self.cache)["images"]
        return torch.from_numpy(self.images[i])

torch.set_num_threads(1)
weights = torch.rand(256, 256)
cache = {word.split("=")[0]: float(word.split("=")[1]) if "w0" in word else int(word.split("=")[1])
         for word in sys.argv[4:]}
loader = DataLoader(Images(sys.argv[1], **cache), 64, shuffle=True, num_workers=2,
                    persistent_workers=True)
for epoch in range(int(sys.argv[2])):
    begin = time.perf_counter()
    n = 0
    for images in loader:
        n += len(images)
        for _ in range(int(sys.argv[3])):
            weights @ weights
    print(n / (time.perf_counter() - begin))
'''
FILES = {  # as h5py writes them, how many images, epochs that take some seconds, steps
    "chunks of 16, gzip 1": ({"chunks": 16, "compression": "gzip", "compression_opts": 1}, 3000, 2, 0),
    "the same, with steps that compute": (
        {"chunks": 16, "compression": "gzip", "compression_opts": 1}, 3000, 2, 40),
    "chunks of 64, gzip 4": ({"chunks": 64, "compression": "gzip", "compression_opts": 4}, 3000, 2, 0),
    "h5py's own chunks, lzf": ({"chunks": True, "compression": "lzf"}, 1200, 2, 0),
    "chunks of 32": ({"chunks": 32}, 3000, 12, 0),
    "the same, with steps": ({"chunks": 32}, 3000, 12, 10),
    "contiguous": ({}, 3000, 24, 0),
}
TRAINED = 30  # epochs, as h5advise takes it


def make(source, path, n, chunks=None, **how):
    import h5py

    with h5py.File(source) as old, h5py.File(path, "w") as new:
        images = old["images"][:n, :128, :128]
        shape = (chunks, *images.shape[1:]) if type(chunks) is int else chunks
        new.create_dataset("images", data=images, chunks=shape, **how)


def train(path, epochs, steps, cache=()):
    """Samples/s of a training: of its epochs the first, and the others as the one in their middle."""
    said = subprocess.run([sys.executable, "training.py", path, str(epochs), str(steps), *cache], check=True,
                          capture_output=True, text=True).stdout.split()
    first, *others = (1 / float(word) for word in said)
    return TRAINED / (first + (TRAINED - 1) * sorted(others)[len(others) // 2])


def advise(path, epochs, steps):
    subprocess.run(["h5advise", "-q", "-f", "--record", "t.trace", "--", sys.executable,
                    "training.py", path, str(epochs), str(steps)], check=True, capture_output=True)
    said = subprocess.run(["h5advise", "-q", "--json", path, "--pattern", "trace:t.trace"],
                          capture_output=True, text=True).stdout
    return json.loads(said)["result"]


def apply(result, path):
    """The file and settings that the advice is about."""
    best = result["rows"][0]
    cache = [f"{key}={best[key]}" for key in ("rdcc_nbytes", "rdcc_nslots", "rdcc_w0")]
    if best["change"] != "rewrite":
        return path, cache
    shape = "x".join(map(str, best["chunk"]))
    subprocess.run(["h5rechunk", "-q", "-f", path, "-o", "new.h5", "--chunk", shape, "--compress",
                    best["codec"]], check=True)
    return "new.h5", cache


def main():
    source, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with open("training.py", "w", encoding="utf-8") as file:
        file.write(TRAINING)
    for name, (how, n, epochs, steps) in FILES.items():
        make(source, "old.h5", n, **how)
        result = advise("old.h5", epochs, steps)
        told, kept = result["training"], result["rows"][0]["is_now"]
        if told is None or kept:
            print(f"        {name}: kept as it is, {told['reading']:.0%} reading" if told
                  else f"        {name}: nothing told")
            continue
        new, cache = apply(result, "old.h5")
        gains = []
        for _ in range(rounds):
            before = train("old.h5", epochs, steps)
            gains.append(train(new, 24, steps, cache) / before)
        gains.sort()
        middle = gains[len(gains) // 2]
        print(f"        {name}: {told['gain']:.2f} times told{' at least' * told['gain_is_least']}, {middle:.2f} measured "
              f"({gains[0]:.2f} to {gains[-1]:.2f}), {middle / told['gain']:.2f} of it", flush=True)


if __name__ == "__main__":
    main()
