#!/bin/sh
# The examples of h5pack-python(7) run, in the order of the page: those of the shell ("$ "), and
# those of Python, which are kept under the name in their first line ("# NAME.py"). What asserts
# there has to hold. Where $PYTHON has no PyTorch, TORCH_PYTHON may name one that has.
. "$top_srcdir/tests/tap.sh"
[ "${SANITIZERS:-no}" = no ] || skip_all 'what the page runs, python.sh runs with sanitizers'
"$PYTHON" -c 'import h5py' 2>/dev/null || skip_all 'no Python with h5py'
. "$top_srcdir/tests/package.sh"
page=$top_srcdir/man/h5pack-python.7
torch_python=${TORCH_PYTHON:-$PYTHON}
"$torch_python" -c 'import torch, h5py' 2>/dev/null || torch_python=
mkdir "$work/bin" "$work/page" || exit 1
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$PYTHON")" >"$work/bin/python3"
chmod +x "$work/bin/python3"
PATH=$work/bin:$PATH
H5PACK_BUILD=$(cd "$top_builddir" && pwd)
PYTHONUTF8=1
export PATH PYTHONUTF8 H5PACK_BUILD
cd "$work/page" || exit 1
render_samples photos 24 1 96 || exit 1

# 001.sh, 002-waiting.py, ...: each command is one, each block of Python too.
${AWK} 'function open_as(name) { close(file); file = sprintf("../%03d%s", ++n, name) }
    /^\.EX/ { inside = 1; file = ""; next } /^\.EE/ { inside = 0 }
    !inside { next }
    { gsub(/\\-/, "-"); gsub(/\\&/, ""); gsub(/\\\(aq/, "\047"); gsub(/\\\(dq/, "\""); gsub(/\\e/, "\\") }
    /^\$ / { open_as(".sh"); sub(/^\$ /, "") }
    /^# [a-z_]*\.py$/ && file == "" { open_as("-" $2) }
    file != "" { print >file }' "$page"
for example in ../[0-9]*; do
    name=${example#../[0-9][0-9][0-9]}
    case $name in
    *.py)
        name=${name#-} python=$PYTHON
        cp "$example" "$name"
        if grep -q '^import torch\|^from torch' "$name"; then
            python=$torch_python
            [ "$python" ] || {
                skip "$name: no Python with PyTorch (TORCH_PYTHON names one)"
                continue
            }
        fi
        "$python" "$name" >../said 2>&1 </dev/null
        ;;
    *)
        name=$(head -n 1 "$example")
        hurried sh "$example" >../said 2>&1 </dev/null
        ;;
    esac
    status=$?
    case $name in *.py) [ $status -eq 0 ] ;; *) [ $status -le 1 ] ;; esac
    good=$?
    ok $good "$name"
    [ $good -eq 0 ] || note <../said
done
blocks=$(grep -c '^\.EX' "$page")
set -- ../[0-9]*
[ $# -ge "$blocks" ] && [ "$blocks" -ge 14 ]
ok $? "no block of the page is passed over: $# examples in $blocks"
if command -v mandoc >/dev/null 2>&1; then
    mandoc -T lint -W warning "$page" >../lint 2>&1
    ok $? 'the page is clean for mandoc'
    note <../lint
else
    skip 'there is no mandoc here'
fi
done_testing
