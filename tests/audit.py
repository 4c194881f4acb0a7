"""h5audit, rule by rule: a small file that breaks it and one that just does not; commands that it
prints are run, and what they mend is gone; damage; the manual says what --explain says."""
import functools
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree

import h5py
import numpy as np
from tap import done, equal, note, ok, skip

work = sys.argv[1]
source = os.environ['top_srcdir']
LONG = bool(os.environ.get('H5PACK_LONG'))  # also what says little more, and takes long
os.chdir(work)
rng = np.random.default_rng(3)
noise = rng.integers(0, 256, (1024, 64, 64), 'u1')
smooth = np.repeat(np.arange(1024, dtype='u1'), 4096).reshape(1024, 64, 64)


def audit(*words, status=None):
    run = subprocess.run(['h5audit', '--json', *words], capture_output=True, text=True)
    if status is not None and run.returncode not in status:
        note(f'status {run.returncode}: {run.stderr}')
    return run.returncode, json.loads(run.stdout) if run.stdout else None


def findings(path, *words):
    status, report = audit(path, *words)
    return [f for file in report['result']['files'] for f in file['findings']] if report else [status]


def codes(path, *words):
    return sorted({f['code'] for f in findings(path, *words)})


def write(path, data=None, libver=None, **options):
    with h5py.File(path, 'w', libver=libver) as file:
        return file.create_dataset('images', data=noise if data is None else data, **options)


# ------------------------------------------------------------------ files that break a rule

def chunks(shape, data=None, **options):
    return lambda path: write(path, data, chunks=shape, **options)


def unknown_filter(path):
    with h5py.File(path, 'w') as file:
        file.create_dataset('images', (1024, 64, 64), 'u1', chunks=(1, 64, 64), compression=299,
                            allow_unknown_filter=True)


def huge(chunk_bytes):
    def make(path):
        with h5py.File(path, 'w') as file:
            file.create_dataset('images', (2, chunk_bytes), 'u1', chunks=(1, chunk_bytes), compression='gzip')
    return make


def strings(kind, n):
    def make(path):
        with h5py.File(path, 'w') as file:
            file.create_dataset('names', data=[b'name'] * n, dtype=kind)
    return make


def cut(by):
    def make(path):
        write(path)
        os.truncate(path, os.path.getsize(path) - by)
    return make


def killed(closes):
    """A writer in a process of its own, which ends with or without closing."""
    def make(path):
        code = (f'import h5py, os\nf = h5py.File({path!r}, "w", libver="latest")\nf["x"] = 1\nf.flush()\n'
                f'{"f.close()" if closes else ""}\nos._exit(0)')
        subprocess.run([sys.executable, '-c', code], check=True)
    return make


def text(path):
    with open(path, 'w') as file:
        file.write('this is no HDF5 file\n' * 100)


def overwritten(what):
    """The header of the dataset, or the address of its second chunk, replaced."""
    def make(path):
        with h5py.File(path, 'w') as file:
            images = file.create_dataset('images', data=noise[:8], chunks=(1, 64, 64))
            header = h5py.h5o.get_info(images.id).addr
            places = [images.id.get_chunk_info(i).byte_offset for i in range(8)]
        with open(path, 'r+b') as file:
            data = file.read()
            if what == 'header':
                file.seek(header)
                file.write(b'\xff' * 16)
            else:
                new = places[0] + 8 if what == 'overlap' else len(data) + 4096
                at = data.find(places[1].to_bytes(8, 'little'))
                file.seek(at)
                file.write((new if what else places[1]).to_bytes(8, 'little'))
    return make


def partly(n):
    def make(path):
        with h5py.File(path, 'w') as file:
            images = file.create_dataset('images', (32, 64, 64), 'u1', chunks=(1, 64, 64))
            images[:n] = noise[:n]
    return make


def in_order(order):
    def make(path):
        with h5py.File(path, 'w') as file:
            images = file.create_dataset('images', (32, 64, 64), 'u1', chunks=(1, 64, 64))
            for i in order:
                images.id.write_direct_chunk((i, 0, 0), noise[i].tobytes())
    return make


def deleted(n):
    def make(path):
        with h5py.File(path, 'w') as file:
            file['images'] = noise
            file['other'] = np.zeros(n, 'u1')
            file['end'] = np.zeros(64, 'u1')  # or the file becomes shorter
        with h5py.File(path, 'r+') as file:
            del file['other']
    return make


def many(n, **options):
    def make(path):
        write(path, np.zeros((n, 128), 'u1'), chunks=(1, 128), **options)
    return make


def one_each(n):
    def make(path):
        with h5py.File(path, 'w') as file:
            for i in range(n):
                file[f'set/{i:04}'] = noise[i, :8]
    return make


def masked(mask):
    def make(path):
        with h5py.File(path, 'w') as file:
            images = file.create_dataset('images', (4, 64, 64), 'u1', chunks=(1, 64, 64), compression='gzip')
            images[...] = smooth[:4]
            if mask:
                images.id.write_direct_chunk((0, 0, 0), noise[0].tobytes(), filter_mask=1)
    return make


def pieces(is_missing):
    def make(path):
        layout, name = h5py.VirtualLayout((64, 64, 64), 'u1'), 'piece' if is_missing else 'part'
        for i in range(4):
            with h5py.File(f'{name}{i}.h5', 'w') as file:
                file.create_dataset('images', data=noise[:16], chunks=(1, 64, 64))
            layout[16 * i:16 * i + 16] = h5py.VirtualSource(f'{name}{i}.h5', 'images', (16, 64, 64))
        with h5py.File(path, 'w') as file:
            file.create_virtual_dataset('images', layout)
        if is_missing:
            os.unlink('piece2.h5')
            os.rename('piece3.h5', 'moved.h5')
    return make


def shared(by):
    """Contiguous data that reaches so many bytes into another dataset's chunks."""
    def make(path):
        with h5py.File(path, 'w') as file:
            images = file.create_dataset('images', data=noise[:8], chunks=(1, 64, 64))
            other = file.create_dataset('other', data=noise[0])
            first = min(images.id.get_chunk_info(i).byte_offset for i in range(8))
            place = other.id.get_offset()
        with open(path, 'r+b') as file:
            at = file.read().find(place.to_bytes(8, 'little') + (4096).to_bytes(8, 'little'))
            file.seek(at)
            file.write((first - 4096 + by).to_bytes(8, 'little'))
    return make


def beyond(by):
    """Contiguous data of which so many bytes lie behind the end of the file."""
    def make(path):
        with h5py.File(path, 'w') as file:
            file.create_dataset('images', data=noise[:8], chunks=(1, 64, 64))
            place = file.create_dataset('other', data=noise[0]).id.get_offset()
        with open(path, 'r+b') as file:
            data = file.read()
            file.seek(data.find(place.to_bytes(8, 'little') + (4096).to_bytes(8, 'little')))
            file.write((len(data) - 4096 + by).to_bytes(8, 'little'))
    return make


def lengths(n):
    def make(path):
        write(path)
        with h5py.File(path, 'r+') as file:
            file['labels'] = np.zeros(n, 'i8')
    return make


def test_lengths():
    """Many groups with images and labels each are gone through once."""
    def cpu_s(images, labels):
        with h5py.File('groups.h5', 'w', libver='latest') as file:
            for i in range(2000):
                file[f'{i}/{images}'] = file[f'{i}/more/{labels}'] = [1, 2]
                file[f'{i}/{labels}'] = [1, 2]
            file[f'0/deeper/{labels}'] = [1, 2, 3]
            file[f'{i}/more/{images}'] = [1, 2, 3]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        found = [f['text'] for f in findings('groups.h5', '--no-reader', '--rule', 'H5A601')]
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, found
    (asked_s, asked), (other_s, other) = cpu_s('x', 'y'), cpu_s('u', 'v')
    ok(asked == ["'1999/more/x' has 3 samples, '1999/more/y' beside it 2"] and not other and asked_s < 2 * other_s + 1,
       f'labels are looked for beside images alone: {asked_s:.2f} s, and {other_s:.2f} s where there are none')


SMALL_CACHE = '--hdf5-version', '1.10'  # 1 MiB where nothing is said, whichever HDF5 is here
large = noise[:, None].repeat(2, 1).reshape(512, 128, 128)  # 8 MiB, of 16 KiB an image
RULES = {
    # code: (breaks it, just does not, whether a command mends it)
    'H5A101': (unknown_filter, chunks((1, 64, 64), compression='gzip'), False),
    'H5A102': (chunks((1, 63, 64)), chunks((1, 64, 64)), True),
    'H5A103': (chunks((1, 32, 64)), chunks((1, 64, 64)), True),
    'H5A104': (chunks(True), chunks((64, 8, 16)), True),
    'H5A105': (chunks((5, 128, 128), large), chunks((4, 128, 128), large), 'settings'),
    'H5A106': (many(10000), many(9999), True),
    'H5A107': (huge(1 << 30), huge((1 << 30) - 1), False),
    'H5A201': (chunks((65, 128, 128), large), chunks((64, 128, 128), large), False),
    'H5A205': (chunks((65, 128, 128), large, compression='gzip'),
               chunks((64, 128, 128), large, compression='gzip'), True),
    'H5A401': (chunks((1, 64, 64), compression='gzip', shuffle=True),
               chunks((1, 64, 32), noise.view('u2'), compression='gzip', shuffle=True), True),
    'H5A402': (strings(h5py.string_dtype(), 1000), strings(h5py.string_dtype(), 999), False),
    'H5A403': (chunks((1, 64, 64), compression='gzip'), chunks((1, 64, 64), smooth, compression='gzip'), True),
    'H5A404': (chunks((1, 64, 64), smooth, compression='gzip'), chunks((1, 64, 64), smooth, compression='lzf'), True),
    'H5A501': (cut(1), cut(0), False),
    'H5A502': (killed(False), killed(True), False),
    'H5A504': (text, cut(0), False),
    'H5A506': (overwritten('overlap'), overwritten(''), False),
    'H5A508': (partly(31), partly(32), False),  # data without chunks: test_unwritten()
    'H5A509': (in_order([i ^ 1 for i in range(16)] + list(range(16, 32))),
               in_order([i ^ 1 for i in range(14)] + list(range(14, 32))), False),
    'H5A510': (deleted(3 << 20), deleted(1 << 19), False),
    'H5A511': (many(100000), many(100000, libver=('v110', 'v110')), False),
    'H5A512': (one_each(100), one_each(99), False),
    'H5A513': (masked(1), masked(0), False),
    'H5A514': (pieces(True), pieces(False), False),
    'H5A515': (shared(1), shared(0), False),
    'H5A516': (beyond(1), beyond(0), False),
    'H5A601': (lengths(1023), lengths(1024), False),
}


def once(make, kept):
    """The same file again is a copy of the first."""
    def copy(path):
        if os.path.exists(kept):
            shutil.copyfile(kept, path)
        else:
            make(path)
            shutil.copyfile(path, kept)
    return copy


RULES = {code: (once(breaks, f'{code}.kept'), just_not, is_mended) for code, (breaks, just_not, is_mended) in RULES.items()}


def mend(found, path):
    """Runs the command of a finding; the new file's findings."""
    command = found['command'].replace('-o new.h5', '-f -q -o new.h5')
    run = subprocess.run(shlex.split(command), capture_output=True, text=True)
    if run.returncode:
        note(f'{command}: {run.stderr}')
        return ['failed']
    if 'zstd' in command and not h5py.h5z.filter_avail(32015):
        return codes('new.h5', '--ignore', 'H5A101')
    with h5py.File(path) as before, h5py.File('new.h5') as after:
        if after['images'].shape != before['images'].shape or after['images'].dtype != before['images'].dtype:
            return ['other data']
        if (after['images'][::97] != before['images'][::97]).any():
            return ['other data']
    return codes('new.h5', *SMALL_CACHE, '--ignore', 'H5A404')


def test_rules():
    for code, (breaks, just_not, is_mended) in RULES.items():
        breaks('bad.h5')
        just_not('good.h5')
        found = [f for f in findings('bad.h5', *SMALL_CACHE) if f['code'] == code]
        good = codes('good.h5', *SMALL_CACHE)
        if code == 'H5A516' and codes('bad.h5') == ['H5A505']:  # HDF5 1.14 refuses the dataset itself
            ok(code not in good, f'{code} is for HDF5 alone to say here')
            continue
        ok(len(found) == 1 and code not in good, f'{code} where it should be, and not where it should not')
        if len(found) != 1 or code in good:
            note(f'bad {codes("bad.h5", *SMALL_CACHE)}, good {good}')
            continue
        alone = codes('bad.h5', *SMALL_CACHE, '--rule', code), codes('bad.h5', *SMALL_CACHE, '--ignore', code)
        ok(alone[0] == [code] and code not in alone[1], f'{code} alone, and all but it')
        if is_mended == 'settings':
            set_to = re.findall(r'rdcc_(\w+)=([0-9.]+)', found[0]['remedy'])
            left = codes('bad.h5', *(word for name, value in set_to for word in (f'--rdcc-{name}', value)))
            ok(len(set_to) == 3 and code not in left, f'{code}: the settings mend it {left}')
            many = [f['remedy'] for f in findings('bad.h5', *SMALL_CACHE, '--cpus', '16') if f['code'] == code]
            ok(many == [found[0]['remedy']], f'{code}: so do they where many processors make another layout worth more {many}')
        elif is_mended:
            left = mend(found[0], 'bad.h5') if found[0]['command'] else ['no command']
            ok(code not in left and not set(left) & {'failed', 'other data', 'no command'},
               f'{code}: what is printed mends it {left}')


