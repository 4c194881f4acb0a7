# the plugin is named where one is needed; a name with quotes can be pasted into Python
render_samples photos 4 1 30
h5pack photos --size 16x16 --compress gzip --fletcher32 -o 'a "b".h5' | grep h5py
h5pack photos --size 16x16 --compress zstd -o "it's.h5" | grep h5py
