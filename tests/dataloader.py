"""What tests/dataloader.sh runs: LocalBlocks as h5advise prints it, in a real DataLoader."""
import io
import itertools
import json
import os
import subprocess
import sys
import warnings

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

from tap import done, equal, note, ok

warnings.filterwarnings('ignore')  # more workers than processors
SAMPLE, CHUNK, BATCH, POOL, SEED = 64, 8, 6, 3, 7
VERSION = '2.0' if int(h5py.version.hdf5_version.split('.')[0]) >= 2 else '1.10'
M = 2**64 - 1


def splitmix(z):
    z = z + 0x9e3779b97f4a7c15 & M
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & M
    z = (z ^ z >> 27) * 0x94d049bb133111eb & M
    return z ^ z >> 31


class Generator:
    """libpack's, after rng.h and permutation.h, for a tuple of keys."""
    def __init__(self, keys):
        self.seed = keys[0]
        for key in keys[1:]:
            self.seed = splitmix(splitmix(self.seed) ^ key)

    def integers(self, n):
        return self.seed * n >> 64

    def permutation(self, n):
        s = [splitmix(self.seed + k * 0x9e3779b97f4a7c15 & M) for k in range(4)]
        bits, keys = (n - 1).bit_length() // 2, []
        rows, cut = (n - 1 >> bits) + 1, (1 << bits) - 1
        for _ in range(48 if n < 65536 else 12):
            x, t = s[1] * 5 & M, s[1] << 17 & M
            keys.append((x << 7 | x >> 57) * 9 & 2**32 - 1)
            s[2] ^= s[0]
            s[3] ^= s[1]
            s[1] ^= s[2]
            s[0] ^= s[3]
            s[2] ^= t
            s[3] = (s[3] << 45 | s[3] >> 19) & M

        def hashed(x, k):
            h = (x ^ keys[k]) * (keys[k + 1] | 1) & 2**32 - 1
            return ((h ^ h >> 15) * 0x2c1b3c6d & 2**32 - 1) >> 16

        def once(x):
            row, column = x >> bits, x & cut
            for k in range(0, len(keys), 4):
                row = (row + (hashed(column, k) * rows >> 16)) % rows
                column ^= hashed(row, k + 2) & cut
            return row << bits | column

        x = [once(i) for i in range(n)]
        while max(x, default=-1) >= n:
            x = [once(i) if i >= n else i for i in x]
        return np.array(x, 'i8')


def libpack(pattern, n, workers, chunk=CHUNK, batch=BATCH, rank=0, world=1, drop_last=False,
            epochs=2, persistent=True, seed=SEED, held=POOL):
    """Batches of each epoch, loads by (epoch, worker), shared chunks."""
    lines = subprocess.run(
        ['pattern_dump', pattern, *map(str, (
            n, SAMPLE, chunk, batch, workers, f'{rank}/{world}', int(drop_last), seed, epochs,
            held * chunk * SAMPLE, 521, VERSION, int(persistent)))],
        capture_output=True, text=True, check=True).stdout.splitlines()
    batches, loads, shared = [[] for _ in range(epochs)], {}, 0
    for word, *numbers in map(str.split, lines):
        numbers = list(map(int, numbers))
        if word == 'batch':
            batches[numbers[0]].append(numbers[1:])
        elif word == 'loads':
            loads[tuple(numbers[:2])] = numbers[2]
        else:
            shared = numbers[0]
    return batches, loads, shared


def snippet(path, n, workers, *args):
    """The names that the printed code defines, its DataLoader included."""
    report = json.loads(subprocess.run(
        ['h5advise', '-q', '--json', '--what-if', f'{path}:/images', '-b', str(BATCH), '-w',
         str(workers), '--rdcc-nbytes', str(POOL * CHUNK * SAMPLE), *args],
        capture_output=True, text=True, check=True).stdout)
    space = {}
    exec(report['result']['code']['pytorch'], space)
    return space


class Counting(io.FileIO):
    """A file that notes what is read of it."""
    def __init__(self, path):
        super().__init__(path, 'r')
        self.reads = []

    def readinto(self, buffer):
        self.reads.append((self.tell(), len(buffer)))
        return super().readinto(buffer)


