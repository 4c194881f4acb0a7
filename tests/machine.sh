#!/bin/sh
# The processor's part of a machine profile: measured once, kept in the user's cache folder,
# read from there again, and measured anew where what is kept does not read as a profile.
. "$top_srcdir/tests/tap.sh"
"$PYTHON" -c 'import json' >/dev/null 2>&1 || skip_all 'there is no Python here'
cd "$work" || exit 1

# get PATH < JSON: one value, "options.seed"
get() {
    "$PYTHON" -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value[key]
print(value)' "$1"
}

mkdir home cache
render_samples photos 64 1 64 >render.out || exit 1
run h5pack photos --size 32 -o small.h5
ok $status 'a small file is packed'

# what so many workers would read is modelled, for they are not started
quick='--json --workers 5000'
# shellcheck disable=SC2086 # options are words
run hurried env XDG_CACHE_HOME="$work/cache" h5advise small.h5 $quick
first=$(get result.now.modelled_samples_per_s <out)
kept=$(ls cache/h5pack)
ok $((status > 1)) 'advice on a file measures the machine'
[ "$(ls cache/h5pack | wc -l)" -eq 1 ] && case $kept in
"$(uname -n)"-*-hdf5-[12].*.json) true ;;
*) false ;;
esac
ok $? "and keeps one profile, named after machine and versions: $kept"
[ "$(get schema <"cache/h5pack/$kept")" = profile/2 ] &&
    [ "$(get name <"cache/h5pack/$kept")" = 'this machine' ]
ok $? 'which says that it was measured here'

# a processor that takes a second for each call
"$PYTHON" - "cache/h5pack/$kept" <<'E2'
import json, sys
with open(sys.argv[1]) as file:
    profile = json.load(file)
def slow(part):
    for key, value in part.items():
        if key == "call_ns":
            part[key] = 1e9
        elif isinstance(value, dict):
            slow(value)
slow(profile)
with open(sys.argv[1], "w") as file:
    json.dump(profile, file)
E2
cp "cache/h5pack/$kept" before
# shellcheck disable=SC2086
run hurried env XDG_CACHE_HOME="$work/cache" h5advise small.h5 $quick
cmp -s before "cache/h5pack/$kept"
ok $? 'a profile that is kept stays as it is'
second=$(get result.now.modelled_samples_per_s <out)
"$PYTHON" -c 'import sys; sys.exit(not float(sys.argv[2]) < 10 < float(sys.argv[1]))' \
    "$first" "$second"
ok $? "and is what the model goes by: $first, then $second samples/s"

mkdir -p home/.cache/h5pack
echo '{"schema": "profile/2"' >"home/.cache/h5pack/$kept"
# shellcheck disable=SC2086
run hurried env XDG_CACHE_HOME=cache/none HOME="$work/home" h5advise small.h5 $quick
[ $status -le 1 ] && [ "$(get schema <"home/.cache/h5pack/$kept")" = profile/2 ] &&
    [ ! -e cache/none ]
ok $? 'what does not read as a profile is measured anew, in the home folder without XDG'

touch file
# shellcheck disable=SC2086
run hurried env -u HOME XDG_CACHE_HOME="$work/file" h5advise small.h5 $quick
[ $status -le 1 ] && "$PYTHON" -c 'import sys; sys.exit(not float(sys.argv[1]) > 10)' \
    "$(get result.now.modelled_samples_per_s <out)"
ok $? 'that it cannot be kept is no failure'

# what is read from a pipe is there once: measuring the machine comes after it
yes 1 | head -n 64 >weights
# shellcheck disable=SC2016 # the shell that is started expands
run hurried env -u HOME XDG_CACHE_HOME="$work/file" sh -c \
    'cat weights | h5advise small.h5 $0 --pattern weighted:by=/dev/stdin' "$quick"
[ $status -le 1 ] && [ -s out ]
ok $? 'weights may come from a pipe when the machine is measured'
done_testing
