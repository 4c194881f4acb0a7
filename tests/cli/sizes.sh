# images of several sizes and no size given: says which there are and what to do
render_samples photos 24 1 40
h5pack photos -o out.h5
echo "status $?"
ls
