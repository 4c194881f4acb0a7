# twenty rejects are told one by one; further ones are counted, and in the list of rejects
render_samples photos 1 1 40
mkdir flat
cp photos/*/* flat/a.jpg
n=0
while [ $n -lt 20 ]; do
    n=$((n + 1))
    echo none >flat/$((100 + n)).jpg
done
h5pack flat --size 8 --force -o out.h5 2>err | grep rejected
wc -l <err
echo none >flat/121.jpg
h5pack flat --size 8 --force -o out.h5 2>err | grep rejected
wc -l <err
tail -n 1 err
echo none >flat/122.jpg
h5pack flat --size 8 --force --rejects rejects.tsv -o out.h5 2>err | grep rejected
wc -l <err
tail -n 2 err
wc -l <rejects.tsv
h5pack flat --verify -o out.h5 2>err | sed 's/out.h5: //'
wc -l <err
h5pack flat --size 8 --dry-run 2>err | grep rejected
tail -n 1 err
h5pack flat --size 8 --force --on-error blank -o out.h5 2>err | grep rejected
tail -n 1 err
