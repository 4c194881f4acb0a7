# --resume without images to list: only the list of a run that was begun is gone on with
mkdir none
h5pack none --size 16x16 --resume -o out.h5
echo "status $?"
: >out.h5.part
h5pack none --size 16x16 --resume -o out.h5
echo "status $?, a file alone"
: >out.h5.part.journal
h5pack none --size 16x16 --resume -o out.h5
echo "status $?, both"
h5pack none --size 16x16 -o out.h5
echo "status $?, not asked to"
rm out.h5.part
h5pack none --size 16x16 --resume -o out.h5
echo "status $?, a journal alone"
