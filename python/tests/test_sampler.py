"""BlockSampler: chunks dealt to the workers of a DataLoader."""
import copy
import pickle
from types import MappingProxyType

import numpy

import h5pack
from made_images import need, packed, photos, raises


def made(batch_size=4, workers=2, chunks=2, **options):
    return h5pack.BlockSampler(packed(chunk=2), batch_size, workers=workers, chunks=chunks,
                               **options)


def test_an_epoch_has_every_sample_once():
    for workers in (0, 1, 2, 5):
        for batch in (1, 4, 30):
            sampler = made(batch, workers)
            batches = list(sampler)
            assert len(batches) == len(sampler)
            assert sorted(sum(batches, [])) == list(range(21)), (workers, batch)
            assert all(len(one) <= batch for one in batches)


def test_batches_of_different_workers_have_no_chunk_in_common():
    sampler = made(workers=3)
    owners = {}
    shared = set()
    for number, batch in enumerate(sampler):
        for sample in batch:
            owner = owners.setdefault(sample // 2, number % 3)
            if owner != number % 3:
                shared.add(sample // 2)
    assert len(shared) <= 2, "but for those across the ends of shares"


def test_a_worker_s_pool_is_as_large_as_asked_for():
    sampler = h5pack.BlockSampler(packed(chunk=1), 2, workers=1, chunks=3)
    numbers = sum(sampler, [])
    for start in range(0, 21, 3):
        assert len(set(numbers[start:start + 3])) == 3
    assert sampler.chunk_bytes == 1728 and sampler.rdcc_nbytes == 4 * 1728


def test_a_contiguous_dataset_has_chunks_of_one_sample(tmp_path):
    need("h5py")
    import h5py

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"] = [[n, n] for n in range(30)]
    sampler = h5pack.BlockSampler(tmp_path / "x.h5", 2, workers=1, chunks=3)
    assert sampler.chunk_bytes == 2 * 8
    numbers = sum(sampler, [])
    assert sorted(numbers) == list(range(30))
    assert any(abs(a - b) > 1 for a, b in zip(numbers[::3], numbers[1::3])), "of all over the file"


def test_epochs_and_seeds_have_orders_of_their_own():
    sampler = made(seed=5)
    first = list(sampler)
    assert first == list(sampler), "an epoch is the same each time"
    sampler.set_epoch(1)
    second = list(sampler)
    assert first != second
    assert list(made(seed=6)) != first
    again = made(seed=5)
    again.set_epoch(1)
    assert list(again) == second


def test_ranks_share_the_epoch():
    parts = [sum(made(rank=rank, world=3), []) for rank in range(3)]
    assert len({len(part) for part in parts}) == 1
    assert sorted(set(sum(parts, []))) == list(range(21))
    assert len(list(made(rank=1, world=3))) == len(made(rank=1, world=3))


def test_the_last_short_batch_can_be_left_out():
    sampler = made(4, drop_last=True)
    assert {len(batch) for batch in sampler} == {4} and len(sampler) == len(list(sampler))


def test_it_goes_on_in_mid_epoch():
    sampler = made()
    sampler.set_epoch(3)
    whole = list(sampler)
    sampler.set_epoch(3)
    reading = iter(sampler)
    begun = [next(reading) for _ in range(2)]
    state = sampler.state_dict()
    other = made()
    other.load_state_dict(state)
    assert begun + list(other) == whole
    assert list(other) == whole, "the next iteration is of the whole epoch"
    other.load_state_dict(sampler.state_dict(batches=1))
    assert list(other) == whole[1:]
    raises(h5pack.ArgumentError, lambda: made(seed=9).load_state_dict(state), "seed")
    raises(h5pack.ArgumentError, lambda: made(3).load_state_dict(state), "batch_size")
    raises(h5pack.ArgumentError, lambda: other.load_state_dict({**state, "batch": 99}), "99")


def test_a_state_of_other_chunks_is_refused_and_one_without_is_taken():
    state = made().state_dict()
    other = h5pack.BlockSampler(packed(chunk=3), 4, workers=2, chunks=2)
    raises(h5pack.ArgumentError, lambda: other.load_state_dict(state), "chunk=2", "chunk=3")
    raises(h5pack.ArgumentError, lambda: made(drop_last=True).load_state_dict(state), "drop_last")
    del state["chunk"], state["drop_last"]
    other.load_state_dict(MappingProxyType(state))


def test_a_set_epoch_in_the_middle_begins_anew():
    sampler = made()
    reading = iter(sampler)
    next(reading)
    sampler.set_epoch(1)
    assert list(reading) == [], "what was begun before has ended"
    second = list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) == second


def test_a_batch_that_ctrl_c_ended_is_drawn_again():
    sampler, order = made(), made()._order

    class Late:
        """Raises when the samples are drawn."""
        def samples(self, n):
            order.samples(n)
            sampler._order = order
            raise KeyboardInterrupt

        def __len__(self):
            return len(order)

    sampler._order = Late()
    raises(KeyboardInterrupt, lambda: next(iter(sampler)))
    assert list(sampler) == list(made())


def test_an_iteration_that_was_left_is_followed_by_a_whole_one():
    sampler = made()
    whole = list(sampler)
    for _ in sampler:
        break
    assert list(sampler) == whole


def test_iterations_that_take_turns_do_not_change_each_other():
    sampler = made()
    whole = list(sampler)
    assert [list(pair) for pair in zip(*zip(sampler, sampler))] == [whole, whole]


def test_the_state_behind_the_last_batch_is_the_end():
    sampler = made()
    whole = list(sampler)
    assert sampler.state_dict()["batch"] == len(whole)
    other = made()
    other.load_state_dict(sampler.state_dict())
    assert list(other) == [] and list(other) == whole


def test_a_copy_goes_on_by_itself():
    sampler = made()
    whole = list(sampler)
    batches = iter(sampler)
    assert next(batches) == whole[0]
    for other in (pickle.loads(pickle.dumps(sampler)), copy.deepcopy(sampler)):
        assert other.state_dict() == sampler.state_dict()
        other.load_state_dict(other.state_dict())
        assert list(other) == whole[1:] and list(other) == whole
    assert [next(batches) for _ in whole[1:]] == whole[1:]


def test_what_is_no_whole_number_is_refused():
    for wrong in ({"chunks": 1.5}, {"chunks": 0}, {"seed": -1}, {"workers": -1}, {"workers": "2"}):
        name, = wrong
        raises(h5pack.ArgumentError, lambda: made(**wrong), f"{name}: ")
    raises(h5pack.ArgumentError, lambda: made(2.5), "batch_size: ")
    raises(h5pack.ArgumentError, lambda: made(2**32), "batch_size: ")
    raises(h5pack.ArgumentError, lambda: made(workers=2**32), "workers: ")
    raises(h5pack.ArgumentError, lambda: h5pack.BlockSampler(None, 3, workers=1), "file: ")
    raises(h5pack.ArgumentError, lambda: made().load_state_dict({}), "seed")
    raises(h5pack.ArgumentError, lambda: made().set_epoch(None), "epoch: ")
    for batches in (-1, 1.5, "x", len(made()) + 1):
        raises(h5pack.ArgumentError, lambda n=batches: made().state_dict(n), "batches: ")


def test_datasets_are_found_or_named():
    path = packed(chunk=2)
    assert len(h5pack.BlockSampler(path, 3, workers=1, dataset="labels")) == 7
    raises(h5pack.NotFoundError, lambda: h5pack.BlockSampler(path, 3, workers=1, dataset="x"))
    raises(h5pack.ArgumentError, lambda: h5pack.BlockSampler(path, 3, workers=1, dataset=""), "group")
    raises(h5pack.ArgumentError, lambda: h5pack.BlockSampler(path, 0, workers=1), "batch_size")
    raises(h5pack.Error, lambda: h5pack.BlockSampler("nowhere.h5", 3, workers=1), "nowhere.h5")


def test_a_dataset_without_samples_is_named(tmp_path):
    need("h5py")
    import h5py

    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["images"], file["none"] = 3, numpy.zeros((0, 4))
    raises(h5pack.ArgumentError, lambda: h5pack.BlockSampler(path, 3, workers=1),
           "x.h5': 'images' has no samples")
    raises(h5pack.ArgumentError, lambda: h5pack.BlockSampler(path, 3, workers=1, dataset="none"),
           "x.h5': 'none' has no samples")


def test_where_neither_of_the_usual_datasets_is_there_the_first_is_named(tmp_path):
    need("h5py")
    import h5py

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["pixels"] = [1, 2]
    raises(h5pack.NotFoundError, lambda: h5pack.BlockSampler(tmp_path / "x.h5", 1, workers=1), "images")
    with h5py.File(tmp_path / "x.h5", "a") as file:
        file["data"] = [1, 2]
    assert len(h5pack.BlockSampler(tmp_path / "x.h5", 1, workers=1)) == 2


def test_a_dataloader_hands_each_worker_its_own_batches():
    need("torch", "h5py")
    from torch.utils.data import DataLoader, get_worker_info

    class Numbered(h5pack.Images):
        def __getitems__(self, indices):
            return [(get_worker_info().id, index) for index in indices]

    sampler = made(workers=2)
    want = list(sampler)
    loader = DataLoader(Numbered(packed(chunk=2)), batch_sampler=sampler, num_workers=2)
    for number, (workers, numbers) in enumerate(loader):
        assert set(workers.tolist()) == {number % 2} and numbers.tolist() == want[number]
    assert len(photos()[1]) == 21
