#!/bin/sh
# h5audit's verifying next to its floor, on 1, 2 and 4 threads: see bench_verify.c. Wanted: 1.3.
: "${top_builddir:?}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" - "$work" <<'END'
import sys
import h5py
import numpy as np
noise = np.random.default_rng(1).integers(0, 40, (3000, 96, 96), 'u1')
for name, options in (('gzip', {'compression': 'gzip', 'compression_opts': 4}), ('sums', {'fletcher32': True}),
                      ('both', {'compression': 'gzip', 'shuffle': True, 'fletcher32': True})):
    with h5py.File(f'{sys.argv[1]}/{name}.h5', 'w') as f:
        f.create_dataset('x', (30000 if name == 'sums' else 3000, 96, 96), 'u1', chunks=(2, 96, 96), **options)
        for i in range(0, len(f['x']), 3000):  # sums alone are made so fast that a small file is its opening
            f['x'][i:i + 3000] = noise
END
for name in gzip sums both; do
    for threads in 1 2 4; do
        printf '%s: ' $name
        "$top_builddir/tests/bench/bench_verify" "$work/$name.h5" x $threads | tail -n 1
    done
done
