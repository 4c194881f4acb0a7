# the renderer of samples says how it is used
render_samples
