"""Loader's samples per second: bench_python.py FILE MEMORY_MIB THREADS [ORDER [STRATEGY]]
prints, of one epoch, samples/s and the microseconds that the loop's own thread was busy for each
batch.

As bench_reader times readers: from the first batch of the second epoch to that of the third, so
that buffers are faulted in and as much was made ahead before as afterwards.
"""
import sys
import time

import h5pack

BATCH = 256


def main():
    path, memory, threads = sys.argv[1], int(sys.argv[2]) << 20, int(sys.argv[3])
    order = sys.argv[4] if len(sys.argv) > 4 else "shuffle"
    strategy = sys.argv[5] if len(sys.argv) > 5 else "auto"
    loader = h5pack.Loader(path, BATCH, memory=memory, threads=threads, order=order, seed=1,
                           with_=(), strategy=strategy)
    begins, busy = [], []
    for _ in range(3):
        for number, batch in enumerate(loader):
            if number == 0:
                begins.append(time.perf_counter())
                busy.append(time.thread_time_ns())
            del batch
    samples = len(loader) * BATCH if loader.state_dict()["drop_last"] else loader._n_samples
    print(f"{samples / (begins[2] - begins[1]):.1f} {(busy[2] - busy[1]) / 1000 / len(loader):.1f}")


main()
