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
import h5py, torch
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
cache = {word.split("=")[0]: float(word.split("=")[1]) if "w0" in word else int(word.split("=")[1])
         for word in sys.argv[3:]}
loader = DataLoader(Images(sys.argv[1], **cache), 64, shuffle=True, num_workers=2,
                    persistent_workers=True)
for epoch in range(int(sys.argv[2])):
    begin = time.perf_counter()
    n = sum(len(images) for images in loader)
    print(n / (time.perf_counter() - begin))
'''
FILES = {  # as h5py writes them
    "chunks of 16, gzip 1": {"chunks": 16, "compression": "gzip", "compression_opts": 1},
    "chunks of 64, gzip 4": {"chunks": 64, "compression": "gzip", "compression_opts": 4},
    "h5py's own chunks, lzf": {"chunks": True, "compression": "lzf"},
    "chunks of 32": {"chunks": 32},
    "contiguous": {},
}


def make(source, path, chunks=None, **how):
    import h5py

    with h5py.File(source) as old, h5py.File(path, "w") as new:
        images = old["images"][:3000, :128, :128]
        shape = (chunks, *images.shape[1:]) if type(chunks) is int else chunks
        new.create_dataset("images", data=images, chunks=shape, **how)


def train(path, epochs, cache=()):
    """Samples/s of all epochs together."""
    said = subprocess.run([sys.executable, "training.py", path, str(epochs), *cache], check=True,
                          capture_output=True, text=True).stdout.split()
    return len(said) / sum(1 / float(word) for word in said)


def advise(path):
    subprocess.run(["h5advise", "-q", "-f", "--record", "t.trace", "--", sys.executable,
                    "training.py", path, "2"], check=True, capture_output=True)
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
    for name, how in FILES.items():
        make(source, "old.h5", **how)
        result = advise("old.h5")
        told, kept = result["training"], result["rows"][0]["is_now"]
        if told is None or kept:
            print(f"        {name}: kept as it is, {told['reading']:.0%} reading" if told
                  else f"        {name}: nothing told")
            continue
        new, cache = apply(result, "old.h5")
        gains = []
        for _ in range(rounds):
            before = train("old.h5", 2)
            gains.append(train(new, max(2, min(10, round(2 * told["gain"]))), cache) / before)
        gains.sort()
        middle = gains[len(gains) // 2]
        print(f"        {name}: {told['gain']:.2f} times told, {middle:.2f} measured "
              f"({gains[0]:.2f} to {gains[-1]:.2f}), {middle / told['gain']:.2f} of it", flush=True)


if __name__ == "__main__":
    main()
