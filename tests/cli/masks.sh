# masks in a folder of their own: how many there are, and the first
render_samples all 6 1 40
mkdir -p set/images set/masks
n=0
for image in all/*/*; do
    n=$((n + 1))
    cp "$image" "set/images/$n.jpg"
    cp "$image" "set/masks/$n.jpg"
done
h5pack set --size 8x8 --quiet -o out.h5
echo "status $?"
h5pack set/images --size 8x8 --quiet -o out.h5
echo "status $?"
