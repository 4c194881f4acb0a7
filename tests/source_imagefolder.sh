#!/bin/sh
# Order, names and labels of image folders are those of torchvision's ImageFolder, on random trees: 60
# here, 1000 with H5PACK_LONG=1. The comparison is in Python, the only one to ask about its order.
. "$top_srcdir/tests/tap.sh"
need source_dump "$PYTHON"
[ "$long" = 1 ] && trees=1000 || trees=60
TMPDIR=$work PYTHONUTF8=1 "$PYTHON" "$top_srcdir/tests/source_imagefolder.py" \
    "$(command -v source_dump)" $trees
