"""h5audit, rule by rule: a small file that breaks it and one that just does not; commands that it
prints are run, and what they mend is gone; damage; the manual says what --explain says."""
import json
import os
import re
import shlex
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree

import h5py
import numpy as np
from tap import done, equal, note, ok, skip

work = sys.argv[1]
source = os.environ['top_srcdir']
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


def lengths(n):
    def make(path):
        write(path)
        with h5py.File(path, 'r+') as file:
            file['labels'] = np.zeros(n, 'i8')
    return make


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
    'H5A508': (partly(31), partly(32), False),
    'H5A509': (in_order([i ^ 1 for i in range(16)] + list(range(16, 32))),
               in_order([i ^ 1 for i in range(14)] + list(range(14, 32))), False),
    'H5A510': (deleted(3 << 20), deleted(1 << 19), False),
    'H5A511': (many(100000), many(100000, libver=('v110', 'v110')), False),
    'H5A512': (one_each(100), one_each(99), False),
    'H5A513': (masked(1), masked(0), False),
    'H5A601': (lengths(1023), lengths(1024), False),
}


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
    return codes('new.h5', '--ignore', 'H5A404')


def test_rules():
    for code, (breaks, just_not, is_mended) in RULES.items():
        breaks('bad.h5')
        just_not('good.h5')
        found = [f for f in findings('bad.h5') if f['code'] == code]
        good = codes('good.h5')
        ok(len(found) == 1 and code not in good, f'{code} where it should be, and not where it should not')
        if len(found) != 1 or code in good:
            note(f'bad {codes("bad.h5")}, good {good}')
            continue
        alone = codes('bad.h5', '--rule', code), codes('bad.h5', '--ignore', code)
        ok(alone[0] == [code] and code not in alone[1], f'{code} alone, and all but it')
        if is_mended == 'settings':
            set_to = re.findall(r'rdcc_(\w+)=([0-9.]+)', found[0]['remedy'])
            left = codes('bad.h5', *(word for name, value in set_to for word in (f'--rdcc-{name}', value)))
            ok(len(set_to) == 3 and code not in left, f'{code}: the settings mend it {left}')
        elif is_mended:
            left = mend(found[0], 'bad.h5') if found[0]['command'] else ['no command']
            ok(code not in left and not set(left) & {'failed', 'other data', 'no command'},
               f'{code}: what is printed mends it {left}')


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
    equal(uris, [('file://' if name[0] == '/' else '') + name for name, _ in found], 'each says where')
    ok('odd%20%231/%C3%BC%25.h5' in run.stdout, 'in a URI')
    equal([p.get('logicalLocations', [{}])[0].get('fullyQualifiedName') for p in places],
          ['/' + f['dataset'] if f['dataset'] else None for _, f in found], 'and in which dataset')
    ok(all(f['text'] in r['message']['text'] and (f['command'] or '') in r['message']['text'] and
           r['properties']['price_bytes'] == f['price_bytes']
           for r, (_, f) in zip(one['results'], found)), 'what is wrong, and what mends it')
    told, = one['invocations']
    ok(not told['executionSuccessful'] and "'no.h5'" in told['toolExecutionNotifications'][0]['message']['text'] and
       len(told['toolExecutionNotifications']) == 1, 'a file that is not there is told of')


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
    equal((status, [len(f['findings']) for f in report['result']['files']]), (1, [1, 1, 0]), 'each has its findings')
    status, report = audit('nothing.h5', 'fine.h5')
    ok(status == 2 and 'No such file' in report['result']['files'][0]['failure'], 'a file that is not there: status 2')
    equal(audit('fine.h5:/nothing')[0], 2, 'a dataset that is not there: status 2')
    equal([audit('cut.h5', '--fail-on', s)[0] for s in ('note', 'cost', 'hazard')], [1, 1, 1], 'a hazard is more')
    partly(31)('part.h5')
    equal([audit('part.h5', '--fail-on', s)[0] for s in ('note', 'cost', 'hazard')], [1, 0, 0], 'than a note')
    before = os.stat('fine.h5').st_mtime_ns
    os.chmod('fine.h5', 0o444)
    equal((audit('fine.h5')[0], os.stat('fine.h5').st_mtime_ns), (0, before), 'nothing is written')


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
test_fix()
test_sarif()
test_map()
test_recipe()
test_facts()
test_guess()
test_damage()
test_manual()
done()
