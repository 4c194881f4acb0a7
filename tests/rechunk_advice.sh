#!/bin/sh
# h5rechunk --advise gives a file what h5advise answers to the same options, or leaves it alone.
. "$top_srcdir/tests/tap.sh"
need h5rechunk h5advise h5pack render_samples h5dump
: "${work:?}" "${status=0}"
"$PYTHON" -c 'import json' 2>/dev/null || skip_all 'there is no Python here'

cd "$work" || exit 1
render_samples photos 60 1 64 && h5pack -q photos --size 48x40 --chunk 20 --compress gzip:6 -o 'my faces.h5' &&
    h5pack -q photos --size 48x40 --chunk 1 -o one.h5 || exit 1
awk 'BEGIN { for (i = 0; i < 60; i++) print 1 + i % 3 }' >'my weights'

# What both programs say, as lines: chunk, filters, change and gain. In Python for the JSON.
cat >compare.py <<'END'
import json, sys
asked, told = (json.load(open(name)) for name in ('asked', 'told'))
row, now = (asked['result'][k] for k in ('rows', 'now'))
row = row[0]
advice, sets = told['result']['advice'], told['result']['datasets']
same = advice['change'] == row['change'] and abs(advice['gain'] / (row['samples_per_s'] / now['samples_per_s']) - 1) < 1e-9
if row['change'] == 'rewrite':
    target = sets[0]['target']
    same = same and not advice['keeps'] and target['chunk'] == row['chunk'] and target['filters'] == row['codec']
    same = same and told['options']['chunk'] == ('x'.join(map(str, row['chunk'])) if row['chunk'] else 'none')
else:
    same = same and advice['keeps'] and sets == [] and not told['result']['written']
if not same:
    print(advice, sets, row['change'], row['chunk'], row['codec'], row['samples_per_s'] / now['samples_per_s'])
open('change', 'w').write(row['change'])
sys.exit(not same)
END

# same FILE OPTIONS SENTENCE: one answer to one question. Leaves new.h5 where there is one to make.
same() {
    rm -f new.h5
    eval "h5advise --json -q $2 \"\$1\"" >asked 2>err &&
        h5rechunk --json "$1" --advise "$2" -o new.h5 >told 2>>err && "$PYTHON" compare.py >note
    result=$?
    if [ "$(cat change)" = rewrite ]; then [ -e new.h5 ]; else [ ! -e new.h5 ]; fi || result=1
    ok $result "$3: $(cat change)"
    [ $result -eq 0 ] || note "$(cat err note)"
}
fixed='--no-measure --cpus 2 --hdf5-version 1.10'
same 'my faces.h5' "$fixed --storage nvme -p shuffle -b 8 -w 2 --rdcc-nbytes 4K" 'a cache that holds nothing'
[ "$(cat change)" = rewrite ]
ok $? 'is a case for other chunks'
chunk=$("$PYTHON" -c 'import json; print(", ".join(map(str, json.load(open("asked"))["result"]["rows"][0]["chunk"])))')
h5dump -p -H -d /images new.h5 | grep -q "CHUNKED ( $chunk )"
ok $? 'which the new file has'
mv new.h5 advised.h5
same advised.h5 "$fixed --storage nvme -p shuffle -b 8 -w 2" 'what is as advised'
grep -q '"keeps": *true' told
ok $? 'is kept'
same 'my faces.h5' "$fixed --storage nvme -p shuffle -b 8 -w 2 --rdcc-nbytes 4K --min-gain 1000" 'a larger cache alone'
[ "$(cat change)" = settings ]
ok $? 'is nothing to write either'
h5rechunk -q 'my faces.h5' -c 20x20x20x3 -o tiles.h5
same tiles.h5 "$fixed --storage nvme -p sequential -w 1 -e 1 --rdcc-nbytes 4K" 'tiles that are read whole, once'
grep -q 'h5rechunk tiles.h5:/images --chunk none -o ' asked && h5dump -p -H -d /images new.h5 | grep -q CONTIGUOUS
ok $? 'have no chunks then, by the command that h5advise has'
same one.h5 "$fixed -p sequential -w 1 --storage nvme" 'chunks of one, in order'
same 'my faces.h5:/images' "$fixed -p weighted:by='my weights' -b 8 -w 1 --min-gain 1" 'a name with a blank'
same 'my faces.h5' "$fixed -c 3x48x40x3 -c '1x48x40x3' --with labels --crop 24x20 -w 0" 'shapes to consider'

run h5rechunk 'my faces.h5' --dataset /images --advise "$fixed -p shuffle -b 8 -w 2 --rdcc-nbytes 4K" --dry-run
[ $status -eq 0 ] && grep -q '^BEST  chunks ' out && grep -q "times today's" out && grep -q 'chunks   20x48x40x3 -> ' out
ok $? 'the report says what was chosen, and what it gains'
rm new.h5
run h5rechunk advised.h5 --advise "$fixed --storage nvme -p shuffle -b 8 -w 2" -o new.h5
[ $status -eq 0 ] && [ ! -e new.h5 ] && [ ! -e new.h5.part ] && grep -q '^advised.h5 has the chunks .* nothing is written$' out
ok $? 'or that there is nothing to write'
run hurried h5rechunk 'my faces.h5' --advise '' -o measured.h5
[ $status -eq 0 ] && { [ -e measured.h5 ] || grep -q 'nothing is written' out; }
ok $? 'without options it is measured'

# refused PATTERN SENTENCE WORDS...
refused() {
    pattern=$1
    sentence=$2
    shift 2
    run h5rechunk "$@"
    [ $status -eq 2 ] && is_one_sentence err && grep -q -e "$pattern" err && [ ! -e out.h5 ] && [ ! -e out.h5.part ]
    result=$?
    ok $result "$sentence"
    [ $result -eq 0 ] || note "$(cat err)"
}
for option in '--chunk 1' '--compress gzip' --fletcher32; do
    # shellcheck disable=SC2086 # two words
    refused '--advise does not go with --' "advice beside $option" one.h5 --advise '' $option -o out.h5
done
refused '^h5rechunk: --advise: unknown option .*h5advise --help' 'an option that h5advise has not' one.h5 --advise --bath -o out.h5
refused "^h5rechunk: --advise: unknown option '--keep-file'" 'one that keeps the file' one.h5 --advise --keep-file -o out.h5
refused "^h5rechunk: --advise: 'two.h5' is no option" 'another file' one.h5 --advise two.h5 -o out.h5
refused '^h5rechunk: --advise: a quote has no end' 'half of a quote' one.h5 --advise "-p 'shuffle" -o out.h5
refused '^h5rechunk: --advise: -b: needs a value' 'half of an option' one.h5 --advise -b -o out.h5
refused '^h5rechunk: --advise: pattern: ' 'an order that there is not' one.h5 --advise '-p backwards' -o out.h5
refused 'one dataset at a time' 'two datasets' one.h5 --dataset images --dataset labels --advise '' -o out.h5
refused "cannot open 'none.h5'" 'a file that is not there' none.h5 --advise '' -o out.h5
refused 'advise takes the options as one word' 'its word forgotten' one.h5 --advise -o out.h5
done_testing
