"""h5audit on files as other programs write them: what an expert would say of each, and no more.
Made by h5py in the form that those programs give them, so that nothing else has to be installed."""
import json
import os
import subprocess
import sys

import h5py
import numpy as np
from tap import done, equal, note, ok

os.chdir(sys.argv[1])
rng = np.random.default_rng(11)


def audit(path, *words):
    run = subprocess.run(['h5audit', '--json', *words, path], capture_output=True, text=True)
    if not run.stdout:
        note(run.stderr)
        return run.returncode, []
    return run.returncode, [(f['code'], f['dataset']) for file in json.loads(run.stdout)['result']['files']
                            for f in file['findings']]


def expect(kind, path, want, *words):
    status, found = audit(path, *words)
    equal((status, sorted(found, key=str)), (1 if want else 0, sorted(want, key=str)), kind)


def keras():
    """Weights are read once, whole and in order: that they are many small datasets is right, and so is
    that they are contiguous. Dense layers of one shape are layers, not samples."""
    with h5py.File('keras.h5', 'w') as file:
        file.attrs['keras_version'] = '2.12.0'
        for i in range(40):
            layer = file.create_group(f'model_weights/dense_{i}/dense_{i}')
            layer['kernel:0'] = rng.standard_normal((128, 128)).astype('f4')
            layer['bias:0'] = np.zeros(128, 'f4')
    expect('Keras: weights are fine as they are', 'keras.h5', [])


def netcdf():
    """A grid of a day is what is read at random; chunks are days, with shuffle and deflate, as netCDF-4
    advises. That zstd decodes faster is true of them, too. Coordinates are series."""
    with h5py.File('netcdf.h5', 'w', track_order=True) as file:
        for name, n, kind in ('time', 400, 'f8'), ('lat', 90, 'f4'), ('lon', 180, 'f4'):
            file.create_dataset(name, data=np.arange(n, dtype=kind)).make_scale(name)
        smooth = np.cumsum(rng.integers(-2, 3, (400, 90, 180)), axis=2).astype('f4')
        grid = file.create_dataset('t2m', data=smooth, chunks=(1, 90, 180), maxshape=(None, 90, 180), shuffle=True,
                                   compression='gzip', fillvalue=-9999.)
        for axis, name in enumerate(('time', 'lat', 'lon')):
            grid.dims[axis].attach_scale(file[name])
    expect('netCDF-4: days in chunks; zstd would decode faster', 'netcdf.h5', [('H5A404', 't2m')])
    expect('of which one need not hear', 'netcdf.h5', [], '--ignore', '404')


def matlab():
    """v7.3 has a user block of 512 bytes and deflate, with its axes turned: images of 32x32x3xN are
    3x32x32 behind N here, in chunks over many of them."""
    with h5py.File('matlab.h5', 'w', userblock_size=512) as file:
        x = file.create_dataset('X', data=rng.integers(0, 256, (3000, 3, 32, 32), 'u1'), chunks=(47, 1, 16, 32),
                                compression='gzip', compression_opts=3)
        x.attrs['MATLAB_class'] = np.bytes_('uint8')
        y = file.create_dataset('y', data=np.ones((1, 3000)))
        y.attrs['MATLAB_class'] = np.bytes_('double')
    with open('matlab.h5', 'r+b') as file:
        file.write(b'MATLAB 7.3 MAT-file, Platform: GLNXA64'.ljust(128))
    expect('MATLAB 7.3: images cut through, and photographs that deflate leaves as they are', 'matlab.h5',
           [('H5A103', 'X'), ('H5A403', 'X')])


