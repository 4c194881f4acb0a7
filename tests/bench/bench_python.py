"""Loader's samples per second: bench_python.py FILE MEMORY_MIB THREADS [ORDER [STRATEGY]]
prints, of the median epoch of eight, samples/s and the microseconds that the loop's own thread was
busy for each batch.

Each from its first batch to that of the next, behind one more, so that buffers are faulted in and
as much was made ahead before as afterwards. An epoch of these takes 50 ms: one alone says little.
"""
import statistics
import sys
import time

import h5pack

BATCH = 256
EPOCHS = 8


def main():
    path, memory, threads = sys.argv[1], int(sys.argv[2]) << 20, int(sys.argv[3])
    order = sys.argv[4] if len(sys.argv) > 4 else "shuffle"
    strategy = sys.argv[5] if len(sys.argv) > 5 else "auto"
    loader = h5pack.Loader(path, BATCH, memory=memory, threads=threads, order=order, seed=1,
                           with_=(), strategy=strategy)
    begins, busy = [], []
    for _ in range(EPOCHS + 2):
        for number, batch in enumerate(loader):
            if number == 0:
                begins.append(time.perf_counter())
                busy.append(time.thread_time_ns())
            del batch
    samples = len(loader) * BATCH if loader.state_dict()["drop_last"] else loader._n_samples
    took, took_ns = (statistics.median(end - begin for begin, end in zip(times[1:], times[2:]))
                     for times in (begins, busy))
    print(f"{samples / took:.1f} {took_ns / 1000 / len(loader):.1f}")


main()
