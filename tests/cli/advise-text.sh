# the report as text; what is assumed of the machine is given, so that it is the same anywhere
h5advise --quiet --ram 1G --cpus 4 --hdf5-version 1.10 --shape 20000x64x64x3 --storage hdd \
    --chunk 10x64x64x3 --rdcc-nbytes 4M --target 5000 --code pytorch
