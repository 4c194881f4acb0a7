#!/bin/sh
# Pixels equal Pillow's, and the odd files of the shared data decode or are refused as their
# manifest says; see the program in Python.
python=${PYTHON:-python3}
if ! "$python" -c 'pass' 2>/dev/null; then
    echo "1..0 # SKIP no $python"
    exit 0
fi
PYTHONUTF8=1 exec "$python" "${top_srcdir:-.}/tests/pixels.py" \
    "${top_builddir:-.}/tests/pixel_server"
