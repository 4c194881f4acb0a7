"""
Whether what h5audit promises comes true. For each kind of finding that has a price a file that
has it, what is printed against it, and before and after that:

  bytes    of the file, or that an epoch reads: promised in price_bytes, and measured
  loads    chunks of a sample, of the audit before and after, and of h5readbench
  time     samples/s after over before: promised by the audit, and measured by stock HDF5 in
           h5readbench, in pairs of runs in turns until the 95 % interval of their ratio is
           below 10 % of it, else "not measurable"; wanted: within 25 %

The audit is as a user gets it, told no more than how the file is read; files were written just
before, and are read from memory. Then a file of many chunks: processor time and memory of its audit;
wanted: 2 s and 200 MB for 1,000,000.
"""
import argparse
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys

import h5py
import numpy as np

RNG = np.random.default_rng(1)


def noise(n, *shape, kind='u1'):
    return RNG.integers(0, 256, (n, *shape), 'u1').astype(kind)


def smooth(n, *shape):
    return np.cumsum(RNG.integers(0, 3, (n, *shape), 'u1'), axis=1, dtype='u1')


def dataset(path, data, **options):
    with h5py.File(path, 'w') as file:
        file.create_dataset('images', data=data, **options)


def holes(path, data):
    with h5py.File(path, 'w') as file:
        file.create_dataset('images', data=data, chunks=(1, *data.shape[1:]))
        file['old'], file['end'] = data[:len(data) // 2], np.zeros(64, 'u1')
    with h5py.File(path, 'r+') as file:
        del file['old']


AWAY = '--storage', 'nfs', '--ram', '1M'  # a reader whose storage no file here lies on
BLOCKS = ('--pattern', 'block:chunks=32')

# code: (what it is, makes a file of so many bytes, how it is read before, and after where what is
# printed says it in other words than options')
def kinds(size):
    face, photo = 3 * 218 * 178, 3 * 96 * 96
    n, m = max(100, size // face // 100 * 100), max(64, size // photo)
    return {
        102: ('217 of 218 rows in a chunk', lambda p: dataset(p, noise(n, 3, 218, 178), chunks=(100, 3, 217, 178)),
              (), None),
        103: ('images in strips', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=(1, 12, 96, 3)), (), None),
        104: ('chunks that h5py guessed', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=True), (), None),
        105: ('32 images a chunk', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=(32, 96, 96, 3)), (), None),
        106: ('rows of 128 bytes', lambda p: dataset(p, noise(size // 512, 128), chunks=(1, 128)), (), None),
        203: ('23 slots for 32 chunks', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=(16, 96, 96, 3)),
              (*BLOCKS, '--rdcc-nslots', '23', '--rdcc-nbytes', '16M'), None),
        205: ('48 images a chunk, gzip', lambda p: dataset(p, smooth(m, 96, 96, 3), chunks=(48, 96, 96, 3),
                                                          compression='gzip'), (), None),
        301: ('blocks that two workers load', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=(16, 96, 96, 3)),
              (*BLOCKS, '--workers', '2', '--rdcc-nbytes', '16M'), ('--pattern', 'block:chunks=32,local')),
        302: ('opened at each read', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=(16, 96, 96, 3)),
              (*BLOCKS, '--rdcc-nbytes', '16M', '--reopen'), ('--reopen', None)),
        303: ('scattered samples in one read', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=(1, 96, 96, 3)),
              ('--read', 'batch'), ('--read', 'sample')),
        401: ('shuffle of bytes', lambda p: dataset(p, smooth(m, 96, 96, 3), chunks=(1, 96, 96, 3), shuffle=True,
                                                    compression='gzip'), (), None),
        403: ('gzip of noise', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=(1, 96, 96, 3), compression='gzip'),
              (), None),
        404: ('gzip', lambda p: dataset(p, smooth(m, 96, 96, 3), chunks=(1, 96, 96, 3), compression='gzip'), (), None),
        405: ('bytes as floats', lambda p: dataset(p, noise(m // 4, 96, 96, 3, kind='f4'), chunks=(1, 96, 96, 3)),
              ('--deep',), None),
        406: ('no compression', lambda p: dataset(p, noise(m, 96, 96, 3) % 4, chunks=(1, 96, 96, 3)),
              ('--deep', *AWAY), None),
        510: ('a deleted dataset', lambda p: holes(p, noise(m, 96, 96, 3)), (), None),
    }


def changed(options, new):
    """The options with these in their places; one whose value is None goes."""
    table, i = {}, 0
    for words in (options, new):
        i = 0
        while i < len(words):
            has_value = i + 1 < len(words) and not str(words[i + 1]).startswith('--')
            table[words[i]] = words[i + 1] if has_value else ''
            i += 2 if has_value else 1
    return [word for name, value in table.items() if value is not None
            for word in ((name, value) if value else (name,))]


class Bench:
    def __init__(self, args):
        self.args = args
        self.within, self.timed = [], []

    def program(self, name):
        return os.path.join(self.args.tools, name)

    def audit(self, path, words):
        run = subprocess.run([self.program('h5audit'), '--json', '-q', *changed(('--workers', '1', '--batch', '32'), words),
                              path], capture_output=True, text=True)
        if run.returncode > 1:
            sys.exit(f'audit: {run.stderr}')
        file = json.loads(run.stdout)['result']['files'][0]
        readings = [d['reading'] for d in file['datasets'] if d['path'] == 'images']
        return {f['code']: f for f in file['findings']}, readings[0] if readings else None

    def read(self, path, seed, words):
        words = changed(('--workers', '1', '--batch', '32', '--epochs', '30', '--seconds', '1', '--seed', str(seed)),
                        [w for w in words if w not in ('--deep', *AWAY)])
        run = subprocess.run([self.program('h5readbench'), '--json', '-q', '--no-trial', *words, f'{path}:/images'],
                             capture_output=True, text=True)
        if run.returncode > 1:
            sys.exit(f'audit: {run.stderr}')
        report = json.loads(run.stdout)
        epochs = [e['samples'] / e['elapsed_ns'] * 1e9 for e in report['measured']['epochs'] if e['samples']]
        counts = max((e['counts'] for e in report['result']['epochs']), key=lambda c: c['wanted_bytes'])
        return statistics.median(epochs[1:-1] or epochs[-1:]), counts

    def ratio(self, *sides):
        """Median-free: the mean of the logarithms of paired ratios, and half of its interval."""
        logs, half = [], math.inf
        while len(logs) < self.args.pairs and (len(logs) < 5 or half >= 0.05):
            i = len(logs)
            rates = [self.read(path, i, ('--no-check', *words))[0]
                     for path, words in (sides if i % 2 else sides[::-1])]
            logs.append(math.log(rates[1] / rates[0]) * (1 if i % 2 else -1))
            if len(logs) > 1:
                half = 1.96 * statistics.stdev(logs) / math.sqrt(len(logs))
        return math.exp(statistics.mean(logs)), half, len(logs)

    def fix(self, finding, new):
        command = shlex.split(finding['command'])
        if command[0] not in ('h5repack',):
            command[0] = self.program(command[0])
        command[command.index('new.h5')] = new
        subprocess.run(command, check=True, capture_output=True)

    def kind(self, code, what, make, words, then_words):
        before, after = (os.path.join(self.args.folder, f'{code}{side}.h5') for side in ('', '-new'))
        make(before)
        found, reading = self.audit(before, words)
        finding = found.get(f'H5A{code}')
        new_words = words
        if not finding:
            print(f'H5A{code} {what}: not found')
            return
        if then_words:
            after, new_words = before, changed(words, then_words)
        elif finding['command']:
            self.fix(finding, after)
        elif (finding['remedy'] or '').startswith('rdcc_'):
            after = before
            for name, value in re.findall(r'rdcc_(\w+)=([0-9.]+)', finding['remedy']):
                new_words = changed(new_words, (f'--rdcc-{name}', value))
        else:
            print(f'H5A{code} {what}: nothing is printed that mends it: {finding["remedy"]}')
            return
        left, then = self.audit(after, new_words)
        gone = f'H5A{code}' not in left
        print(f'H5A{code} {what}: {"gone" if gone else "still there"} after {finding["command"] or finding["remedy"]}')
        sizes = os.path.getsize(before), os.path.getsize(after)
        if finding['price_bytes'] and code in (102, 405, 406, 510):
            saved = sizes[0] - sizes[1]
            print(f'  file: {finding["price_bytes"]:.0f} bytes promised, {saved} saved, '
                  f'{saved / finding["price_bytes"]:.4f} of it')
        for side, path, told, set_to in (('before', before, reading, words), ('after', after, then, new_words)):
            if told:
                counts = self.read(path, 1, set_to)[1]
                n = counts['wanted_bytes'] / self.sample_bytes(path)
                if n:
                    print(f'  {side}: {told["loads_per_sample"]:.4g} loads a sample told, {counts["file_reads"] / n:.4g} '
                          f'reads counted; {told["amplification"]:.4g} bytes for each wanted told, '
                          f'{counts["file_read_bytes"] / counts["wanted_bytes"]:.4g} counted')
        if reading and then and gone and '--storage' not in words:
            self.time(code, finding, reading, then, (before, words), (after, new_words))

    def time(self, code, finding, reading, then, *sides):
        promised = then['samples_per_s'] / reading['samples_per_s']
        by_price = reading['epoch_s'] / max(1e-9, reading['epoch_s'] - finding['price_s_per_epoch'])
        measured, half, n = self.ratio(*sides)
        if half >= 0.05:
            print(f'  time: {promised:.3g} times as fast told; not measurable ({measured:.3g} within '
                  f'{100 * half:.0f} % after {n} pairs)')
            return
        is_within = 0.75 <= promised / measured <= 1.25
        self.timed.append(code)
        self.within += [code] * is_within
        print(f'  time: {promised:.3g} times as fast told ({by_price:.3g} by the price), {measured:.3g} within '
              f'{100 * half:.1f} % of {n} pairs: {promised / measured:.3f}{"" if is_within else "  NOT within 25 %"}')

    @staticmethod
    def sample_bytes(path):
        with h5py.File(path) as file:
            images = file['images']
            return math.prod(images.shape[1:]) * images.dtype.itemsize

    def many(self, n):
        path = os.path.join(self.args.folder, 'many.h5')
        with h5py.File(path, 'w', libver=('v110', 'v110')) as file:
            images = file.create_dataset('images', (n, 8, 8), 'u1', chunks=(1, 8, 8))
            block = noise(min(n, 10000), 8, 8)
            for i in range(0, n, len(block)):
                images[i:i + len(block)] = block[:n - i]
        # by way of a small process: one counts the memory of that which began it as its own
        alone = ('import os, subprocess, sys; p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL); '
                 'u = os.wait4(p.pid, 0)[2]; print(u.ru_utime + u.ru_stime, u.ru_maxrss / 1000)')
        run = subprocess.run([sys.executable, '-S', '-c', alone, self.program('h5audit'), '-q', path],
                             capture_output=True, text=True, check=True)
        seconds, megabytes = map(float, run.stdout.split())
        print(f'{n} chunks: {seconds:.2f} s of processor time, {megabytes:.0f} MB at most')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('tools')
    parser.add_argument('folder')
    parser.add_argument('--mib', type=int, default=128)
    parser.add_argument('--pairs', type=int, default=60)
    parser.add_argument('--chunks', type=int, default=1000000)
    parser.add_argument('--only', default='')
    bench = Bench(parser.parse_args())
    sys.stdout.reconfigure(line_buffering=True)
    only = [int(code) for code in bench.args.only.split(',') if code]
    for code, row in kinds(bench.args.mib << 20).items():
        if not only or code in only:
            bench.kind(code, *row)
    print(f'gains of {len(bench.within)} kinds of the {len(bench.timed)} that could be measured are within 25 %: '
          f'{", ".join(map(str, bench.within))}')
    bench.many(bench.args.chunks)


main()