class Noted(Dataset):
    """Gives batches as (worker, samples, what was read right, chunks loaded for it)."""
    def __init__(self, path, n):
        self.path, self.n, self.pid = path, n, None

    def __len__(self):
        return self.n

    def __getitems__(self, samples):
        if self.pid != os.getpid():
            self.pid, self.raw = os.getpid(), Counting(self.path)
            file = h5py.File(self.raw, 'r', rdcc_nbytes=POOL * CHUNK * SAMPLE, rdcc_nslots=521)
            self.images = file['images']
            self.chunks = {self.images.id.get_chunk_info(i).byte_offset
                           for i in range(self.images.id.get_num_chunks())}
        self.raw.reads.clear()
        right = all((self.images[i] == i % 251).all() for i in samples)
        loaded = [at for at, size in self.raw.reads
                  if at in self.chunks and size == CHUNK * SAMPLE]
        return get_worker_info().id, list(samples), right, len(loaded)


def as_it_is(batch):
    return batch


def write(path, n):
    with h5py.File(path, 'w') as f:
        images = f.create_dataset('images', (n, SAMPLE), 'u1', chunks=(CHUNK, SAMPLE))
        images[:] = np.arange(n)[:, None] % 251


def exact(blocks):
    """The sampler with libpack's generator in place of NumPy's."""
    class Exact(blocks):
        def rng(self, *key):
            return Generator((*self.key, *key))
    return Exact


def test_same_batches(blocks):
    """Without a loader: libpack's batches, for all sorts of sizes and ranks."""
    rng, different, padded = np.random.default_rng(1), [], 0
    for _ in range(150):
        n, chunk, pool, batch, workers, world = (
            int(rng.integers(1, high)) for high in (300, 20, 6, 25, 6, 5))
        drop_last, seed = bool(rng.integers(2)), int(rng.integers(2**62))
        chunk = min(chunk, n)
        rank = int(rng.integers(world))
        sampler = exact(blocks)(n, chunk, pool, batch, workers, rank, world, drop_last, seed)
        want = libpack(f'block:chunks={pool},local', n, workers, chunk, batch, rank, world,
                       drop_last, seed=seed)[0]
        got = [list(sampler), list(sampler)]
        padded += n % world != 0
        if got != want or len(sampler) != len(want[0]):
            different.append((n, chunk, pool, batch, workers, rank, world, drop_last, seed))
    equal(different, [], f'150 samplers give the batches of libpack, {padded} of them padded')