def nwb():
    """Recordings are windows of time over all channels; events are series of single numbers."""
    with h5py.File('nwb.h5', 'w') as file:
        file.attrs['nwb_version'] = '2.6.0'
        volts = np.cumsum(rng.integers(-3, 4, (200000, 16)), axis=0).astype('i2')
        file.create_dataset('acquisition/ElectricalSeries/data', data=volts, chunks=(4096, 16), compression='gzip')
        file.create_dataset('acquisition/ElectricalSeries/timestamps', data=np.arange(200000) / 3e4,
                            chunks=(8192,), compression='gzip')
        file['units/spike_times'] = np.sort(rng.random(300000))
    status, found = audit('nwb.h5')
    ok(status == 1 and ('H5A404', 'acquisition/ElectricalSeries/data') in found and
       not [f for f in found if f[1] == 'units/spike_times'], f'NWB: nothing about spike times {found}')
    ok(not {code for code, name in found if name and 'timestamps' in name} - {'H5A404'},
       'timestamps are no samples to be read one by one')
    found = audit('nwb.h5:/acquisition/ElectricalSeries/timestamps')[1]
    ok({code for code, _ in found} - {'H5A404'}, f'but who asks about single ones is told {found}')


def anndata():
    """A sparse matrix is three series; names are strings of variable length."""
    with h5py.File('anndata.h5', 'w') as file:
        file['X/data'] = rng.random(300000).astype('f4')
        file['X/indices'] = rng.integers(0, 2000, 300000).astype('i4')
        file['X/indptr'] = np.arange(0, 300001, 100, dtype='i8')
        file.create_dataset('obs/_index', data=[f'cell{i}' for i in range(3000)], dtype=h5py.string_dtype())
    expect('AnnData: names alone are of variable length', 'anndata.h5', [('H5A402', 'obs/_index')])
    expect('also with all data looked at', 'anndata.h5', [('H5A402', 'obs/_index')], '--deep')


def pytables():
    """An EArray that grew row by row has the chunks that PyTables computes: 64 KiB or so of rows."""
    with h5py.File('pytables.h5', 'w') as file:
        file.attrs['PYTABLES_FORMAT_VERSION'] = np.bytes_('2.1')
        x = file.create_dataset('x', data=rng.random((20000, 64)).astype('f4'), chunks=(256, 64), maxshape=(None, 64))
        x.attrs['CLASS'] = np.bytes_('EARRAY')
    expect('PyTables: rows in chunks of 64 KiB', 'pytables.h5', [])


def jpegs():
    """Compressed files as they are, each a row of bytes of its own length."""
    with h5py.File('jpegs.h5', 'w') as file:
        images = file.create_dataset('images', (1200,), h5py.vlen_dtype('u1'))
        for i in range(1200):
            images[i] = rng.integers(0, 256, 100 + i % 7, 'u1')
        file['labels'] = rng.integers(0, 10, 1200)
    expect('JPEG files in variable length', 'jpegs.h5', [('H5A402', 'images')])


def guessed():
    """chunks=True, and who asks for compression without naming chunks."""
    with h5py.File('guessed.h5', 'w') as file:
        file.create_dataset('images', data=rng.integers(0, 256, (500, 96, 96, 3), 'u1'), compression='gzip')
    status, found = audit('guessed.h5')
    equal((status, {('H5A103', 'images'), ('H5A104', 'images')} <= set(found)), (1, True),
          f"h5py's guess cuts images {found}")


def masks():
    """Booleans are numbers to be read, though HDF5 has them as names for 0 and 1."""
    with h5py.File('masks.h5', 'w') as file:
        discs = np.hypot(*np.mgrid[-64:64, -64:64]) < rng.integers(9, 60, (400, 1, 1))
        file.create_dataset('masks', data=discs, chunks=(16, 32, 32))
    expect('h5py: masks of bool that chunks cut through', 'masks.h5', [('H5A103', 'masks')])
    expect('and that zstd would make little of', 'masks.h5', [('H5A103', 'masks'), ('H5A406', 'masks')], '--sample', '100',
           '--ignore', '603')


for kind in masks, keras, netcdf, matlab, nwb, anndata, pytables, jpegs, guessed:
    kind()
done()
