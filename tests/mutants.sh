#!/bin/sh
# As a test: every fault that tests/mutants/AREA.txt lists still changes its file, and the tests
# it is for are there. `make mutants [AREA='cachesim reports']` calls it with "plant", which
# plants them, one at a time, in a copy of the tree, and runs those tests. A list reads
#
#     # comment
#     libpack/model/cachesim.c: tests/test_cachesim tests/vectors.sh
#         s/a >= b/a > b/
#         /^evict/,/^}/s/n++/n += 2/
#
# a file, the tests in the order in which they are asked, and below it one fault per indented
# line: a sed command that changes the file, so that it still compiles. What a fault says is
# in its test, by the sentence that fails. The copy is mutants/ in the build folder; only what
# a fault touches is built again, with ccache where that is. Exit status 1 when a fault was not
# noticed, or no longer changes anything or builds.
set -u
lists=$top_srcdir/tests/mutants
areas=${AREA:-$(for list in "$lists"/*.txt; do basename "$list" .txt; done)}

# Writes "line number|file|tests|sed command" for every fault of a list.
faults() { # list
    ${AWK:-awk} '/^[ \t]*(#|$)/ { next }
        /^[^ \t]/ { file = $1; sub(/:$/, "", file); $1 = ""; tests = substr($0, 2); next }
        { sub(/^[ \t]+/, ""); print NR "|" file "|" tests "|" $0 }' "$1"
}

# Writes a file with its fault; says in $verdict why there is none.
make_mutant() { # file command mutant
    verdict=
    if [ ! -e "$top_srcdir/$1" ]; then
        verdict="cannot be planted: there is no '$1'"
    elif ! sed "$2" "$top_srcdir/$1" >"$3" 2>/dev/null; then
        verdict='is no sed command'
    elif cmp -s "$3" "$top_srcdir/$1"; then
        verdict="changes nothing: '$1' has no such line"
    fi
    [ -z "$verdict" ]
}

# ------------------------------------------------------------------------------ the test

# Prints a line for each fault that cannot be planted, and each test that is not there.
misses() { # area
    faults "$lists/$1.txt" | while IFS='|' read -r line file tests command; do
        make_mutant "$file" "$command" "$work/mutant" || echo "$1:$line $verdict"
        for test in $tests; do
            case $test in
            *.sh) [ -e "$top_srcdir/$test" ] ;;
            *) [ -e "$top_srcdir/$test.c" ] ;;
            esac || echo "$1:$line there is no test '$test'"
        done
    done
}

if [ "${1-}" != plant ]; then
    . "$top_srcdir/tests/tap.sh"
    for area in $areas; do
        misses "$area" >"$work/misses"
        [ ! -s "$work/misses" ]
        ok $? "$(faults "$lists/$area.txt" | wc -l) faults of $area can be planted"
        note <"$work/misses"
    done
    done_testing
fi

# ----------------------------------------------------------------------------- `make mutants`

copy=$top_builddir/mutants
n_jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
time_limit=${MUTANTS_SECONDS:-120} # of one test; a fault that hangs is noticed
programs=${PROGRAMS:?} data=${DATA-} configured=${CONFIGURED-}
trap 'restore' EXIT
trap 'exit 1' HUP INT TERM

die() {
    echo "make mutants: $*" >&2
    exit 2
}

# ------------------------------------------------------------------------------- the copy

# Copies what differs, so that a second run builds little; what autotools made keeps its time,
# for they compare.
sync_tree() {
    mkdir -p "$copy/tree/build" || die "cannot write '$copy'"
    (cd "$top_srcdir" && find . -type f ! -path './.git*' ! -path './build*/*' \
        ! -path './autom4te.cache/*' -o -path './build-aux/*' -type f) >"$copy/files"
    while read -r file; do
        cmp -s "$top_srcdir/$file" "$copy/tree/$file" && continue
        mkdir -p "$copy/tree/${file%/*}" && cp -p "$top_srcdir/$file" "$copy/tree/$file" ||
            die "cannot copy '$file'"
        case $file in
        *.[ch] | *.cu) touch "$copy/tree/$file" ;;
        esac
    done <"$copy/files"
}

configure_tree() {
    [ -e "$copy/tree/build/Makefile" ] && return
    compiler=${CC:-cc}
    case $compiler in
    *ccache*) ;;
    *) command -v ccache >/dev/null 2>&1 && compiler="ccache $compiler" ;;
    esac
    echo "configuring $copy/tree/build"
    (cd "$copy/tree/build" && eval "../configure -q $configured CC=\"\$compiler\"") >"$copy/log" 2>&1 ||
        die "cannot configure; see $copy/log"
}

# The programs that a test starts: itself, or those that a script, its namesake in Python and
# the cases of cli.sh name; the Python package's may start any of tools/.
programs_of() { # test
    case $1 in
    *.sh) ;;
    *) echo "$1"; return ;;
    esac
    grep -q 'tests/package\.sh' "$top_srcdir/$1" && whole=tools/ || whole=
    for program in $programs; do
        [ "$whole" ] && [ "${program#"$whole"}" != "$program" ] && echo "$program" && continue
        grep -qrw -e "${program##*/}" "$top_srcdir/$1" "$top_srcdir/${1%.sh}.py" "$top_srcdir/${1%.sh}" 2>/dev/null &&
            echo "$program"
    done
}