def test_asked():
    """What cannot be read as asked is no file that is well; work is not counted for workers without any."""
    random_reads('bad.h5')
    with open('weights.txt', 'w') as file:
        file.write('nonsense\n')
    for words in (['--pattern', 'trace:none.txt'], ['--pattern', 'trace:weights.txt'], ['--pattern', 'weighted:by=none.txt'],
                  ['--pattern', 'weighted:by=weights.txt'], ['--crop', '65x65'], ['--box', '5x5']):
        run = subprocess.run(['h5audit', '--json', *words, 'bad.h5'], capture_output=True, text=True)
        said = run.stderr.removeprefix('h5audit: nothing could be read as asked: ').removesuffix('\n')
        file, = json.loads(run.stdout)['result']['files']
        ok(run.returncode == 2 and said != run.stderr and file['datasets'][0]['not_priced'] == said, ' '.join(words) + ': ' + said)
    with h5py.File('bad.h5', 'r+') as file:
        file['labels'] = np.arange(1024)
    ok(audit('--crop', '32x32', 'bad.h5')[0] < 2, 'labels have no crops')
    RULES['H5A102'][0]('bad.h5')
    other = [reading('bad.h5', '--rule', code)['advised_samples_per_s'] is not None for code in ('102', '103', '509')]
    equal(other, [True, True, False], 'another layout is looked for where a rule that is asked for is about it')
    RULES['H5A105'][0]('bad.h5')
    prices = []
    for workers in 1, 4, 5, 16, 1000:
        found, = [f for f in findings('bad.h5', *SMALL_CACHE, '--workers', str(workers)) if f['code'] == 'H5A105']
        prices.append(found['price_bytes'])
    ok(max(prices) < 1.05 * min(prices), f'bytes of an epoch, by 1 to 1000 workers {prices}')


def reading(path, *words):
    return audit(path, *words)[1]['result']['files'][0]['datasets'][0]['reading']


def test_anew():
    """What is decoded in vain is counted in bytes: pieces of samples are no samples."""
    chunks((64, 8, 8), smooth, compression='gzip')('bad.h5')
    found, = [f for f in findings('bad.h5', '--rdcc-nbytes', '0') if f['code'] == 'H5A205']
    ok(found['value'] == 64 and found['text'].endswith(', 64 samples for each that is wanted'), f'64 pieces of 64 samples {found["text"]}')
    chunks((1024, 64, 64), smooth, compression='gzip')('bad.h5')
    found, = [f for f in findings('bad.h5', *SMALL_CACHE) if f['code'] == 'H5A205']
    ok(' 1024 samples for each' in found['text'], f'no exponent {found["text"]}')


def test_collisions():
    """Slots too few are a finding where more are faster, at the price of what they save."""
    random_reads('bad.h5')
    for words in ([], ['--workers', '1'], ['--pattern', 'buffer:samples=200'], ['--storage', 'hdd']):
        words = '--rdcc-nbytes', '4M', *words
        found, = [f for f in findings('bad.h5', '--rdcc-nslots', '7', *words) if f['code'] == 'H5A203']
        slots, = re.findall(r'rdcc_nslots=(\d+) instead of 7', found['remedy'])
        now, then = (reading('bad.h5', '--rdcc-nslots', n, *words) for n in ('7', slots))
        saved, wanted = now['epoch_s'] - then['epoch_s'], 1024 * 4096
        ok(saved > 0 and abs(found['price_s_per_epoch'] / saved - 1) < 0.01, f'{words}: {saved:.3g} s are saved, and its price')
        vain = (now['amplification'] - then['amplification']) * wanted
        ok(abs(found['price_bytes'] / vain - 1) < 1e-6, f'{words}: so are {vain:.0f} bytes')
        ok('H5A203' not in codes('bad.h5', '--rdcc-nslots', slots, *words), f'{words}: the remedy mends it')
    many(100000)('tiny.h5')
    now, then = (reading('tiny.h5', '--rdcc-nslots', n)['samples_per_s'] for n in ('521', '16411'))
    ok(then <= now and 'H5A203' not in codes('tiny.h5'), f'no remedy is what makes {now:.0f} samples/s {then:.0f}')


def test_left_out():
    """A filter that all chunks left out decodes nothing, and need not be there."""
    options = {'chunks': (1, 64, 64), 'compression': 'lzf'}
    one = noise.copy()
    one[5] = 0
    for data, shuffle, needs in ((noise, False, False), (noise, True, False), (one, False, True), (None, False, True)):
        with h5py.File('lzf.h5', 'w') as file:
            if data is None:
                file.create_dataset('images', (1024, 64, 64), 'u1', **options)
            else:
                file.create_dataset('images', data=data, shuffle=shuffle, **options)
        told = [json.loads(subprocess.run(['h5advise', '--json', '--no-measure', '-q', 'lzf.h5'], capture_output=True,
                                          text=True).stdout)['result']['warnings']]
        words = 'H5A101' in codes('lzf.h5'), any(w['id'] == 'missing-filter' for w in told[0]), 'failed' in measured('lzf.h5')
        equal(words, (needs, needs, needs), f'lzf is needed: {needs}, by the auditor, the advisor and the benchmark')
    for shuffle in True, False:
        write('lzf.h5', shuffle=shuffle, **options)
        texts = {f['code']: f for f in findings('lzf.h5')}
        ok(texts['H5A403']['text'].startswith('lzf was left out of all chunks') and
           ('; shuffle is undone all the same' in texts['H5A403']['text']) == shuffle and texts['H5A403']['price_s_per_epoch'] == 0 and
           'H5A513' in texts, texts['H5A403']['text'])
    status, report = audit('lzf.h5', '--deep')
    ok(report['result']['files'][0]['datasets'][0]['contents']['samples'] == 1024, 'its samples are read')


def test_unlisted():
    """More chunks than are listed is a limit of the program, and no damage."""
    for n, found in ((1 << 26, False), ((1 << 26) + 1, True)):
        with h5py.File('sparse.h5', 'w') as file:
            images = file.create_dataset('images', (n, 16), 'u1', chunks=(1, 16))
            images[5] = images[70000] = 1
            file.create_dataset('other', data=noise, chunks=(1, 63, 64))
        if not found and not LONG:
            continue  # it takes a minute to list
        status, report = audit('sparse.h5')
        seen = {f['code']: f for f in report['result']['files'][0]['findings']}
        equal((status, 'H5A517' in seen, 'H5A505' in seen, 'H5A102' in seen), (1, found, False, True), f'{n} chunks')
        if found:
            equal((seen['H5A517']['value'], seen['H5A517']['severity'], seen['H5A517']['dataset']), (n, 'cost', 'images'),
                  seen['H5A517']['text'])
            ok('2 are stored' in seen['H5A517']['text'] and 'larger chunks' in seen['H5A517']['remedy'], 'and what is to be done')
            equal((audit('sparse.h5', '--rule', '517', '--fail-on', 'hazard')[0], audit('sparse.h5', '--ignore', '517', '--rule', '517')[0]),
                  (0, 0), 'no hazard')


# -------------------------------------------------------------------------- --threshold

def at_least(value):
    return value if value == int(value) else value * (1 - 1e-8), value * 1.001  # nine digits are printed


def at_most(value):
    return value, value * 0.999


def more_than(value):
    return value * 0.999, value


def about(value):
    return value * 0.99, value * 1.01


def doubled(n):
    """n samples, of which the last two are constant and alike, the first has a NaN."""
    def make(path):
        images = rng.random((n, 8, 8))
        images[-2:], images[0, 0, 0] = 3, np.nan
        with h5py.File(path, 'w') as file:
            file['images'] = images
    return make


def wide(path):
    keep(path, images=(rng.integers(0, 256, (1200, 32, 16)) & 240).astype('f4'))


def in_runs(path):
    keep(path, images=noise[:1000, :8, :8], labels=np.repeat(np.arange(10), 100))


def random_reads(path):
    write(path, chunks=(16, 64, 64))


# code, name of the threshold: what is compared with it (of the finding), the values at which the file that
# breaks the rule is found and is not; how it is made where it is not that of RULES, and options
VALUE = lambda f: f['value']  # noqa: E731
THRESHOLDS = [
    ('102', 'factor', VALUE, at_least), ('103', 'chunks', VALUE, at_least), ('105', 'factor', VALUE, at_least),
    ('105', 'bytes', lambda f: 5 << 14, more_than), ('106', 'bytes', VALUE, at_most),
    ('106', 'chunks', lambda f: 10000, at_least), ('107', 'bytes', VALUE, at_least),
    ('201', 'factor', VALUE, at_least),
    ('202', 'factor', lambda f: f['value'] / 131072, more_than, random_reads, '--rdcc-w0', '1', '--rdcc-nbytes', '131072'),
    ('203', 'rate', VALUE, at_least, random_reads, '--rdcc-nslots', '7', '--rdcc-nbytes', '4M'),
    ('203', 'factor', lambda f: float(re.search(r'([0-9.]+) times as fast', f['text'])[1]), about, random_reads,
     '--rdcc-nslots', '7', '--rdcc-nbytes', '4M'),
    ('301', 'factor', VALUE, at_least, random_reads, '--pattern', 'block:chunks=8'),
    ('303', 'factor', VALUE, at_least, random_reads, '--read', 'batch'),
    ('401', 'bytes', lambda f: 4 << 20, at_least), ('402', 'elements', VALUE, at_least),
    ('403', 'rate', VALUE, more_than), ('403', 'bytes', lambda f: 4 << 20, at_least),
    ('404', 'factor', VALUE, at_least), ('404', 'bytes', lambda f: 4 << 20, at_least),
    ('405', 'bytes', lambda f: 1200 * 2048, at_least, wide, '--deep'),
    ('406', 'rate', VALUE, at_most, wide, '--deep'), ('406', 'bytes', lambda f: 1200 * 2048, at_least, wide, '--deep'),
    ('508', 'chunks', VALUE, at_least), ('509', 'rate', VALUE, at_least), ('509', 'chunks', lambda f: 32, at_least),
    ('510', 'rate', VALUE, at_least), ('510', 'bytes', lambda f: f['price_bytes'], at_least),
    ('511', 'chunks', VALUE, at_least), ('512', 'datasets', VALUE, at_least), ('513', 'chunks', VALUE, at_least),
    ('602', 'samples', VALUE, at_least, doubled(300), '--deep'),
    ('603', 'samples', VALUE, at_least, doubled(300), '--deep'),
    ('603', 'values', lambda f: 64, at_least, doubled(300), '--deep'),
    ('604', 'samples', VALUE, at_least, doubled(300), '--deep'),
    ('604', 'values', lambda f: 64, at_least, doubled(300), '--deep'),
    ('605', 'samples', lambda f: 1000, at_least, in_runs, '--deep'),
    ('605', 'rate', lambda f: (f['value'] - 1) / (10 * (1 - 0.9 ** 64) - 1), at_most, in_runs, '--deep'),
]


def test_unwritten():
    """Without chunks all was written, or nothing."""
    for name, n, value in (('never', 0, 0), ('never', 0, 7), ('written', 32, 0)):
        with h5py.File('bad.h5', 'w') as file:
            images = file.create_dataset('images', (32, 64, 64), 'u1', fillvalue=value)
            file.create_dataset('nothing', (0, 64), 'u1')
            if n:
                images[:n] = noise[:n]
        found = [(f['dataset'], f['text']) for f in findings('bad.h5', '--rule', '508')]
        reads = 'the fill value' if value else 'zeros'
        equal(found, [] if n else [('images', f'nothing was ever written: all of it reads as {reads}')],
              f'{name} without chunks, {value}')
        equal(codes('bad.h5', '--rule', '508', '--threshold', '508.chunks=2'), [], 'it counts as one chunk')


