#!/bin/sh
# README's commands run in the order they stand there, and print what it says they print: byte
# for byte where nothing is timed, else with other numbers and the same words.
. "$top_srcdir/tests/tap.sh"
need h5ls timeout
[ "${SANITIZERS:-no}" = no ] || skip_all 'sanitizers take minutes to measure what README measures'
export PATH
readme=$top_srcdir/README
cd "$work" || exit 1

# The folders that README speaks of.
render_samples photos 400 >/dev/null || exit 1
victim=$(find photos -name '*.jpg' | sort | head -n 1)
head -c 2000 "$victim" >photos/coast/cut.jpg
mkdir imagenet && render_samples imagenet/val 24 2 300 >/dev/null || exit 1
mkdir img_align_celeba
{
    printf '12\nSmiling Young\n'
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        cp "$victim" "img_align_celeba/$i.jpg"
        echo "$i.jpg -1  1"
    done
} >list_attr_celeba.txt

# NNN.sh and NNN.out for each line of README that starts with "$ ", and what stands below it.
mkdir said
${AWK} '/^    [$] / { name = sprintf("said/%03d", ++n); print substr($0, 7) >(name ".sh"); next }
    /^[^ ]/ { name = "" }
    name { print substr($0, 5) >(name ".out") }' "$readme"

# The words of what is timed, or differs by processor, without its numbers; the rest as it is.
without_times() {
    sed -E '/samples\/s|images\/s|takes about/s/[0-9]+(\.[0-9]+)?/N/g; s/takes about N (min|h) /takes about N s /
        /^  (mean|std) /s/(0\.[0-9]{2})[0-9]{2}/\1/g' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

# What h5advise and h5readbench decide is of the machine: the form of their first lines.
form() {
    sed -E 's/^(KEEP|BEST) .*/ADVICE/; s/limited by .*/limited by/
        s/, seed [0-9]+//; s/[0-9]+\.?[0-9]*/N/g; s/ +/ /g' | head -n 1
}

# A run that is stopped half way.
interrupt() {
    for seconds in 0.4 0.2 0.8 1.6 3.2 6.4 0.1; do
        rm -f train.h5 train.h5.part*
        timeout -s INT $seconds sh "$1" >out 2>&1 </dev/null
        [ -e train.h5 ] || ! grep -q 'images are done' out || return 0
    done
    return 1
}

for script in said/*.sh; do
    [ -e "$script" ] || continue
    wanted=${script%.sh}.out
    command=$(cat "$script")
    touch "$wanted"
    if [ "$(head -n 1 "$wanted")" = '^C' ]; then
        interrupt "$script" && grep -q '^h5pack: interrupted (.* images are done; --resume' out
        ok $? "README: $command, and Ctrl-C"
        continue
    fi
    hurried sh "$script" >out 2>&1 </dev/null
    status=$?
    case $command in
    h5advise* | h5readbench*)
        [ $status -eq 0 ] && [ "$(form <out)" = "$(form <"$wanted")" ]
        ;;
    *)
        without_times <out >got
        without_times <"$wanted" >want
        if [ -s want ]; then cmp -s want got; else [ $status -le 1 ]; fi
        ;;
    esac
    same=$?
    ok $same "README: $command"
    [ $same -eq 0 ] || { echo "status $status"; diff want got; head -n 3 out; } | note
done
[ $tap_n -ge 8 ]
ok $? 'these are the commands of README'
done_testing
