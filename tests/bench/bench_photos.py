"""
What bench_pack.py and bench_draft.py share: the job, the sample that all make (shorter side 256,
bilinear, crop 224) as Pillow makes it, and how spreads are written.
"""
import os
import platform
import statistics
import sys

import numpy
import PIL
from PIL import Image, ImageOps

SHORTER, CROP = 256, 224
GEOMETRY = ("--shorter", str(SHORTER), "--crop", str(CROP))


def arguments(parser, n_images):
    """Parses the command line; .paths are the n photos, .found how many of them differ."""
    parser.add_argument("build", help="folder in which h5pack was built")
    parser.add_argument("photos", help="folder of JPEGs, taken over and over")
    parser.add_argument("--images", type=int, default=n_images, help=f"(default: {n_images})")
    parser.add_argument("--rounds", type=int, default=5, help="(default: 5)")
    parser.add_argument("--threads", type=int, default=2, help="(default: 2)")
    job = parser.parse_args()
    found = sorted(os.path.join(folder, name) for folder, _, names in os.walk(job.photos)
                   for name in names if name.lower().endswith((".jpg", ".jpeg")))
    if not found:
        sys.exit(f"no photos in {job.photos}")
    job.found = len(found)
    job.paths = [os.path.abspath(found[i % len(found)]) for i in range(job.images)]
    return job


def write_list(job, folder):
    """The photos one per line; returns the path of the list."""
    listing = os.path.join(folder, "list")
    with open(listing, "w") as f:
        f.writelines(path + "\n" for path in job.paths)
    return listing


def sample(path, draft=False):
    image = Image.open(path)
    if draft:
        image.draft("RGB", (SHORTER, SHORTER))
    image = ImageOps.exif_transpose(image).convert("RGB")
    w, h = image.size
    size = (SHORTER, int(SHORTER * h / w)) if w <= h else (int(SHORTER * w / h), SHORTER)
    image = image.resize(size, Image.BILINEAR)
    x, y = round((size[0] - CROP) / 2.0), round((size[1] - CROP) / 2.0)
    return numpy.asarray(image.crop((x, y, x + CROP, y + CROP)))


def machine():
    return f"{platform.machine()}, {os.cpu_count()} processors, Pillow {PIL.__version__}"


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def ratios(seconds, other):
    """How many times as fast as the other, round by round."""
    return [b / a for a, b in zip(seconds, other)]
