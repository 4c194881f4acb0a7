# wrong words: one sentence each, status 2
try() {
    h5pack "$@"
    echo "status $?"
}
mkdir empty
try
try empty
try -o out.h5
try empty --shorer 256 -o out.h5
try empty --size 224 -o out.h5
try empty --size 0x224 -o out.h5
try empty --size 224x224 --shorter 256 -o out.h5
try empty --crop 224x224 -o out.h5
try empty --fit squeeze -o out.h5
try empty --threads 0 -o out.h5
try empty --memory 12Q -o out.h5
try empty --compress lzma -o out.h5
try empty --compress zstd:99 -o out.h5
try empty --chunk 0 -o out.h5
try empty --chunk 1x2 -o out.h5
try empty --background red -o out.h5
try empty --background '#+1+2+3' -o out.h5
try empty --background '#1234567' -o out.h5
try empty --memory 0 -o out.h5
try empty -o -
try empty --limit ten -o out.h5
try empty --output
try empty --null -o out.h5
ls
