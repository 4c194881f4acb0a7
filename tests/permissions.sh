#!/bin/sh
# What the system refuses: folders and files without permission, a full disk, limits,
# standard output that cannot be written. One sentence, status 2, nothing under the
# final name. As root, to whom little is refused, the tests run as "nobody".
. "$top_srcdir/tests/tap.sh"
need h5pack
chmod 755 "$work"
cd "$work" || exit 1
mkdir bin stage
cp "$(command -v h5pack)" bin/h5pack
render_samples stage/photos 12 9 64 || exit 1
as_user=
if [ "$(id -u)" -eq 0 ]; then
    need setpriv
    as_user='setpriv --reuid=65534 --regid=65534 --clear-groups'
    chown -R 65534:65534 stage
    $as_user test -x "$work/bin/h5pack" || skip_all 'the temporary folder is closed to others'
fi
cd stage || exit 1

# pack ARGUMENTS...: runs it as a user; leaves $status, $work/out, $work/err.
pack() {
    # shellcheck disable=SC2086 # a command and its words
    run $as_user "$work/bin/h5pack" "$@"
}

# refused SENTENCE WORDS OUTPUT: status 2, one sentence that contains WORDS, no
# OUTPUT.
refused() {
    [ $status -eq 2 ] && is_one_sentence "$work/err" &&
        grep -qF -- "$2" "$work/err" && [ ! -e "$3" ]
    good=$?
    ok $good "$1"
    [ $good -eq 0 ] || {
        note "status $status"
        note <"$work/err"
    }
}
size='--size 32x32'

# shellcheck disable=SC2086
{
    pack photos $size -o missing/set.h5
    refused 'an output folder that is not there' missing/set.h5 missing/set.h5

    mkdir -m 555 closed
    [ -z "$as_user" ] || chown 65534 closed
    pack photos $size -o closed/set.h5
    refused 'an output folder without permission to write' closed/set.h5 closed/set.h5

    pack nowhere $size -o set.h5
    refused 'a source that is not there' nowhere set.h5

    mkdir folder.h5
    pack photos $size -o folder.h5
    refused 'an output that is a folder' folder.h5 folder.h5/none

    echo precious >exists.h5
    pack photos $size -o exists.h5
    refused 'an output that exists, without --force' exists.h5 none
    [ "$(cat exists.h5)" = precious ]
    ok $? 'and it is untouched'

    cp -r photos locked
    image=$(ls locked/*/*.jpg | head -n 1)
    chmod 000 "$image"
    [ -z "$as_user" ] || chown -R 65534 locked
    pack locked $size -o locked.h5
    [ $status -eq 1 ] && grep -qF "$image" "$work/err"
    good=$?
    ok $good 'an image without permission to read is skipped and named, status 1'
    [ $good -eq 0 ] || note <"$work/err"
    pack locked $size --on-error fail -o failed.h5
    refused 'the same with --on-error fail' "$image" failed.h5

    cp -r photos sealed
    [ -z "$as_user" ] || chown -R 65534 sealed
    chmod 000 sealed/forest
    pack sealed $size -o sealed.h5
    refused 'a class folder without permission to read' sealed/forest sealed.h5
    chmod 755 sealed/forest

    # ---------------------------------------------------------- sources that nobody may write to
    cp -r photos sealed-off
    (cd sealed-off && ls -d */* >all.txt)
    [ -z "$as_user" ] || chown -R 0:0 sealed-off
    find sealed-off -type f -exec chmod 444 {} +
    find sealed-off -type d -exec chmod 555 {} +
    pack photos $size --chunk 1 -o plain.h5
    pack sealed-off $size --chunk 1 -o sealed-off.h5
    [ $status -eq 0 ] && cmp -s plain.h5 sealed-off.h5
    ok $? 'a read-only folder is packed as any other'
    pack sealed-off $size --verify -o sealed-off.h5
    ok $status 'and verified'
    pack --list sealed-off/all.txt --label-from-folder $size -o listed.h5
    ok $status 'so is a list in it'
    pack sealed-off --dry-run $size
    ok $status 'and forecast'
    pack sealed-off $size -o sealed-off/set.h5
    refused 'what is made cannot lie in it' sealed-off/set.h5 sealed-off/set.h5
    (
        ulimit -f 20
        pack sealed-off $size --chunk 1 -o limited.h5
    )
    pack sealed-off $size --chunk 1 --resume -o limited.h5
    [ $status -eq 0 ] && cmp -s plain.h5 limited.h5
    ok $? 'an interrupted run over it is resumed'
    rm -f limited.h5

    # ---------------------------------------------------------------- full disk and limits
    pack photos $size -o whole.h5
    ok $status 'a plain run, to compare with'
    (
        ulimit -f 20 # blocks of 512 or 1024 bytes
        pack photos $size -o limited.h5
        echo $status >limited.status
    )
    status=$(cat limited.status)
    refused 'a limit on the size of files' limited.h5 limited.h5
    pack photos $size --resume -o limited.h5
    cmp -s limited.h5 whole.h5
    ok $? 'without the limit, --resume completes it to the same file'

    mkdir small
    if [ -n "$as_user" ] && mount -t tmpfs -o size=24k none small 2>/dev/null; then
        chown 65534 small
        pack photos $size -o small/set.h5
        refused 'a full disk' 'No space left' small/set.h5
        mount -o remount,size=4m small
        pack photos $size --resume -o small/set.h5
        cmp -s small/set.h5 whole.h5
        ok $? 'with room again, --resume completes it to the same file'
        umount small
    else
        skip 'this system lets nobody mount a small disk'
        skip 'this system lets nobody mount a small disk'
    fi

    # ------------------------------------------------------------------ standard output
    if [ -c /dev/full ]; then
        for words in --help --version 'photos --size 32x32 --force -o full.h5' \
            'photos --size 32x32 --force --json -o full.h5'; do
            $as_user "$work/bin/h5pack" $words >/dev/full 2>"$work/err" </dev/null
            status=$?
            refused "standard output on a full disk: h5pack $words" 'standard output' none
        done
    else
        skip 'there is no /dev/full here'
    fi
}
done_testing
