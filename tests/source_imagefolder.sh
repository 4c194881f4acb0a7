#!/bin/sh
# The order and labels of image folders are torchvision's; see the program in Python.
python=${PYTHON:-python3}
if ! "$python" -c 'pass' 2>/dev/null; then
    echo "1..0 # SKIP no $python"
    exit 0
fi
PYTHONUTF8=1 exec "$python" "${top_srcdir:-.}/tests/source_imagefolder.py" \
    "${top_builddir:-.}/tests/source_dump"
