# the cache that the summary sets is the one that h5advise proposes for the file as it is
render_samples photos 120 1 80
words() { # the cache settings of a text; of none at all when there is nothing to cache
    tr -d '\n' | grep -oE 'rdcc_(nbytes|nslots|w0)=[0-9.]*[0-9]' | tr '\n' ' ' | sed 's/\(rdcc_nbytes=0 \).*/\1/'
}
try() { # PATTERN, options of h5pack
    pattern=$1
    shift
    summary=$(h5pack photos "$@" --force -o out.h5 | words)
    advice=$(h5advise out.h5 --keep-file --pattern "$pattern" --storage nvme | sed -n '1,2p')
    case $advice in
        KEEP*) advice= ;;
        *) advice=$(printf '%s\n' "$advice" | words) ;;
    esac
    if [ "$summary" = "$advice" ]; then
        echo "$*: one answer"
    else
        echo "$*: '$summary' and '$advice'"
    fi
    all="$all$summary"
}
try shuffle --size 16x16
try shuffle --size 16x16 --chunk 5 --compress zstd
try shuffle --size 64
try shuffle --size 64 --compress gzip
try shuffle --size 48 --chunk 10x16x48x3
try shuffle --size 300 --chunk 5 --compress zstd
try block:chunks=16 --size 100 --chunk 5 --for block-shuffle
[ -n "$all" ] && echo "some of them set the cache"
# a file that is called as the proposed one is not written over itself
h5pack photos -q --size 64x64 --chunk 64 --compress gzip -o new.h5
h5advise --quiet --storage nvme --code h5rechunk new.h5 | sed -n 's/^h5rechunk .* //p'
h5advise --quiet --storage nvme --code h5pack new.h5 | sed -n 's/^h5pack .* //p'
# chunks that are mostly empty are told of, where that is much
h5pack photos --size 8 --chunk 2000 --quiet -o room.h5 2>&1
h5pack photos --size 8 --chunk 20000 -o much.h5 2>&1 >/dev/null
h5pack photos --size 8 --chunk 20000 --compress gzip -o zipped.h5 2>&1 >/dev/null