def test_thresholds():
    """Both sides of each: what breaks a rule does so as far as the number that it has, and no further."""
    listed = set()
    for code, name, of, sides, *rest in THRESHOLDS:
        make, words = (rest[0], rest[1:]) if rest else (RULES['H5A' + code][0], [])
        make('bad.h5')
        found = [f for f in findings('bad.h5', *words) if f['code'] == 'H5A' + code]
        if not ok(len(found) == 1, f'{code} {name}: there is something to find'):
            continue
        near = [codes('bad.h5', '--rule', code, '--threshold', f'{code}.{name}={value:.17g}', *words)
                for value in sides(of(found[0]))]
        equal(near, [['H5A' + code], []], f'{code}.{name}: at {of(found[0]):.9g}, and just beyond')
        listed.add((code, name))
    told = subprocess.run(['h5audit', '--list-rules'], capture_output=True, text=True).stdout.splitlines()
    have = set()
    for line in told:
        code = line.split()[0]
        text = subprocess.run(['h5audit', '--explain', code], capture_output=True, text=True).stdout
        have |= {(code[3:], name) for name in re.findall(r'(\w+)=[0-9.e+]+\s+\(', text.partition('Thresholds:')[2])}
    equal(sorted(have), sorted(listed), 'those are all that --explain names')
    for code, setting in (('106', 'tiny-chunks.chunks=9999'), ('402', '402=999'), ('512', 'H5A512=99'),
                          ('105', 'dragged-chunks.bytes=63K'), ('107', 'huge-chunks=512MiB')):
        RULES['H5A' + code][1]('good.h5')
        ok(codes('good.h5', '--rule', code) == [] and
           codes('good.h5', '--rule', code, '--threshold', setting) == ['H5A' + code],
           f'{setting}: what just did not now does')
    RULES['H5A102'][0]('bad.h5')
    report = audit('bad.h5', '--threshold', '102=3', '--threshold', '105.bytes=1M', '--threshold', '102=1.5')[1]
    equal((report['options']['thresholds'], 'H5A102' in {f['code'] for f in report['result']['files'][0]['findings']}),
          ({'H5A102.factor': 1.5, 'H5A105.bytes': 1 << 20}, True), 'the last one holds, and JSON says which were set')


# ------------------------------------------------------------------------------- --fix

def fix(path, *words):
    status, report = audit('--fix', 'fixed.h5', '-f', path, *words)
    return status, report['result'].get('fixed') if report else None


def is_same(one, two):
    """All objects, attributes and values, by h5py."""
    def look(file):
        seen = {}

        def visit(name, item):
            data = item[()] if isinstance(item, h5py.Dataset) else None
            seen[name] = (None if data is None else (data.dtype.str, data.shape, data.tobytes()),
                          sorted((k, str(v)) for k, v in item.attrs.items()))
        file.visititems(visit)
        return seen
    with h5py.File(one) as a, h5py.File(two) as b:
        return look(a) == look(b)


def test_fix():
    """Everything that a rewrite mends, in one go; checksums, other objects and attributes stay."""
    zstd = h5py.h5z.filter_avail(32015)
    for code, (breaks, _, is_mended) in RULES.items():
        if is_mended is not True:
            continue
        breaks('bad.h5')
        status, fixed = fix('bad.h5', '--rule', code)
        left = [f['code'] for file in fixed['files'] for f in file['findings']] if fixed else ['failed']
        same = zstd or code == 'H5A404' or is_same('bad.h5', 'fixed.h5')
        ok(status == 0 and [f['code'] for f in fixed['mended']] == [code] and code not in left and same,
           f'{code} is mended {left}')
    with h5py.File('several.h5', 'w', track_order=True) as file:
        faces = file.create_dataset('images', data=rng.integers(0, 256, (100, 3, 218, 178), 'u1'),
                                    chunks=(100, 3, 217, 178))
        faces.attrs['mean'] = [1., 2.]
        file.create_dataset('deep/a=b', data=noise, chunks=(1, 64, 64), compression='gzip', shuffle=True,
                            fletcher32=True)
        file['labels'] = np.arange(100)
        file['zagain'] = file['images']
        file.attrs['title'] = 'x'
    found = codes('several.h5')
    ok({'H5A102', 'H5A103', 'H5A401', 'H5A403'} <= set(found), f'four findings of two datasets {found}')
    status, fixed = fix('several.h5')
    equal((status, sorted(fixed['datasets'])), (0, ['deep/a=b=,fletcher32', 'images=1x3x218x178,none']),
          'each dataset gets what mends it, and keeps its checksum')
    equal((sorted({f['code'] for f in fixed['mended']}), [f['findings'] for f in fixed['files']]),
          (found, [[]]), 'all are gone')
    equal((fixed['input_bytes'], fixed['output_bytes'], is_same('several.h5', 'fixed.h5')),
          (os.path.getsize('several.h5'), os.path.getsize('fixed.h5'), True), 'and everything else stays')
    with h5py.File('fixed.h5') as file:
        ok(file['zagain'] == file['images'] and file['deep/a=b'].fletcher32, 'links and checksums, too')
    os.unlink('fixed.h5')
    status, fixed = fix('several.h5:/images')
    equal((status, fixed['datasets'], [(f['findings'], f['failure']) for f in fixed['files']], codes('fixed.h5')),
          (0, ['images=1x3x218x178,none'], [([], None)], ['H5A401', 'H5A403']), 'one dataset alone')
    os.unlink('fixed.h5')
    status, fixed = fix('several.h5', '--rule', '401')
    equal((status, fixed['datasets'], [f['code'] for f in fixed['mended']]),
          (0, ['deep/a=b=,gzip:4+fletcher32'], ['H5A401']), 'or one rule')
    write('summed.h5', rng.integers(0, 256, (100, 3, 218, 178), 'u1'), chunks=(100, 3, 217, 178), fletcher32=True)
    status, fixed = fix('summed.h5')
    equal((status, fixed['datasets']), (0, ['images=1x3x218x178,fletcher32']),
          'a checksum goes into other chunks, too')
    with h5py.File('two.h5', 'w') as file:  # both shuffled; the one that cannot be mended keeps its finding
        for name in 'a', 'b':
            file.create_dataset(name, data=smooth, chunks=(16, 64, 64), compression='gzip', shuffle=True)
    status, fixed = fix('two.h5:/b', '--rule', '401')
    left = codes('fixed.h5', '--rule', '401')
    equal(([(f['code'], f['dataset']) for f in fixed['mended']], left), ([('H5A401', 'b')], ['H5A401']),
          'what is gone is told of its dataset alone')
    deleted(3 << 20)('holes.h5')
    status, fixed = fix('holes.h5')
    equal((status, fixed['output']), (1, None), 'holes of a file that h5rechunk has nothing to do in stay')
    with h5py.File('holes.h5', 'r+') as file:
        file.create_dataset('c', data=noise[:8], chunks=(1, 64, 64))
    status, fixed = fix('holes.h5')
    equal((status, [f['code'] for f in fixed['mended']], fixed['datasets'], is_same('holes.h5', 'fixed.h5')),
          (0, ['H5A510'], ['c=,none'], True), 'those of another are gone with a copy')
    os.unlink('fixed.h5')
    with h5py.File('half.h5', 'w') as file:
        half = file.create_dataset('images', (1024, 64, 64), 'u1', chunks=(16, 64, 64), compression='gzip',
                                   shuffle=True)
        half[:512] = noise[:512]
    status, fixed = fix('half.h5')
    left = [f['code'] for file in fixed['files'] for f in file['findings']]
    ok('H5A401' in [f['code'] for f in fixed['mended']] and 'H5A508' in left and
       'H5A508' not in [f['code'] for f in fixed['mended']], f'what was never written stays so {left}')
    os.unlink('fixed.h5')
    killed(False)('marked.h5')
    status, fixed = fix('marked.h5')
    equal((status, fixed['output'], os.path.exists('fixed.h5')), (1, None, False),
          'a file that is marked as open is for h5clear')
    write('clean.h5', chunks=(1, 64, 64))
    status, fixed = fix('clean.h5')
    equal((status, fixed['output'], os.path.exists('fixed.h5')), (0, None, False),
          'what is clean is not written')
    lengths(1023)('beside.h5')
    status, fixed = fix('beside.h5')
    equal((status, fixed['output'], os.path.exists('fixed.h5')), (1, None, False),
          'what no rewrite mends is not written either')


def test_foreseen():
    """Nothing that a fix brings along comes as a surprise, and what can be clean is."""
    few, wide = rng.integers(0, 4, (2560, 64, 64)).astype('u1'), rng.integers(0, 256, (8192, 32, 16)).astype('f4')
    large4, gzip = rng.integers(0, 256, (2560, 64, 64), 'u1'), {'compression': 'gzip'}
    # data, how it is stored, the fix that is named; what is found then, what h5rechunk is told
    cases = (
        (wide, {'chunks': (1, 32, 16), 'shuffle': True, **gzip}, '405', [], '=4x32x16,none'),  # tiny, and noise
        (wide % 4, {'chunks': (4, 32, 16), 'shuffle': True, **gzip}, '405', ['H5A404'], '=,gzip:4'),  # bytes, shuffled
        (wide, {'chunks': (512, 32, 1)}, '405', None, None),
        (wide, {}, '405', [], '=128x32x16,none'),
        (large4, {'chunks': (512, 64, 64), **gzip}, '403', [], '=1x64x64,none'),  # a cliff
        (large4, {'chunks': (16, 64, 64), 'shuffle': True, **gzip}, '403', [], '=,none'),
        (large4, {'chunks': (16, 64, 64), 'shuffle': True, **gzip}, None, [], '=,none'),
        (few, {'chunks': (512, 64, 64)}, '406', [], '=1x64x64,zstd:3'),  # decoded again
        (few, {}, '406', [], '=16x64x64,zstd:3'),
        (few, {'chunks': (64, 16, 64), **gzip}, None, [], '=1x64x64,zstd:3'),
        (large4, {'chunks': (512, 8, 8), **gzip}, None, [], '=1x64x64,none'),
        (few, {'chunks': (1280, 64, 64), 'fletcher32': True, **gzip}, None, [], None),
    )
    for data, options, rule, want, done_so in cases if LONG else cases[:1] + cases[1:9:2]:
        write('before.h5', data, **options)
        if os.path.exists('fixed.h5'):
            os.unlink('fixed.h5')
        before = findings('before.h5', '--deep')
        status, fixed = fix('before.h5', '--deep', *(['--fix-rule', rule] if rule else []))
        after = sorted(f['code'] for file in fixed['files'] for f in file['findings']) if fixed and fixed['output'] else ['none']
        said = {c for f in before for c in f['left']} | {f['code'] for f in before}
        ok(set(after) <= said and (want is None or after == want) and (status == 0 or 'H5A103' in after or 'H5A404' in after),
           f'{options}, {rule or "all"}: {sorted(f["code"] for f in before)} are followed by {after}')
        if done_so:
            equal(fixed['datasets'], ['images' + done_so], 'with what it takes')
        told = {c for f in before if rule and f['code'] == f'H5A{rule}' for c in f['left']}
        ok(told <= set(after), f'and all of what is said to be found then {sorted(told)}')
        for f in before:  # the command alone does the same
            if f['code'] == f'H5A{rule}':
                subprocess.run(shlex.split(f['command']) + ['-f', '-q'], check=True)
                equal(codes('new.h5', '--deep'), after, 'so does its command')


def test_left():
    """What a rule finds behind a fix, where nothing can be done about it, is said before."""
    write('left.h5', rng.integers(0, 4, (64, 512, 512)).astype('u1'), chunks=(1, 512, 512))
    words = '--deep', '--rdcc-nbytes', '4096', '--threshold', '107=1K'
    before = findings('left.h5', *words)
    found, = [f for f in before if f['code'] == 'H5A406']
    subprocess.run(shlex.split(found['command']) + ['-f', '-q'], check=True)
    equal((set(codes('new.h5', *words)) - {f['code'] for f in before}, found['left']), ({'H5A107'}, ['H5A107']),
          'what will be found is told')
    run = subprocess.run(['h5audit', '-q', *words, 'left.h5'], capture_output=True, text=True)
    ok('note:  found then: H5A107 huge-chunks' in run.stdout, 'in words, too')
    ok('found then: H5A107 huge-chunks' in page_of(*words, 'left.h5') and
       'found then: H5A107' in subprocess.run(['h5audit', '--sarif', *words, 'left.h5'], capture_output=True, text=True).stdout,
       'on a page, and in SARIF')
    few = np.zeros_like(noise)
    few[:, ::7] = noise[:, ::7] % 4
    write('left.h5', few, chunks=(64, 64, 64), compression='gzip')
    words = '--storage', 'hdd', '--threshold', '107=1K'
    found, = [f for f in findings('left.h5', *words) if f['code'] == 'H5A105']
    subprocess.run(shlex.split(found['command']) + ['-f', '-q'], check=True)
    equal((codes('new.h5', *words), found['left']), (['H5A105'], ['H5A105']),
          'also what was there before, where the best layout on a disk has it as well')
    write('left.h5', rng.integers(0, 256, (8192, 32, 16)).astype('f4'), chunks=(2, 32, 16))
    words = '--deep', '--threshold', '106.chunks=100', '--threshold', '106.bytes=3K'
    found, = [f for f in findings('left.h5', *words) if f['code'] == 'H5A405']
    subprocess.run(shlex.split(found['command']) + ['-f', '-q'], check=True)
    ok('H5A106' not in codes('left.h5', *words) + codes('new.h5', *words), 'chunks of a quarter of the bytes are larger ones')


