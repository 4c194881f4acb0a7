"""What h5audit says of datasets is what h5dump says, of files written here and of those in the
folder that is given."""
import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np
from tap import done, ok

os.chdir(sys.argv[1])

# ----------------------------------------------------------------------- h5dump

NUMBER = re.compile(r'H5T_(STD_([IU])|IEEE_F)(\d+)(LE|BE)$')
CLASSES = {'H5T_STRING': 'string', 'H5T_COMPOUND': 'compound', 'H5T_ENUM': 'enum', 'H5T_VLEN': 'variable-length',
           'H5T_ARRAY': 'array', 'H5T_OPAQUE': 'opaque', 'H5T_REFERENCE': 'reference'}
FILTERS = {'PREPROCESSING SHUFFLE': 'shuffle', 'CHECKSUM FLETCHER32': 'fletcher32', 'COMPRESSION SZIP': 'szip',
           'COMPRESSION NBIT': 'nbit', 'COMPRESSION SCALEOFFSET': 'scaleoffset'}


def type_of(words):
    """As h5audit has it; None: it is not compared."""
    number = NUMBER.match(words)
    if number:
        big = '>' if number[4] == 'BE' and number[3] != '8' else ''
        kind = {'I': 'int', 'U': 'uint', None: 'float'}[number[2]]
        return f'{big}{kind}{number[3]}'
    return next((name for begin, name in CLASSES.items() if words.startswith(begin)), None)


def extent_of(words):
    if words.startswith('SCALAR') or words.startswith('NULL'):
        return []
    return [int(n) for n in re.match(r'SIMPLE \{ \(([^)]*)\)', words)[1].split(',')]


def block(lines, at):
    """Lines of the block that begins on this one, without its braces; the line behind it."""
    depth, first = 0, at
    while True:
        depth += lines[at].count('{') - lines[at].count('}')
        at += 1
        if depth <= 0:
            return lines[first + 1:at - 1], at


def put_dataset(lines, said):
    for i, line in enumerate(lines):
        word, _, rest = line.partition(' ')
        rest = rest.strip()
        if word == 'DATATYPE' and 'type' not in said:
            said['type'] = type_of(rest)
        elif word == 'DATASPACE' and 'extent' not in said:
            said['extent'] = extent_of(rest)
        elif word == 'STORAGE_LAYOUT':
            inner, _ = block(lines, i)
            word = inner[0].partition(' ')[0].lower()
            said['layout'] = 'external' if any(w.startswith('EXTERNAL') for w in inner) else \
                'virtual' if word == 'mapping' else word
            if said['layout'] == 'chunked':
                said['chunk'] = [int(n) for n in re.search(r'\(([^)]*)\)', inner[0])[1].split(',')]
            size = [w for w in inner if w.startswith('SIZE')]
            if size and said['layout'] in ('chunked', 'contiguous', 'compact'):
                said['stored_bytes'] = int(size[0].split()[1])
        elif word == 'FILTERS':
            inner, _ = block(lines, i)
            said['filters'] = [name for w in inner for begin, name in FILTERS.items() if w.startswith(begin)] + \
                [f'gzip:{m[1]}' for w in inner for m in [re.match(r'COMPRESSION DEFLATE \{ LEVEL (\d+)', w)] if m]
            said['n_user'] = sum(w.startswith('USER_DEFINED_FILTER') for w in inner)


def put_group(lines, path, found):
    at = 0
    while at < len(lines):
        begin = re.match(r'(GROUP|DATASET) "(.*)" \{$', lines[at])
        if not begin:
            at = block(lines, at)[1] if lines[at].endswith('{') else at + 1
            continue
        inner, at = block(lines, at)
        below = f'{path}/{begin[2]}'.lstrip('/') if begin[2] != '/' else ''
        if any(line.startswith('HARDLINK') for line in inner[:1]):
            continue
        if begin[1] == 'GROUP':
            put_group(inner, below, found)
        else:
            put_dataset(inner, found.setdefault(below, {}))


def dumped(path):
    """By path; None: h5dump does not read it either."""
    try:
        run = subprocess.run(['h5dump', '-p', '-H', path], capture_output=True, timeout=5)
    except subprocess.TimeoutExpired:
        return None
    if run.returncode != 0 or b'Unable' in run.stderr or b'error' in run.stderr:
        return None
    found = {}
    put_group([line.strip() for line in run.stdout.decode(errors='surrogateescape').splitlines()][1:-1], '', found)
    return found


# ---------------------------------------------------------------------- compared


