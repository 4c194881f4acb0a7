"""h5audit --salvage: damaged chunks read as the fill value and are listed, all else is as it was."""
import json
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
from tap import done, equal, note, ok

os.chdir(sys.argv[1])
rng = np.random.default_rng(2)
SHAPE, CHUNK = (42, 6, 10), (4, 3, 10)
values = rng.integers(1, 40, SHAPE).astype('<u2')
PIPELINES = [('fletcher32', {'fletcher32': True}), ('gzip', {'compression': 'gzip'}),
             ('shuffle+gzip+fletcher32', {'compression': 'gzip', 'shuffle': True, 'fletcher32': True}),
             ('lzf+fletcher32', {'compression': 'lzf', 'fletcher32': True})]
if h5py.h5z.filter_avail(32015):
    PIPELINES.append(('zstd+fletcher32', {'compression': 32015, 'fletcher32': True}))


def salvage(path, *words):
    run = subprocess.run(['h5audit', '--salvage', 'out.h5', '-f', '--json', path, *words], capture_output=True, text=True)
    if run.returncode > 1:
        note(run.stderr)
    return run.returncode, json.loads(run.stdout) if run.stdout else run.stderr


def damage(path, name, places):
    with h5py.File(path) as file:
        data = file[name].id
        infos = {tuple(o // c for o, c in zip(i.chunk_offset, file[name].chunks)): i
                 for i in map(data.get_chunk_info, range(data.get_num_chunks()))}
    with open(path, 'r+b') as file:
        for place in places:
            file.seek(infos[place].byte_offset + infos[place].size // 2)
            byte = file.read(1)
            file.seek(-1, 1)
            file.write(bytes([byte[0] ^ 0x55]))


def lost(places, data, chunk, fill):
    """As it is to be, and which rows."""
    want, rows = data.copy(), set()
    for place in places:
        box = tuple(slice(p * c, (p + 1) * c) for p, c in zip(place, chunk))
        want[box] = fill
        rows |= set(range(*box[0].indices(len(data))))
    stretches = []
    for row in sorted(rows):
        if stretches and row == sum(stretches[-1]):
            stretches[-1][1] += 1
        else:
            stretches.append([row, 1])
    return want, stretches


for name, options in PIPELINES:
    for places in [(0, 0, 0)], [(3, 1, 0), (4, 0, 0), (10, 1, 0)], [(i, j, 0) for i in range(11) for j in range(2)]:
        with h5py.File('in.h5', 'w') as file:
            data = file.create_dataset('group/x', data=values, chunks=CHUNK, fillvalue=7, **options)
            data.attrs['unit'] = 'mm'
            file['again'] = data
            file['labels'] = np.arange(42)
            file.attrs['title'] = 'x'
        damage('in.h5', 'group/x', places)
        before = open('in.h5', 'rb').read()
        status, said = salvage('in.h5', '-j', '3')
        want, stretches = lost(places, values, CHUNK, 7)
        with h5py.File('out.h5') as file:
            data = file['group/x']
            ok(status == 1 and (data[:] == want).all() and data.chunks == CHUNK and data.attrs['unit'] == 'mm' and
               file['again'] == data and (file['labels'][:] == np.arange(42)).all() and file.attrs['title'] == 'x' and
               (data.compression, data.shuffle, data.fletcher32) ==
               (h5py.File('in.h5')['again'].compression, 'shuffle' in options, 'fletcher32' in options),
               f'{name}: all but {len(places)} chunks')
            equal(data.attrs['h5audit_lost_samples'].tolist(), stretches, f'{name}: which samples are lost')
            ok('h5audit_lost_samples' not in file['labels'].attrs, f'{name}: and of what nothing is')
        told = said['salvaged']
        equal((told['output'], told['n_chunks'], told['n_samples'], told['output_bytes']),
              ('out.h5', len(places), sum(n for _, n in stretches), os.path.getsize('out.h5')), f'{name}: it says so')
        again = subprocess.run(['h5audit', '--verify', 'out.h5'], capture_output=True, text=True)
        ok(again.returncode == 0 and open('in.h5', 'rb').read() == before, f'{name}: what is written is good')

# two datasets, again after another accident
with h5py.File('in.h5', 'w') as file:
    for name in 'a', 'b=1,2', 'c':
        file.create_dataset(name, data=values, chunks=CHUNK, compression='gzip')
damage('in.h5', 'a', [(1, 0, 0)])
damage('in.h5', 'b=1,2', [(2, 1, 0), (7, 0, 0)])
status, said = salvage('in.h5')
shutil.copy('out.h5', 'in.h5')
damage('in.h5', 'a', [(5, 0, 0)])
with h5py.File('in.h5') as file:
    equal((status, [file[n].attrs.get('h5audit_lost_samples', np.array([])).tolist() for n in ('a', 'b=1,2', 'c')]),
          (1, [[[4, 4]], [[8, 4], [28, 4]], []]), 'each dataset lists its own')
status, said = salvage('in.h5')
with h5py.File('out.h5') as file:
    want = lost([(1, 0, 0), (5, 0, 0)], values, CHUNK, 0)[0]
    ok(status == 1 and (file['a'][:] == want).all() and file['a'].attrs['h5audit_lost_samples'].tolist() == [[20, 4]],
       'a second accident, with its own list')

# what is good, and what cannot be put right
os.unlink('out.h5')
with h5py.File('in.h5', 'w') as file:
    file.create_dataset('x', data=values, chunks=CHUNK, compression='gzip')
status, said = salvage('in.h5')
equal((status, said['salvaged']['output'], os.path.exists('out.h5')), (0, None, False), 'what is good is not written')
with h5py.File('all.h5', 'w') as file:
    layout = h5py.VirtualLayout((42, 6, 10), '<u2')
    layout[:] = h5py.VirtualSource('in.h5', 'x', SHAPE)
    file.create_virtual_dataset('v', layout)
damage('in.h5', 'x', [(1, 0, 0)])
status, said = salvage('all.h5')
ok(status == 2 and 'salvaged first' in said and not os.path.exists('out.h5'), 'what lies in other files is said to')
with open('text.h5', 'w') as file:
    file.write('no HDF5')
status, said = salvage('text.h5')
ok(status == 2 and 'text.h5' in said and not os.path.exists('out.h5'), 'what is no HDF5 file')


def make_long(path, libver):
    """Of every kind of layout, the last ones behind the others."""
    images = rng.integers(0, 256, (300, 16, 16), 'u1')
    with h5py.File(path, 'w', libver=libver) as file:
        for name in 'images', 'plain', 'raw', 'text', 'labels':
            file.create_group(name)  # so that names come first
        file.create_dataset('images/x', data=images, chunks=(2, 16, 16), compression='gzip', fletcher32=True)
        file.create_dataset('plain/x', data=images, chunks=(5, 16, 16))
        file.create_dataset('raw/x', data=images)
        file.create_dataset('text/x', data=[f'word {i}' for i in range(2000)], dtype=h5py.string_dtype(), chunks=(100,))
        file.create_dataset('labels/x', data=np.arange(300))


def lost_rows(path, name, end):
    """Rows that reach behind the end, by h5py's list of chunks."""
    with h5py.File(path) as file:
        x, rows = file[name], set()
        if x.chunks is None:
            row = x[0].nbytes
            step = max(1, 65536 // row)  # they are read in stretches
            for i in range(0, len(x), step):
                last = min(i + step, len(x))
                if x.id.get_offset() + last * row > end:
                    rows |= set(range(i, last))
            return rows
        for i in map(x.id.get_chunk_info, range(x.id.get_num_chunks())):
            if i.byte_offset + i.size > end:
                rows |= set(range(i.chunk_offset[0], min(len(x), i.chunk_offset[0] + x.chunks[0])))
        return rows


def rows_of(stretches):
    return {r for first, count in stretches for r in range(first, first + count)}


def test_cut():
    """A file that was cut: HDF5 refuses it; what lies before the cut is good, and salvaged."""
    seen, n = set(), 0
    for libver in 'earliest', 'latest':
        make_long('long.h5', libver)
        size = os.path.getsize('long.h5')
        with h5py.File('long.h5') as file:
            names = [f'{name}/x' for name in file]
            data = {name: file[name][:] for name in names}
        for part in (1.0, 0.99, 0.8, 0.6, 0.4, 0.25, 0.1, 0.02):
            end = int(size * part)
            shutil.copy('long.h5', 'cut.h5')
            os.truncate('cut.h5', end)
            run = subprocess.run(['h5audit', '--verify', '--json', 'cut.h5'], capture_output=True, text=True)
            told = json.loads(run.stdout)
            is_cut = part < 1
            ok(run.returncode == is_cut and told['cut'] == ({'file_bytes': end, 'end_bytes': size} if is_cut else None)
               and 'proc/self' not in run.stdout, f'{libver}, {part:.0%}: it is said where it is cut')
            bad = {d['path']: rows_of(d['bad_samples']) for d in told['datasets']}
            for d in told['datasets']:
                rows, want = bad[d['path']], lost_rows('long.h5', d['path'], end)
                # where the index, or what strings lie in, is cut, too, more is lost
                is_more = want < rows and (d['path'] == 'text/x' or 'index' in d['bad_chunks'][-1]['why'])
                ok(rows == want or is_more or not d['is_done'],
                   f'  {d["path"]}: {len(rows)} rows, {len(want)} behind the end')
                seen.add((d['path'], len(rows) > 0))
            if os.path.exists('out.h5'):
                os.unlink('out.h5')
            status, report = salvage('cut.h5')
            if status == 2 and not told['failure']:  # strings whose index is cut
                ok("'cut.h5:/text/x'" in report and report.count('\n') == 1, f'  {report.strip()}')
            elif told['failure'] or not all(d['is_done'] for d in told['datasets']):
                ok(status == 2 and report.count('\n') == 1 and "'cut.h5'" in report, f'  {report.strip()}')
            elif not any(bad.values()):
                equal((status, report['salvaged']['output']), (int(is_cut), None), '  what is whole is not written')
            else:
                n += 1
                with h5py.File('out.h5') as file:
                    good = [name for name in names if name != 'text/x' and all(
                        (file[name][i] == data[name][i]).all() for i in set(range(len(data[name]))) - bad[name])]
                    listed = {name: rows_of(file[name].attrs.get('h5audit_lost_samples', [])) for name in names}
                same = {name: len(listed[name] ^ bad[name]) for name in names}
                ok(status == 1 and good == [name for name in names if name != 'text/x'] and not any(same.values()),
                   f'  salvaged {status} {good} {same}: {sorted(k for k in bad if bad[k])}')
    ok(n >= 4 and len(seen) >= 7, f'{n} files salvaged, {sorted(seen)}')


test_cut()
done()