def test_settings_and_rewrite():
    """A rewrite mends what a cache would only hide: it is named instead, or beside one that does as much, and made."""
    table = rng.random((20000, 100))
    for name, data, chunk, is_beside in (('table', table, (1000, 10), False), ('images', noise, (64, 32, 64), True)):
        with h5py.File('cut.h5', 'w') as file:
            file.create_dataset(name, data=data, chunks=chunk)
            file.create_dataset('labels', data=np.arange(len(data)))
        found = {f['code']: f for f in findings('cut.h5')}
        equal(sorted(found), ['H5A103', 'H5A105'], f'{name}: chunks that cut, and are dragged along')
        for code, f in found.items():
            ok((f['command'] or '').startswith(f'h5rechunk cut.h5:/{name} --chunk '), f'{code}: a rewrite is named')
            equal('nothing is rewritten' in (f['remedy'] or ''), is_beside, f'{code}: settings, where they do as much: {f["remedy"]}')
        for words in (), ('--fix-rule', 'H5A103'):
            status, fixed = fix('cut.h5', *words)
            equal((status, bool(fixed and fixed['output']), codes('fixed.h5')), (0, True, []), f'{name}: it is made {words}')
    write('well.h5', chunks=(1, 64, 64))
    run = subprocess.run(['h5audit', '--fix', 'none.h5', 'well.h5'], capture_output=True, text=True)
    ok(run.returncode == 0 and not os.path.exists('none.h5') and
       'none.h5: not written, as nothing was found for which another layout or\n      other filters are worth a rewrite\n' in run.stdout,
       'and where none is worth it, that is said')


def test_harmful():
    """A layout in which rules find more than notes that today's does not have is not proposed."""
    few = rng.integers(0, 4, (1024, 64, 64)).astype('u1')
    few[:, ::3] = 0
    said = []
    for chunk, *words in ((8, 8, 8),), ((8, 8, 8), '--threshold', '107=1K'), ((2, 16, 64), '--threshold', '107=1K'):
        write('harmful.h5', few, chunks=chunk, compression='gzip')
        found, = [f for f in findings('harmful.h5', '--storage', 'hdd', *words) if f['code'] == 'H5A103']
        said.append((found['command'] is not None, found['left']))
    equal(said, [(True, []), (False, []), (True, ['H5A107'])], 'also where no other cures what costs today')


def test_grown():
    """What a codec, or none, takes more than the one of today, is told."""
    few = rng.integers(0, 2, (1024, 64, 64)).astype('u1')
    mask = np.kron(rng.integers(0, 3, (1024, 8, 8)), np.ones((1, 8, 8))).astype('u1')
    threes = noise | 3
    seen = set()
    for data, chunk, code, *words in ((few, 4, 'H5A404'), (mask, 2, 'H5A404'), (noise & 15, 16, 'H5A404'), (noise, 1, 'H5A403'),
                                      (threes, 3, 'H5A403', '--threshold', '403=0.5')):
        write('before.h5', data, chunks=(chunk, 64, 64), compression='gzip')
        found, = [f for f in findings('before.h5', *words) if f['code'] == code]
        subprocess.run(shlex.split(found['command']) + ['-f', '-q'], check=True)
        with h5py.File('before.h5') as one, h5py.File('new.h5') as two:
            was, then = (f['images'].id.get_storage_size() for f in (one, two))
        told = found['grown_bytes']
        is_right = told is None if then < 1.01 * was else told and abs(told / then - 1) < 0.1 if then > 1.15 * was else True
        seen.add((code, told is not None))
        ok(is_right, f'{code}, chunks of {chunk}: from {was} to {then} bytes, about {told} is told')
    equal(len(seen), 4, f'of both rules, what grows and what does not {sorted(seen)}')


# ------------------------------------------------------------------------ what samples hold

def held(path, *words):
    """Findings about contents, by code; and what is known of each dataset."""
    report = audit(path, *words)[1]['result']['files'][0]
    found = {}
    for f in report['findings']:
        if f['code'] in ('H5A405', 'H5A406') or 'H5A602' <= f['code'] <= 'H5A605':
            found.setdefault(f['code'], f)
    return found, {d['path']: d['contents'] for d in report['datasets']}


def keep(path, **datasets):
    with h5py.File(path, 'w') as file:
        for name, data in datasets.items():
            file.create_dataset(name, data=data, chunks=(1, *data.shape[1:]) if data.ndim > 1 else None)


