"""Whether advice holds when it is applied, as a user applies it: h5advise FILE with its
default options, the first choice carried out, and h5readbench run on what was there and on
what was advised, in turns.

    regret.py BUILD FOLDER     environment: REGRET_CASES=12 REGRET_SEED=1 REGRET_PAIRS=7
                               REGRET_MIB=128 REGRET_RUN=2 REGRET_PROVE= REGRET_SECONDS=1500
                               REGRET_GRID=1 (0: gains only)

A case is a kind of file, an order, a number of workers, and warm pages or cold ones. For each:
what was predicted, what was measured (median and 95 % interval of the pairs' ratios), and what
part the choice reaches of the best of a fixed grid of settings and layouts that the advisor
does not choose from. The last lines count: choices whose interval lies wholly below 0.95, choices below 0.9 of the grid's
best, gains within a quarter of the predicted one; then each miss. Times are of this machine.
"""
import ctypes
import json
import math
import mmap
import os
import random
import signal
import subprocess
import sys
import time

import h5py
import numpy as np

BUILD, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CASES = int(os.environ.get('REGRET_CASES', 12))
SEED = int(os.environ.get('REGRET_SEED', 1))
PAIRS = int(os.environ.get('REGRET_PAIRS', 7))
MIB = int(os.environ.get('REGRET_MIB', 128))
PROVE = os.environ.get('REGRET_PROVE', '')
GRID = os.environ.get('REGRET_GRID', '1') != '0'
SECONDS = float(os.environ.get('REGRET_SECONDS', 1500))
EPOCHS, RUN_SECONDS = 30, float(os.environ.get('REGRET_RUN', 2))
# Workers begin together, and what they are at when a run ends is not counted: of few batches
# each the rate comes out too low.
BATCHES, RUN_SECONDS_MAX = 24, max(20, RUN_SECONDS)
WHOLE_SECONDS = 8
SPANS = {}  # of readings whose runs are to be longer, in seconds
ZSTD = 32015
libc = ctypes.CDLL(None)


class Limit:
    """A memory cgroup for what is run inside; of version 1 or 2, where there is one to be had."""
    procs = None  # of the cgroup that programs are to be started in

    def __init__(self, limit):
        name = f'h5pack-regret-{os.getpid()}'
        self.folder = None
        for top, file in ('/sys/fs/cgroup/memory', 'memory.limit_in_bytes'), \
                         ('/sys/fs/cgroup', 'memory.max'):
            try:
                os.makedirs(f'{top}/{name}', exist_ok=True)
                with open(f'{top}/{name}/{file}', 'w') as f:
                    f.write(str(limit))
                self.folder = f'{top}/{name}'
                break
            except OSError:
                if os.path.isdir(f'{top}/{name}'):
                    os.rmdir(f'{top}/{name}')

    def __enter__(self):
        Limit.procs = f'{self.folder}/cgroup.procs' if self.folder else None
        return self

    def __exit__(self, *_):
        Limit.procs = None
        if self.folder:
            self.remove()

    def remove(self):
        """Readers whose parent was killed may be there yet."""
        for _ in range(100):
            try:
                with open(f'{self.folder}/cgroup.procs') as f:
                    for pid in f.read().split():
                        os.kill(int(pid), signal.SIGKILL)
                return os.rmdir(self.folder)
            except (OSError, ProcessLookupError):
                time.sleep(0.05)


def enter_limit():
    if Limit.procs:
        with open(Limit.procs, 'w') as f:
            f.write(str(os.getpid()))


def program(name, *args):
    done = subprocess.run([f'{BUILD}/tools/{name}', *args], capture_output=True, text=True,
                          preexec_fn=enter_limit)
    if done.returncode not in (0, 1) or not done.stdout:
        why = 'was killed' if done.returncode == -signal.SIGKILL else done.stderr.strip()
        raise RuntimeError(f'{name} {" ".join(args)}: {why}')
    return json.loads(done.stdout)


# ------------------------------------------------------------------------------- files

def photos(n, shape, rng):
    """Something like photographs: slow waves and noise, uint8."""
    height, width, channels = shape
    y, x = np.mgrid[0:height, 0:width]
    waves = [120 + 60 * np.sin(x / 23 + c) * np.cos(y / 31) for c in range(channels)]
    tile = np.stack(waves, axis=-1)[None]
    shift = rng.integers(-40, 40, (n, 1, 1, channels))
    noise = rng.integers(0, 8, (n, height, width, channels))
    return (tile + shift + noise).astype(np.uint8)