def differs(said, told):
    """What is not the same in one of the datasets."""
    wrong = []
    kind = said.get('type')
    if kind and not (told['type'] == kind or (kind in CLASSES.values() and kind in told['type'])):
        wrong.append(('type', kind, told['type']))
    for key in 'extent', 'layout', 'chunk', 'stored_bytes':
        if key in said and said[key] != (told[key] if key == 'layout' else told[key] or said[key].__class__()):
            wrong.append((key, said[key], told[key]))
    names = [] if told['filters'] == 'none' else told['filters'].split('+')
    known = [name for name in names if name in FILTERS.values() or name.startswith('gzip')]
    if 'filters' in said and (sorted(said['filters']), said['n_user']) != (sorted(known), len(names) - len(known)):
        wrong.append(('filters', said['filters'], said['n_user'], told['filters']))
    return wrong


def compare(path):
    """How many datasets were compared; None: h5dump does not read it."""
    said = dumped(path)
    if said is None:
        return None
    run = subprocess.run(['h5audit', '--json', path], capture_output=True, text=True, errors='surrogateescape')
    if run.returncode not in (0, 1):
        ok(False, f'{os.path.basename(path)}: {run.stderr.strip()[:120]}')
        return None
    file, = json.loads(run.stdout)['result']['files']
    told = {d['path']: d for d in file['datasets']}
    if os.environ.get('SANITIZERS', 'no') != 'no' and any(f['code'] == 'H5A503' for f in file['findings']):
        return None  # what HDF5 itself does out of bounds, which h5dump without sanitizers got away with
    wrong = [(name, *one) for name in said if name in told and not told[name]['failure'] for one in differs(said[name], told[name])]
    wrong += [(name, 'only in one of both') for name in set(said) ^ set(told)]
    if wrong and dumped(path) != said:
        return None  # what is not there, other bytes each time
    ok(not wrong, f'{os.path.basename(path)}: {len(said)} datasets' + (f': {wrong[:4]}' if wrong else ''))
    return len(said)


# ------------------------------------------------------------------------- files


def write(path, **how):
    noise = np.random.default_rng(1).integers(0, 200, (60, 12, 10))
    with h5py.File(path, 'w', **how) as f:
        for kind in 'u1', '<i2', '>i4', '<u8', '<f4', '>f8', '<f2', 'i1':
            f[f'types/{kind[-2:]}'] = noise.astype(kind)
        for name, options in {
                'plain': {'chunks': (7, 12, 3)}, 'gzip': {'chunks': (4, 12, 10), 'compression': 'gzip'},
                'shuffle': {'chunks': (60, 1, 1), 'compression': 9, 'shuffle': True},
                'sum': {'chunks': (9, 12, 10), 'fletcher32': True}, 'lzf': {'chunks': True, 'compression': 'lzf'},
                'offset': {'chunks': (4, 12, 10), 'scaleoffset': 0}, 'contiguous': {},
                'all': {'chunks': (4, 5, 6), 'compression': 3, 'shuffle': True, 'fletcher32': True}}.items():
            f.create_dataset(f'layouts/{name}', data=noise.astype('u2'), **options)
        f.create_dataset('layouts/grown', (0, 5), 'u1', maxshape=(None, 5), chunks=(3, 5)).resize(11, 0)
        f.create_dataset('layouts/sparse', (100, 4), 'f4', chunks=(10, 4))[35] = 1
        f.create_dataset('layouts/empty', (0, 3), 'u1')
        f.create_dataset('layouts/external', (20,), 'u1', external=[('raw.bin', 0, 20)])
        f['other/text'] = 'a text'
        f['other/texts'] = [b'abc', b'de']
        f['other/compound'] = np.zeros(5, [('a', 'u1'), ('b', '<f4', (2,))])
        f['other/scalar'] = 5
        f['other/null'] = h5py.Empty('f4')
        f['other/opaque'] = np.zeros(3, 'V7')
        f['other/vlen'] = np.array([np.arange(3), np.arange(5)], h5py.vlen_dtype('u2'))
        f['other/enum'] = np.zeros(4, h5py.enum_dtype({'a': 0, 'b': 1}, 'u1'))
        f['other/refs'] = np.array([f['layouts'].ref], h5py.ref_dtype)
        f['again'] = f['layouts/plain']
        f['soft'] = h5py.SoftLink('/layouts/gzip')
        f['far'] = h5py.ExternalLink('none.h5', '/x')


for version in 'earliest', 'v108', 'v110':
    write('facts.h5', libver=(version, 'latest'))
    compare('facts.h5')
write('facts.h5', userblock_size=1024)
compare('facts.h5')
write('facts.h5', fs_strategy='page', fs_page_size=4096)
compare('facts.h5')

if os.path.isdir(sys.argv[2]):
    paths = sorted(os.path.join(sys.argv[2], name) for name in os.listdir(sys.argv[2]) if name != 'MANIFEST.tsv')
    n = [compare(path) for path in paths]
    ok(sum(k is not None for k in n) >= 30 and sum(filter(None, n)) > 150,
       f'{sum(k is not None for k in n)} of {len(n)} files, {sum(filter(None, n))} datasets')
done()