def test_bytes():
    whole = rng.integers(0, 256, (1200, 32, 16))
    by_255 = {'f2': False, 'f4': True, 'f8': True}
    for kind in 'f2', 'f4', 'f8', '>f4', '>i2', 'i4', 'u8':
        keep('wide.h5', images=whole.astype(kind))
        found, known = held('wide.h5', '--deep')
        ok('H5A405' in found and found['H5A405']['value'] == np.dtype(kind).itemsize and
           known['images']['samples'] == 1200 and 'all 1200 samples' in found['H5A405']['text'],
           f'integers of 0 to 255 as {kind}')
        if kind in by_255:
            keep('wide.h5', images=(whole / 255).astype(kind))
            found, known = held('wide.h5', '--sample', '7')
            ok('H5A405' in found and known['images']['bytes_by'] == 'k/255' and known['images']['samples'] == 7 and
               'the 7 samples that were looked at' in found['H5A405']['text'], f'and by 255 as {kind}, of some')
    size = 1200 * 32 * 16 * 4
    keep('wide.h5', images=whole.astype('f4'))
    found, _ = held('wide.h5', '--deep')
    equal(found['H5A405']['price_bytes'], size * 3 / 4, 'three quarters of the file are its price')
    run = subprocess.run(shlex.split(found['H5A405']['command']) + ['-q', '-f'], capture_output=True, text=True)
    with h5py.File('new.h5') as file:
        equal((run.returncode, file['images'].dtype, (file['images'][:] == whole).all()), (0, np.dtype('u1'), True),
              'its command makes bytes of them')
    equal(held('new.h5', '--deep')[0].get('H5A405'), None, 'and the finding is gone')
    status, fixed = fix('wide.h5', '--deep')
    equal((status, fixed['output']), (1, None), 'by itself --fix changes no type')
    status, fixed = fix('wide.h5', '--deep', '--fix-rule', 'wide-bytes')
    with h5py.File('fixed.h5') as file:
        ok(status == 0 and 'H5A405' in [f['code'] for f in fixed['mended']] and file['images'].dtype == 'u1',
           'named, it does')
    with h5py.File('flat.h5', 'w') as file:
        file['images'] = whole.astype('f4')
    status, fixed = fix('flat.h5', '--deep', '--fix-rule', '405')
    with h5py.File('fixed.h5') as file:
        equal((status, file['images'].chunks, (file['images'][:] == whole).all()), (0, (64, 32, 16), True),
              'what has no chunks gets some, that hang over by little')
    os.unlink('fixed.h5')
    with h5py.File('shuffled.h5', 'w') as file:
        file.create_dataset('images', data=(whole // 32).astype('f4'), chunks=(64, 32, 16), compression='gzip', shuffle=True)
    run = subprocess.run(shlex.split(held('shuffled.h5', '--deep')[0]['H5A405']['command']) + ['-q', '-f'], capture_output=True)
    with h5py.File('new.h5') as file:
        images = file['images']
        equal((images.dtype, images.shuffle, images.compression), (np.dtype('u1'), False, 'gzip'), 'bytes are not shuffled')
    for name, change in (('a half', 0.5), ('256', 256), ('-1', -1), ('a NaN', np.nan), ('-0.0', -0.0)):
        almost = whole.astype('f4')
        almost[1199, 31, 15] = change
        keep('wide.h5', images=almost)
        found, known = held('wide.h5', '--deep')
        sampled = held('wide.h5', '--sample', '300')
        ok('H5A405' not in found and known['images']['bytes_by'] is None and 'H5A405' not in sampled[0],
           f'{name} in the last place is seen')
    almost = whole.astype('f4')
    almost[600, 0, 0] = 0.5
    keep('wide.h5', images=almost)
    ok('H5A405' in held('wide.h5', '--sample', '2')[0] and 'H5A405' not in held('wide.h5', '--deep')[0],
       'what two samples seem to be, all are not')
    keep('small.h5', images=whole[:500].astype('f4'))
    ok('H5A405' not in held('small.h5', '--deep')[0], 'what is small is no matter')
    keep('one.h5', images=np.zeros((1200, 32, 16), 'f4') + 7)
    ok('H5A405' not in held('one.h5', '--deep')[0], 'nor what is of one value')


def test_rest():
    text = np.frombuffer((b'one word and another ' * 60000)[:1 << 20], 'u1').reshape(256, 64, 64)
    keep('plain.h5', images=text, photos=noise)
    found, known = held('plain.h5', '--sample', '100')
    ok(found['H5A406']['dataset'] == 'images' and known['photos']['zstd_rate'] > 0.99 and
       known['images']['zstd_rate'] < 0.1, 'what compresses, and what does not')
    equal(found['H5A406']['price_bytes'], (1 << 20) * (1 - known['images']['zstd_rate']), 'so much of the file')
    write('packed.h5', text, chunks=(16, 64, 64), compression='gzip')
    ok('H5A406' not in held('packed.h5', '--deep')[0], 'what is compressed is')
    half = rng.integers(0, 2, (1024, 64, 64), 'u1') * rng.integers(0, 256, (1024, 64, 64), 'u1')
    keep('half.h5', images=half)
    known = held('half.h5', '--deep')[1]['images']['zstd_rate']
    ok('H5A406' not in held('half.h5', '--deep')[0] and 0.5 < known < 0.9, f'{known:.2f} is not little enough')

    odd = rng.random((300, 40, 40))
    odd[7, 3, 3], odd[9], odd[20], odd[21], odd[200], odd[40] = np.nan, -np.inf, odd[3], odd[3], odd[100], 5
    for kind, options in ('f8', {}), ('>f8', {'compression': 'gzip'}), ('f4', {'shuffle': True}), ('f2', {}):
        with h5py.File('odd.h5', 'w') as file:
            file.create_dataset('deep/x', data=odd.astype(kind), chunks=(7, 40, 40), **options)
        found, known = held('odd.h5', '--deep', '-j', '3')
        seen = known['deep/x']
        equal((seen['odd'], seen['constant'], seen['equal']), (2, 2, 3), f'{kind}: as they were made')
        ok('the first is 7,' in found['H5A602']['text'] and 'the first is 9,' in found['H5A603']['text'] and
           'the first is 20, as 3' in found['H5A604']['text'], f'{kind}: by their numbers')
    with h5py.File('brain.h5', 'w') as file:
        brain = h5py.h5t.IEEE_F32LE.copy()  # bfloat16
        brain.set_fields(15, 7, 8, 0, 7)
        brain.set_size(2)
        brain.set_ebias(127)
        data = np.zeros((100, 64), 'f4')
        data[::2, 5], data[30, 6], data[40, 7] = -3.3895313892515355e38, np.nan, -np.inf  # what hides in masks
        h5py.h5d.create(file.id, b'x', brain, h5py.h5s.create_simple(data.shape)).write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    found, known = held('brain.h5', '--deep')
    ok(known['x']['odd'] == 2 and 'the first is 30,' in found['H5A602']['text'], 'the least bfloat16 is a number')
    seen = held('odd.h5', '--sample', '300')[1]['deep/x']
    equal((seen['samples'], seen['equal']), (300, 3), 'as many samples as there are are all')
    seen = held('odd.h5', '--sample', '299')[1]['deep/x']
    equal((seen['samples'], seen['equal']), (299, 0), 'of fewer it is not known which are alike')
    keep('rows.h5', pairs=np.ones((2000, 63)), more=np.ones((2000, 64)))
    found = held('rows.h5', '--deep')[0]
    equal((found['H5A603']['dataset'], found['H5A604']['dataset']), ('more', 'more'), 'rows of some values are no samples')


def test_slow_codec():
    """zstd stores what gzip makes very little of in more bytes: masks, not photographs."""
    for data, says in (smooth, 'but what shrinks as much as this in up to twice as many'), \
            (noise & 15, 'which stores as much in about as many bytes'):
        write('gzip.h5', data, chunks=(1, 64, 64), compression='gzip')
        text, = [f['text'] for f in findings('gzip.h5') if f['code'] == 'H5A404']
        ok(text.endswith(says), text)


def test_labels():
    labels = np.repeat(np.arange(10), 100)
    images = rng.integers(0, 256, (1000, 8, 8), 'u1')

    def expect(labels):
        seen = np.mean([len(set(labels[i * 64:i * 64 + 64])) for i in range(len(labels) // 64)])
        share = np.unique(labels, return_counts=True)[1] / len(labels)
        return round(float(seen), 9), round(float(np.sum(1 - (1 - share) ** 64)), 9)

    for kind in 'i8', 'u1', '>i4', 'i2':
        keep('labels.h5', images=images, labels=labels.astype(kind))
        found, known = held('labels.h5', '--sample', '5')
        seen = known['labels']
        equal((seen['classes'], round(seen['classes_in_order'], 9), round(seen['classes_at_random'], 9)),
              (10, *expect(labels)), f'{kind}: classes among 64 labels')
        equal((found['H5A605']['severity'], found['H5A605']['dataset']), ('note', 'labels'), f'{kind}: come in runs')
    found = held('labels.h5', '--sample', '5', '--pattern', 'block:chunks=16')[0]
    equal(found['H5A605']['severity'], 'cost', 'which costs in a block shuffle')
    np.savetxt('weights.txt', np.ones(1000))
    for pattern in 'replacement', 'weighted:by=weights.txt':
        equal(held('labels.h5', '--sample', '5', '--pattern', pattern)[0]['H5A605']['severity'], 'note',
              f'and nothing under {pattern}')
    status, fixed = fix('labels.h5', '--deep', '--fix-rule', '605')
    command, = [f['command'] for f in findings('labels.h5', '--deep') if f['code'] == 'H5A605']
    equal(command, 'h5rechunk labels.h5:/labels --chunk 32768 --shuffle -o new.h5', 'the command names the labels')
    with h5py.File('labels.h5') as before, h5py.File('fixed.h5') as after:
        pairs = [sorted((int(y), x.tobytes()) for x, y in zip(f['images'][:], f['labels'][:])) for f in (before, after)]
        equal((status, [f['code'] for f in fixed['mended']], pairs[0] == pairs[1]), (0, ['H5A605'], True),
              'a random order mends it')

    two = {'train/images': images, 'train/labels': rng.integers(0, 9, 1000), 'test/x': images[:500], 'test/y': labels[:500],
           'images': images, 'labels': rng.integers(0, 9, 1000), 'more': rng.integers(0, 256, (1000, 64, 64), 'u1')}
    keep('sets.h5', **two)
    status, fixed = fix('sets.h5', '--deep', '--fix-rule', '605')
    with h5py.File('fixed.h5') as after:
        moved = [name for name, data in two.items() if (after[name][:] != data).any()]
        pairs = sorted(zip(after['test/y'][:], (x.tobytes() for x in after['test/x'][:])))
    equal((status, moved, pairs == sorted(zip(two['test/y'], (x.tobytes() for x in two['test/x'])))),
          (0, ['test/x', 'test/y'], True), 'only what lies beside these labels')
    with h5py.File('sets.h5', 'r+') as file:
        file['train/labels'][:] = labels
    status, said = subprocess.getstatusoutput('h5audit -q --deep --fix f2.h5 --fix-rule 605 sets.h5')
    ok(status == 2 and 'not of one group' in said and not os.path.exists('f2.h5'), 'two groups, one at a time')
    status, _ = fix('sets.h5:/test/y', '--deep', '--fix-rule', '605')
    with h5py.File('fixed.h5') as after:
        equal((status, (after['train/labels'][:] == labels).all()), (0, True), 'as a dataset is named')
    write('mixed.h5', chunks=(1, 32, 64))
    with h5py.File('mixed.h5', 'r+') as file:
        file['labels'] = np.repeat(np.arange(16), 64)
    status, said = subprocess.getstatusoutput('h5audit -q --deep --fix f2.h5 --fix-rule 605 --fix-rule 103 mixed.h5')
    ok(status == 2 and 'goes by itself' in said and not os.path.exists('f2.h5'), 'an order and no other fix')
    keep('halves.h5', images=images, labels=np.repeat([0, 1], 500))
    ok('H5A605' in held('halves.h5', '--deep')[0], 'one half of each of two classes')
    keep('halves.h5', images=images, labels=rng.integers(0, 2, 1000))
    ok('H5A605' not in held('halves.h5', '--deep')[0], 'and two that are mixed')
    os.unlink('fixed.h5')
    mixed = np.tile(np.arange(10), 100)
    keep('labels.h5', images=images, labels=rng.permutation(labels), cycle=mixed, signed=-labels)
    found, known = held('labels.h5', '--deep')
    equal((found['H5A605']['dataset'], known['cycle']['classes'], known['signed']['classes']), ('signed', 10, 10),
          'those in disorder do not, negative ones do')
    for classes, is_found in (100, True), (101, False):
        keep('labels.h5', images=images, labels=np.sort(np.arange(1000) % classes))
        equal('H5A605' in held('labels.h5', '--deep')[0], is_found, f'{classes} classes of 1000')
    keep('labels.h5', images=images[:99], labels=np.repeat(np.arange(9), 11))
    ok('H5A605' not in held('labels.h5', '--deep')[0], 'a few labels are no matter')
    for beside in (labels, images[:999]):
        keep('labels.h5', images=beside, labels=labels)
        ok('H5A605' not in held('labels.h5', '--deep')[0], 'what lies beside no samples are no labels')
    with h5py.File('labels.h5', 'w') as file:
        file['a/images'], file['b/labels'] = images, labels
    ok('H5A605' not in held('labels.h5', '--deep')[0], 'nor what lies in another group')


def test_hostile_contents():
    with h5py.File('bad.h5', 'w') as file:
        file.create_dataset('images', data=noise[:64], chunks=(1, 64, 64), compression='gzip', fletcher32=True)
        file.create_dataset('other', data=(noise[:300] / 255).astype('f4'))
        file.create_dataset('strings', data=['a'] * 100)
        file.create_dataset('empty', (0, 4), 'f4')
        file['scalar'] = 1.5
        at = file['images'].id.get_chunk_info(9).byte_offset
    with open('bad.h5', 'r+b') as file:
        file.seek(at + 100)
        file.write(b'XXXX')
    found, known = held('bad.h5', '--deep')
    ok(known['images'] is None and known['other']['bytes_by'] == 'k/255' and 'H5A405' in found,
       'what cannot be read does not keep others from it')
    ok(all(known[name] is None for name in ('strings', 'empty', 'scalar')), 'and what has no numbers is passed over')
    status, report = audit('bad.h5', '--deep', '--rule', '602')
    told = {d['path']: d['contents_failure'] for d in report['result']['files'][0]['datasets']}
    equal((status, [name for name, why in told.items() if why], audit('bad.h5', '--rule', '602', '--sample', '1')[0]),
          (1, ['images'], 0), 'that it could not be read is told, and something to look at')
    unknown_filter('unknown.h5')
    status, report = audit('unknown.h5', '--deep', '--rule', '602')
    why = report['result']['files'][0]['datasets'][0]['contents_failure'] or ''
    ok(status == 1 and 'filter 299' in why, f'so is it for want of a filter: {why}')
    with h5py.File('wide.h5', 'w') as file:
        file.create_dataset('images', (2, 257 << 20), 'u1', chunks=(1, 1 << 20))
    run = subprocess.run(['h5audit', '--deep', '--rule', '602', 'wide.h5'], capture_output=True, text=True)
    ok(run.returncode == 1 and run.stdout.startswith('wide.h5: not all was read') and '257 MiB' in run.stdout,
       f'and for too large samples: {run.stdout[:100]}')
    for words in ['-q'], ['--sarif'], ['-q', '--html', 'page.html', '-f']:
        run = subprocess.run(['h5audit', '--deep', *words, 'bad.h5'], capture_output=True, text=True)
        text = open('page.html').read() if '--html' in words else run.stdout
        ok(run.returncode == 1 and '/images' in text and 'could not be read' in text, f'also by {words[-1]}')
    run = subprocess.run(['h5audit', '--deep', '--sarif', 'bad.h5'], capture_output=True, text=True)
    one, = json.loads(run.stdout)['runs'][0]['invocations']
    ok(not one['executionSuccessful'] and '/images' in one['toolExecutionNotifications'][0]['message']['text'],
       'which is no success')


# ---------------------------------------------------------------------------------- --sarif

def test_sarif():
    levels = {'note': 'note', 'cost': 'warning', 'hazard': 'error'}
    os.makedirs('odd #1', exist_ok=True)
    write('odd #1/ü%.h5', rng.integers(0, 256, (400, 3, 218, 178), 'u1'), chunks=(100, 3, 217, 178))
    masked(1)('noted.h5')
    killed(False)('marked.h5')
    words = 'odd #1/ü%.h5', os.path.abspath('noted.h5'), 'marked.h5', 'no.h5'
    run = subprocess.run(['h5audit', '--sarif', *words], capture_output=True, text=True)
    log = json.loads(run.stdout)
    one, = log['runs']
    rules = one['tool']['driver']['rules']
    report = audit(*words)[1]['result']['files']
    found = [(file['file'], f) for file in report for f in file['findings']]
    equal((run.returncode, log['version'], one['tool']['driver']['name']), (2, '2.1.0', 'h5audit'),
          'a log of one run')
    listed = subprocess.run(['h5audit', '--list-rules'], capture_output=True, text=True).stdout.splitlines()
    equal([(r['id'], r['name'], r['shortDescription']['text'], r['defaultConfiguration']['level']) for r in rules],
          [(line.split()[0], line.split()[2], line.split(None, 3)[3], levels[line.split()[1]]) for line in listed],
          'with all rules')
    ok(all(len(r['fullDescription']['text']) > 40 for r in rules), 'which are explained')
    equal([(r['ruleId'], rules[r['ruleIndex']]['id'], r['level']) for r in one['results']],
          [(f['code'], f['code'], levels[f['severity']]) for _, f in found], 'and the findings')
    ok(len(found) > 3 and {f['severity'] for _, f in found} == set(levels), 'of all severities')
    places = [r['locations'][0] for r in one['results']]
    uris = [urllib.parse.unquote(p['physicalLocation']['artifactLocation']['uri']) for p in places]
    equal(uris, [os.path.relpath(name) for name, _ in found], 'each says where')
    ok('odd%20%231/%C3%BC%25.h5' in run.stdout, 'in a URI')
    equal([p.get('logicalLocations', [{}])[0].get('fullyQualifiedName') for p in places],
          ['/' + f['dataset'] if f['dataset'] else None for _, f in found], 'and in which dataset')
    ok(all(f['text'] in r['message']['text'] and (f['command'] or '') in r['message']['text'] and
           r['properties']['price_bytes'] == f['price_bytes']
           for r, (_, f) in zip(one['results'], found)), 'what is wrong, and what mends it')
    told, = one['invocations']
    ok(not told['executionSuccessful'] and "'no.h5'" in told['toolExecutionNotifications'][0]['message']['text'] and
       len(told['toolExecutionNotifications']) == 1, 'a file that is not there is told of')


def flaws(log):
    """What SARIF 2.1.0, and GitHub's code scanning beyond it, ask for and a log does not have."""
    wrong = []

    def want(good, what):
        wrong.extend([] if good else [what])

    def text(owner, what, most=10 ** 6):
        want(isinstance(owner, dict) and isinstance(owner.get('text'), str) and 0 < len(owner['text']) <= most, what)

    want(log['$schema'].startswith('https://') and log['version'] == '2.1.0' and set(log) == {'$schema', 'version', 'runs'}, 'head')
    for run in log['runs']:
        want(set(run) <= {'tool', 'invocations', 'results'}, 'members of a run')
        driver, = [run['tool']['driver']]
        want(driver['name'] and re.fullmatch(r'\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?', driver['semanticVersion']), 'driver')
        rules = driver['rules']
        want(len({r['id'] for r in rules}) == len(rules), 'one rule of each id')
        for rule in rules:
            want(re.fullmatch(r'H5A\d{3}', rule['id']), 'id')
            text(rule['shortDescription'], 'short description', 1024)
            text(rule['fullDescription'], 'full description', 1024)
            text(rule['help'], 'help')
            tags = rule['properties']['tags']
            want(0 < len(tags) <= 20 and all(isinstance(t, str) and t for t in tags) and len(set(tags)) == len(tags), f'tags {tags}')
            want(rule['properties']['precision'] in ('very-high', 'high', 'medium', 'low'), 'precision')
            level = rule['defaultConfiguration']['level']
            want({'error': 'error', 'warning': 'warning', 'note': 'recommendation'}.get(level) == rule['properties']['problem.severity'], level)
        for result in run['results']:
            index = result['ruleIndex']
            want(isinstance(index, int) and 0 <= index < len(rules) and rules[index]['id'] == result['ruleId'], 'rule index')
            want(result['level'] in ('error', 'warning', 'note'), 'level')
            text(result['message'], 'message')
            prints = result['partialFingerprints']
            want(prints and all(isinstance(k, str) and isinstance(v, str) and v for k, v in prints.items()), 'fingerprints')
            place, = result['locations']
            artifact = place['physicalLocation']['artifactLocation']
            uri = artifact['uri']
            want(re.fullmatch(r"([A-Za-z0-9\-._~/]|%[0-9A-F]{2})+|file:///([A-Za-z0-9\-._~/]|%[0-9A-F]{2})+", uri), f'URI {uri}')
            want((artifact.get('uriBaseId') is None) == uri.startswith('file:'), 'what a URI is relative to')
            want(not uri.startswith(('/', './')), f'URI {uri}')
            want(place['physicalLocation']['region']['startLine'] >= 1, 'region')
            for name in place.get('logicalLocations', []):
                want(name['fullyQualifiedName'].startswith('/'), 'logical location')
        same = [(r['ruleId'], r['locations'][0]['physicalLocation']['artifactLocation']['uri'], *r['partialFingerprints'].values())
                for r in run['results']]
        want(len({s[2:] for s in same}) == len(same), 'fingerprints tell results apart')
        call, = run['invocations']
        want(isinstance(call['executionSuccessful'], bool), 'success')
        for told in call['toolExecutionNotifications']:
            text(told['message'], 'notification')
            want(told['level'] in ('error', 'warning', 'note'), 'level of a notification')
    return wrong


def test_sarif_viewers():
    """What viewers need is there, and the same finding has the same fingerprint, however its file is named."""
    os.makedirs('repo/data: #1', exist_ok=True)
    here = os.getcwd()

    def prints(*words, folder='.'):
        os.chdir(folder)
        run = subprocess.run(['h5audit', '--sarif', *words], capture_output=True, text=True)
        os.chdir(here)
        log = json.loads(run.stdout)
        equal(flaws(log), [], f'{words}: nothing is missing, of {len(log["runs"][0]["results"])} results')
        return log['runs'][0]['results']

    def marks(results):
        return sorted((r['ruleId'], *r['partialFingerprints'].values()) for r in results)

    with h5py.File('repo/data: #1/a b.h5', 'w') as file:
        for name in 'one', 'two/ä "x"':
            file.create_dataset(name, data=noise[:300], chunks=(1, 63, 64), compression='gzip', shuffle=True)
    write('repo/other.h5', noise[:300], chunks=(1, 63, 64))
    killed(False)('repo/marked.h5')
    text('repo/none.h5')
    name = 'data: #1/a b.h5'
    first = prints(name, folder='repo')
    ok(len(first) >= 8 and {r['locations'][0]['physicalLocation']['artifactLocation']['uri'] for r in first} == {'data%3A%20%231/a%20b.h5'},
       'a URI from the folder that it is run in')
    equal([marks(prints(n, folder='repo')) == marks(first) for n in (name, './' + name, f'{here}/repo/{name}')], [True] * 3,
          'whatever the name that it is given')
    os.makedirs('elsewhere', exist_ok=True)
    outside = prints(f'{here}/repo/{name}', folder='elsewhere')
    ok(all(r['locations'][0]['physicalLocation']['artifactLocation']['uri'].startswith('file:///') for r in outside), 'from elsewhere all of it')
    beside = prints(f'{here}/repo/other.h5', folder='repo/data: #1')
    ok(not set(marks(beside)) & set(marks(first)), 'other files are others')
    prints('repo/none.h5', 'repo/marked.h5', 'nowhere.h5', 'repo/other.h5')
    with h5py.File(f'repo/{name}', 'r+') as file:
        file['one'][:100] = 0
    equal(marks(prints(name, folder='repo')), marks(first), 'and when its data, and so its numbers, change')


# ------------------------------------------------------------------------------------ --map

def size_of(text):
    number, unit = text.split()[:2]
    return float(number) * 1024 ** ['B', 'KiB', 'MiB', 'GiB'].index(unit.rstrip(':;,'))


def draw(path, *words):
    run = subprocess.run(['h5audit', '-q', '--map', 'map.svg', '-f', path, *words], capture_output=True, text=True)
    if run.returncode == 2:
        note(run.stderr)
        return None, []
    tree = xml.etree.ElementTree.parse('map.svg').getroot()
    return tree, [''.join(t.itertext()) for t in tree.iter('{http://www.w3.org/2000/svg}text')]


def test_map():
    order = rng.permutation(600)
    with h5py.File('map.h5', 'w') as file:
        images = file.create_dataset('images', (600, 64, 64, 3), 'u1', chunks=(1, 64, 64, 3))
        for i in order[:300]:
            images[i] = 1
        file['lab<e>ls & "x"'] = np.arange(300000)
        for k in range(9):
            file[f'small/{k}'] = np.zeros(20000 + k, 'u1')
        sizes = {}
        file.visititems(lambda name, item: sizes.update({name: item.id.get_storage_size()})
                        if isinstance(item, h5py.Dataset) else None)
    tree, texts = draw('map.h5')
    keys = [t for t in texts if t.startswith('/')]
    largest = sorted(sizes, key=lambda name: -sizes[name])[:8]
    equal([t.split(',')[0] for t in keys], ['/' + name for name in largest], 'the largest are named, as they are')
    ok(all(abs(size_of(t.split(', ')[1]) / sizes[name] - 1) < 0.01 for t, name in zip(keys, largest)),
       'with their bytes')
    ok(any(t == '3 other datasets' for t in texts), 'and others counted')
    rest = [t for t in texts if t.endswith('metadata, or nothing')]
    want = os.path.getsize('map.h5') - sum(sizes.values())
    ok(len(rest) == 1 and abs(size_of(rest[0]) / want - 1) < 0.01, f'what is no data: {rest} of {want}')
    blue = [r.get('fill') for r in tree.iter('{http://www.w3.org/2000/svg}rect') if 'hsl(212' in (r.get('fill') or '')]
    ok(len(set(blue)) == 12 and len(blue) > 100, f'chunks in disorder: {len(blue)} stretches of {len(set(blue))} shades')
    write('map2.h5', chunks=(1, 64, 64))
    tree, texts = draw('map2.h5')
    blue = [r.get('fill') for r in tree.iter('{http://www.w3.org/2000/svg}rect')]
    blue = [int(f.split(',')[2][:-2]) for f in blue if 'hsl(212' in (f or '')][:-3]
    ok(blue == sorted(blue, reverse=True) and blue[0] > blue[-1], 'in order they become darker and darker')
    many(30000)('map3.h5')
    draw('map3.h5')
    ok(os.path.getsize('map.svg') < 400000, f'many chunks: {os.path.getsize("map.svg")} bytes')


# ------------------------------------------------------------------------- what is told

def test_recipe():
    """The well-known recipe: half of the file is padding, an image takes two chunks."""
    faces = rng.integers(0, 256, (400, 3, 218, 178), 'u1')
    write('recipe.h5', faces, chunks=(100, 3, 217, 178))
    found = {f['code']: f for f in findings('recipe.h5')}
    stored = os.path.getsize('recipe.h5')
    ok({'H5A102', 'H5A103'} <= set(found), 'the recipe is found')
    ok(abs(found['H5A102']['price_bytes'] * 2 / stored - 1) < 0.01 and '217 does not divide 218' in
       found['H5A102']['text'], 'half of the disk')
    ok(found['H5A103']['value'] == 2, 'two chunks an image')
    if os.path.exists('new.h5'):
        os.unlink('new.h5')
    run = subprocess.run(shlex.split(found['H5A102']['command']) + ['-q'], capture_output=True)
    equal((run.returncode, codes('new.h5')), (0, []), 'run as it is printed, nothing is left')
    ok(os.path.getsize('new.h5') < 0.51 * stored, 'and half of the file is gone')
    os.unlink('new.h5')


def profile(**terms):
    """A machine of which reads cost what is told and nothing else."""
    with open(f'{source}/tests/data/good-profile.json') as file:
        told = json.load(file)
    told |= {name: 0.001 for name in told if name.endswith('_ns')}
    told |= {name: [[65536, 0.001 if 'copy' in name else 100]] for name in told if name.endswith('_by_bytes')}
    told |= {'latency_ns': 1, 'stream_bytes_per_s': 1e12, 'max_bytes_per_s': 1e12, 'max_reads_per_s': 1e9} | terms
    with open('told.json', 'w') as file:
        json.dump(told, file)
    return '--storage', 'told.json'


def test_smaller_file():
    """Half of the disk is worth a rewrite that is no faster, but none that is slower."""
    faces = rng.integers(0, 256, (400, 3, 218, 178), 'u1')
    write('recipe.h5', faces, chunks=(100, 3, 217, 178))
    for what, terms, is_mended in (('as fast', {'call_ns': 1e5}, True), ('slower', {'page_ns_by_bytes': [[65536, 100], [116412, 1e7]]}, False)):
        found = {f['code']: f for f in findings('recipe.h5', *profile(**terms))}
        ok((found['H5A102']['command'] is not None) == is_mended and found['H5A102']['price_bytes'] > 0 and
           found['H5A102']['price_s_per_epoch'] == 0, f'{what}: {found["H5A102"]["command"]}')


def test_price_is_told():
    """What one rewrite saves is the price of what is told, whatever else is ignored or not asked for."""
    for code, others in (('H5A102', ['--ignore', '103']), ('H5A104', ['--rule', '104']), ('H5A104', ['--ignore', '103'])):
        RULES[code][0]('bad.h5')
        whole = {f['code']: f['price_s_per_epoch'] for f in findings('bad.h5')}
        told = {f['code']: f['price_s_per_epoch'] for f in findings('bad.h5', *others)}
        ok(whole['H5A103'] > 0 == whole[code] and told[code] == whole['H5A103'], f'{code} {others}: {told} of {whole}')
    write('recipe.h5', rng.integers(0, 256, (400, 3, 218, 178), 'u1'), chunks=(100, 3, 217, 178))
    as_fast = profile(call_ns=1e5)
    commands = [{f['code']: bool(f['command']) for f in findings('recipe.h5', *as_fast, *words)}['H5A103']
                for words in ((), ('--ignore', '102'))]
    equal(commands, [True, False], 'bytes that nobody is told of are not worth a rewrite')


def test_compressed_padding():
    """What padding takes of compressed chunks is not known; a rewrite that makes the file larger says so."""
    write('padded.h5', np.zeros((2000, 64, 64), 'u1'), chunks=(8, 64, 33), compression='gzip')
    found = {f['code']: f for f in findings('padded.h5', '--pattern', 'sequential')}['H5A102']
    ok(found['price_bytes'] == 0 and 'chunks decode to 1.03 times the bytes of the data' in found['text'] and
       'the file takes' not in found['text'], found['text'])
    with h5py.File('padded.h5') as file:
        stored = file['images'].id.get_storage_size()
    wrong = []
    for pattern in 'sequential', 'shuffle', 'block:chunks=4':
        for f in findings('padded.h5', '--pattern', pattern):
            if f['command'] and 'h5rechunk' in f['command']:
                subprocess.run(shlex.split(f['command']) + ['-q', '-f'], check=True)
                with h5py.File('new.h5') as file:
                    grown = file['images'].id.get_storage_size() > 1.1 * stored
                if grown and f['code'] in ('H5A102', 'H5A103', 'H5A104', 'H5A105') and \
                        (f['grown_bytes'] or 0) < stored:
                    wrong.append((pattern, f['code'], f['command'], f['remedy']))
    equal(wrong, [], 'a layout that takes more says so')
    for pattern in 'sequential', 'shuffle', 'block:chunks=4':
        run = subprocess.run(['h5audit', '--pattern', pattern, 'padded.h5'], capture_output=True, text=True)
        grown = any(f['grown_bytes'] for f in findings('padded.h5', '--pattern', pattern))
        equal('note:  its data takes about' in run.stdout, grown, f'{pattern}: in words too ({grown})')
    write('padded.h5', np.zeros((2000, 64, 64), 'u1'), chunks=(8, 64, 33), fletcher32=True)
    found = {f['code']: f for f in findings('padded.h5')}['H5A102']
    ok(found['price_bytes'] > 0 and 'the file takes' in found['text'], 'a checksum compresses nothing')


def test_crashing_filter():
    """What a filter does to a stranger's chunks is done in a child, also where samples are only priced."""
    libs = f'{os.environ["top_builddir"]}/tests/.libs'
    if os.environ.get('SANITIZERS', 'no') != 'no' or not os.path.exists(f'{libs}/libplain_filter.so'):
        return skip('no plugin that crashes here')
    make = ('import h5py, numpy; f = h5py.File("crash.h5", "w"); f.create_dataset("images", data=numpy.ones((64, 256, 512), "u1"), '
            'chunks=(16, 256, 512), compression=277, compression_opts=(4,), allow_unknown_filter=True)')
    env = {**os.environ, 'HDF5_PLUGIN_PATH': libs}
    subprocess.run([sys.executable, '-c', make], env=env, check=True)
    for words, want in ((['h5audit', '-q', 'crash.h5', 'padded.h5'], 'H5A205'),
                        (['h5audit', '-q', '--sample', '9', 'crash.h5', 'padded.h5'], 'SIGABRT while reading the samples'),
                        (['h5advise', 'crash.h5'], 'SIGABRT while reading samples')):
        run = subprocess.run(words, env=env, capture_output=True, text=True)
        said = ' '.join((run.stdout + run.stderr).split())
        ok(run.returncode > 0 and want in said and ('padded.h5: ' in said) == (words[0] == 'h5audit'),
           f'{" ".join(words)}: {run.returncode}')
        if want not in said:
            note(said)


def test_sources():
    pieces(True)('bad.h5')
    found, = [f for f in findings('bad.h5') if f['code'] == 'H5A514']
    ok(found['value'] == 2 and found['text'].startswith("2 of 4 sources are not there, the first is of 'piece2.h5'"),
       found['text'])


def test_prefix():
    """With HDF5_VDS_PREFIX a source is missing where HDF5 finds none."""
    def virtual(path, stored):
        layout = h5py.VirtualLayout((4, 8), 'u1')
        layout[:] = h5py.VirtualSource(stored, 'images', (4, 8))
        with h5py.File(path, 'w') as file:
            file.create_virtual_dataset('images', layout, fillvalue=0)

    here = os.path.realpath('.')
    ones = np.ones((4, 8), 'u1')
    for folder in ('p', 'p:q', 'elsewhere'):
        os.makedirs(f'{folder}/sub')
    os.makedirs('a:b')
    with h5py.File('without.h5', 'w') as file:
        file['others'] = ones
    cases = [(folder, stored, prefix, place)
             for folder in ('p', 'p:q') for stored in ('s.h5', f'{here}/gone/s.h5')
             for prefix, place in (('${ORIGIN}/sub', f'{folder}/sub'), ('${ORIGIN}/sub', 'elsewhere'),
                                   (f'{here}/{folder}/sub', f'{folder}/sub'), ('a:b', 'a:b'), ('a:b', 'elsewhere'),
                                   (f'x::{here}/elsewhere', 'elsewhere'), (f':{here}/elsewhere:', 'elsewhere'),
                                   (f'{here}/p/sub:{here}/elsewhere', 'p/sub'))]
    if not LONG:  # each with HDF5 in a process of its own
        cases = cases[::3]
    cases += [('p', f'{here}/without.h5', f'{here}/elsewhere', 'elsewhere'),
              ('p', f'{here[1:]}/elsewhere/s.h5', 'x::y', 'elsewhere')]  # not below an empty one
    said, read = [], []
    program = 'import h5py, sys; print(h5py.File(sys.argv[1])["images"][()].max())'
    for folder, stored, prefix, place in cases:
        source, path = f'{place}/{os.path.basename(stored)}', f'{folder}/v.h5'
        virtual(path, stored)
        write(source, ones)
        with_prefix = {**os.environ, 'HDF5_VDS_PREFIX': prefix}
        read.append(subprocess.run([sys.executable, '-c', program, path], capture_output=True, text=True, env=with_prefix).stdout.strip())
        run = subprocess.run(['h5audit', '--json', path], capture_output=True, text=True, env=with_prefix)
        said.append('0' if 'H5A514' in run.stdout else '1')
        os.remove(source)
    equal(said, read, f'sources are missing where HDF5 finds none: {read.count("0")} of {len(cases)}')


def told(path, *words):
    """What h5advise warns of in today's layout."""
    run = subprocess.run(['h5advise', '--json', *words, f'{path}:/images'], capture_output=True, text=True)
    return json.loads(run.stdout)['result']['warnings'] if run.returncode == 0 else [run.stderr]


def measured(path):
    """What h5readbench found at fault in the file it read."""
    run = subprocess.run(['h5readbench', '--json', '--no-trial', '--batches', '4', f'{path}:/images'], capture_output=True, text=True)
    if run.returncode:
        return {'failed': run.stderr}
    return {f'H5A{f["code"]}': f['text'] for f in json.loads(run.stdout)['measured']['findings']}


OF_READERS = {'H5A204', 'H5A302'}  # of what nobody asked the auditor about
OF_FILES = {'H5A501', 'H5A502', 'H5A504', 'H5A510', 'H5A512', 'H5A515', 'H5A601'}


def test_same_sentence():
    """The auditor, the advisor and the benchmark say the same of a dataset."""
    words = ['--storage', 'nvme', '--workers', '1', '--read', 'sample']
    n, wrong, seen = 0, [], set()
    for code, (breaks, _, _) in RULES.items():
        if code in OF_FILES | {'H5A101', 'H5A107', 'H5A402', 'H5A511', 'H5A514'}:  # no numbers that can be read
            continue
        breaks('same.h5')
        ours = {f['code']: f for f in findings('same.h5:/images', *words)
                if f['dataset'] == 'images' and f['code'] not in OF_READERS}
        theirs = {f'H5A{w["code"]}': w for w in told('same.h5', *words)}
        theirs = {c: w for c, w in theirs.items() if c not in OF_READERS}
        seen |= set(ours)
        n += 1
        if set(ours) != set(theirs):
            wrong.append((code, sorted(ours), sorted(theirs)))
        wrong += [(c, ours[c]['text'], theirs[c]['text']) for c in set(ours) & set(theirs)
                  if not theirs[c]['text'].startswith(ours[c]['text'])]
        wrong += [(c, ours[c]['price_bytes'], theirs[c]['price_bytes']) for c in set(ours) & set(theirs)
                  if abs(ours[c]['price_bytes'] - theirs[c]['price_bytes']) > 0.02 * theirs[c]['price_bytes']]
    equal(wrong, [], f'h5audit and h5advise say the same of {n} files')
    ok(len(seen) >= 12, f'by {len(seen)} rules')
    RULES['H5A401'][0]('same.h5')
    found = measured('same.h5')
    ok({'H5A401', 'H5A403'} <= set(found), f'and h5readbench: {sorted(found)}')


def test_reopening():
    """A reader who opens the dataset at each read hears of it; nobody else does."""
    chunks((8, 64, 64))('bad.h5')
    order = ['--pattern', 'block:chunks=4', '--workers', '1']
    found = [f for f in findings('bad.h5', '--reopen', *order) if f['code'] == 'H5A302']
    ok(len(found) == 1 and found[0]['price_s_per_epoch'] > 0 and found[0]['value'] > 1.25, f'opened at each read: {found}')
    equal(codes('bad.h5', '--rule', '302', *order), [], 'kept open')


def test_old_index():
    """What it takes to search a version 1 B-tree of many chunks counts where the file has those."""
    rates = []
    for version in 'earliest', 'latest':
        with h5py.File('index.h5', 'w', libver=version) as file:
            file.create_dataset('images', data=np.zeros((120000, 16), 'u1'), chunks=(1, 16))
        rates.append(audit('index.h5', '--workers', '1')[1]['result']['files'][0]['datasets'][0]['reading']['samples_per_s'])
    ok(1.2 * rates[0] < rates[1], f'{rates[0]:.0f} samples/s by an old index, {rates[1]:.0f} by a new one')


def test_shared():
    """Whoever begins first is named first; a dataset that two links lead to shares nothing."""
    shared(5)('bad.h5')
    found, = [f for f in findings('bad.h5') if f['code'] == 'H5A515']
    with h5py.File('bad.h5') as file:
        place = file['other'].id.get_offset() + 4096 - 5
    ok(f"'/images' and '/other' both claim bytes of the file from {place} on" in found['text'] and
       found['value'] == 1 and found['dataset'] is None, found['text'])
    with h5py.File('good.h5', 'w') as file:
        file['images'] = noise
        file['again'] = file['images']
        file.create_dataset('chunked', data=noise, chunks=(1, 64, 64))
        file['too'] = file['chunked']
    equal(codes('good.h5', '--rule', '515'), [], 'hard links of one dataset')


def test_described():
    """Groups, attributes and the rest of pages are no holes; holes beside them are."""
    def groups(holes):
        def make(path):
            with h5py.File(path, 'w') as file:
                file['images'] = noise[:16]
                for i in range(1500):
                    file.create_group(f'group {i}').attrs['about'] = np.zeros(200)
                file['other'] = np.zeros(3 << 20, 'u1')
                file['end'] = np.zeros(64, 'u1')
                if not holes:
                    file['kept'] = file['other']
            with h5py.File(path, 'r+') as file:
                del file['other']
        return make

    def attributes(path):
        with h5py.File(path, 'w', libver='latest') as file:
            file['images'] = noise[:16]
            for i in range(300):
                file['images'].attrs[f'about {i}'] = np.random.default_rng(i).random(1000)

    def texts(path):
        with h5py.File(path, 'w') as file:
            for i in range(40):
                file[f'demo {i}/actions'] = noise[i]
                file[f'demo {i}'].attrs['model'] = '<mujoco>' * 3000
                file[f'demo {i}'].attrs['words'] = ['one', 'word' * 8000]
                file[f'demo {i}'].attrs.create('steps', [np.arange(900.), np.arange(99.)], dtype=h5py.vlen_dtype('f8'))

    def pages(path, **options):
        with h5py.File(path, 'w', fs_strategy='page', fs_page_size=1 << 16) as file:
            file.create_dataset('images', data=np.repeat(noise.reshape(64, -1), 2, 1)[:, :70000], chunks=(1, 70000), **options)

    for make, what in ((groups(False), 'groups'), (attributes, 'attributes'), (texts, 'texts of attributes'), (pages, 'pages'),
                       (functools.partial(pages, compression='gzip'), 'pages of compressed chunks')):
        make('described.h5')
        size = os.path.getsize('described.h5')
        _, report = audit('described.h5')
        file, = report['result']['files']
        known = file['metadata_bytes'] + sum(d['stored_bytes'] for d in file['datasets'])
        ok('H5A510' not in codes('described.h5') and size > 2 << 20 and
           (file['page_bytes'] == 1 << 16 if 'pages' in what else 0 <= size - known < size / 10),
           f'{what} are no holes: {size} bytes, of which {file["metadata_bytes"]} describe')
    with h5py.File('parts.h5', 'w') as file:
        images = file.create_dataset('images', data=noise[:8])
        parts = file.create_dataset('parts', (9000,), dtype=h5py.regionref_dtype)
        for i in range(9000):
            parts[i] = images.regionref[i % 8, ::3, ::3]
    ok('H5A510' not in codes('parts.h5') and os.path.getsize('parts.h5') > 3 << 20, 'nor are the heaps of references to parts')
    groups(True)('described.h5')
    found, = [f for f in findings('described.h5') if f['code'] == 'H5A510']
    ok(3 << 20 <= found['price_bytes'] < (3 << 20) + (1 << 18), f'a hole beside groups is one: {found["price_bytes"]}')


def test_facts():
    """What is told of chunks is what h5py says of them."""
    with h5py.File('facts.h5', 'w') as file:
        images = file.create_dataset('a/images', data=smooth, chunks=(3, 64, 64), compression='gzip')
        infos = [images.id.get_chunk_info(i) for i in range(images.id.get_num_chunks())]
        file['scalar'] = 1
    _, report = audit('facts.h5')
    file = report['result']['files'][0]
    told = file['datasets'][0]
    sizes = sorted(i.size for i in infos)
    equal((told['path'], told['chunk'], told['chunks']['stored'], told['chunks']['missing'],
           told['chunks']['stored_min_bytes'], told['chunks']['stored_max_bytes'], told['stored_bytes']),
          ('a/images', [3, 64, 64], len(infos), 0, sizes[0], sizes[-1], sum(sizes)), 'chunks as h5py sees them')
    equal(told['chunks']['span_bytes'], max(i.byte_offset + i.size for i in infos) - min(i.byte_offset for i in infos),
          'the part of the file that they lie in')
    equal((file['n_datasets'], file['file_bytes'], file['end_bytes']),
          (2, os.path.getsize('facts.h5'), os.path.getsize('facts.h5')), 'and the file')
    asked = json.loads(subprocess.run(['h5advise', '--no-measure', '--json', '-q', 'facts.h5:/a/images', '--what-if'],
                                      capture_output=True, text=True).stdout)['result']['rows'][0]
    equal(told['reading']['loads_per_sample'], asked['loads_per_sample'], 'h5advise has the same loads')
    with h5py.File('two.h5', 'w', userblock_size=1024) as file:
        for name in 'x', 'y':
            file.create_dataset(name, data=noise, chunks=(1, 64, 64))
    _, report = audit('two.h5')
    equal(report['result']['files'][0]['user_block_bytes'], 1024, 'a user block')
    equal([len(audit(f'two.h5{what}')[1]['result']['files'][0]['datasets']) for what in ('', ':/y')], [2, 2],
          'one dataset of two is asked for')
    ok([sum(d['reading'] is not None for d in audit(f'two.h5{what}')[1]['result']['files'][0]['datasets'])
        for what in ('', ':/y')] == [2, 1], 'and it alone is priced')


def test_guess():
    """h5py's own guess, for shapes drawn at random."""
    wrong = []
    for i in range(40):
        shape = tuple(int(rng.integers(1, 90)) for _ in range(int(rng.integers(2, 4)))) + (60,)
        kind = ('u1', 'f4', 'f8')[i % 3]
        if np.prod(shape) * np.dtype(kind).itemsize < 1 << 17:
            continue
        with h5py.File('guess.h5', 'w') as file:
            guessed = file.create_dataset('images', shape, kind, chunks=True).chunks
        cuts = any(c < s for c, s in zip(guessed[1:], shape[1:]))
        if ('H5A104' in codes('guess.h5', '--rule', '104')) != cuts:
            wrong.append((shape, kind, guessed))
    equal(wrong, [], "h5py's guess is known")


def test_damage():
    """Files that are damaged, or are none, are findings; all others go on."""
    cut(5)('cut.h5')
    overwritten('header')('header.h5')
    ok(set(codes('header.h5')) & {'H5A503', 'H5A504', 'H5A505'}, 'a header that is overwritten')
    overwritten('beyond')('beyond.h5')
    ok(set(codes('beyond.h5')) & {'H5A505', 'H5A507'}, 'a chunk beyond the end')
    write('fine.h5', chunks=(1, 64, 64))
    text('text.h5')
    status, report = audit('cut.h5', 'text.h5', 'fine.h5')
    equal((status, [[x['code'] for x in f['findings']] for f in report['result']['files']]),
          (1, [['H5A501', 'H5A516'], ['H5A504'], []]), 'each has its findings')
    status, report = audit('nothing.h5', 'fine.h5')
    ok(status == 2 and 'No such file' in report['result']['files'][0]['failure'], 'a file that is not there: status 2')
    equal(audit('fine.h5:/nothing')[0], 2, 'a dataset that is not there: status 2')
    equal([audit('cut.h5', '--fail-on', s)[0] for s in ('note', 'cost', 'hazard')], [1, 1, 1], 'a hazard is more')
    partly(31)('part.h5')
    equal([audit('part.h5', '--fail-on', s)[0] for s in ('note', 'cost', 'hazard')], [1, 0, 0], 'than a note')
    before = os.stat('fine.h5').st_mtime_ns
    os.chmod('fine.h5', 0o444)
    equal((audit('fine.h5')[0], os.stat('fine.h5').st_mtime_ns), (0, before), 'nothing is written')


def test_many_larger():
    """The largest are priced, and whatever is named."""
    with h5py.File('larger.h5', 'w') as file:
        for i in range(32):
            file.create_dataset(f'big{i:02}', (64, 256, 256), 'u1', chunks=(1, 256, 256))
        file.create_dataset('small', (32, 256, 256), 'u1', chunks=(1, 256, 256))
    priced = [sorted(d['path'] for d in audit(f'larger.h5{what}')[1]['result']['files'][0]['datasets'] if d['reading'])
              for what in ('', ':/small')]
    equal(priced, [[f'big{i:02}' for i in range(32)], ['small']], 'one that is named is priced, whatever is larger')


def test_cut_short():
    """Of a file that no tool opens it is told what makes it one that opens, and nothing else."""
    write('cut.h5', rng.integers(0, 4, (64, 64, 512)).astype('u1'), chunks=(1, 64, 512), compression='gzip', shuffle=True)
    os.truncate('cut.h5', os.path.getsize('cut.h5') - 5000)
    found = {f['code']: f['command'] for f in findings('cut.h5')}
    equal((found.pop('H5A501'), set(found.values())), ('h5audit --salvage new.h5 cut.h5', {None}), 'it is salvaged')
    ok('H5A401' in found, f'whatever else is found {sorted(found)}')
    run = subprocess.run(['h5audit', '--salvage', 'new.h5', '-f', 'cut.h5'], capture_output=True, text=True)
    with h5py.File('new.h5') as file:
        equal((run.returncode, file['images'].shape), (1, (64, 64, 512)), 'by that command')
    os.truncate('cut.h5', 600)
    equal([f['command'] for f in findings('cut.h5')], [None], 'one of which only the beginning is there by none')
    run = subprocess.run(['h5audit', '--html', 'page.html', '-f', 'cut.h5'], capture_output=True)
    ok('All of it at once' not in open('page.html').read(), 'nor all at once')


def test_names():
    """A name from a file cannot write lines, nor to the terminal."""
    with h5py.File('esc.h5', 'w') as file:
        file.create_dataset('a\x1b[31mred\nFAKE: everything is good', data=noise[:1], chunks=(1, 64, 64))
    for mode in '--verify', '-q':
        run = subprocess.run(['h5audit', mode, 'esc.h5'], capture_output=True, text=True)
        ok('\x1b' not in run.stdout and '\nFAKE' not in run.stdout, f'{mode}: {run.stdout!r}')
    run = subprocess.run(['h5audit', '--verify', 'esc.h5'], capture_output=True, text=True)
    ok('/a\\x1b[31mred\\x0aFAKE: everything is good: good, 1 chunk\n' in run.stdout, 'it is shown on one line')


def page_of(*words):
    subprocess.run(['h5audit', '--html', 'page.html', '-f', *words], capture_output=True)
    with open('page.html') as file:
        return file.read()


def test_page():
    """All at once is offered where it does something, and the same; the worst is named, of all files."""
    RULES['H5A102'][0]('padded.h5')
    deleted(3 << 20)('holes.h5')
    once = 'All of it at once'
    ok(once in page_of('padded.h5') and once not in page_of('holes.h5'), 'not where --fix has nothing to write')
    for words in (['--workers', '2'], ['--ignore', '103'], ['--threshold', '102=1.01'], ['--rdcc-w0', '0.5']):
        ok(once not in page_of(*words, 'padded.h5'), f'nor where it would not be the same: {words[0]}')
    ok(once in page_of('--sample', '3', '--fail-on', 'hazard', 'padded.h5'), 'what changes nothing does not matter')
    partly(31)('a_note.h5')
    killed(False)('z_hazard.h5')
    ok('First of all, z_hazard.h5: the file is marked' in page_of('a_note.h5', 'padded.h5', 'z_hazard.h5'),
       'the worst of all files is named first')
    ok('First of all, padded.h5, /images: ' in page_of('a_note.h5', 'padded.h5'), 'with its dataset')


def test_alike():
    """All kinds of datasets that there are too many of are named, however they are mixed, with how many there are."""
    with h5py.File('kinds.h5', 'w') as file:
        for i in range(120):
            for name, n, shape in ('set/%03d image', 100, (3, 4)), ('set/%03d mask', 110, (3,)), ('other/%03d', 120, (3, 4)), ('few/%d', 99, (3,)):
                if i < n:
                    file.create_dataset(name % i, shape, 'u1')
    _, report = audit('kinds.h5')
    file, = report['result']['files']
    found, = [f for f in file['findings'] if f['code'] == 'H5A512']
    ok(found['value'] == 120 and found['text'] == "120 datasets of the same shape, 3x4, in '/other', 110 of 3 in '/set', 100 of 3x4 in "
       "'/set': one for each sample", found['text'])
    equal((file['n_alike'], file['alike']), (3, [{'group': 'other', 'extent': [3, 4], 'datasets': 120}, {'group': 'set', 'extent': [3], 'datasets': 110},
                                                {'group': 'set', 'extent': [3, 4], 'datasets': 100}]), 'and in JSON')
    with h5py.File('kinds.h5', 'w') as file:
        for k in range(110):
            for i in range(3):
                file.create_dataset(f'a{k:03}{"x" * 90}/{i}', (2, k + 1), 'u1')
    _, report = audit('kinds.h5', '--threshold', '512=3')
    file, = report['result']['files']
    found, = [f for f in file['findings'] if f['code'] == 'H5A512']
    ok(found['text'].endswith(', and those of 106 other kinds: one for each sample') and found['text'].count(" in '/a") == 4 and
       found['remedy'].startswith('one dataset of each kind'), found['text'])
    equal((file['n_alike'], len(file['alike'])), (110, 100), 'very many are counted')


def test_lots():
    """Of very many datasets the last is found by its name, and it is told that not all were looked at."""
    with h5py.File('lots.h5', 'w', libver='latest') as file:
        space, kind = h5py.h5s.create_simple((2,)), h5py.h5t.STD_U8LE
        options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        options.set_layout(h5py.h5d.COMPACT)
        for i in range(20003):
            h5py.h5d.create(file.id, b'd%05d' % i, kind, space, options)
    seen = []
    for what in '', ':/d20002':
        file, = audit('lots.h5' + what)[1]['result']['files']
        seen.append((file['n_datasets'], len(file['datasets']), file['datasets'][-1]['path'], file['failure']))
    equal(seen, [(20003, 20000, 'd19999', None), (20003, 20001, 'd20002', None)], 'the last of 20003 by its name')
    for words in (['-q'], ['--sarif'], ['-q', '--html', 'page.html', '-f'])[:3 if LONG else 1]:
        run = subprocess.run(['h5audit', *words, 'lots.h5'], capture_output=True, text=True)
        text = open('page.html').read() if '--html' in words else run.stdout
        ok('3 of its 20003 datasets were not looked at' in text, f'what is left out is told by {words[-1]}')
    run = subprocess.run(['h5audit', 'lots.h5:/d20002'], capture_output=True, text=True)
    ok('not looked at' not in run.stdout, 'who asks for one has it')


def test_links():
    """A dataset is asked for by whatever link leads to it."""
    write('links.h5', chunks=(1, 63, 64))
    with h5py.File('links.h5', 'r+') as file:
        file['below/zz'], file['soft'] = file['images'], h5py.SoftLink('/below/zz')
        file['out'] = h5py.ExternalLink('other.h5', '/images')
        file['group/x'] = np.zeros(3)
    write('other.h5', chunks=(1, 63, 64))
    for name in 'below/zz', 'images', 'soft':
        status, report = audit(f'links.h5:/{name}')
        file, = report['result']['files']
        equal((status, file['failure'], {f['dataset'] for f in file['findings']}), (1, None, {'below/zz'}),
              f'asked for as {name}')
    write('other.h5', smooth, chunks=(1, 63, 64), compression='gzip')
    found = {f['code']: (f['command'], f['remedy']) for f in findings('links.h5:/out')}
    ok({'H5A102', 'H5A404'} <= set(found) and set(found.values()) == {(None, 'it is in another file: audit that one')},
       f'or one that lies in another file, and is mended there {found}')
    equal([audit(f'links.h5:/{name}')[0] for name in ('group', 'none')], [2, 2], 'a group is none, nor is nothing')
    status, fixed = fix('links.h5:/soft')
    ok(status == 0 and 'H5A102' in [f['code'] for f in fixed['mended']], 'and mended so')


def plain(roff):
    """The words of a manual page's source, without requests."""
    lines = [re.sub(r'^\.(B|I|BR|BI|TP|RI) ?', '', line) for line in roff.splitlines()]
    return re.sub(r'\s+', ' ', ' '.join(lines).replace('\\-', '-').replace('\\(aq', "'").replace('\\&', ''))


def test_manual():
    """--list-rules, --explain and the manual are of one source."""
    with open(os.path.join(source, 'man/h5audit.1')) as file:
        page = plain(file.read())
    listed = subprocess.run(['h5audit', '--list-rules'], capture_output=True, text=True).stdout.splitlines()
    wrong = []
    for line in listed:
        code, severity, name, title = line.split(None, 3)
        told = subprocess.run(['h5audit', '--explain', name], capture_output=True, text=True).stdout
        head, _, why = told.partition('\n')
        if head != f'{code} {name} ({severity}): {title}' or re.sub(r'\s+', ' ', why.strip()) not in page or \
                f'{code} {name} ({severity}) {title[0].upper()}{title[1:]}.' not in page:
            wrong.append(code)
    equal(wrong, [], f'the manual has what is explained, of {len(listed)} rules')
    ok(len(listed) >= 30 and set(RULES) <= {line.split()[0] for line in listed}, 'all rules are listed')


test_rules()
test_asked()
test_collisions()
test_left_out()
test_unlisted()
test_unwritten()
test_thresholds()
test_sources()
test_prefix()
test_shared()
test_described()
test_lengths()
test_same_sentence()
test_reopening()
test_old_index()
test_fix()
test_foreseen()
test_left()
test_settings_and_rewrite()
test_harmful()
test_grown()
test_bytes()
test_rest()
test_labels()
test_slow_codec()
test_hostile_contents()
test_sarif()
test_sarif_viewers()
test_map()
test_recipe()
test_smaller_file()
test_price_is_told()
test_compressed_padding()
test_crashing_filter()
test_facts()
test_guess()
test_damage()
test_cut_short()
test_names()
test_page()
test_anew()
test_many_larger()
test_alike()
test_lots()
test_links()
test_manual()
done()
