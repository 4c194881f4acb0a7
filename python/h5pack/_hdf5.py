"""One thread at a time in HDF5, which need not be thread-safe: that of the wheel is not."""
import contextlib
import os
import sys
import threading

_own = threading.RLock()
_left = []  # what is to be closed, and could not be when it was let go of


def _renew():
    """In a forked child, where the thread that had the lock is not."""
    global _own
    _own = threading.RLock()


os.register_at_fork(after_in_child=_renew)


def _locks():
    """h5py's, since it and libpack may use one HDF5, and then our own: in that order always."""
    h5py = sys.modules.get("h5py")
    phil = getattr(getattr(h5py, "_objects", None), "phil", None)
    return (_own,) if phil is None else (phil, _own)


@contextlib.contextmanager
def alone():
    """No other thread of this process is in HDF5 meanwhile; within it may be asked for again."""
    *first, own = _locks()
    # no ExitStack, between whose steps Ctrl-C would leave a lock that nobody lets go
    with first[0] if first else contextlib.nullcontext(), own:
        try:
            yield
        finally:
            while _left:
                _left.pop()()


def when_alone(close):
    """Calls it now, or when the next one leaves HDF5, if another thread is there: who is called
    by Python's collector must not wait, as that thread may wait for this one."""
    with contextlib.ExitStack() as held:
        for lock in _locks():
            if not lock.acquire(False):
                _left.append(close)
                return
            held.callback(lock.release)
        close()
