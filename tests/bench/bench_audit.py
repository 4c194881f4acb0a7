"""
Whether what h5audit promises comes true. For each of twelve kinds of finding a file that has
it, the printed fix, and before and after it:

  bytes    of the file, or that an epoch reads: promised in price_bytes, and measured
  loads    chunks of a sample, of the audit before and after, and of h5readbench
  time     samples/s after over before: promised by the audit, and measured by stock HDF5 in
           h5readbench, in pairs of runs in turns until the 95 % interval of their ratio is
           below 10 % of it, else "not measurable"; wanted: within 25 %

The audit has the times of this machine (h5advise --calibrate); files were written just before,
and are read from memory. Then a file of many chunks: processor time and memory of its audit;
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


# code: (what it is, makes a file of so many bytes, options of the audit)
def kinds(size):
    face, photo = 3 * 218 * 178, 3 * 96 * 96
    n, m = max(100, size // face // 100 * 100), max(64, size // photo)
    return {
        102: ('217 of 218 rows in a chunk', lambda p: dataset(p, noise(n, 3, 218, 178), chunks=(100, 3, 217, 178)), ()),
        103: ('images in strips', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=(1, 12, 96, 3)), ()),
        104: ('chunks that h5py guessed', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=True), ()),
        105: ('32 images a chunk', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=(32, 96, 96, 3)), ()),
        106: ('rows of 128 bytes', lambda p: dataset(p, noise(size // 512, 128), chunks=(1, 128)), ()),
        205: ('48 images a chunk, gzip', lambda p: dataset(p, smooth(m, 96, 96, 3), chunks=(48, 96, 96, 3),
                                                          compression='gzip'), ()),
        401: ('shuffle of bytes', lambda p: dataset(p, smooth(m, 96, 96, 3), chunks=(1, 96, 96, 3), shuffle=True,
                                                    compression='gzip'), ()),
        403: ('gzip of noise', lambda p: dataset(p, noise(m, 96, 96, 3), chunks=(1, 96, 96, 3), compression='gzip'), ()),
        404: ('gzip', lambda p: dataset(p, smooth(m, 96, 96, 3), chunks=(1, 96, 96, 3), compression='gzip'), ()),
        405: ('bytes as floats', lambda p: dataset(p, noise(m // 4, 96, 96, 3, kind='f4'), chunks=(1, 96, 96, 3)),
              ('--deep',)),
        406: ('no compression', lambda p: dataset(p, smooth(m, 96, 96, 3), chunks=(1, 96, 96, 3)), ('--deep',)),
        510: ('a deleted dataset', lambda p: holes(p, noise(m, 96, 96, 3)), ()),
    }


class Bench:
    def __init__(self, args):
        self.args = args
        self.profile = os.path.join(args.folder, 'profile.json')

    def program(self, name):
        return os.path.join(self.args.tools, name)

    def audit(self, path, *words):
        run = subprocess.run([self.program('h5audit'), '--json', '-q', '--workers', '1', '--batch', '32', '--storage',
                              self.profile, *words, path], capture_output=True, text=True)
        if run.returncode > 1:
            sys.exit(f'audit: {run.stderr}')
        file = json.loads(run.stdout)['result']['files'][0]
        readings = [d['reading'] for d in file['datasets'] if d['path'] == 'images']
        return {f['code']: f for f in file['findings']}, readings[0] if readings else None

    def read(self, path, seed, settings=()):
        run = subprocess.run([self.program('h5readbench'), '--json', '-q', '--no-trial', '--workers', '1', '--batch', '32',
                              '--epochs', '30', '--seconds', '2', '--seed', str(seed), *settings, f'{path}:/images'],
                             capture_output=True, text=True)
        if run.returncode > 1:
            sys.exit(f'audit: {run.stderr}')
        report = json.loads(run.stdout)
        epochs = [e['samples'] / e['elapsed_ns'] * 1e9 for e in report['measured']['epochs'] if e['samples']]
        counts = max((e['counts'] for e in report['result']['epochs']), key=lambda c: c['wanted_bytes'])
        return statistics.median(epochs[1:-1] or epochs[-1:]), counts

    def ratio(self, before, after, settings):
        """Median-free: the mean of the logarithms of paired ratios, and half of its interval."""
        logs = []
        for i in range(self.args.pairs):
            sides = [(before, ()), (after, settings)]
            rates = [self.read(path, i, ('--no-check', *words))[0]
                     for path, words in (sides if i % 2 else sides[::-1])]
            logs.append(math.log(rates[1] / rates[0]) * (1 if i % 2 else -1))
            if len(logs) >= 5:
                half = 1.96 * statistics.stdev(logs) / math.sqrt(len(logs))
                if half < 0.05:
                    break
        half = 1.96 * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
        return math.exp(statistics.mean(logs)), half, len(logs)

    def fix(self, finding, new):
        command = shlex.split(finding['command'])
        if command[0] not in ('h5repack',):
            command[0] = self.program(command[0])
        command[command.index('new.h5')] = new
        subprocess.run(command, check=True, capture_output=True)

    def kind(self, code, what, make, words):
        before, after = (os.path.join(self.args.folder, f'{code}{side}.h5') for side in ('', '-new'))
        make(before)
        found, reading = self.audit(before, *words)
        finding = found.get(f'H5A{code}')
        settings = []
        if finding and finding['command']:
            self.fix(finding, after)
        elif finding and (finding['remedy'] or '').startswith('rdcc_'):
            after = before
            for name, value in re.findall(r'rdcc_(\w+)=([0-9.]+)', finding['remedy']):
                settings += [f'--rdcc-{name}', value]
        else:
            print(f'H5A{code} {what}: {"nothing is printed that mends it" if finding else "not found"}')
            return
        left, then = self.audit(after, *words, *settings)
        gone = f'H5A{code}' not in left
        print(f'H5A{code} {what}: {"gone" if gone else "still there"}')
        sizes = os.path.getsize(before), os.path.getsize(after)
        if finding['price_bytes'] and code in (102, 405, 406, 510):
            saved = sizes[0] - sizes[1]
            print(f'  file: {finding["price_bytes"]:.0f} bytes promised, {saved} saved, '
                  f'{saved / finding["price_bytes"]:.4f} of it')
        for side, path, told, set_to in (('before', before, reading, ()), ('after', after, then, settings)):
            if told:
                counts = self.read(path, 1, set_to)[1]
                n = counts['wanted_bytes'] / self.sample_bytes(path)
                if n:
                    print(f'  {side}: {told["loads_per_sample"]:.4g} loads a sample told, {counts["file_reads"] / n:.4g} '
                          f'reads counted; {told["amplification"]:.4g} bytes for each wanted told, '
                          f'{counts["file_read_bytes"] / counts["wanted_bytes"]:.4g} counted')
        if not reading or not then or not gone:
            return
        promised = then['samples_per_s'] / reading['samples_per_s']
        by_price = reading['epoch_s'] / max(1e-9, reading['epoch_s'] - finding['price_s_per_epoch'])
        measured, half, n = self.ratio(before, after, settings)
        if half >= 0.05:
            print(f'  time: {promised:.3g} times as fast told; not measurable ({measured:.3g} within '
                  f'{100 * half:.0f} % after {n} pairs)')
            return
        print(f'  time: {promised:.3g} times as fast told ({by_price:.3g} by the price), {measured:.3g} within '
              f'{100 * half:.1f} % of {n} pairs: {promised / measured:.3f}'
              f'{"" if 0.75 <= promised / measured <= 1.25 else "  NOT within 25 %"}')

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
    subprocess.run([bench.program('h5advise'), '--calibrate', bench.args.folder, '-o', bench.profile, '-q'], check=True)
    only = [int(code) for code in bench.args.only.split(',') if code]
    for code, (what, make, words) in kinds(bench.args.mib << 20).items():
        if not only or code in only:
            bench.kind(code, what, make, words)
    bench.many(bench.args.chunks)


main()
