#!/bin/sh
# The cache simulator gives, access by access, the counts that HDF5 gave: recorded ones, those of
# the library at hand, and of six versions where the shared data are; and replay_vectors notices
# when it does not.
. "$top_srcdir/tests/tap.sh"

line='{"id":"tiny","lib_version":"1.10.8","same_result_versions":["2.1.1"],"shape":[4],"elem_size":1,
"chunk":[2],"filtered":true,"nslots":7,"nbytes":2,"w0":0.75,"loads_total":3,
"accesses":[[[0],[1]],[[1],[1]],[[2],[1]],[[0],[1]]],"loads_prefix":[1,1,2,LAST]}'
echo "$line" | tr -d '\n' | sed 's/LAST/3/' >"$work/right.jsonl"
echo "$line" | tr -d '\n' | sed 's/LAST/2/' >"$work/wrong.jsonl"

run replay_vectors "$work/right.jsonl"
[ "$status" = 0 ] && [ "$(cat "$work/out")" = "2 of 2 exact" ]
ok $? "a vector counted by hand is exact"

run replay_vectors "$work/wrong.jsonl"
[ "$status" = 1 ] && grep -q '^0 of 2 exact$' "$work/out" &&
    grep -q '^tiny, HDF5 1.10.8, access 3: loads 3 (recorded 2)' "$work/out"
ok $? "a difference fails, and the first is shown"

echo '{"id": ' >"$work/torn.jsonl"
run replay_vectors "$work/torn.jsonl"
ok $((status != 2)) "a torn file cannot be replayed"

run replay_vectors "$top_srcdir/tests/data/good-vectors.jsonl"
note <"$work/out"
ok "$status" "what two versions of HDF5 did in 110 datasets is exact"

if "$PYTHON" -c 'import h5py, numpy' >/dev/null 2>&1; then
    seed=${H5PACK_SEED:-1}
    "$PYTHON" "$top_srcdir/tests/record_vectors.py" "$seed" 30 >"$work/now.jsonl" 2>"$work/err"
    run replay_vectors "$work/now.jsonl"
    note <"$work/out"
    ok "$status" "and so is what the HDF5 at hand does in 30 more (H5PACK_SEED=$seed)"
else
    skip "no Python with h5py and NumPy here, to record what this HDF5 does"
fi

vectors="${H5PACK_SHARED:-$top_srcdir/../shared}/chunkcache/vectors.jsonl"
if [ -r "$vectors" ]; then
    run replay_vectors "$vectors"
    note <"$work/out"
    ok "$status" "all shared vectors are exact"
fi
done_testing
