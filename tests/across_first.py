"""
Makes every Pillow resize as Pillow did up to 12, and libpack does: across, then down. From 13 on
Pillow takes some images down first, which differs by one here and there. To be imported before
anything is resized.
"""
import PIL
from PIL import Image

one_step = Image.Image.resize
WITH_ALPHA = ("LA", "RGBA")  # resized with their colours multiplied, in a call of their own


def resize(self, size, resample=None, box=None, reducing_gap=None):
    if resample == Image.NEAREST or self.mode in WITH_ALPHA or reducing_gap:
        return one_step(self, size, resample, box, reducing_gap)
    left, top, right, bottom = box or (0, 0, *self.size)
    across = one_step(self, (size[0], self.height), resample, (left, 0, right, self.height))
    return one_step(across, size, resample, (0, top, size[0], bottom))


if int(PIL.__version__.split(".")[0]) >= 13:
    Image.Image.resize = resize