def write(path, data, chunks, **codec):
    with h5py.File(path, 'w', libver=('v110', 'latest')) as f:
        f.create_dataset('images', data=data, chunks=chunks, **codec)
        f['labels'] = np.arange(len(data)) % 10


def n_of(shape):
    return max(64, (MIB << 20) // int(np.prod(shape)))


def image_file(shape, chunks, crop=None, times=1, **codec):
    def make(path, rng):
        data = photos(times * n_of(shape), shape, rng)
        write(path, data, chunks if chunks is True or chunks is None else (min(chunks, len(data)), *shape),
              **codec)
    return make, crop


def celeba(path, rng):
    data = photos(n_of((218, 178, 3)), (218, 178, 3), rng).transpose(0, 3, 1, 2)
    write(path, np.ascontiguousarray(data), (100, 3, 217, 178))


def h5pack(*options):
    def make(path, _rng):
        folder = f'{FOLDER}/photos'
        if not os.path.isdir(folder):
            subprocess.run([f'{BUILD}/tests/render_samples', folder, str(MIB * 7), '1', '224'],
                           check=True, capture_output=True)
        subprocess.run([f'{BUILD}/tools/h5pack', '-q', '-f', folder, '--size', '224x224',
                        *options, '-o', path], check=True, capture_output=True)
    return make, '112x112'


def volume(path, rng):
    side = int(round((MIB * (1 << 20) / 4) ** (1 / 3))) // 32 * 32
    with h5py.File(path, 'w', libver=('v110', 'latest')) as f:
        f.create_dataset('images', data=rng.random((side, side, side), dtype=np.float32),
                         chunks=(32, 32, 32))


def virtual(path, rng):
    shape = (224, 224, 3)
    n = n_of(shape) // 4
    layout = h5py.VirtualLayout((4 * n, *shape), np.uint8)
    for i in range(4):
        part = f'{path[:-3]}-{i}.h5'
        write(part, photos(n, shape, rng), (1, *shape))
        layout[i * n:(i + 1) * n] = h5py.VirtualSource(part, 'images', (n, *shape))
    with h5py.File(path, 'w', libver='latest') as f:
        f.create_virtual_dataset('images', layout)


LIMITED = 6  # times as large, with memory for half of it

KINDS = {  # name: (maker, side of a crop)
    'h5pack': h5pack(),
    'h5pack-zstd': h5pack('--compress', 'zstd'),
    'h5pack-16': h5pack('--chunk', '16'),
    'contiguous': image_file((224, 224, 3), None, '112x112'),
    'h5py-auto': image_file((224, 224, 3), True, '112x112'),
    'gzip-1': image_file((224, 224, 3), 1, '112x112', compression='gzip', compression_opts=1),
    'gzip-16': image_file((128, 128, 3), 16, '64x64', compression='gzip', compression_opts=1),
    'gzip-100': image_file((64, 64, 3), 100, '32x32', compression='gzip', compression_opts=1),
    'celeba-217': (celeba, None),
    'cifar': image_file((32, 32, 3), 1, None),
    'cifar-1000': image_file((32, 32, 3), 1000, None),
    'images-8': image_file((224, 224, 3), 8, '112x112'),
    'images-64': image_file((128, 128, 3), 64, '64x64'),
    'limited': image_file((224, 224, 3), 1, '112x112', times=LIMITED),
    'volume': (volume, None),
    'virtual': (virtual, None),
}
ORDERS = ['shuffle', 'shuffle', 'sequential', 'block:chunks=16', 'crop']


def draw(rng):
    while True:
        kind = rng.choice(sorted(KINDS))
        order = rng.choice(ORDERS)
        if order == 'crop' and KINDS[kind][1] is None:
            continue
        return kind, 'shuffle' if kind == 'volume' else order, rng.choice([1, 2, 4]), \
            rng.random() < 0.2


# ---------------------------------------------------------------------------- measuring

def resident_rate(file):
    """The part of a file that lies in the page cache."""
    size = os.fstat(file.fileno()).st_size
    pages = -(-size // mmap.PAGESIZE)
    with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as view:
        start = ctypes.c_char.from_buffer(view)
        found = (ctypes.c_ubyte * pages)()
        failed = libc.mincore(ctypes.byref(start), ctypes.c_size_t(size), found)
        del start
    return 1 if failed else sum(page & 1 for page in found) / pages


def touch(path, cold):
    """Pages gone, or there; under a limit whoever reads them first is to be charged."""
    cold = cold or Limit.procs
    with h5py.File(path) as f:
        parts = [s.file_name for s in f['images'].virtual_sources()] \
            if f['images'].is_virtual else []
    for name in [path, *parts]:
        name = os.path.join(os.path.dirname(path), os.path.basename(name))
        with open(name, 'rb') as f:
            if cold:
                os.fsync(f.fileno())
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                left = resident_rate(f)
                if left > 0.01:
                    raise RuntimeError(f'{left:.0%} of {name} stay in the page cache')
            else:
                while f.read(1 << 24):
                    pass


def settle(path, cold):
    """Pages as a later run finds them: read from the disk, and not left there by who wrote
    the file, which are larger and faster."""
    touch(path, True)
    touch(path, cold)


def pattern_of(row, case):
    order = row['order']
    if order.startswith(('block', 'local')):
        local = ',local' if order.startswith('local') else ''
        return f'block:chunks={order.split()[1]}{local}'
    return 'shuffle' if case[1] == 'crop' else case[1]


def reading(path, case, pattern, cache):
    """Arguments of h5readbench, and whether its file is to be cold when it begins."""
    kind, order, workers, cold = case
    args = [path, '-d', 'images', '-q', '--json', '--no-check', '--no-trial', '-w', str(workers), '-b', '64',
            '-e', str(EPOCHS), '--seed', '1', '-p', pattern]
    if order == 'crop':
        args += ['--crop', KINDS[kind][1]]
    if kind == 'volume':
        args += ['--box', '32x32x32']
    if cache:
        args += ['--rdcc-nbytes', str(cache[0]), '--rdcc-nslots', str(cache[1]),
                 '--rdcc-w0', str(cache[2])]
    return args, cold


def run(what, is_long=True):
    """Samples/s: of the whole run, and of all epochs but the first, or of the later half of
    those that were read."""
    args, cold = what
    seconds = SPANS.get(tuple(args), RUN_SECONDS) if is_long else RUN_SECONDS
    touch(args[0], cold)  # warm pages too: a system may take back what lies idle
    measured = program('h5readbench', *args, '--seconds', str(seconds))['measured']
    epochs = [(e['samples'], e['elapsed_ns']) for e in measured['epochs'] if e['samples']]
    n = sum(e[0] for e in epochs)
    least = BATCHES * 64 * int(args[args.index('-w') + 1])
    if is_long and n < least and len(epochs) < EPOCHS and seconds < RUN_SECONDS_MAX:
        SPANS[tuple(args)] = min(RUN_SECONDS_MAX, seconds * max(2, 1.5 * least / max(n, 1)))
        return run(what)

    def rate(part):
        return sum(e[0] for e in part) * 1e9 / max(1, sum(e[1] for e in part))
    whole = len(epochs) == EPOCHS  # else caches may have filled for most of what was read
    later = epochs[1:] if whole else epochs[len(epochs) // 2:-1] or epochs[-1:]
    return {'rate': rate(epochs), 'later': rate(later), 'whole': whole}


def lengthen(*whats):
    """Runs last for all their epochs where that takes no longer than WHOLE_SECONDS: a cache that
    fills for a while is part of a training, and later epochs alone know nothing of it."""
    before = dict(SPANS)
    for args, _ in whats:
        SPANS[tuple(args)] = WHOLE_SECONDS
    if not all(run(what)['whole'] for what in whats):
        SPANS.clear()
        SPANS.update(before)


def interval(ratios):
    """Of the median, 95 %, by order statistics."""
    ratios, n = sorted(ratios), len(ratios)
    k, below = 0, 0.0
    while k < n // 2:
        below += math.comb(n, k) / 2 ** n
        if below > 0.025:
            break
        k += 1
    k = max(0, k - 1)
    return ratios[k], ratios[n - 1 - k]


def pairs(one, two, n, is_long=True):
    """Ratios of `two` over `one`, run in turns; whole runs where both are."""
    runs = []
    for i in range(n):
        pair = [run(r, is_long) for r in ((one, two) if i % 2 == 0 else (two, one))]
        if i % 2:
            pair.reverse()
        runs.append(pair)
    whole = all(r['whole'] for pair in runs for r in pair)
    key = 'rate' if whole else 'later'
    return [b[key] / a[key] for a, b in runs], whole, float(np.median([a[key] for a, _ in runs]))


# ------------------------------------------------------------------------------- advice

def advise(path, case):
    kind, order, workers, cold = case
    args = [f'{path}:/images', '-q', '--json', '-w', str(workers), '-b', '64']
    if order not in ('shuffle', 'crop'):
        args += ['-p', order]
    if order == 'crop':
        args += ['--crop', KINDS[kind][1]]
    if kind == 'volume':
        args += ['-p', 'replacement', '--box', '32x32x32']
    if PROVE:
        args += ['--prove']
    start = time.monotonic()
    answer = program('h5advise', *args)
    return answer, time.monotonic() - start


def rewrite(path, row, out):
    """The file in the layout of a row, by stock HDF5."""
    codec = row['codec']
    options = {}
    if 'gzip' in codec:
        options = {'compression': 'gzip', 'compression_opts': int(codec.split(':')[-1])}
    elif 'zstd' in codec:
        options = {'compression': ZSTD, 'compression_opts': (int(codec.split(':')[-1]),)}
    if 'shuffle' in codec:
        options['shuffle'] = True
    with h5py.File(path) as f, h5py.File(out, 'w', libver=('v110', 'latest')) as g:
        old = f['images']
        new = g.create_dataset('images', old.shape, old.dtype,
                               chunks=tuple(row['chunk']) if row['chunk'] else None, **options)
        step = max(1, (64 << 20) // max(1, old.nbytes // len(old)))
        step = -(-step // (row['chunk'][0] if row['chunk'] else 1)) * \
            (row['chunk'][0] if row['chunk'] else 1)
        for i in range(0, len(old), step):
            new[i:i + step] = old[i:i + step]
        if 'labels' in f:
            g['labels'] = f['labels'][:]


def pattern_name(case):
    if case[0] == 'volume':
        return 'replacement'
    return 'shuffle' if case[1] == 'crop' else case[1]


def look(base, args, best):
    """The gain of one pair of runs, of two where it may be the best one; 0 where a reader does
    not fit the memory there is: that is no contender."""
    try:
        ratios = pairs(base, args, 1, False)[0]
    except RuntimeError as error:
        if Limit.procs and 'was killed' in str(error):
            return 0.0
        raise
    if ratios[0] > 0.8 * best:
        ratios += pairs(base, args, 1, False)[0]
    return float(np.median(ratios))


def grid(path, case, base):
    """The best of fixed settings in today's order, over today's: the gain, its name and
    arguments. Its file stays until the next case."""
    best, name, fastest = 1.0, 'today', base
    pattern = pattern_name(case)
    settings = [(0, 0, 0.75), (8 << 20, 8191, 0.75), (64 << 20, 20011, 0.75),
                (2 * MIB << 20, 100003, 0.75)]
    for cache in settings:
        args = reading(path, case, pattern, cache)
        gain = look(base, args, best)
        if gain > best:
            best, name, fastest = gain, f'rdcc_nbytes={cache[0] >> 20}M', args
    with h5py.File(path) as f:
        shape = f['images'].shape
    if case[0] in ('volume', 'virtual'):
        return best, name, fastest
    for samples in (1, 16):
        row = {'codec': 'none', 'chunk': [min(samples, shape[0]), *shape[1:]]}
        out = f'{FOLDER}/grid-{samples}.h5'
        rewrite(path, row, out)
        settle(out, case[3])
        for cache in (None, (0, 0, 0.75)):
            args = reading(out, case, pattern, cache)
            gain = look(base, args, best)
            if gain > best:
                best, name, fastest = gain, f'{samples} a chunk, {cache}', args
    return best, name, fastest


def try_case(case):
    if case[0] != 'limited':
        return try_freely(case)
    with Limit(LIMITED * (MIB << 20) // 2) as limit:
        if not limit.folder:
            raise RuntimeError('no memory cgroup can be made here')
        return try_freely(case)


def try_freely(case):
    kind, order, workers, cold = case
    path = f'{FOLDER}/{kind}.h5'
    if not os.path.exists(path):
        KINDS[kind][0](path, np.random.default_rng(SEED))
    settle(path, cold)
    answer, seconds = advise(path, case)
    row, now = answer['result']['rows'][0], answer['result']['now']
    touch(path, cold)
    base = reading(path, case, pattern_name(case), None)
    result = {'case': case, 'seconds': seconds, 'change': row['change'], 'gain': 1.0,
              'low': 1.0, 'high': 1.0, 'predicted': 1.0}
    chosen, advised = path, base
    if row['change'] != 'none':
        if row['change'] == 'rewrite':
            chosen = f'{FOLDER}/chosen.h5'
            rewrite(path, row, chosen)
            settle(chosen, cold)
        cache = (row['rdcc_nbytes'], row['rdcc_nslots'], row['rdcc_w0']) if row['chunk'] else None
        pattern = 'replacement' if kind == 'volume' else pattern_of(row, case)
        advised = reading(chosen, case, pattern, cache)
        ratios, whole, today = pairs(base, advised, PAIRS)
        result['gain'] = float(np.median(ratios))
        result['low'], result['high'] = interval(ratios)
        key = 'samples_per_s' if whole else 'later_epochs_samples_per_s'
        result['predicted'] = row[key] / now[key]
        result['today'] = f'{now[key] / today:.2f}, choice {row[key] / (today * result["gain"]):.2f}'
    result['grid'], result['grid_name'], fastest = grid(path, case, base) if GRID \
        else (math.nan, '', None)
    result['reach'] = result['gain'] / result['grid']
    if result['reach'] < 1 and fastest is not advised:
        # the best of many short looks is partly luck: it has to win in turns as well
        lengthen(fastest, advised)
        ratios, _, _ = pairs(fastest, advised, PAIRS)
        result['reach'] = float(np.median(ratios))
    for name in 'chosen', 'grid-1', 'grid-16':
        if os.path.exists(f'{FOLDER}/{name}.h5'):
            os.unlink(f'{FOLDER}/{name}.h5')
    chunk = 'x'.join(map(str, row['chunk'])) if row['chunk'] else 'contiguous'
    result['what'] = 'keep' if row['change'] == 'none' else \
        f'{chunk} {row["codec"]} {row["order"]} {row["rdcc_nbytes"] / 2**20:.3g}M'
    return result


def main():
    rng = random.Random(SEED)
    start = time.monotonic()
    print(f'seed {SEED}, {MIB} MiB a file, {PAIRS} pairs of runs of {RUN_SECONDS:g} s, '
          f'{"--prove" if PROVE else "default options"}, HDF5 {h5py.version.hdf5_version}')
    print(f'{"file":12} {"order":15} {"w":1} {"pages":5} {"pred":>6} {"gain":>6} '
          f'{"95 %":>12} {"reach":>6}  choice')
    results, seen = [], set()
    while len(results) < CASES and time.monotonic() - start < SECONDS:
        case = draw(rng)
        if case in seen:
            continue
        seen.add(case)
        try:
            r = try_case(case)
        except RuntimeError as error:
            print(f'{case}: {error}')
            continue
        results.append(r)
        kind, order, workers, cold = case
        print(f'{kind:12} {order:15} {workers} {"cold" if cold else "warm":5} '
              f'{r["predicted"]:6.2f} {r["gain"]:6.2f} {r["low"]:5.2f}..{r["high"]:<5.2f} '
              f'{r["reach"]:6.2f}  {r["what"]} ({r["seconds"]:.0f} s)', flush=True)
    losses = [r for r in results if r['high'] < 0.95]
    regrets = [r for r in results if r['reach'] < 0.9]
    far = [r for r in results if not 0.8 <= r['predicted'] / r['gain'] <= 1.25]
    n = max(1, len(results))
    print(f'\n{len(results)} cases in {time.monotonic() - start:.0f} s')
    print(f'losses (interval wholly below 0.95): {len(losses)} (0 wanted)')
    if GRID:
        print(f'at least 0.9 of the best of the grid: {1 - len(regrets) / n:.2f}')
    print(f'gain within a quarter of the predicted: {1 - len(far) / n:.2f} '
          f'({0.95 if PROVE else 0.85} wanted)')
    for title, rows in ('loss', losses), ('regret', regrets), ('far', far):
        for r in rows:
            print(f'{title}: {r["case"]}: {r["what"]}: predicted {r["predicted"]:.2f}, '
                  f'{r["gain"]:.2f} ({r["low"]:.2f} to {r["high"]:.2f}), '
                  f'{r["reach"]:.2f} of {r["grid_name"]}; rates predicted over measured: today '
                  f'{r.get("today", 1)}')


if __name__ == '__main__':
    main()
