"""The package as it is imported."""
import h5pack


def test_the_version_is_that_of_the_extension():
    assert h5pack.__version__ == h5pack._native.version


def test_an_error_of_h5pack_is_an_exception_of_its_own():
    assert issubclass(h5pack.Error, Exception)