build() { # tests
    # shellcheck disable=SC2046,SC2086 # lists of words
    make -C "$copy/tree/build" -k -j"$n_jobs" $data $(for t; do programs_of "$t"; done | sort -u) >"$copy/log" 2>&1
}

# Leaves "pass", "fail" or "skip" in $outcome.
run_test() { # test
    rm -f "$copy/trs"
    (
        cd "$copy/tree/build" || exit
        top_srcdir=$copy/tree top_builddir=$copy/tree/build
        export top_srcdir top_builddir
        case $1 in
        *.sh) set -- "$1" timeout "$time_limit" sh "../$1" ;;
        *) set -- "$1" timeout "$time_limit" "./$1" ;;
        esac
        name=$1
        shift
        sh ../tests/tap_driver.sh --test-name "$name" --log-file "$copy/test.log" --trs-file "$copy/trs" -- "$@"
    ) >"$copy/summary" 2>&1
    outcome=$(sed -n 's/^:global-test-result: //p' "$copy/trs" | tr '[:upper:]' '[:lower:]')
}

# ----------------------------------------------------------------------------- the faults

planted=
restore() {
    [ -n "$planted" ] && cp "$top_srcdir/$planted" "$copy/tree/$planted"
    planted=
}

# Every test that is asked must pass in the tree as it is.
check_unchanged() { # area
    tests=$(faults "$lists/$1.txt" | cut -d '|' -f 3 | tr ' ' '\n' | sort -u)
    # shellcheck disable=SC2086 # a list of tests
    build $tests || die "the tree does not build; see $copy/log"
    for test in $tests; do
        case " $checked " in *" $test "*) continue ;; esac
        run_test "$test"
        [ "$outcome" = pass ] || die "$test does not pass in the tree as it is: $(cat "$copy/summary")"
        checked="$checked $test"
    done
}

# Says in $verdict what became of one fault.
try() { # file tests command
    restore
    make_mutant "$1" "$3" "$copy/mutant" || return
    planted=$1
    cp "$copy/mutant" "$copy/tree/$1"
    # shellcheck disable=SC2086 # a list of tests
    build $2 || {
        verdict='does not build'
        return
    }
    for test in $2; do
        run_test "$test"
        [ "$outcome" = fail ] || continue
        verdict="noticed by $test"
        return
    done
    verdict='NOT NOTICED'
}

checked=
failed=0
sync_tree
configure_tree
for area in $areas; do
    [ -r "$lists/$area.txt" ] || die "there is no list '$lists/$area.txt'"
    check_unchanged "$area"
    faults "$lists/$area.txt" >"$copy/faults"
    n=0 n_noticed=0
    while IFS='|' read -r line file tests command; do
        n=$((n + 1))
        try "$file" "$tests" "$command"
        case $verdict in
        noticed*) n_noticed=$((n_noticed + 1)) ;;
        *) failed=1 ;;
        esac
        printf '%s:%s %s\n    %s  %s\n' "$area" "$line" "$verdict" "$file" "$command"
        case $verdict in
        noticed*) grep '^  ' "$copy/summary" | head -n 1 ;;
        esac
    done <"$copy/faults"
    restore
    echo "$area: $n_noticed of $n faults noticed"
done
exit $failed