def law(batches, n, workers):
    """Chunks by the worker that has them; None where a sample is missing or comes twice."""
    samples = sorted(itertools.chain(*batches))
    if samples != list(range(n)):
        return None
    return [{s // CHUNK for b in batches[w::workers] for s in b} for w in range(workers)]


def test_law(blocks):
    orders = set()
    for workers, n in itertools.product((1, 2, 3, 4), (203, 204, 192)):
        shared = libpack(f'block:chunks={POOL},local', n, workers)[2]
        sampler = blocks(n, CHUNK, POOL, BATCH, workers)
        owned = law(list(sampler), n, workers)
        second = list(sampler)
        chunks = -(-n // CHUNK)
        if not ok(owned and sum(map(len, owned)) == chunks + shared and law(second, n, workers),
                  f'{n} samples and {workers} workers: each sample once, each chunk has one '
                  f'worker but {shared}'):
            note(owned)
        orders.add(tuple(map(tuple, second)))
        sampler.epoch, sampler.first = 1, 5
        ok(list(sampler) == second[5:], 'resumed at batch 5 of epoch 1, the rest comes')
    ok(len(orders) == 12, 'orders differ')


def run(path, sampler, n, workers, prefetch, persistent, epochs=2):
    loader = DataLoader(Noted(path, n), batch_sampler=sampler, num_workers=workers,
                        prefetch_factor=prefetch, persistent_workers=persistent,
                        collate_fn=as_it_is, multiprocessing_context='fork')
    return [list(loader) for _ in range(epochs)]


def test_loader(blocks, path, n, workers, prefetch, persistent):
    pattern = f'block:chunks={POOL},local'
    want, loads, shared = libpack(pattern, n, workers, persistent=persistent)
    seen = run(path, exact(blocks)(n, CHUNK, POOL, BATCH, workers, seed=SEED), n, workers,
               prefetch, persistent)
    what = (f'{workers} workers, prefetch {prefetch}, '
            f'{"persistent" if persistent else "new each epoch"}')
    ok([[b[1] for b in epoch] for epoch in seen] == want and all(b[2] for e in seen for b in e),
       f'{what}: the loader gives the batches of libpack')
    ok(all(b[0] == i % workers for epoch in seen for i, b in enumerate(epoch)),
       'batch i comes from worker i mod W')
    counted = {(e, w): sum(b[3] for b in epoch if b[0] == w)
               for e, epoch in enumerate(seen) for w in range(workers)}
    equal(counted, loads, 'each worker loads as many chunks as it does simulated')
    first = sum(counted[0, w] for w in range(workers))
    equal(first, -(-n // CHUNK) + shared,
          f'every chunk once over all workers, but {shared} that two share')


def test_resume(blocks, path, n, workers=3, k=10):
    sampler = exact(blocks)(n, CHUNK, POOL, BATCH, workers, seed=SEED)
    sampler.first = k
    batches = libpack(f'block:chunks={POOL},local', n, workers)[0][0]
    seen = run(path, sampler, n, workers, 2, False, 1)[0]
    ok([b[1] for b in seen] == batches[k:], f'resumed at batch {k}: the batches that remain')
    ok(all(b[0] == (i - k) % workers for i, b in enumerate(seen, k)),
       'whose dealing is turned by k mod W')
    chunks = [{s // CHUNK for b in batches[w::workers] for s in b} for w in range(workers)]
    ok(all({s // CHUNK for s in b[1]} <= chunks[(b[0] + k) % workers] for b in seen),
       'each worker reads the chunks of one')
    remain = sum(len({s // CHUNK for i, b in enumerate(batches) if i >= k and i % workers == w
                      for s in b}) for w in range(workers))
    equal(sum(b[3] for b in seen), remain, 'and loads those of the remaining batches once')


def test_contrast(path, n, workers=3):
    """The same measurement finds what a plain block shuffle costs."""
    want, loads, _ = libpack(f'block:chunks={POOL}', n, workers, epochs=1)
    seen = run(path, want[0], n, workers, 2, False, 1)[0]
    counted = {(0, w): sum(b[3] for b in seen if b[0] == w) for w in range(workers)}
    equal(counted, loads, 'a plain block shuffle: loads as simulated')
    ok(sum(loads.values()) > 2 * n / CHUNK, f'{sum(loads.values())} loads of {n // CHUNK} chunks')


def test_whole_snippet(path, n):
    """The code as it is printed, with its own loader."""
    for args in (['-p', f'block:chunks={POOL},local'], ['-p', f'block:chunks={POOL}'],
                 ['-p', 'shuffle'], ['-p', 'sequential']):
        space = snippet(path, n, 2, *args)
        got = [sorted(int(image[0]) for batch in space['loader'] for image in batch)
               for _ in range(2)]
        ok(got == [sorted(i % 251 for i in range(n))] * 2, f'{args[1]}: each sample once, twice')
    for rank in 0, 1:
        os.environ['RANK'] = str(rank)
        loader = snippet(path, n, 2, '--rank', '0/2', '-p', f'block:chunks={POOL},local')['loader']
        ok((loader.batch_sampler.rank, loader.batch_sampler.world) == (rank, 2) and
           sum(map(len, loader)) == (n + 1) // 2, f'rank {rank} of 2, as torchrun says')


torch.set_num_threads(1)
N = 203
write('images.h5', N)
local = snippet('images.h5', N, 3, '-p', f'block:chunks={POOL},local')['LocalBlocks']
test_same_batches(local)
test_law(local)
for workers, prefetch, persistent in itertools.product((1, 2, 3), (1, 4), (True, False)):
    test_loader(local, 'images.h5', N, workers, prefetch, persistent)
test_resume(local, 'images.h5', N)
test_contrast('images.h5', N)
test_whole_snippet('images.h5', N)
done()
